/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/stat.h"

#include <assert.h>

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

static const TextField counters[] = {
        { "\nctxt ", offsetof(Sample, counter[KERNEL_CONTEXT_SWITCHES]), "no ctxt line" },
};

/* Lines after those of the CPUs. */
static const TextTable counter_table = { counters, N_ELEMENTS(counters), "\n", 1, "a ctxt line that is not a number" };

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
