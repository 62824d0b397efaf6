/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/vmstat.h"

#include "sample/text.h"
#include "util/parse.h"
#include "util/scoped.h"

typedef struct Field {
        const char *key; /* with the newline before: never the end of a longer name */
        size_t n_key;
        size_t offset; /* in Sample */
        bool optional;
} Field;

#define FIELD(name, member, optional) { "\n" name " ", sizeof(name) + 1, offsetof(Sample, member), optional }

/* In the order of the file, which is walked once. None is its first line. */
static const Field fields[] = {
        FIELD("pswpin", pswpin_pages, true),
        FIELD("pswpout", pswpout_pages, true),
        FIELD("pgmajfault", pgmajfault, false),
        FIELD("oom_kill", oom_kill, true),
};

int vmstat_parse(const char *text, Sample *sample, const char **ret_fault) {
        uint64_t values[N_ELEMENTS(fields)] = {};

        for (size_t i = 0; i < N_ELEMENTS(fields); i++) {
                const char *p = strstr(text, fields[i].key);

                if (!p && fields[i].optional)
                        continue;
                if (!p)
                        return text_malformed("no pgmajfault", ret_fault);

                p = scan_u64(p + fields[i].n_key, &values[i]);
                if (!p || *p != '\n')
                        return text_malformed("a line that is not a number", ret_fault);
                text = p;
        }

        for (size_t i = 0; i < N_ELEMENTS(fields); i++)
                *(uint64_t *)((char *)sample + fields[i].offset) = values[i];
        return 0;
}
