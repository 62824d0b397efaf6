/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kpi/kpi_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/judge.h"
#include "client/api/answer.h"
#include "client/wire/user.h"
#include "document/indicator_model.h"

#define SHARE_DIFFERENCE_MIN 0.05 /* less is not worth a line */
#define RATIO_MIN            1.1

void kpi_report_put_labels(const Value *kpi, Buffer *out) {
        const Value *labels = value_get(kpi, "labels");

        kpi_report_put_set(answer_text(labels, "component"), value_get(labels, "parameters"), out);
}

void kpi_report_put_set(const char *component, const Value *parameters, Buffer *out) {
        if (strcmp(component, KPI_COMPONENT) != 0)
                buffer_puts(out, component);
        for (size_t i = 0; i < answer_n_members(parameters); i++) {
                buffer_printf(out, "%s%s=", out->n > 0 ? " " : "", parameters->members[i].key);
                answer_put_value(out, &parameters->members[i].value);
        }
}

void kpi_report_put_name(const Value *kpi, Buffer *out) {
        scoped(buffer_deinit) Buffer labels = {};

        kpi_report_put_labels(kpi, &labels);
        buffer_puts(out, answer_text(kpi, "kpi"));
        if (labels.n > 0)
                buffer_printf(out, " of %s", labels.text);
}

/* --- state of the machine ------------------------------------------------------------------------- */

typedef enum ProfileUnit {
        PROFILE_SHARE,
        PROFILE_CPUS,
        PROFILE_BYTES,
        PROFILE_RATE,
} ProfileUnit;

/* Text around a number of the answer. */
typedef struct ProfileText {
        const char *name, *before, *behind;
        ProfileUnit unit;
} ProfileText;

static const ProfileText texts[] = {
        { "cpus_used", "the job used ", " CPUs", PROFILE_CPUS },
        { "cpu_waited_share", "the job waited for a CPU ", " of the time", PROFILE_SHARE },
        { "throttled_share", "the job was throttled in ", " of the periods", PROFILE_SHARE },
        { "others_cpu_share", "other processes used ", " of the CPUs", PROFILE_SHARE },
        { "steal_share", "the hypervisor took ", " of the CPU time", PROFILE_SHARE },
        { "io_stalled_share", "the node was stalled for I/O ", " of the time", PROFILE_SHARE },
        { "memory_stalled_share", "the node waited for memory ", " of the time", PROFILE_SHARE },
        { "io_bytes_per_second", "the job read and wrote ", "", PROFILE_RATE },
        { "memory_bytes", "the memory peak of the job was ", "", PROFILE_BYTES },
};

static const ProfileText *find_text(const Value *number) {
        const char *name = answer_text(number, "name");

        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                if (strcmp(texts[i].name, name) == 0)
                        return &texts[i];
        return NULL;
}

static void put_profile_value(ProfileUnit unit, double value, Buffer *out) {
        char text[TEXT_MAX];

        switch (unit) {
        case PROFILE_SHARE:
                buffer_printf(out, "%.0f %%", 100 * value);
                break;
        case PROFILE_CPUS:
                buffer_printf(out, "%.2f", value);
                break;
        case PROFILE_BYTES:
        case PROFILE_RATE:
                text_mib(value / 1048576, text);
                buffer_printf(out, "%s%s", text, unit == PROFILE_RATE ? "/s" : "");
                break;
        }
}

static void put_number(const Value *number, const ProfileText *text, Buffer *out) {
        buffer_puts(out, text->before);
        put_profile_value(text->unit, answer_number(number, "value"), out);
        buffer_printf(out, "%s (", text->behind);
        put_profile_value(text->unit, answer_number(number, "before"), out);
        buffer_puts(out, " before)");
}

/* Writes "; the machine was disturbed: the node was stalled for I/O 60 % of the time (2 % before)"; nothing if it
 * was not. */
static void put_disturbance(const Value *kpi, Buffer *out) {
        const Value *numbers = value_get(value_get_given(kpi, "profile"), "numbers");
        size_t n = 0;

        for (size_t i = 0; i < answer_length(numbers); i++) {
                const ProfileText *text = find_text(&numbers->items[i]);

                if (!text || !answer_flag(&numbers->items[i], "is_disturbance"))
                        continue;
                buffer_puts(out, n++ == 0 ? "; the machine was disturbed: " : ", ");
                put_number(&numbers->items[i], text, out);
        }
}

