/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "util/clock.h"
#include "util/nearest.h"
#include "util/parse.h"
#include "util/scoped.h"
#include "util/utf8.h"

/* --- values --------------------------------------------------------------------------------------- */

int option_refuse(const Option *option, const char *value, const char *expected,
                  char ret_error[static OPTION_ERROR_MAX]) {
        snprintf(ret_error, OPTION_ERROR_MAX, "--%s expects %s, not '%.80s'", option->name, expected, value);
        return OPTION_WRONG;
}

int option_parse_flag(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        assert(!option->argument && !value && ret_error);
        *(bool *)place = true;
        return 0;
}

int option_parse_text(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        assert(option->argument && ret_error);
        *(const char **)place = value;
        return 0;
}

int option_parse_line(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        assert(option->max > 0);
        if (strlen(value) > option->max) {
                snprintf(ret_error, OPTION_ERROR_MAX, "--%s is longer than %ju bytes", option->name,
                         (uintmax_t)option->max);
                return OPTION_WRONG;
        }
        if (!utf8_is_line(value))
                return option_refuse(option, value, "UTF-8 without control characters", ret_error);

        *(const char **)place = value;
        return 0;
}

int option_parse_choice(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        char expected[160] = "";
        size_t n = 0;

        assert(option->words && option->words[0]);
        for (const char *const *word = option->words; *word; word++) {
                if (strcmp(*word, value) == 0) {
                        *(const char **)place = *word;
                        return 0;
                }
                n += (size_t)snprintf(expected + n, sizeof(expected) - n, "%s%s",
                                      word == option->words ? ""
                                      : word[1]             ? ", "
                                                            : " or ",
                                      *word);
                assert(n < sizeof(expected));
        }

        return option_refuse(option, value, expected, ret_error);
}

static int option_read_number(const Option *option, const char *value, uint64_t *ret,
                              char ret_error[static OPTION_ERROR_MAX]) {
        char expected[64];
        uint64_t v;

        assert(option->min <= option->max);
        if (parse_u64(value, &v) == 0 && v >= option->min && v <= option->max) {
                *ret = v;
                return 0;
        }

        if (option->max == INT64_MAX)
                snprintf(expected, sizeof(expected), "a number from %ju", (uintmax_t)option->min);
        else
                snprintf(expected, sizeof(expected), "a number from %ju to %ju", (uintmax_t)option->min,
                         (uintmax_t)option->max);
        return option_refuse(option, value, expected, ret_error);
}

int option_parse_count(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        return option_read_number(option, value, place, ret_error);
}

int option_parse_number(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        OptionNumber *number = place;
        int r;

        r = option_read_number(option, value, &number->value, ret_error);
        number->is_given |= r == 0;
        return r;
}

int option_parse_duration(const Option *option, const char *value, void *place,
                          char ret_error[static OPTION_ERROR_MAX]) {
        char expected[64];
        uint64_t ns;

        if (parse_duration_ns(value, &ns) != 0 || ns < option->min) {
                snprintf(expected, sizeof(expected), "a time of at least %jums such as 5, 0.5 or 250ms",
                         (uintmax_t)(option->min / NS_PER_MS));
                return option_refuse(option, value, option->min > 0 ? expected : "a time such as 5, 0.5 or 250ms",
                                     ret_error);
        }

        *(uint64_t *)place = ns;
        return 0;
}

int option_parse_age(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        OptionNumber *age = place;

        if (parse_duration_ns(value, &age->value) != 0)
                return option_refuse(option, value, "a time such as 30d, 12h or 90min", ret_error);

        age->is_given = true;
        return 0;
}

int option_add_text(const Option *option, const char *value, OptionTexts *texts,
                    char ret_error[static OPTION_ERROR_MAX]) {
        assert(option->max > 0 && option->max <= OPTION_TEXTS_MAX);
        if (texts->n == option->max) {
                snprintf(ret_error, OPTION_ERROR_MAX, "--%s can be given %zu times", option->name, texts->n);
                return OPTION_WRONG;
        }

        texts->items[texts->n++] = value;
        return 0;
}

int option_parse_list(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        return option_add_text(option, value, place, ret_error);
}

/* --- tables --------------------------------------------------------------------------------------- */

static void option_table_add_at(OptionTable *table, const Option *rows, char *base, size_t offset) {
        for (const Option *row = rows; row->name || row->rows; row++) {
                if (row->rows) {
                        option_table_add_at(table, row->rows, base, offset + row->offset);
                        continue;
                }

                assert(row->parse && row->help && table->n < OPTIONS_MAX);
                table->entries[table->n++] = (OptionEntry){ .option = row,
                                                            .base = base,
                                                            .offset = offset + row->offset };
                if (base && row->initial) {
                        char error[OPTION_ERROR_MAX];
                        int r = row->parse(row, row->initial, base + offset + row->offset, error);

                        assert(r == 0);
                        (void)r;
                }
        }
}

void option_table_add(OptionTable *table, const Option *rows, void *base) {
        if (rows)
                option_table_add_at(table, rows, base, 0);
}

const OptionEntry *option_table_find(const OptionTable *table, const char *name, size_t n) {
        for (size_t i = 0; i < table->n; i++) {
                const char *known = table->entries[i].option->name;

                if (strlen(known) == n && strncmp(name, known, n) == 0)
                        return &table->entries[i];
        }
        return NULL;
}

const OptionEntry *option_table_find_letter(const OptionTable *table, char letter) {
        for (size_t i = 0; i < table->n; i++)
                if (table->entries[i].option->letter == letter)
                        return &table->entries[i];
        return NULL;
}

/* --- the command line ----------------------------------------------------------------------------- */

