/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/run/job_info.c */
/* Environment variables of launchers: complete, partial, invalid, and nested. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/run/job_info.h"
#include "util/scoped.h"

static void unset_all(void) {
        static const char *const prefixes[] = { "SLURM_", "PMI_", "PMIX_", "MPI_", "OMPI_" };

        for (char **entry = environ; *entry;) {
                char name[128];
                bool is_launchers = false;

                for (size_t i = 0; i < N_ELEMENTS(prefixes); i++)
                        is_launchers |= strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0;
                if (!is_launchers) {
                        entry++;
                        continue;
                }

                snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
                assert_int_equal(unsetenv(name), 0);
                entry = environ;
        }
}

/* Finds the launch with only these variables set, "NAME=value" each. */
static Launch find(const char *words) {
        char text[512];
        Launch launch;

        unset_all();
        assert_in_range(snprintf(text, sizeof(text), "%s", words), 0, sizeof(text) - 1);
        for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));) {
                char *equals = strchr(word, '=');

                *equals = '\0';
                assert_int_equal(setenv(word, equals + 1, 1), 0);
        }

        job_info_find_launcher(&launch);
        return launch;
}

static void assert_launch(const char *words, int64_t rank, uint32_t n_ranks, int32_t node, uint32_t n_nodes) {
        Launch launch = find(words);

        assert_int_equal(launch.rank, rank);
        assert_int_equal(launch.n_ranks, n_ranks);
        assert_int_equal(launch.node, node);
        assert_int_equal(launch.n_nodes, n_nodes);
        assert_int_equal(launch.n_ignored, 0);
}

/* As assert_launch(), with the names of variables that are ignored, separated by blanks. */
static void assert_ignored(const char *words, int64_t rank, uint32_t n_ranks, int32_t node, uint32_t n_nodes,
                           const char *ignored) {
        Launch launch = find(words);
        char names[512] = "";

        for (size_t i = 0; i < launch.n_ignored; i++) {
                strcat(names, i > 0 ? " " : "");
                strcat(names, launch.ignored[i]);
        }
        assert_string_equal(names, ignored);
        assert_int_equal(launch.rank, rank);
        assert_int_equal(launch.n_ranks, n_ranks);
        assert_int_equal(launch.node, node);
        assert_int_equal(launch.n_nodes, n_nodes);
}

static void no_launcher_sets_variables(void **state) {
        (void)state;
        assert_launch("HOME=/", -1, 0, -1, 0);
        assert_string_equal(find("HOME=/").job, "");
}

static void a_task_of_slurm_knows_all(void **state) {
        (void)state;
        assert_launch("SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_NODEID=1 SLURM_NNODES=2", 5, 8, 1, 2);
        assert_launch("SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_NODEID=0 SLURM_JOB_NUM_NODES=2", 0, 8, 0, 2);
        assert_launch("SLURM_PROCID=5", 5, 0, -1, 0);
}

static void a_step_of_slurm_may_have_less_than_its_job(void **state) {
        (void)state;
        assert_launch("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=16 SLURM_NODEID=0 SLURM_STEP_NUM_NODES=1 "
                      "SLURM_NNODES=4",
                      1, 2, 0, 1);
}

static void the_other_launchers_know_their_rank(void **state) {
        (void)state;
        assert_launch("PMI_RANK=3 PMI_SIZE=4", 3, 4, -1, 0);
        assert_launch("PMIX_RANK=7", 7, 0, -1, 0);
        assert_launch("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=6", 2, 6, -1, 0);
}

static void with_all_ranks_local_there_is_one_node(void **state) {
        (void)state;
        assert_launch("PMI_RANK=3 PMI_SIZE=4 MPI_LOCALNRANKS=4 MPI_LOCALRANKID=3", 3, 4, 0, 1);
        assert_launch("PMI_RANK=3 PMI_SIZE=4 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1", 3, 4, -1, 0);
        assert_launch("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=6 OMPI_COMM_WORLD_LOCAL_SIZE=6", 2, 6, 0, 1);
}