static bool differs(const Value *number, const ProfileText *text) {
        double value = answer_number(number, "value"), before = answer_number(number, "before");

        if (text->unit == PROFILE_SHARE)
                return fabs(value - before) >= SHARE_DIFFERENCE_MIN;
        return value > RATIO_MIN * before || before > RATIO_MIN * value;
}

static void put_fact(const Value *fact, const char *member, Buffer *out) {
        const Value *value = value_get(fact, member);

        if (value)
                answer_put_value(out, value);
}

/* A software stack is named by the first digits of its digest, as `perfctl stack show` accepts them. */
static void put_difference(const Value *fact, Buffer *out) {
        const char *key = answer_text(fact, "key");

        if (strcmp(key, "stack") == 0) {
                buffer_printf(out, "the software stack (perfctl stack diff %.12s %.12s)", answer_text(fact, "before"),
                              answer_text(fact, "value"));
                return;
        }
        buffer_printf(out, "%s ", key);
        put_fact(fact, "value", out);
        buffer_puts(out, " (");
        put_fact(fact, "before", out);
        buffer_puts(out, " before)");
}

/* Writes the numbers and facts that clearly differ from those of the runs before; nothing if none differs. */
static void put_profile(const Value *kpi, Buffer *out) {
        const Value *profile = value_get_given(kpi, "profile"), *numbers = value_get(profile, "numbers");
        const Value *facts = value_get(profile, "differs");
        size_t n = 0;

        for (size_t i = 0; i < answer_length(numbers); i++) {
                const ProfileText *text = find_text(&numbers->items[i]);

                if (!text || answer_flag(&numbers->items[i], "is_disturbance") || !differs(&numbers->items[i], text))
                        continue;
                buffer_puts(out, n++ == 0 ? "  beside: " : "; ");
                put_number(&numbers->items[i], text, out);
        }
        for (size_t i = 0; i < answer_length(facts); i++) {
                buffer_puts(out, i > 0 ? ", " : n > 0 ? "; different: " : "  different: ");
                put_difference(&facts->items[i], out);
        }
}

/* --- verdict -------------------------------------------------------------------------------------- */

static bool has_verdict(const Value *kpi, JudgeVerdict verdict) {
        return strcmp(answer_text(kpi, "verdict"), judge_verdict_names[verdict]) == 0;
}

/* Writes the version of a level or, without a version, the time of its first run. False: there is no such level. */
static bool put_level(const Value *kpi, const char *version, const char *time_ms, Buffer *out) {
        uint64_t time = answer_time(kpi, time_ms);
        char text[TEXT_MAX];

        if (*answer_text(kpi, version)) {
                buffer_puts(out, answer_text(kpi, version));
                return true;
        }
        text_time(time, text);
        if (time > 0)
                buffer_puts(out, text);
        return time > 0;
}

bool kpi_report_put_since(const Value *kpi, Buffer *out) {
        return put_level(kpi, "since_version", "since_ms", out);
}

void kpi_report_put_verdict(const Value *kpi, Buffer *out) {
        scoped(buffer_deinit) Buffer level = {};
        bool is_better = has_verdict(kpi, JUDGE_RETURNED);

        buffer_puts(out, is_better ? "back" : answer_text(kpi, "verdict"));
        if (has_verdict(kpi, JUDGE_RUN_AGAIN))
                buffer_printf(out, ": %.0f more", answer_number_or_zero(kpi, "runs_needed"));
        else if (put_level(kpi, "back_to_version", "back_to_ms", &level))
                buffer_printf(out, " %s the level of %s", is_better ? "at" : "to", level.text ?: "");
        if (value_get(kpi, "mixture"))
                buffer_printf(out, ": differs by label %s", answer_text(value_get(kpi, "mixture"), "label"));
}

void kpi_report_put_detectable(const Value *kpi, Buffer *out) {
        double smallest = answer_number(kpi, "smallest_change"), n = answer_number_or_zero(kpi, "smallest_change_runs");

        if (smallest > 10)
                buffer_puts(out, "over 1000 %");
        else if (isfinite(smallest))
                buffer_printf(out, "%.1f %% in %.0f run%s", 100 * smallest, n, n == 1 ? "" : "s");
}

void kpi_report_put_runs(const Value *kpi, bool has_word, Buffer *out) {
        double n = answer_number_or_zero(kpi, "runs"), n_repeats = answer_number_or_zero(kpi, "repeats");

        buffer_printf(out, "%.0f%s", n, !has_word ? "" : n == 1 ? " run" : " runs");
        if (n_repeats > n)
                buffer_printf(out, " (%.0f repeats)", n_repeats);
}