/* getopt_long(3) is not used: it accepts abbreviated options and does not report the word that it rejects. */
typedef struct OptionScan {
        const OptionTable *table;
        const char *command;
        char **words;
        int n, at;
        char *error; /* OPTION_ERROR_MAX bytes */
} OptionScan;

/* Names that other programs give to options. */
static const char *const option_synonyms[][2] = {
        { "sample", "interval" },   { "lap", "interval" },      { "every", "interval" },     { "period", "interval" },
        { "count", "limit" },       { "max", "limit" },         { "number", "limit" },       { "top", "limit" },
        { "max-wait", "timeout" },  { "wait", "timeout" },      { "runs", "repeat" },        { "iterations", "repeat" },
        { "min-runs", "repeat" },   { "export", "output" },     { "export-json", "output" }, { "output-dir", "output" },
        { "out", "output" },        { "summary", "output" },    { "uid", "user" },           { "username", "user" },
        { "group-by", "by" },       { "compare-by", "by" },     { "compat", "as" },          { "enclosure", "isolation" },
        { "filter", "where" },      { "select", "where" },      { "tag", "label" },          { "id", "job" },
        { "keep-going", "stop-on-failure" }, { "indicator-name", "indicator" }, { "software-version", "component-version" },
        { "version", "component-version" },  { "dry", "dry-run" },              { "days", "since" },
};

static const char *find_synonym(const char *name, const char *const *names, size_t n) {
        for (size_t i = 0; i < N_ELEMENTS(option_synonyms); i++)
                if (strcmp(option_synonyms[i][0], name) == 0 && nearest_is_among(option_synonyms[i][1], names, n))
                        return option_synonyms[i][1];
        return NULL;
}

static int option_scan_unknown(OptionScan *scan, const char *word, size_t n) {
        const char *names[OPTIONS_MAX], *nearest = NULL;
        char name[NEAREST_WORD_MAX + 1] = "";

        for (size_t i = 0; i < scan->table->n; i++)
                names[i] = scan->table->entries[i].option->name;
        if (n > 2 && n - 2 < sizeof(name)) {
                memcpy(name, word + 2, n - 2);
                nearest = find_synonym(name, names, scan->table->n) ?: nearest_word(name, names, scan->table->n);
        }

        if (word[1] >= '0' && word[1] <= '9')
                snprintf(scan->error, OPTION_ERROR_MAX,
                         "unknown option '%.*s' for '%s'; write -- before the first argument if it is a negative "
                         "number",
                         n < 60 ? (int)n : 60, word, scan->command);
        else
                snprintf(scan->error, OPTION_ERROR_MAX, "unknown option '%.*s' for '%s'%s%s%s", n < 60 ? (int)n : 60,
                         word, scan->command, nearest ? "; did you mean '--" : "", nearest ? nearest : "",
                         nearest ? "'?" : "");
        return OPTION_WRONG;
}

/* value: the text after "=" or after a letter; NULL: the value is the next word. */
static int option_scan_value(OptionScan *scan, const OptionEntry *entry, const char *value) {
        const Option *option = entry->option;

        assert(entry->base);
        if (option->argument && !value && scan->at < scan->n)
                value = scan->words[scan->at++];
        if (option->argument && !value) {
                snprintf(scan->error, OPTION_ERROR_MAX, "missing argument of --%s: --%s %s", option->name, option->name,
                         option->argument);
                return OPTION_WRONG;
        }
        if (!option->argument && value) {
                snprintf(scan->error, OPTION_ERROR_MAX, "--%s takes no argument", option->name);
                return OPTION_WRONG;
        }

        return option->parse(option, value, entry->base + entry->offset, scan->error);
}

/* Parses --name or --name=value. */
static int option_scan_name(OptionScan *scan, const char *word) {
        size_t n = strcspn(word, "=");
        const OptionEntry *entry = option_table_find(scan->table, word + 2, n - 2);

        return entry ? option_scan_value(scan, entry, word[n] == '=' ? word + n + 1 : NULL)
                     : option_scan_unknown(scan, word, n);
}

/* Parses -x, -xvalue or -xyz. */
static int option_scan_letters(OptionScan *scan, const char *word) {
        for (const char *letter = word + 1; *letter; letter++) {
                const OptionEntry *entry = option_table_find_letter(scan->table, *letter);
                int r;

                if (!entry)
                        return option_scan_unknown(scan, (char[]){ '-', *letter, '\0' }, 2);
                if (entry->option->argument)
                        return option_scan_value(scan, entry, letter[1] ? letter + 1 : NULL);

                r = option_scan_value(scan, entry, NULL);
                if (r != 0)
                        return r;
        }

        return 0;
}

int options_parse(const OptionTable *table, const char *command, int argc, char **argv, bool stop_early, Arguments *ret,
                  char ret_error[static OPTION_ERROR_MAX]) {
        OptionScan scan = { .table = table, .command = command, .words = argv, .n = argc, .at = 1, .error = ret_error };
        Arguments arguments = { .items = argv, .n_before_dashes = -1 };
        int r;

        while (scan.at < argc) {
                char *word = argv[scan.at++];

                if (strcmp(word, "--") == 0) {
                        arguments.n_before_dashes = arguments.n;
                        break;
                }
                if (word[0] == '-' && word[1] != '\0') {
                        r = word[1] == '-' ? option_scan_name(&scan, word) : option_scan_letters(&scan, word);
                        if (r != 0)
                                return r;
                        continue;
                }
                if (stop_early) {
                        scan.at--;
                        break;
                }
                argv[arguments.n++] = word;
        }

        while (scan.at < argc)
                argv[arguments.n++] = argv[scan.at++];

        assert(arguments.n < argc || argc == 0);
        argv[arguments.n] = NULL;
        *ret = arguments;
        return 0;
}
