/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kpi/kpi_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/api/answer.h"
#include "client/kpi/profile_report.h"
#include "client/wire/user.h"
#include "json/json.h"

/* --- text ----------------------------------------------------------------------------------------- */

void kpi_report_put_labels(const Value *kpi, Buffer *out) {
        const Value *labels = value_get(kpi, "labels"), *parameters = value_get(labels, "parameters");

        buffer_puts(out, answer_text(labels, "component"));
        for (size_t i = 0; i < answer_n_members(parameters); i++) {
                const Value *value = &parameters->members[i].value;
                Json json = { .out = out };

                buffer_printf(out, "%s%s=", out->n > 0 ? " " : "", parameters->members[i].key);
                if (value->type == VALUE_STRING)
                        buffer_puts(out, value->string);
                else
                        value_write_json(value, &json);
        }
}

static void put_change(const Value *kpi, Buffer *out) {
        double relative = answer_number(kpi, "relative_change"), low = answer_number(kpi, "low"), high = answer_number(kpi, "high");

        if (isfinite(relative))
                buffer_printf(out, ": %+.1f %%", 100 * relative);
        if (isfinite(low) && isfinite(high))
                buffer_printf(out, " (%+.1f to %+.1f %%)", 100 * low, 100 * high);
        if (*answer_text(kpi, "since_version"))
                buffer_printf(out, " since %s", answer_text(kpi, "since_version"));
}

void kpi_report_user(const Value *accepted, char ret[static TEXT_MAX]) {
        double uid = answer_number(accepted, "uid");

        (void)snprintf(ret, TEXT_MAX, "uid %.0f", uid);
        if (uid >= 0 && uid < UINT32_MAX)
                user_name_find((uid_t)uid, ret, TEXT_MAX);
}

/* Writes "; level of 2.11.0 accepted by ada on 2026-11-23 16:10:00: slower, but exact". */
static void put_accepted(const Value *accepted, Buffer *out) {
        const char *version = answer_text(accepted, "version"), *note = answer_text(accepted, "note");
        char user[TEXT_MAX], time[TEXT_MAX];

        if (!accepted || accepted->type != VALUE_OBJECT)
                return;
        kpi_report_user(accepted, user);
        text_time(answer_time(accepted, "time_ms"), time);
        buffer_printf(out, "; level%s%s accepted by %s on %s%s%s", *version ? " of " : "", version, user, time, *note ? ": " : "", note);
}

void kpi_report_put_reason(const Value *kpi, Buffer *out) {
        const char *verdict = answer_text(kpi, "verdict");
        double smallest = answer_number(kpi, "smallest_change"), n_needed = answer_number_or_zero(kpi, "runs_needed");

        buffer_puts(out, verdict);
        if (strcmp(verdict, "inline") != 0 && strcmp(verdict, "unknown") != 0)
                put_change(kpi, out);
        else if (isfinite(smallest))
                buffer_printf(out, ": a change of %.1f %% would be detected", 100 * smallest);
        if (n_needed > 0)
                buffer_printf(out, "%s %.0f more runs are needed", strcmp(verdict, "unknown") == 0 ? ":" : ";", n_needed);
        if (strcmp(verdict, "rerun") == 0)
                profile_report_put_disturbance(kpi, out);
        put_accepted(value_get(kpi, "accepted"), out);
}

/* --- YAML ----------------------------------------------------------------------------------------- */

static void put_node(Buffer *out, const Value *value, unsigned depth, bool is_quoted);

/* Strings of JSON are strings of YAML. */
static void put_scalar(Buffer *out, const Value *value) {
        Json json = { .out = out };

        value_write_json(value, &json);
        buffer_putc(out, '\n');
}

/* is_quoted: the keys are names given by users, which may be "yes". */
static void put_members(Buffer *out, const Value *object, unsigned depth, bool is_quoted) {
        for (size_t i = 0; i < object->n_members; i++) {
                const Member *member = &object->members[i];

                buffer_printf(out, "%*s", i > 0 ? (int)(2 * depth) : 0, "");
                if (is_quoted) {
                        Json json = { .out = out };

                        json_string(&json, member->key);
                } else
                        buffer_puts(out, member->key);
                buffer_putc(out, ':');
                put_node(out, &member->value, depth + 1, is_quoted || strcmp(member->key, "parameters") == 0);
        }
}

/* Writes the value after "KEY:". */
static void put_node(Buffer *out, const Value *value, unsigned depth, bool is_quoted) {
        bool is_list = value->type == VALUE_LIST && value->n_items > 0;

        if (!is_list && !(value->type == VALUE_OBJECT && value->n_members > 0)) {
                buffer_putc(out, ' ');
                put_scalar(out, value);
                return;
        }
        buffer_putc(out, '\n');
        if (!is_list) {
                buffer_printf(out, "%*s", (int)(2 * depth), "");
                put_members(out, value, depth, is_quoted);
                return;
        }
        for (size_t i = 0; i < value->n_items; i++) {
                const Value *item = &value->items[i];

                buffer_printf(out, "%*s- ", (int)(2 * depth), "");
                if (item->type == VALUE_OBJECT && item->n_members > 0)
                        put_members(out, item, depth + 1, is_quoted);
                else
                        put_scalar(out, item);
        }
}

void kpi_report_put_yaml(const Value *answer, Buffer *out) {
        put_members(out, answer, 0, false);
}

/* --- JUnit ---------------------------------------------------------------------------------------- */

/* XML has no form for control characters. */
static void put_xml(Buffer *out, const char *text) {
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;

                if (c == '<' || c == '>' || c == '&' || c == '"')
                        buffer_printf(out, "&#%u;", c);
                else
                        buffer_putc(out, c < 0x20 || c == 0x7f ? '?' : (char)c);
        }
}

static bool has_verdict(const Value *kpi, const char *a, const char *b) {
        const char *verdict = answer_text(kpi, "verdict");

        return strcmp(verdict, a) == 0 || strcmp(verdict, b) == 0;
}

static void put_case(Buffer *out, const Value *kpi) {
        scoped(buffer_deinit) Buffer labels = {}, reason = {};
        bool is_failed = has_verdict(kpi, "regression", "changed"), is_skipped = has_verdict(kpi, "rerun", "unknown");

        kpi_report_put_labels(kpi, &labels);
        kpi_report_put_reason(kpi, &reason);
        buffer_puts(out, "  <testcase classname=\"");
        put_xml(out, answer_text(kpi, "kpi"));
        buffer_puts(out, "\" name=\"");
        put_xml(out, labels.text ?: "");
        buffer_puts(out, "\"");
        if (!is_failed && !is_skipped) {
                buffer_puts(out, "/>\n");
                return;
        }
        buffer_printf(out, "><%s message=\"", is_failed ? "failure" : "skipped");
        put_xml(out, reason.text ?: "");
        buffer_puts(out, "\"/></testcase>\n");
}

void kpi_report_put_junit(const Value *answer, Buffer *out) {
        const Value *counts = value_get(answer, "counts"), *kpis = value_get(answer, "kpis");

        buffer_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                           " <testsuite name=\"perfctl kpi regress\" tests=\"%zu\" failures=\"%.0f\" errors=\"0\" skipped=\"%.0f\">\n",
                      answer_length(kpis), answer_number_or_zero(counts, "regression") + answer_number_or_zero(counts, "changed"),
                      answer_number_or_zero(counts, "rerun") + answer_number_or_zero(counts, "unknown"));
        for (size_t i = 0; i < answer_length(kpis); i++)
                put_case(out, &kpis->items[i]);
        buffer_puts(out, " </testsuite>\n</testsuites>\n");
}
