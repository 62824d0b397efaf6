/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* KPI profile: the state of the machine during the runs of a new level, and during the runs before. */

#include <stdbool.h>
#include <stddef.h>

#include "kpi/history.h"
#include "store/read/reader.h"
#include "util/buffer.h"

/*
 * Run profile: the state of the machine while a run was measured
 *
 * A new level of a KPI may come from the machine and not from the software. The machine has disturbed a run if a
 * number that the run does not cause itself is clearly above its median in the runs before: CPU time that the
 * hypervisor took, CPUs that others used while the run waited for one, and stalls for I/O or memory although the run
 * itself used no more of them.
 */

/* X(id, name): the name in answers. */
#define RUN_NUMBERS(X)                                                                                                 \
        X(CPUS_USED, "cpus_used")               /* by the run, mean */                                                 \
        X(CPU_WAITED, "cpu_waited_share")       /* of the time: a task of the run waited for a CPU */                  \
        X(THROTTLED, "throttled_share")         /* of the periods: the CPU limit of the run throttled it */            \
        X(OTHERS_CPU, "others_cpu_share")       /* of the CPUs of the node: other processes used them */               \
        X(STEAL, "steal_share")                 /* of the CPU time of the node: the hypervisor took it */              \
        X(IO_STALLED, "io_stalled_share")       /* of the time: all tasks that were not idle waited for I/O */         \
        X(MEMORY_STALLED, "memory_stalled_share") /* of the time: a task of the node waited for memory */              \
        X(IO_BYTES, "io_bytes_per_second")      /* read and written by the run */                                      \
        X(MEMORY_BYTES, "memory_bytes")         /* peak of the run */

typedef enum RunNumber {
#define X(id, name) RUN_##id,
        RUN_NUMBERS(X)
#undef X
        N_RUN_NUMBERS,
} RunNumber;

extern const char *const kpi_profile_number_names[N_RUN_NUMBERS];

typedef struct RunProfile {
        double numbers[N_RUN_NUMBERS]; /* NAN: not known */
} RunProfile;

/* Returns a profile without known numbers. */
RunProfile kpi_profile_unknown(void);

#define RUN_PROFILE_RUNS_MAX 32U

typedef struct RunComparison {
        double value[N_RUN_NUMBERS];  /* medians of the runs of the new level; NAN: not known, also below */
        double before[N_RUN_NUMBERS]; /* medians of the runs before */
        /* the machine has disturbed all runs of the new level, at least one of them by this number */
        bool is_disturbance[N_RUN_NUMBERS];
        bool is_disturbed;
} RunComparison;

/* Compares the last runs, from number n_before on, with those before. n: at most RUN_PROFILE_RUNS_MAX. */
RunComparison kpi_profile_compare(const RunProfile *runs, size_t n_before, size_t n);

#define KPI_PROFILES_MAX 200U /* of a request */

/*
 * Writes a JSON object about the runs from number `since` up to n, and about the runs before; writes nothing if
 * nothing is known. runs: in the order in which they were judged. *ret_is_disturbed: the machine has disturbed all
 * runs of the new level. Returns 0 or an outcome of reader.h.
 */
int kpi_profile_write(Reader *reader, const HistoryRun *runs, size_t since, size_t n, Buffer *out,
                      bool *ret_is_disturbed);
