/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/launcher.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/parse.h"
#include "util/scoped.h"

#define NAMES_MAX 3U
#define NUMBER_MAX ((uint64_t)INT32_MAX)

/* The first variable that is set wins: a step has a part of its job's resources. */
typedef struct Launcher {
        const char *rank;
        const char *n_ranks[NAMES_MAX];
        const char *n_local_ranks; /* on this node */
        const char *node;
        const char *n_nodes[NAMES_MAX];
} Launcher;

/* Outermost first. */
enum {
        SLURM,
        PMI,
        PMIX,
        OPEN_MPI,
};

static const Launcher launchers[] = {
        [SLURM] = {
                .rank = "SLURM_PROCID",
                .n_ranks = { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS" },
                .node = "SLURM_NODEID",
                .n_nodes = { "SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES" },
        },
        [PMI] = { .rank = "PMI_RANK", .n_ranks = { "PMI_SIZE" }, .n_local_ranks = "MPI_LOCALNRANKS" },
        [PMIX] = { .rank = "PMIX_RANK" },
        [OPEN_MPI] = {
                .rank = "OMPI_COMM_WORLD_RANK",
                .n_ranks = { "OMPI_COMM_WORLD_SIZE" },
                .n_local_ranks = "OMPI_COMM_WORLD_LOCAL_SIZE",
        },
};

static void ignore(Launch *launch, const char *name) {
        if (launch->n_ignored < LAUNCH_IGNORED_MAX)
                launch->ignored[launch->n_ignored++] = name;
}

/* Returns a variable's number, or -1 if the variable is not set or not a number from `min` to `max`. */
static int64_t read_number(Launch *launch, const char *name, uint64_t min, uint64_t max) {
        const char *text = name ? getenv(name) : NULL;
        uint64_t n;

        if (!text)
                return -1;
        if (parse_u64(text, &n) == 0 && n >= min && n <= max)
                return (int64_t)n;

        ignore(launch, name);
        return -1;
}

/* Returns the first number set; *ret_name is the variable's name. */
static int64_t read_first(Launch *launch, const char *const names[static NAMES_MAX], const char **ret_name) {
        for (size_t i = 0; i < NAMES_MAX && names[i]; i++) {
                *ret_name = names[i];
                if (getenv(names[i]))
                        return read_number(launch, names[i], 1, NUMBER_MAX);
        }

        return -1;
}

/*
 * Finds the launcher. A process inside a Slurm step inherits the variables of the step, but another launcher with
 * other rank numbers may have started the process. If both agree, Slurm is used, since its variables tell more.
 */
static int find_launcher(Launch *launch) {
        int64_t rank, slurm = read_number(launch, launchers[SLURM].rank, 0, INT64_MAX);

        for (int i = (int)N_ELEMENTS(launchers) - 1; i > SLURM; i--) {
                rank = read_number(launch, launchers[i].rank, 0, INT64_MAX);
                if (rank < 0)
                        continue;
                launch->rank = rank;
                return rank == slurm ? SLURM : i;
        }

        launch->rank = slurm;
        return slurm >= 0 ? SLURM : -1;
}

static void find_ranks(Launch *launch, const Launcher *launcher) {
        const char *name;
        int64_t n = read_first(launch, launcher->n_ranks, &name);

        if (n > launch->rank)
                launch->n_ranks = (uint32_t)n;
        else if (n > 0)
                ignore(launch, name);
}

static void find_nodes(Launch *launch, const Launcher *launcher) {
        int64_t node = read_number(launch, launcher->node, 0, NUMBER_MAX - 1), n, n_local;
        const char *name;

        n = read_first(launch, launcher->n_nodes, &name);
        if (n > 0 && node >= n) {
                ignore(launch, launcher->node);
                ignore(launch, name);
                return;
        }

        launch->node = (int32_t)node;
        launch->n_nodes = n > 0 ? (uint32_t)n : 0;

        /* Other launchers do not number nodes, but if all ranks are local there is only one node. */
        n_local = read_number(launch, launcher->n_local_ranks, 1, NUMBER_MAX);
        if (n_local > 0 && (uint32_t)n_local == launch->n_ranks) {
                launch->node = 0;
                launch->n_nodes = 1;
        }
}

/* Step numbers from here on are not steps of tasks, but batch scripts, shells and the like, in which runs follow
 * each other. */
#define SLURM_SPECIAL_STEP UINT64_C(0xfffffff0)

static void find_job(Launch *launch) {
        static const char *const jobs[] = { "SLURM_JOB_ID", "SLURM_JOBID" }, *const steps[] = { "SLURM_STEP_ID",
                                                                                                "SLURM_STEPID" };
        int64_t job, step;

        job = read_number(launch, getenv(jobs[0]) ? jobs[0] : jobs[1], 1, INT64_MAX);
        step = read_number(launch, getenv(steps[0]) ? steps[0] : steps[1], 0, UINT32_MAX);
        if (job > 0 && step >= 0 && (uint64_t)step < SLURM_SPECIAL_STEP)
                snprintf(launch->job, sizeof(launch->job), "%jd.%jd.%jd", (intmax_t)job, (intmax_t)step,
                         (intmax_t)launch->rank);
}

void launcher_find(Launch *ret) {
        int i;

        *ret = (Launch){ .rank = -1, .node = -1 };
        i = find_launcher(ret);
        if (i < 0)
                return;

        find_ranks(ret, &launchers[i]);
        find_nodes(ret, &launchers[i]);
        if (i == SLURM)
                find_job(ret);
}
