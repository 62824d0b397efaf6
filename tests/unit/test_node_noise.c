/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/compare/comparison.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/compare/comparison.h"
#include "util/file.h"

static void write_file(const char *root, const char *name, const char *text) {
        char path[256];

        (void)snprintf(path, sizeof(path), "%s/%s", root, name);
        assert_int_equal(file_make_parents(path, 0700), 0);
        assert_int_equal(file_replace(path, text, strlen(text), 0600, false), 0);
}

static void the_node_tells_pressure_steal_and_frequency(void **state) {
        char root[] = "/tmp/perfd-noise-XXXXXX", command[64];
        NodeNoise noise;
        int fd;

        (void)state;
        assert_non_null(mkdtemp(root));
        fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        noise = comparison_read_noise(fd);
        for (Noise i = 0; i < N_NOISES; i++)
                assert_true(noise.values[i] == 0);
        write_file(root, "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 total=2500000\nfull avg10=0 total=1\n");
        write_file(root, "proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n");
        write_file(root, "proc/stat", "cpu  1 2 3 4 5 6 7 800 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
        write_file(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1200000\n");
        write_file(root, "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3400000\n");
        noise = comparison_read_noise(fd);
        assert_true(noise.values[NOISE_CPU] == 2.5 && noise.values[NOISE_IO] == 1 && noise.values[NOISE_MEMORY] == 0);
        assert_true(noise.values[NOISE_STEAL] > 0);
        assert_true(noise.values[NOISE_FREQUENCY] == 3400000);
        (void)close(fd);
        (void)snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

static void the_share_of_a_pair_is_that_of_its_worst_run(void **state) {
        NodeNoise begin = { .values = { [NOISE_CPU] = 10 } };
        NodeNoise end = { .values = { [NOISE_CPU] = 10.5, [NOISE_FREQUENCY] = 3e6 } };
        NodeNoise shares = {};
        NoiseHistory history = {};

        (void)state;
        comparison_add_noise_run(&shares, &begin, &end, 2, 0.5, &history);
        end.values[NOISE_CPU] = 10.2;
        end.values[NOISE_FREQUENCY] = 1.5e6;
        comparison_add_noise_run(&shares, &begin, &end, 2, 0, &history);
        assert_true(fabs(shares.values[NOISE_CPU] - 0.25) < 1e-9);
        assert_true(fabs(shares.values[NOISE_THROTTLING] - 0.25) < 1e-9);
        assert_true(fabs(shares.values[NOISE_FREQUENCY] - 0.5) < 1e-9);
        assert_true(history.top_khz == 3e6);
}

static bool add(NoiseHistory *history, Noise noise, double share) {
        NodeNoise shares[2] = {};

        shares[COMPARISON_B].values[noise] = share;
        return comparison_add_noise_pair(history, shares);
}

static void more_than_usual_is_a_disturbance(void **state) {
        NoiseHistory history = {};
        Noise noise;

        (void)state;
        for (size_t i = 0; i < 5; i++)
                assert_false(add(&history, NOISE_CPU, 0.02));
        assert_false(add(&history, NOISE_CPU, 0.09)); /* less than a tenth */
        assert_true(add(&history, NOISE_CPU, 0.2));
        assert_true(add(&history, NOISE_STEAL, 0.1));
        assert_int_equal(history.n_disturbed[NOISE_CPU], 1);
        assert_int_equal(history.n_disturbed[NOISE_STEAL], 1);
        assert_int_equal(history.n_disturbed_by_b, 2);
        assert_true(comparison_usual_noise(&history, &noise) == 0);
}

static void a_machine_that_is_always_busy_disturbs_no_pair(void **state) {
        NoiseHistory history = {};
        Noise noise;

        (void)state;
        for (size_t i = 0; i < 20; i++)
                assert_false(add(&history, NOISE_IO, 0.4 + 0.01 * (double)i));
        assert_true(comparison_usual_noise(&history, &noise) > 0.4);
        assert_int_equal(noise, NOISE_IO);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_node_tells_pressure_steal_and_frequency),
                cmocka_unit_test(the_share_of_a_pair_is_that_of_its_worst_run),
                cmocka_unit_test(more_than_usual_is_a_disturbance),
                cmocka_unit_test(a_machine_that_is_always_busy_disturbs_no_pair),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
