/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kpi/kpi_gate.h"

#include <string.h>

#include "client/api/answer.h"
#include "client/cli/command.h"
#include "util/parse.h"

#define ROUNDING 1e-9 /* 0.29 * 100 is below 29 */

const Option kpi_gate_options[] = {
        { "judge", 0, NULL, "Print the verdicts about the stored KPIs on standard error", OPTION_FLAG(KpiGateOptions, judge) },
        OPTION_ROW_FAIL_ON(KpiGateOptions, gate.fail_on, NULL),
        {},
};

/* A word of --fail-on, and the verdicts it stands for. */
typedef struct FailWord {
        const char *word;
        unsigned verdicts; /* a bit for each JudgeVerdict */
        int status;
} FailWord;

static const FailWord fail_words[] = {
        { "regression", 1U << JUDGE_REGRESSION, EXIT_REGRESSED },
        { "improvement", 1U << JUDGE_IMPROVEMENT | 1U << JUDGE_RETURNED, EXIT_REGRESSED },
        { "changed", 1U << JUDGE_CHANGED, EXIT_REGRESSED },
        { "no-verdict", 1U << JUDGE_UNKNOWN | 1U << JUDGE_RUN_AGAIN, EXIT_NO_VERDICT },
};

static const FailWord *find_word(const char *text, size_t n) {
        for (size_t i = 0; i < N_ELEMENTS(fail_words); i++)
                if (strlen(fail_words[i].word) == n && memcmp(fail_words[i].word, text, n) == 0)
                        return &fail_words[i];
        return NULL;
}

/* Returns the text after the next comma; NULL at the end. */
static const char *next_word(const char *text) {
        size_t n = strcspn(text, ",");

        return text[n] ? &text[n + 1] : NULL;
}

/* Reads 3 as a number, and 5% as a share of 0.05. Returns false if it is neither. */
static bool read_allowance(const char *text, double *ret_number, double *ret_share) {
        size_t n = strlen(text);
        bool is_share = n > 1 && n < 32 && text[n - 1] == '%';
        char number[32] = "";
        double value;

        if (n >= sizeof(number))
                return false;
        memcpy(number, text, is_share ? n - 1 : n);
        if (parse_double(number, &value) != 0 || !(value >= 0) || value > (is_share ? 100 : 1e9))
                return false;
        *ret_number = is_share ? 0 : value;
        *ret_share = is_share ? value / 100 : 0;
        return true;
}

int kpi_gate_check(const KpiGate *gate, const char *command) {
        double unused;

        for (const char *p = gate->fail_on; p; p = next_word(p)) {
                size_t n = strcspn(p, ",");

                if (!find_word(p, n) && strcmp(gate->fail_on, "none") != 0)
                        return command_refuse(
                                command,
                                "--fail-on expects a list of regression, improvement, changed and no-verdict, or "
                                "none, not '%.80s'",
                                gate->fail_on);
        }
        if (gate->allow_failures && !read_allowance(gate->allow_failures, &unused, &unused))
                return command_refuse(command,
                                      "--allow-failures expects a number of KPIs, or a share such as 5%%, not '%.80s'",
                                      gate->allow_failures);
        return EXIT_DONE;
}

int kpi_gate_check_options(const KpiGateOptions *options, const char *command) {
        if (options->gate.fail_on && !options->judge)
                return command_refuse(command, "--fail-on requires --judge");
        return kpi_gate_check(&options->gate, command);
}

static JudgeVerdict find_verdict(const char *name) {
        for (JudgeVerdict i = 0; i < N_JUDGE_VERDICTS; i++)
                if (strcmp(judge_verdict_names[i], name) == 0)
                        return i;
        return JUDGE_UNKNOWN;
}

void kpi_gate_count(KpiTally *tally, const Value *kpi) {
        tally->n[find_verdict(answer_text(kpi, "verdict"))]++;
        tally->n_all++;
}

/* A change takes precedence over a missing verdict. */
int kpi_gate_status(const KpiGate *gate, const KpiTally *tally) {
        double number = 0, share = 0;
        size_t n_failed = 0, n_open = 0;
        bool wants_verdicts = false;

        for (const char *p = gate->fail_on; p; p = next_word(p)) {
                const FailWord *word = find_word(p, strcspn(p, ","));

                for (JudgeVerdict i = 0; word && i < N_JUDGE_VERDICTS; i++)
                        if (word->verdicts & 1U << i)
                                *(word->status == EXIT_REGRESSED ? &n_failed : &n_open) += tally->n[i];
                wants_verdicts |= word && word->status == EXIT_NO_VERDICT;
        }
        if (gate->allow_failures)
                (void)read_allowance(gate->allow_failures, &number, &share);
        if ((double)n_failed > number + share * (double)tally->n_all + ROUNDING)
                return EXIT_REGRESSED;
        return n_open > 0 || (wants_verdicts && tally->n_all == 0) ? EXIT_NO_VERDICT : EXIT_DONE;
}

void kpi_gate_put(const KpiTally *tally, Buffer *out) {
        bool is_first = true;

        for (JudgeVerdict i = 0; i < N_JUDGE_VERDICTS; i++) {
                if (tally->n[i] > 0)
                        buffer_printf(out, "%s%zu %s", is_first ? "" : ", ", tally->n[i], judge_verdict_names[i]);
                is_first &= tally->n[i] == 0;
        }
}
