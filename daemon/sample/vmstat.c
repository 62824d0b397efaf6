/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/vmstat.h"

#include "sample/text.h"
#include "util/parse.h"
#include "util/scoped.h"

typedef struct VmstatField {
        const char *key; /* with the newline before: never the end of a longer name */
        size_t n_key;
        KernelCounter counter;
        bool optional;
} VmstatField;

#define FIELD(name, counter, optional) { "\n" name " ", sizeof(name) + 1, counter, optional }

/* In the order of the file, which is walked once. None is its first line. */
static const VmstatField fields[] = {
        FIELD("pswpin", KERNEL_SWAP_IN, true),
        FIELD("pswpout", KERNEL_SWAP_OUT, true),
        FIELD("pgmajfault", KERNEL_MAJOR_FAULTS, false),
        FIELD("oom_kill", KERNEL_OOM_KILLS, true),
};

int vmstat_parse(const char *text, Sample *sample, const char **ret_fault) {
        uint64_t values[N_ELEMENTS(fields)] = {};

        for (size_t i = 0; i < N_ELEMENTS(fields); i++) {
                const char *p = strstr(text, fields[i].key);

                if (!p && fields[i].optional)
                        continue;
                if (!p)
                        return text_malformed("no pgmajfault", ret_fault);

                p = parse_next_u64(p + fields[i].n_key, &values[i]);
                if (!p || *p != '\n')
                        return text_malformed("a line that is not a number", ret_fault);
                text = p;
        }

        for (size_t i = 0; i < N_ELEMENTS(fields); i++)
                sample->counter[fields[i].counter] = values[i];
        return 0;
}
