/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/vmstat.h"

#include "sample/text.h"

static const TextField fields[] = {
        { "\npswpin ", offsetof(Sample, counter[KERNEL_SWAP_IN]), NULL },
        { "\npswpout ", offsetof(Sample, counter[KERNEL_SWAP_OUT]), NULL },
        { "\npgmajfault ", offsetof(Sample, counter[KERNEL_MAJOR_FAULTS]), "no pgmajfault" },
        { "\noom_kill ", offsetof(Sample, counter[KERNEL_OOM_KILLS]), NULL },
};

static const TextTable table = { fields, N_ELEMENTS(fields), "\n", 1, "a line that is not a number" };

int vmstat_parse(const char *text, Sample *sample, const char **ret_fault) {
        return text_parse_table(&table, text, sample, ret_fault);
}
