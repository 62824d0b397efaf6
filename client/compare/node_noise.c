/* SPDX-License-Identifier: Apache-2.0 */
#include "client/compare/node_noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"

#define FILE_MAX 1048576U
#define CPUS_MAX 4096U
#define SHARE_MIN 0.1 /* a smaller share is no disturbance */
#define TIMES_USUAL 2.0
#define PAIRS_BEFORE_MIN 3U /* fewer do not tell what is usual */

const char *const noise_names[N_NOISES] = {
        [NOISE_CPU] = "waiting for CPUs", [NOISE_IO] = "waiting for I/O", [NOISE_MEMORY] = "waiting for memory",
        [NOISE_STEAL] = "CPU time taken by the hypervisor", [NOISE_THROTTLING] = "throttling by the CPU quota",
        [NOISE_FREQUENCY] = "a lower CPU frequency",
};

/* Reads the number after a text of a file; 0 if there is none. */
static double read_number(int root_fd, const char *path, const char *before) {
        scoped(freep) char *text = file_read_text(root_fd, path, FILE_MAX);
        const char *found = text ? strstr(text, before) : NULL;

        return found ? strtod(found + strlen(before), NULL) : 0;
}

/* Reads the eighth number of "cpu  1 2 3 4 5 6 7 8 9 10", in ticks, of all CPUs together. */
static double read_steal(int root_fd) {
        scoped(freep) char *text = file_read_text(root_fd, "proc/stat", FILE_MAX);
        double ticks = 0;

        if (!text || sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %lf", &ticks) != 1)
                return 0;
        return ticks / (double)sysconf(_SC_CLK_TCK) / (double)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Returns the frequency of the fastest CPU, which is one that worked until now. */
static double read_frequency(int root_fd) {
        double highest = 0, khz = 1;

        for (unsigned cpu = 0; cpu < CPUS_MAX && khz > 0; cpu++) {
                char path[96];

                (void)snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
                khz = read_number(root_fd, path, "");
                highest = fmax(highest, khz);
        }
        return highest;
}

NodeNoise node_noise_read(int root_fd) {
        return (NodeNoise){ .values = {
                [NOISE_CPU] = read_number(root_fd, "proc/pressure/cpu", "total=") / 1e6,
                [NOISE_IO] = read_number(root_fd, "proc/pressure/io", "total=") / 1e6,
                [NOISE_MEMORY] = read_number(root_fd, "proc/pressure/memory", "total=") / 1e6,
                [NOISE_STEAL] = read_steal(root_fd),
                [NOISE_FREQUENCY] = read_frequency(root_fd),
        } };
}

void node_noise_add_run(NodeNoise *shares, const NodeNoise *begin, const NodeNoise *end, double wall_s,
                        double throttled_s, NoiseHistory *history) {
        double khz = end->values[NOISE_FREQUENCY];

        history->top_khz = fmax(history->top_khz, khz);
        for (Noise i = 0; i < N_NOISES; i++) {
                double lost_s = i == NOISE_THROTTLING ? throttled_s : end->values[i] - begin->values[i];
                double share = i == NOISE_FREQUENCY ? (khz > 0 ? 1 - khz / history->top_khz : 0) : lost_s / wall_s;

                shares->values[i] = fmax(shares->values[i], share);
        }
}

bool node_noise_add_pair(NoiseHistory *history, const NodeNoise *shares) {
        bool is_disturbed = false;

        for (Noise i = 0; i < N_NOISES; i++) {
                bool is_cause = !is_disturbed && history->n >= PAIRS_BEFORE_MIN && shares->values[i] >= SHARE_MIN &&
                                shares->values[i] >= TIMES_USUAL * history->sums[i] / (double)history->n;

                history->n_disturbed[i] += is_cause;
                history->sums[i] += shares->values[i];
                is_disturbed |= is_cause;
        }
        history->n++;
        return is_disturbed;
}

double node_noise_usual(const NoiseHistory *history, Noise *ret) {
        *ret = NOISE_CPU;
        for (Noise i = 0; i < N_NOISES; i++)
                if (history->sums[i] > history->sums[*ret])
                        *ret = i;
        return history->n > 0 && history->sums[*ret] >= SHARE_MIN * (double)history->n
                       ? history->sums[*ret] / (double)history->n : 0;
}
