/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/meminfo.h"

#include "sample/text.h"

static const TextField fields[] = {
        { "\nMemTotal:", offsetof(SampleMemory, total_bytes), "no MemTotal" },
        { "\nMemFree:", offsetof(SampleMemory, free_bytes), "no MemFree" },
        { "\nMemAvailable:", offsetof(SampleMemory, available_bytes), "no MemAvailable" },
        { "\nBuffers:", offsetof(SampleMemory, buffers_bytes), "no Buffers" },
        { "\nCached:", offsetof(SampleMemory, cached_bytes), "no Cached" },
        { "\nSwapTotal:", offsetof(SampleMemory, swap_total_bytes), NULL },
        { "\nSwapFree:", offsetof(SampleMemory, swap_free_bytes), NULL },
};

static const TextTable table = { fields, N_ELEMENTS(fields), " kB\n", 1024, "a line that is not a number of kB" };

int meminfo_parse(const char *text, SampleMemory *ret, const char **ret_fault) {
        return text_parse_table(&table, text, ret, ret_fault);
}
