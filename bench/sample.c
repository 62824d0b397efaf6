/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample costs
 *
 * Against the least that the same files can cost: nothing but pread(2) of all of their content, into
 * a buffer that is large enough. Both in CPU time of this thread; rounds of the two take turns, and
 * the median of the rounds counts, so that a busy neighbour disturbs neither more than the other.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "sample/sampler.h"
#include "util/clock.h"

#define N_ROUNDS 40
#define N_PER_ROUND 500
#define TEXT_BYTES ((size_t)4 << 20)

typedef struct Bare {
        int fds[N_SOURCES];
        size_t n_calls[N_SOURCES]; /* until everything is read; none for a file that this kernel does not have */
        char *text;                /* owned */
} Bare;

static size_t count_calls(int fd, char *text) {
        size_t n_calls = 0;
        off_t n = 0;
        ssize_t k;

        while ((k = pread(fd, text, TEXT_BYTES, n)) > 0) {
                n += k;
                n_calls++;
        }
        return n_calls;
}

/* The files that a sample reads every time: the file systems are asked once only. */
static int bare_init(Bare *bare, int root_fd) {
        *bare = (Bare){ .text = malloc(TEXT_BYTES) };
        if (!bare->text)
                return -ENOMEM;

        for (Source s = 0; s < N_SOURCES; s++) {
                bare->fds[s] = s == SOURCE_FILESYSTEMS ? -1 : openat(root_fd, source_path(s), O_RDONLY | O_CLOEXEC);
                bare->n_calls[s] = bare->fds[s] >= 0 ? count_calls(bare->fds[s], bare->text) : 0;
        }
        return 0;
}

static void bare_deinit(Bare *bare) {
        for (Source s = 0; s < N_SOURCES; s++)
                closep(&bare->fds[s]);
        free(bare->text);
}

static void bare_read(const Bare *bare) {
        for (Source s = 0; s < N_SOURCES; s++) {
                off_t n = 0;

                for (size_t i = 0; i < bare->n_calls[s]; i++) {
                        ssize_t k = pread(bare->fds[s], bare->text, TEXT_BYTES, n);

                        n += k > 0 ? k : 0;
                }
        }
}

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