static void put_change(const Value *kpi, Buffer *out) {
        scoped(buffer_deinit) Buffer since = {};
        double relative = answer_number(kpi, "relative_change"), low = answer_number(kpi, "low"),
               high = answer_number(kpi, "high");

        if (isfinite(relative))
                buffer_printf(out, ": %+.1f %%", 100 * relative);
        if (isfinite(low) && isfinite(high))
                buffer_printf(out, " (%+.1f to %+.1f %%)", 100 * low, 100 * high);
        if (kpi_report_put_since(kpi, &since))
                buffer_printf(out, " since %s", since.text ?: "");
}

void kpi_report_write_separating(Screen *screen, const Value *keys) {
        scoped(buffer_deinit) Buffer list = {};

        for (size_t i = 0; i < answer_length(keys); i++)
                if (keys->items[i].type == VALUE_STRING)
                        buffer_printf(&list, "%s%s", list.n > 0 ? "," : "", keys->items[i].string);
        if (list.n > 0)
                screen_line(screen, "Each history has one run, as the runs of a KPI differ in %s. --ignore %s compares "
                            "them; --by names those of the keys that are versions.", list.text, list.text);
}

void kpi_report_user(const Value *accepted, char ret[static TEXT_MAX]) {
        double uid = answer_number(accepted, "uid");

        (void)snprintf(ret, TEXT_MAX, "uid %.0f", uid);
        if (uid >= 0 && uid < UINT32_MAX)
                user_name_find((uid_t)uid, ret, TEXT_MAX);
}

/* Writes "; baseline: level of 2.11.0, accepted by ada on 2026-11-23 16:10:00: slower, but exact". */
static void put_accepted(const Value *accepted, Buffer *out) {
        const char *version = answer_text(accepted, "version"), *note = answer_text(accepted, "note");
        char user[TEXT_MAX], time[TEXT_MAX];

        if (!accepted || accepted->type != VALUE_OBJECT)
                return;
        kpi_report_user(accepted, user);
        text_time(answer_time(accepted, "time_ms"), time);
        buffer_printf(out, "; baseline: level%s%s, accepted by %s on %s%s%s", *version ? " of " : "", version, user,
                      time, *note ? ": " : "", note);
}

/* Users choose labels: a line that others copy into a shell must not have another meaning there. */
static bool is_word(const char *text) {
        return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.:/@")] == '\0';
}

/* Writes " (a 100, b 200); -w label.site=a judges one of them, …". */
static void put_mixture(const Value *mixture, Buffer *out) {
        const Value *groups = value_get(mixture, "groups"), *last = NULL;
        const char *label = answer_text(mixture, "label");
        scoped(buffer_deinit) Buffer one = {};

        for (size_t i = 0; i < answer_length(groups); i++) {
                const Value *value = value_get_given(&groups->items[i], "value");
                char median[TEXT_MAX];

                text_figure(answer_number(&groups->items[i], "median"), median);
                buffer_puts(out, i == 0 ? " (" : ", ");
                if (value)
                        answer_put_value(out, value);
                buffer_printf(out, "%s %s", value ? "" : "without it", median);
                last = value ?: last;
        }
        buffer_putc(out, ')');
        if (last)
                answer_put_value(&one, last);
        if (is_word(label) && one.text && is_word(one.text))
                buffer_printf(out, "; -w 'label.%s=%s' judges one of them, --ignore %s all together; submit it as "
                              "--parameter %s=... to have a history for each", label, one.text, label, label);
}

/* Writes ": only 3 runs came before: +50.3 % since 2.1.0 (needs 4 more runs)". */
static void put_unknown(const Value *kpi, Buffer *out) {
        double n_before = answer_number_or_zero(kpi, "runs_before"), n = answer_number_or_zero(kpi, "runs"),
               n_needed = answer_number_or_zero(kpi, "runs_needed");
        bool is_noisy = n_before == 0 && answer_number(kpi, "smallest_change") > SHIFT_SMALLEST_MAX;

        if (n_before > 0 && n_needed > 0)
                buffer_printf(out, ": only %.0f run%s came before", n_before, n_before == 1 ? "" : "s");
        else if (n_before > 0)
                buffer_puts(out, ": changed within the version, run the one before again");
        if (n_before > 0)
                put_change(kpi, out);
        else if (is_noisy)
                buffer_printf(out, ": the runs vary so much that a change of %.0f %% would not be seen",
                              100 * SHIFT_SMALLEST_MAX);
        else if (n_needed > 0)
                buffer_printf(out, ": only %.0f run%s", n, n == 1 ? "" : "s");
        if (n_needed > 0)
                buffer_printf(out, " (needs %s%.0f more run%s%s)", is_noisy ? "at least " : "", n_needed,
                              n_needed == 1 ? "" : "s", n_before == 1 ? " of the version before" : "");
}

