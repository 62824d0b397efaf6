/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report_run.h"

#include <string.h>

#define NAMES_MAX 4U

typedef enum MemberKind {
        KIND_TEXT,
        KIND_COUNT, /* a whole number of at least 0 */
        KIND_NUMBER,
        KIND_LIST,
        KIND_OBJECT,
} MemberKind;

typedef struct Expected {
        const char *key;
        MemberKind kind;
        bool is_needed; /* must be present and not null */
} Expected;

static const Expected of_report[] = {
        { "name", KIND_TEXT, false },
        { "command", KIND_TEXT, false },
        { "note", KIND_TEXT, false },
        { "cgroup", KIND_TEXT, false },
        { "isolation", KIND_TEXT, false },
        { "uid", KIND_COUNT, false },
        { "rank", KIND_COUNT, false },
        { "ranks", KIND_COUNT, false },
        { "node_index", KIND_COUNT, false },
        { "nodes", KIND_COUNT, false },
        { "end_ms", KIND_COUNT, false },
        { "exit", KIND_OBJECT, false },
        { "limits", KIND_OBJECT, false },
        { "on", KIND_OBJECT, false },
        { "advice", KIND_LIST, false },
        { "phases", KIND_LIST, false },
        { "steps", KIND_LIST, false },
};
static const Expected of_node[] = {
        { "hostname", KIND_TEXT, false },
        { "cpus", KIND_NUMBER, false },
        { "memory_bytes", KIND_NUMBER, false },
        { "time_ms", KIND_COUNT, false },
};
static const Expected of_limits[] = {
        { "cpus", KIND_NUMBER, false },
        { "memory_bytes", KIND_NUMBER, false },
};
static const Expected of_exit[] = {
        { "status", KIND_COUNT, true },
        { "signal", KIND_COUNT, false },
};
static const Expected of_metric[] = {
        { "key", KIND_TEXT, true },
        { "value", KIND_NUMBER, true },
        { "unit", KIND_TEXT, false },
        { "quality", KIND_TEXT, false },
};
static const Expected of_step[] = {
        { "kind", KIND_TEXT, true },
        { "name", KIND_TEXT, false },
        { "cpu_seconds", KIND_NUMBER, false },
        { "memory_peak_bytes", KIND_NUMBER, false },
        { "read_bytes", KIND_NUMBER, false },
        { "written_bytes", KIND_NUMBER, false },
};
static const Expected of_advice[] = {
        { "rule", KIND_TEXT, true },
        { "text", KIND_TEXT, true },
};

static bool is_of_kind(const Value *value, MemberKind kind) {
        switch (kind) {
        case KIND_TEXT:
                return value->type == VALUE_STRING;
        case KIND_COUNT:
                return value->type == VALUE_INT && value->integer >= 0;
        case KIND_NUMBER:
                return value_is_number(value);
        case KIND_LIST:
                return value->type == VALUE_LIST;
        case KIND_OBJECT:
                return value->type == VALUE_OBJECT;
        }

        return false;
}

typedef struct ReportCheck {
        Buffer *names;
        size_t n;
} ReportCheck;

static void add_invalid(ReportCheck *check, const char *before, const char *key) {
        if (check->n < NAMES_MAX)
                buffer_printf(check->names, "%s%s%s", check->n > 0 ? ", " : "", before, key);
        check->n++;
}

/* Checks the object `value`, whose path in the report is `before`: "", "on.", "metrics[3].". */
static void check_object(ReportCheck *check, const Value *value, const char *before, const Expected *members,
                         size_t n) {
        for (size_t i = 0; i < n; i++) {
                const Value *member = value_get(value, members[i].key);
                bool is_there = member && member->type != VALUE_NULL;

                if (is_there ? !is_of_kind(member, members[i].kind) : members[i].is_needed)
                        add_invalid(check, before, members[i].key);
        }
}

/* A member that is not an object has already been reported. */
static void check_member(ReportCheck *check, const Value *report, const char *key, const Expected *members, size_t n) {
        const Value *value = value_get(report, key);
        char before[32];

        (void)snprintf(before, sizeof(before), "%s.", key);
        if (value && value->type == VALUE_OBJECT)
                check_object(check, value, before, members, n);
}

static void check_list(ReportCheck *check, const Value *report, const char *key, const Expected *members, size_t n) {
        const Value *list = value_get(report, key);
        char before[48];

        for (size_t i = 0; list && list->type == VALUE_LIST && i < list->n_items; i++) {
                (void)snprintf(before, sizeof(before), "%s[%zu]", key, i);
                if (list->items[i].type != VALUE_OBJECT) {
                        add_invalid(check, before, "");
                        continue;
                }
                strcat(before, ".");
                check_object(check, &list->items[i], before, members, n);
        }
}

size_t report_run_check(const Value *report, Buffer *ret) {
        ReportCheck check = { .names = ret };

        check_object(&check, report, "", of_report, N_ELEMENTS(of_report));
        check_member(&check, report, "on", of_node, N_ELEMENTS(of_node));
        check_member(&check, report, "limits", of_limits, N_ELEMENTS(of_limits));
        check_member(&check, report, "exit", of_exit, N_ELEMENTS(of_exit));
        check_list(&check, report, "metrics", of_metric, N_ELEMENTS(of_metric));
        check_list(&check, report, "advice", of_advice, N_ELEMENTS(of_advice));
        check_list(&check, report, "phases", NULL, 0);
        check_list(&check, report, "steps", of_step, N_ELEMENTS(of_step));
        if (check.n > NAMES_MAX)
                buffer_printf(ret, " and %zu more", check.n - NAMES_MAX);
        return check.n;
}
