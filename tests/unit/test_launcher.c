/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/run/job_info.c client/run/visible_gpus.c */
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
#include "client/run/visible_gpus.h"
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

/* --- GPUs ----------------------------------------------------------------------------------------- */

static void assert_gpus(const char *words, const char *expected) {
        static const char *const names[] = { "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                             "NVIDIA_VISIBLE_DEVICES" };
        char gpus[JOB_GPUS_TEXT_MAX];

        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                assert_int_equal(unsetenv(names[i]), 0);
        (void)find(words);
        visible_gpus_find(gpus);
        assert_string_equal(gpus, expected);
        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                assert_int_equal(unsetenv(names[i]), 0);
}

#define UUID "GPU-6b1f0c2e-8a6f-4c0e-9d0a-2f4f6d1c9b11"
#define INSTANCE "MIG-0f0e2c3d-4a5b-5c6d-8e7f-112233445566"

static void gpus_are_those_of_the_environment(void **state) {
        (void)state;
        assert_gpus("", "");
        assert_gpus("CUDA_VISIBLE_DEVICES=", "");
        assert_gpus("CUDA_VISIBLE_DEVICES=0,1,3", "0,1,3");
        assert_gpus("CUDA_VISIBLE_DEVICES=" UUID "," INSTANCE ",GPU-8932f937", UUID "," INSTANCE ",GPU-8932f937");
        assert_gpus("CUDA_VISIBLE_DEVICES=MIG-" UUID "/13/0", "MIG-" UUID "/13/0");
        assert_gpus("CUDA_VISIBLE_DEVICES=1 ROCR_VISIBLE_DEVICES=2 NVIDIA_VISIBLE_DEVICES=3", "1");
        assert_gpus("ROCR_VISIBLE_DEVICES=GPU-a53ed2f86b0f6a6b", "GPU-a53ed2f86b0f6a6b");
        assert_gpus("HIP_VISIBLE_DEVICES=4", "amd4");
        assert_gpus("ROCR_VISIBLE_DEVICES=0,GPU-a53e", "amd0,GPU-a53e");
        assert_gpus("NVIDIA_VISIBLE_DEVICES=" UUID, UUID);
        assert_gpus("NVIDIA_VISIBLE_DEVICES=all", "");
        assert_gpus("NVIDIA_VISIBLE_DEVICES=none", "");
}

static void a_list_of_gpus_ends_at_what_is_none(void **state) {
        char long_word[3 * JOB_GPU_TEXT_MAX] = "CUDA_VISIBLE_DEVICES=0,GPU-";

        (void)state;
        assert_gpus("CUDA_VISIBLE_DEVICES=0,-1,1", "0");
        assert_gpus("CUDA_VISIBLE_DEVICES=-1,0", "");
        assert_gpus("CUDA_VISIBLE_DEVICES=NoDevFiles", "");
        assert_gpus("CUDA_VISIBLE_DEVICES=0,,1", "0");
        assert_gpus("CUDA_VISIBLE_DEVICES=1,99999,2", "1");
        assert_gpus("CUDA_VISIBLE_DEVICES=0x1", "");
        assert_gpus("CUDA_VISIBLE_DEVICES=GPU-", "");
        assert_gpus("CUDA_VISIBLE_DEVICES=GPU-a;b", "");
        assert_gpus("CUDA_VISIBLE_DEVICES=3,\xff\xfe", "3");
        memset(long_word + strlen(long_word), 'a', JOB_GPU_TEXT_MAX);
        assert_gpus(long_word, "0");
}

/* Numbers in other variables may count the GPUs of the cgroup that Slurm makes. */
static void in_slurm_numbers_are_those_of_slurm(void **state) {
        (void)state;
        assert_gpus("SLURM_JOB_ID=7 SLURM_JOB_GPUS=2,3 CUDA_VISIBLE_DEVICES=0,1", "minor:2,minor:3");
        assert_gpus("SLURM_JOB_ID=7 SLURM_JOB_GPUS=2,3 SLURM_STEP_GPUS=3 CUDA_VISIBLE_DEVICES=0", "minor:3");
        assert_gpus("SLURM_JOB_ID=7 CUDA_VISIBLE_DEVICES=0,1", "");
        assert_gpus("SLURM_JOB_ID=7 SLURM_JOB_GPUS=1," UUID, "minor:1," UUID);
        assert_gpus("SLURM_JOB_ID=7 ROCR_VISIBLE_DEVICES=0,1", "");
        assert_gpus("SLURM_JOB_ID=7 SLURM_JOB_GPUS=2 CUDA_VISIBLE_DEVICES=" INSTANCE, INSTANCE);
}

static void many_gpus_are_cut(void **state) {
        char list[1024] = "", gpus[JOB_GPUS_TEXT_MAX] = "";
        size_t n = 1;

        (void)state;
        for (unsigned i = 0; i < 100; i++)
                (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u", i > 0 ? "," : "", i);
        assert_int_equal(visible_gpus_parse(list, JOB_GPU_MINOR, gpus), strlen(list));
        for (const char *p = gpus; *p; p++)
                n += *p == ',';
        assert_int_equal(n, JOB_GPUS_MAX);
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
                cmocka_unit_test(gpus_are_those_of_the_environment),
                cmocka_unit_test(a_list_of_gpus_ends_at_what_is_none),
                cmocka_unit_test(in_slurm_numbers_are_those_of_slurm),
                cmocka_unit_test(many_gpus_are_cut),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