static void the_innermost_launcher_knows(void **state) {
        (void)state;
        /* mpirun in a batch script: all ranks inherit the variables of the script. */
        assert_launch("SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_NODEID=0 SLURM_NNODES=2 "
                      "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=3", 3, 4, -1, 0);
        /* srun --mpi=pmix: both sets of variables are from Slurm. */
        assert_launch("SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_NODEID=1 SLURM_NNODES=2 PMIX_RANK=3", 3, 4, 1, 2);
}

static void invalid_variables_are_ignored_and_named(void **state) {
        (void)state;
        assert_ignored("SLURM_PROCID=none", -1, 0, -1, 0, "SLURM_PROCID");
        assert_ignored("SLURM_PROCID=-1 PMI_RANK=2", 2, 0, -1, 0, "SLURM_PROCID");
        assert_ignored("SLURM_PROCID=99999999999999999999", -1, 0, -1, 0, "SLURM_PROCID");
        assert_ignored("SLURM_PROCID=", -1, 0, -1, 0, "SLURM_PROCID");
        assert_ignored("SLURM_PROCID=1 SLURM_NTASKS=0", 1, 0, -1, 0, "SLURM_NTASKS");
        assert_ignored("SLURM_PROCID=1 SLURM_NTASKS=5000000000", 1, 0, -1, 0, "SLURM_NTASKS");
        assert_ignored("SLURM_PROCID=1 SLURM_NODEID=x SLURM_NNODES=2", 1, 0, -1, 2, "SLURM_NODEID");
}

static void contradictory_variables_are_ignored(void **state) {
        (void)state;
        assert_ignored("SLURM_PROCID=8 SLURM_NTASKS=8", 8, 0, -1, 0, "SLURM_NTASKS");
        assert_ignored("SLURM_PROCID=0 SLURM_NODEID=2 SLURM_NNODES=2", 0, 0, -1, 0, "SLURM_NODEID SLURM_NNODES");
}

static void a_task_of_slurm_has_an_id(void **state) {
        (void)state;
        assert_string_equal(find("SLURM_JOB_ID=42 SLURM_STEP_ID=0 SLURM_PROCID=3").job, "42.0.3");
        assert_string_equal(find("SLURM_JOBID=42 SLURM_STEPID=1 SLURM_PROCID=0").job, "42.1.0");
}

static void without_a_step_of_tasks_there_is_no_id(void **state) {
        (void)state;
        assert_string_equal(find("SLURM_JOB_ID=42 SLURM_PROCID=0").job, "");
        assert_string_equal(find("SLURM_JOB_ID=42 SLURM_STEP_ID=0").job, "");
        assert_string_equal(find("SLURM_STEP_ID=0 SLURM_PROCID=0").job, "");
        assert_string_equal(find("SLURM_JOB_ID=a/b SLURM_STEP_ID=0 SLURM_PROCID=0").job, "");
        /* The batch script and the shell of salloc are steps as well. */
        assert_string_equal(find("SLURM_JOB_ID=42 SLURM_STEP_ID=4294967291 SLURM_PROCID=0").job, "");
        assert_string_equal(find("SLURM_JOB_ID=42 SLURM_STEP_ID=4294967290 SLURM_PROCID=0").job, "");
        /* Ranks of mpirun are not the tasks of the enclosing step. */
        assert_string_equal(find("SLURM_JOB_ID=42 SLURM_STEP_ID=0 SLURM_PROCID=0 PMI_RANK=3").job, "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_launcher_sets_variables),
                cmocka_unit_test(a_task_of_slurm_knows_all),
                cmocka_unit_test(a_step_of_slurm_may_have_less_than_its_job),
                cmocka_unit_test(the_other_launchers_know_their_rank),
                cmocka_unit_test(with_all_ranks_local_there_is_one_node),
                cmocka_unit_test(the_innermost_launcher_knows),
                cmocka_unit_test(invalid_variables_are_ignored_and_named),
                cmocka_unit_test(contradictory_variables_are_ignored),
                cmocka_unit_test(a_task_of_slurm_has_an_id),
                cmocka_unit_test(without_a_step_of_tasks_there_is_no_id),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
