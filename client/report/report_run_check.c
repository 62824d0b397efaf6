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

static const struct {
        const char *of; /* the object or list of objects with the member; NULL: the report */
        const char *key;
        MemberKind kind;
        bool is_needed; /* must be present and not null */
} members[] = {
        { NULL, "name", KIND_TEXT, false },
        { NULL, "command", KIND_TEXT, false },
        { NULL, "note", KIND_TEXT, false },
        { NULL, "cgroup", KIND_TEXT, false },
        { NULL, "isolation", KIND_TEXT, false },
        { NULL, "uid", KIND_COUNT, false },
        { NULL, "rank", KIND_COUNT, false },
        { NULL, "ranks", KIND_COUNT, false },
        { NULL, "node_index", KIND_COUNT, false },
        { NULL, "nodes", KIND_COUNT, false },
        { NULL, "end_ms", KIND_COUNT, false },
        { NULL, "exit", KIND_OBJECT, false },
        { NULL, "limits", KIND_OBJECT, false },
        { NULL, "on", KIND_OBJECT, false },
        { NULL, "advice", KIND_LIST, false },
        { NULL, "phases", KIND_LIST, false },
        { NULL, "steps", KIND_LIST, false },
        { NULL, "gpus", KIND_LIST, false },
        { "on", "hostname", KIND_TEXT, false },
        { "on", "cpus", KIND_NUMBER, false },
        { "on", "memory_bytes", KIND_NUMBER, false },
        { "on", "time_ms", KIND_COUNT, false },
        { "limits", "cpus", KIND_NUMBER, false },
        { "limits", "memory_bytes", KIND_NUMBER, false },
        { "exit", "status", KIND_COUNT, true },
        { "exit", "signal", KIND_COUNT, false },
        { "metrics", "key", KIND_TEXT, true },
        { "metrics", "value", KIND_NUMBER, true },
        { "metrics", "unit", KIND_TEXT, false },
        { "metrics", "quality", KIND_TEXT, false },
        { "steps", "kind", KIND_TEXT, true },
        { "steps", "name", KIND_TEXT, false },
        { "steps", "cpu_seconds", KIND_NUMBER, false },
        { "steps", "memory_peak_bytes", KIND_NUMBER, false },
        { "steps", "read_bytes", KIND_NUMBER, false },
        { "steps", "written_bytes", KIND_NUMBER, false },
        { "gpus", "gpu", KIND_TEXT, false },
        { "gpus", "uuid", KIND_TEXT, false },
        { "gpus", "seconds", KIND_NUMBER, false },
        { "gpus", "utilization", KIND_NUMBER, false },
        { "gpus", "energy_joules", KIND_NUMBER, false },
        { "advice", "rule", KIND_TEXT, true },
        { "advice", "text", KIND_TEXT, true },
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

/* Checks an object of the report, whose path in it is `before`: "", "on.", "metrics[3].". */
static void check_object(ReportCheck *check, const Value *value, const char *of, const char *before) {
        for (size_t i = 0; i < N_ELEMENTS(members); i++) {
                const Value *member = value_get(value, members[i].key);
                bool is_there = member && member->type != VALUE_NULL;

                if (strcmp(members[i].of ?: "", of) == 0 &&
                    (is_there ? !is_of_kind(member, members[i].kind) : members[i].is_needed))
                        add_invalid(check, before, members[i].key);
        }
}

/* A member of another type has already been reported. */
static void check_inner(ReportCheck *check, const Value *report, const char *key) {
        const Value *value = value_get(report, key);
        char before[48];

        (void)snprintf(before, sizeof(before), "%s.", key);
        if (value && value->type == VALUE_OBJECT)
                check_object(check, value, key, before);
        for (size_t i = 0; value && value->type == VALUE_LIST && i < value->n_items; i++) {
                bool is_object = value->items[i].type == VALUE_OBJECT;

                (void)snprintf(before, sizeof(before), "%s[%zu]%s", key, i, is_object ? "." : "");
                if (is_object)
                        check_object(check, &value->items[i], key, before);
                else
                        add_invalid(check, before, "");
        }
}

size_t report_run_check(const Value *report, Buffer *ret) {
        static const char *const inner[] = { "on", "limits", "exit", "metrics", "advice", "phases", "steps", "gpus" };
        ReportCheck check = { .names = ret };

        check_object(&check, report, "", "");
        for (size_t i = 0; i < N_ELEMENTS(inner); i++)
                check_inner(&check, report, inner[i]);
        if (check.n > NAMES_MAX)
                buffer_printf(ret, " and %zu more", check.n - NAMES_MAX);
        return check.n;
}
