/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/detection/finder_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/parse.h"

static size_t count_patterns(const FinderPattern *patterns, size_t n_patterns) {
        char error[PATTERN_ERROR_MAX];
        Pattern pattern;
        size_t n = 0;

        for (size_t i = 0; i < n_patterns; i++)
                for (const char *p = patterns[i].text; pattern_next(patterns[i].text, &p, &pattern, error) == 0;)
                        n++;
        return n;
}

/* Adds the rules of a setting; count_patterns() has determined the size of the array. */
static void read_setting(FinderRules *rules, const FinderPattern *setting) {
        char error[PATTERN_ERROR_MAX];
        const char *p = setting->text;

        while (pattern_next(setting->text, &p, &rules->items[rules->n].pattern, error) == 0) {
                FinderRule *rule = &rules->items[rules->n++];

                (void)snprintf(rule->setting, sizeof(rule->setting), "%s", setting->name);
                (void)snprintf(rule->others, sizeof(rule->others), "%s", setting->others ? setting->others : "");
                rule->is_exclusive = setting->others;
        }
}

int finder_rules_init(FinderRules *rules, const FinderPattern *patterns, size_t n_patterns) {
        /* plus one: the item to which the end of a text is parsed */
        rules->items = calloc(count_patterns(patterns, n_patterns) + 1, sizeof(*rules->items));
        if (!rules->items)
                return -ENOMEM;

        rules->n = 0;
        for (size_t i = 0; i < n_patterns; i++)
                read_setting(rules, &patterns[i]);
        return 0;
}

void finder_rules_deinit(FinderRules *rules) {
        free(rules->items);
        *rules = (FinderRules){};
}

void finder_rules_begin(const FinderRules *rules, PatternStates *ret_states) {
        for (size_t i = 0; i < rules->n; i++)
                ret_states[i] = pattern_begin(&rules->items[i].pattern);
}

static bool expects_other_name(const FinderRule *rule, PatternStates parent, const char *name) {
        return rule->is_exclusive && pattern_expects_job(&rule->pattern, parent) &&
               !parse_has_word(rule->others, name, " ");
}

static void cut(const FinderRules *rules, PatternStates *states) {
        for (size_t i = 0; i < rules->n; i++) {
                const FinderRule *rule = &rules->items[i];

                if (!pattern_is_match(&rule->pattern, states[i]))
                        continue;
                for (size_t k = 0; k < rules->n; k++)
                        if (strcmp(rules->items[k].setting, rule->setting) == 0)
                                states[k] = 0;
        }
}

FinderVerdict finder_rules_judge(const FinderRules *rules, const PatternStates *parent, const char *name,
                                 PatternStates *ret_states) {
        FinderVerdict verdict = { .rule = -1 };
        bool is_expected = false;

        for (size_t i = 0; i < rules->n; i++) {
                const FinderRule *rule = &rules->items[i];

                ret_states[i] = parent[i] ? pattern_step(&rule->pattern, parent[i], name) : 0;
                if (verdict.rule < 0 && pattern_is_match(&rule->pattern, ret_states[i]))
                        verdict.rule = (int)i;
                is_expected = is_expected || expects_other_name(rule, parent[i], name);
        }

        cut(rules, ret_states);
        for (size_t i = 0; i < rules->n; i++)
                verdict.may_contain_jobs = verdict.may_contain_jobs || ret_states[i] != 0;
        verdict.is_unrecognized = is_expected && verdict.rule < 0 && !verdict.may_contain_jobs;
        return verdict;
}
