/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/missing_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_NAME_MAX 256U
#define EXPANDED_MAX (1U << 20)
#define NAMES_SHOWN 8U

/* Appends the names that an element without a comma outside of brackets stands for, each behind `before`. */
static bool expand_element(const char *before, const char *rest, size_t n, Buffer *ret) {
        const char *open = memchr(rest, '[', n), *close = open ? memchr(open, ']', (size_t)(rest + n - open)) : NULL;
        char name[NODE_NAME_MAX];

        if (!open) {
                buffer_printf(ret, "%s%.*s\n", before, (int)n, rest);
                return ret->n <= EXPANDED_MAX;
        }
        for (const char *p = open; close && *p != ']';) {
                char *end;
                unsigned long first = strtoul(p + 1, &end, 10), last = first;
                int width = (int)(end - p - 1);

                if (*end == '-')
                        last = strtoul(end + 1, &end, 10);
                if (width == 0 || (*end != ',' && *end != ']'))
                        return false;
                for (unsigned long i = first; i <= last; i++) {
                        int n_name = snprintf(name, sizeof(name), "%s%.*s%0*lu", before, (int)(open - rest), rest,
                                              width, i);

                        if (n_name < 0 || n_name >= (int)sizeof(name) ||
                            !expand_element(name, close + 1, (size_t)(rest + n - close - 1), ret))
                                return false;
                }
                p = end;
        }
        return close;
}

bool missing_nodes_expand(const char *list, Buffer *ret) {
        while (*list) {
                size_t n = 0;

                for (bool is_within = false; list[n] && (is_within || list[n] != ','); n++)
                        is_within = list[n] == '[' || (is_within && list[n] != ']');
                if (n > 0 && !expand_element("", list, n, ret))
                        return false;
                list += n + (list[n] == ',');
        }
        return buffer_error(ret) == 0;
}

static bool is_reported(const ReportRun *run, const char *name) {
        for (size_t i = 0; i < run->n_reports; i++)
                if (strcmp(answer_text(value_get(run->reports[i].job, "labels"), "slurm_node"), name) == 0 ||
                    strcmp(run->reports[i].hostname, name) == 0)
                        return true;
        return false;
}

void missing_nodes_write(const ReportRun *run, Buffer *ret) {
        const Value *job = run->reports[0].job;
        const char *list = answer_text(value_get(job, "labels"), "nodelist");
        scoped(buffer_deinit) Buffer names = {};
        size_t n = 0;

        if (!*list)
                list = answer_text(value_get(job, "slurm"), "nodelist");
        if (!missing_nodes_expand(list, &names) || names.n == 0)
                return;
        for (char *rest = names.text, *name; (name = strsep(&rest, "\n")) && *name;) {
                if (is_reported(run, name))
                        continue;
                if (n++ < NAMES_SHOWN)
                        buffer_printf(ret, "%s%s", ret->n > 0 ? ", " : "", name);
        }
        if (n > NAMES_SHOWN)
                buffer_printf(ret, " and %zu more", n - NAMES_SHOWN);
}
