/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/stat.h"

#include <assert.h>
#include <string.h>

#include "sample/kernel_text.h"
#include "util/array.h"
#include "util/scan.h"
#include "util/scoped.h"

/* user, nice, system and idle: present in all kernels */
#define N_COLUMNS_MIN 4
/*
 * twice the maximum of any kernel configuration; a higher number is malformed and must not cause a large allocation
 */
#define N_CPUS_MAX 16384

static uint64_t without(uint64_t all, uint64_t part) {
        return all > part ? all - part : 0; /* the kernel updates both counters one after the other */
}

/* Parses the columns, which are in the order of CpuMode. Returns the start of the next line, or NULL. */
static const char *scan_times(const char *p, CpuTimes *ret) {
        CpuTimes times = {};
        uint64_t v;
        size_t n = 0;

        for (p = scan_blanks(p); *p != '\n'; p = scan_blanks(p)) {
                p = scan_u64(p, &v);
                if (!p)
                        return NULL;
                if (n < N_CPU_MODES)
                        times.ticks[n++] = v;
        }
        if (n < N_COLUMNS_MIN)
                return NULL;

        times.ticks[CPU_USER] = without(times.ticks[CPU_USER], times.ticks[CPU_GUEST]);
        times.ticks[CPU_NICE] = without(times.ticks[CPU_NICE], times.ticks[CPU_GUEST_NICE]);
        *ret = times;
        return p + 1;
}

/* Adds the entry of a CPU that is new in this text; skipped CPU numbers are offline. */
static int new_cpu(Sample *sample, size_t *n_cpus, uint64_t number, SampleCpu **ret) {
        int r;

        if (number >= *n_cpus) {
                r = ARRAY_RESERVE(sample->cpus, sample->allocated.n_cpus, number + 1);
                if (r < 0)
                        return r;

                memset(sample->cpus + *n_cpus, 0, (number + 1 - *n_cpus) * sizeof(SampleCpu));
                *n_cpus = number + 1;
        }

        assert(number < *n_cpus);
        *ret = &sample->cpus[number];
        return 0;
}

/* Parses the lines "cpuN …" from *p on, and advances *p past them. */
static int parse_cpus(const char **p, Sample *sample, size_t *ret_n_cpus, const char **ret_fault) {
        const char *at;
        size_t n_cpus = 0;

        while ((at = kernel_text_skip(*p, "cpu"))) {
                SampleCpu *cpu;
                uint64_t number;
                int r;

                at = scan_u64(at, &number);
                if (!at || number >= N_CPUS_MAX)
                        return kernel_text_malformed("a cpu line without a number", ret_fault);

                r = new_cpu(sample, &n_cpus, number, &cpu);
                if (r < 0)
                        return r;

                *p = scan_times(at, &cpu->times);
                if (!*p)
                        return kernel_text_malformed("a cpu line that is not numbers", ret_fault);

                sample->n_online += !cpu->online;
                cpu->online = true;
        }

        if (n_cpus == 0)
                return kernel_text_malformed("no cpu0 line", ret_fault);
        *ret_n_cpus = n_cpus;
        return 0;
}

/* Lines after those of the CPUs. */
static const TextTable counter_table = TEXT_TABLE("\n", 1, "a ctxt line that is not a number",
        { "\nctxt ", offsetof(Sample, counter[KERNEL_CONTEXT_SWITCHES]), "no ctxt line" });

static int parse_all(const char *text, Sample *sample, size_t *ret_n_cpus, const char **ret_fault) {
        const char *p;
        int r;

        p = kernel_text_skip(text, "cpu ");
        if (!p)
                return kernel_text_malformed("no cpu line", ret_fault);

        p = scan_times(p, &sample->cpu);
        if (!p)
                return kernel_text_malformed("a cpu line that is not numbers", ret_fault);

        r = parse_cpus(&p, sample, ret_n_cpus, ret_fault);
        return r != 0 ? r : kernel_text_parse_table(&counter_table, p, sample, ret_fault);
}

int stat_parse(const char *text, Sample *sample, const char **ret_fault) {
        size_t n_cpus = 0;
        int r;

        sample->n_cpus = 0;
        sample->n_online = 0;

        r = parse_all(text, sample, &n_cpus, ret_fault);
        if (r != 0) {
                sample->cpu = (CpuTimes){};
                sample->n_online = 0;
                return r;
        }

        sample->n_cpus = n_cpus;
        return 0;
}

/* --- memory: proc/meminfo and proc/vmstat ---------------------------------------------------------- */

