/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of a sample
 *
 * Compared with the minimum for the same files: pread(2) of their whole content, into a sufficiently large buffer.
 * Both are CPU time of this thread; the variants alternate, and the result is the median of the rounds, so that other
 * load affects both equally.
 */

#include <string.h>

#include "bare.h"
#include "util/clock.h"

#define N_ROUNDS 40
#define N_PER_ROUND 500

static uint64_t time_bare(const Bare *bare) {
        uint64_t start_ns = clock_thread_cpu_ns();

        for (size_t i = 0; i < N_PER_ROUND; i++)
                bare_read(bare);
        return (clock_thread_cpu_ns() - start_ns) / N_PER_ROUND;
}

static uint64_t time_samples(Sampler *sampler, Sample *sample) {
        uint64_t start_ns = clock_thread_cpu_ns();

        for (size_t i = 0; i < N_PER_ROUND; i++)
                if (sampler_read(sampler, clock_boottime_ns(), clock_realtime_ns(), sample) < 0)
                        abort();
        return (clock_thread_cpu_ns() - start_ns) / N_PER_ROUND;
}

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values, size_t n) {
        qsort(values, n, sizeof(*values), compare);
        return values[n / 2];
}

int main(int argc, char **argv) {
        const char *root = argc > 1 ? argv[1] : "/";
        scoped(sampler_freep) Sampler *sampler = NULL;
        scoped(closep) int root_fd = -1;
        uint64_t bare_ns[N_ROUNDS], sample_ns[N_ROUNDS], b, s;
        Sample sample = {};
        Bare bare;

        root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root_fd < 0 || sampler_new(&sampler, root, 3600 * NS_PER_S) < 0 || bare_init(&bare, root_fd) < 0) {
                fprintf(stderr, "sample: cannot read %s\n", root);
                return 1;
        }

        for (size_t i = 0; i < N_ROUNDS; i++) {
                bare_ns[i] = time_bare(&bare);
                sample_ns[i] = time_samples(sampler, &sample);
        }

        b = median(bare_ns, N_ROUNDS);
        s = median(sample_ns, N_ROUNDS);
        printf("sample: %llu ns of CPU per sample, %llu ns of bare preads, ratio %.2f\n", (unsigned long long)s,
               (unsigned long long)b, (double)s / (double)b);

        bare_deinit(&bare);
        sample_deinit(&sample);
        return 0;
}
