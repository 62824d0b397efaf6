/* SPDX-License-Identifier: Apache-2.0 */
/* The job of a process by its environment: of perfd, of Slurm, of another job of Slurm, and without one. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/wire/own_job.h"
#include "util/file.h"

static const char *const names[] = { "PERFD_JOB", "PERFD_JOB_SLURM", "SLURM_JOB_ID", "SLURMD_NODENAME" };

/* Sets the variables in the order of the names; NULL unsets one. */
static const char *find(const char *const values[static 4]) {
        static char id[JOB_ID_MAX];

        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                assert_int_equal(values[i] ? setenv(names[i], values[i], 1) : unsetenv(names[i]), 0);
        return own_job(id);
}

#define FIND(...) find((const char *const[4]){ __VA_ARGS__ })

static int set_up(void **state) {
        static char directory[] = "/tmp/perfd-own-job-XXXXXX";

        assert_non_null(mkdtemp(directory));
        assert_int_equal(setenv("PERFD_SLURM_DIRECTORY", directory, 1), 0);
        *state = directory;
        return 0;
}

static void save(const char *directory, const char *name, const char *text) {
        char path[256];

        (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
        assert_int_equal(file_replace(path, text, strlen(text), 0644, false), 0);
}

static int tear_down(void **state) {
        char command[256];

        (void)snprintf(command, sizeof(command), "rm -r '%s'", (const char *)*state);
        return system(command);
}

/* the job of $PERFD_JOB, unless it was set in another job of Slurm. */
static void a_variable_of_another_job_of_slurm_is_ignored(void **state) {
        save(*state, "4711.cn1", "4711.r1\n");
        assert_string_equal(FIND(NULL), "");
        assert_string_equal(FIND("mine"), "mine");
        assert_string_equal(FIND("mine", ""), "mine");
        assert_string_equal(FIND("mine", NULL, "4711", "cn1"), "mine");
        assert_string_equal(FIND("mine", "4711", "4711", "cn1"), "mine");
        assert_string_equal(FIND("mine", "", "4711", "cn1"), "4711.r1");
        assert_string_equal(FIND("mine", "4710", "4711", "cn1"), "4711.r1");
        assert_string_equal(FIND("mine", "4710", "4711", "cn2"), "");
}

/* the id that the prolog saved; nothing else is taken from the file or used as its name. */
static void the_id_of_a_job_of_slurm_is_the_saved_one(void **state) {
        save(*state, "1.", "1.t1792000000");
        save(*state, "2.", "a b\n");
        save(*state, "3.", "");
        assert_string_equal(FIND(NULL, NULL, "1"), "1.t1792000000");
        assert_string_equal(own_job_slurm(), "1");
        for (const char *const *id = (const char *const[]){ "2", "3", "4", "", "../1", "1x", NULL }; *id; id++)
                assert_string_equal(FIND(NULL, NULL, *id), "");
        assert_null((FIND(NULL, NULL, "1x"), own_job_slurm()));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_variable_of_another_job_of_slurm_is_ignored),
                cmocka_unit_test(the_id_of_a_job_of_slurm_is_the_saved_one),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