static const TextTable meminfo_table = TEXT_TABLE(" kB\n", 1024, "a line that is not a number of kB",
        { "\nMemTotal:", offsetof(SampleMemory, total_bytes), "no MemTotal" },
        { "\nMemFree:", offsetof(SampleMemory, free_bytes), "no MemFree" },
        { "\nMemAvailable:", offsetof(SampleMemory, available_bytes), "no MemAvailable" },
        { "\nBuffers:", offsetof(SampleMemory, buffers_bytes), "no Buffers" },
        { "\nCached:", offsetof(SampleMemory, cached_bytes), "no Cached" },
        { "\nSwapTotal:", offsetof(SampleMemory, swap_total_bytes), NULL },
        { "\nSwapFree:", offsetof(SampleMemory, swap_free_bytes), NULL });

int stat_parse_meminfo(const char *text, SampleMemory *ret, const char **ret_fault) {
        return kernel_text_parse_table(&meminfo_table, text, ret, ret_fault);
}

static const TextTable vmstat_table = TEXT_TABLE("\n", 1, "a line that is not a number",
        { "\npswpin ", offsetof(Sample, counter[KERNEL_SWAP_IN]), NULL },
        { "\npswpout ", offsetof(Sample, counter[KERNEL_SWAP_OUT]), NULL },
        { "\npgmajfault ", offsetof(Sample, counter[KERNEL_MAJOR_FAULTS]), "no pgmajfault" },
        { "\noom_kill ", offsetof(Sample, counter[KERNEL_OOM_KILLS]), NULL });

int stat_parse_vmstat(const char *text, Sample *sample, const char **ret_fault) {
        return kernel_text_parse_table(&vmstat_table, text, sample, ret_fault);
}

/* --- proc/loadavg ---------------------------------------------------------------------------------- */

/* Parses "0.05 ", always with two decimals. Independent of the locale, unlike strtod(). */
static const char *scan_load(const char *p, double *ret) {
        uint64_t whole, hundredths;
        const char *point;

        point = scan_u64(p, &whole);
        if (!point || point[0] != '.' || point[1] < '0')
                return NULL;

        p = scan_u64(point + 1, &hundredths);
        if (!p || p != point + 3 || *p != ' ' || whole > UINT32_MAX)
                return NULL;

        *ret = (double)(whole * 100 + hundredths) / 100; /* rounded once: 3.53, not 3.5300000000000002 */
        return p;
}

int stat_parse_loadavg(const char *text, SampleLoad *ret, const char **ret_fault) {
        uint64_t n_running, n_threads;
        double load[3];

        for (size_t i = 0; i < 3; i++) {
                text = scan_load(text, &load[i]);
                if (!text)
                        return kernel_text_malformed("a load that is not a number", ret_fault);
        }

        text = scan_u64(text, &n_running);
        if (!text || *text != '/' || !(text = scan_u64(text + 1, &n_threads)) || *text != ' ' ||
            n_running > UINT32_MAX || n_threads > UINT32_MAX)
                return kernel_text_malformed("no count of threads", ret_fault);
        if (!kernel_text_next_line(text))
                return kernel_text_malformed("truncated", ret_fault);

        *ret = (SampleLoad){
                .average1 = load[0],
                .average5 = load[1],
                .average15 = load[2],
                .n_running = n_running > 0 ? (uint32_t)n_running - 1 : 0,
                .n_threads = (uint32_t)n_threads,
        };
        return 0;
}

/* --- proc/PID/stat --------------------------------------------------------------------------------- */

/*
 * Field numbers of proc(5). Field 2, the name, is in parentheses and may contain any character, including
 * parentheses.
 */
#define FIELD_STATE 3
#define FIELD_START 22

int stat_parse_process(const char *text, uint64_t *ret_start_ticks) {
        const char *p = strrchr(text, ')');

        if (!p)
                return STAT_MALFORMED;
        p = scan_blanks(p + 1);
        if (*p == 'Z' || *p == 'X')
                return STAT_ENDED;

        for (unsigned field = FIELD_STATE; field < FIELD_START; field++) {
                p = scan_blanks(p);
                p += strcspn(p, " \n");
        }

        p = scan_u64(p, ret_start_ticks);
        return p && *p == ' ' ? 0 : STAT_MALFORMED;
}

int32_t stat_parse_parent(const char *text) {
        const char *p = strrchr(text, ')'); /* then come the state, a letter, and the parent */
        uint64_t parent;

        if (!p || p[1] != ' ' || !p[2] || !scan_u64(scan_blanks(p + 3), &parent) || parent > INT32_MAX)
                return 0;
        return (int32_t)parent;
}