/* Says what "no change" does not exclude. */
static void put_unseen(const Value *kpi, Buffer *out) {
        double smallest = answer_number(kpi, "smallest_change"), relative = answer_number(kpi, "relative_change");

        if (!isfinite(smallest))
                return;
        buffer_printf(out, ": changes below %.1f %% would not be seen in %.0f runs", 100 * smallest,
                      answer_number_or_zero(kpi, "smallest_change_runs"));
        if (fabs(relative) > smallest)
                buffer_printf(out, "; the newest run differs by %+.1f %%, as runs before did", 100 * relative);
}

void kpi_report_put_reason(const Value *kpi, Buffer *out) {
        kpi_report_put_verdict(kpi, out);
        if (value_get(kpi, "mixture"))
                put_mixture(value_get(kpi, "mixture"), out);
        else if (has_verdict(kpi, JUDGE_UNKNOWN))
                put_unknown(kpi, out);
        else if (has_verdict(kpi, JUDGE_NO_CHANGE))
                put_unseen(kpi, out);
        else
                put_change(kpi, out);
        if (has_verdict(kpi, JUDGE_RUN_AGAIN) || has_verdict(kpi, JUDGE_UNKNOWN))
                put_disturbance(kpi, out);
        put_accepted(value_get(kpi, "accepted"), out);
}

/* --- details -------------------------------------------------------------------------------------- */

/* Writes "812.3 GFLOP/s at 2.4.0, higher is better; 30 runs of 6 versions". */
static void put_value(const Value *kpi, Buffer *out) {
        const char *unit = answer_text(kpi, "unit"), *version = answer_text(kpi, "version"),
                   *direction = answer_text(kpi, "direction");
        double n_versions = answer_number_or_zero(kpi, "versions");
        char value[TEXT_MAX];

        text_figure(answer_number(kpi, "value"), value);
        buffer_printf(out, "  %s%s%s", value, *unit ? " " : "", unit);
        if (answer_number_or_zero(kpi, "values") > 1)
                buffer_printf(out, " (median of %.0f values)", answer_number_or_zero(kpi, "values"));
        buffer_printf(out, "%s%s", *version ? " at " : "", version);
        if (strcmp(direction, "none") != 0)
                buffer_printf(out, ", %s is better", direction);
        buffer_puts(out, "; ");
        kpi_report_put_runs(kpi, true, out);
        if (*version || n_versions > 1)
                buffer_printf(out, " of %.0f version%s", n_versions, n_versions == 1 ? "" : "s");
}

static void put_excluded(const Value *kpi, Buffer *out) {
        static const struct {
                const char *member, *text;
        } parts[] = {
                { "failed", "failed" },
                { "later", "of later versions" },
                { "older", "older than the compared runs" },
                { "accepted", "before the baseline" },
        };
        const Value *excluded = value_get(kpi, "excluded");
        size_t n = 0;

        for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
                double n_runs = answer_number_or_zero(excluded, parts[i].member);

                if (n_runs > 0)
                        buffer_printf(out, "%s%.0f run%s %s", n++ == 0 ? "  " : ", ", n_runs, n_runs == 1 ? "" : "s",
                                      parts[i].text);
        }
        buffer_puts(out, n > 0 ? " ignored" : "");
}

static void put_verdict(const Value *kpi, Buffer *out) {
        buffer_puts(out, "  ");
        kpi_report_put_reason(kpi, out);
}

void kpi_report_write_details(Screen *screen, const Value *kpi) {
        static void (*const parts[])(const Value *kpi, Buffer *out) = { kpi_report_put_name, put_value, put_verdict,
                                                                        put_profile, put_excluded };

        for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
                scoped(buffer_deinit) Buffer text = {};

                parts[i](kpi, &text);
                if (text.n > 0)
                        screen_line(screen, "%s", text.text ?: "");
        }
}
