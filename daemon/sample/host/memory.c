/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/memory.h"

#include "sample/kernel_text.h"

static const TextField meminfo_fields[] = {
        { "\nMemTotal:", offsetof(SampleMemory, total_bytes), "no MemTotal" },
        { "\nMemFree:", offsetof(SampleMemory, free_bytes), "no MemFree" },
        { "\nMemAvailable:", offsetof(SampleMemory, available_bytes), "no MemAvailable" },
        { "\nBuffers:", offsetof(SampleMemory, buffers_bytes), "no Buffers" },
        { "\nCached:", offsetof(SampleMemory, cached_bytes), "no Cached" },
        { "\nSwapTotal:", offsetof(SampleMemory, swap_total_bytes), NULL },
        { "\nSwapFree:", offsetof(SampleMemory, swap_free_bytes), NULL },
};

static const TextTable meminfo_table = { meminfo_fields, N_ELEMENTS(meminfo_fields), " kB\n", 1024,
                                         "a line that is not a number of kB" };

int memory_parse_meminfo(const char *text, SampleMemory *ret, const char **ret_fault) {
        return kernel_text_parse_table(&meminfo_table, text, ret, ret_fault);
}

static const TextField vmstat_fields[] = {
        { "\npswpin ", offsetof(Sample, counter[KERNEL_SWAP_IN]), NULL },
        { "\npswpout ", offsetof(Sample, counter[KERNEL_SWAP_OUT]), NULL },
        { "\npgmajfault ", offsetof(Sample, counter[KERNEL_MAJOR_FAULTS]), "no pgmajfault" },
        { "\noom_kill ", offsetof(Sample, counter[KERNEL_OOM_KILLS]), NULL },
};

static const TextTable vmstat_table = { vmstat_fields, N_ELEMENTS(vmstat_fields), "\n", 1,
                                        "a line that is not a number" };

int memory_parse_vmstat(const char *text, Sample *sample, const char **ret_fault) {
        return kernel_text_parse_table(&vmstat_table, text, sample, ret_fault);
}
