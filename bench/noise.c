/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed work quanta on each CPU: how much a node is disturbed
 *
 *     noise SECONDS
 *
 * A thread on each CPU repeats the same work, which takes about a tenth of a millisecond without disturbance, as the
 * processes of a parallel job that fills the node. Prints for all quanta:
 *
 *     least        shortest quantum, in ns: the work itself
 *     p9999        99.99th percentile, in ns
 *     longest      in ns
 *     lost_ppm     share of the time beyond the shortest quantum of the same CPU
 */

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/scoped.h"

#define QUANTUM_NS (100 * NS_PER_US)
#define N_CPUS_MAX 1024

typedef struct Worker {
        pthread_t thread;
        int cpu;
        uint64_t n_steps; /* of a quantum */
        uint64_t end_ns;
        uint32_t *quanta_ns; /* owned */
        size_t n, n_max;
} Worker;

static int compare(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

        return (x > y) - (x < y);
}

/* Work of the registers alone: caches of the node are not part of the measurement. */
static uint64_t work(uint64_t n_steps) {
        uint64_t x = n_steps;

        for (uint64_t i = 0; i < n_steps; i++)
                x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return x;
}

/* The fastest of many attempts is undisturbed. */
static uint64_t steps_of_a_quantum(void) {
        const uint64_t n_steps = 100000;
        uint64_t least_ns = UINT64_MAX, sum = 0;

        for (unsigned i = 0; i < 200; i++) {
                uint64_t begin_ns = clock_monotonic_ns(), taken_ns;

                sum += work(n_steps);
                taken_ns = clock_monotonic_ns() - begin_ns;
                least_ns = taken_ns < least_ns ? taken_ns : least_ns;
        }
        return n_steps * QUANTUM_NS / (least_ns > 0 ? least_ns : 1) + (sum == 1);
}

static void *run(void *userdata) {
        Worker *worker = userdata;
        uint64_t begin_ns, sum = 0;
        cpu_set_t cpus;

        CPU_ZERO(&cpus);
        CPU_SET(worker->cpu, &cpus);
        (void)pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
        for (begin_ns = clock_monotonic_ns(); begin_ns < worker->end_ns && worker->n < worker->n_max;) {
                uint64_t now_ns;

                sum += work(worker->n_steps);
                now_ns = clock_monotonic_ns();
                worker->quanta_ns[worker->n++] = (uint32_t)(now_ns - begin_ns) + (sum == 1);
                begin_ns = now_ns;
        }
        return NULL;
}

static void report(const Worker *workers, size_t n_workers) {
        scoped(freep) uint32_t *all = NULL;
        uint64_t total_ns = 0, lost_ns = 0;
        size_t n = 0, n_all = 0;

        for (size_t i = 0; i < n_workers; i++)
                n_all += workers[i].n;
        all = calloc(n_all, sizeof(*all));
        if (!all || n_all == 0)
                exit(1);
        for (size_t i = 0; i < n_workers; i++) {
                const Worker *worker = &workers[i];

                qsort(worker->quanta_ns, worker->n, sizeof(*worker->quanta_ns), compare);
                for (size_t k = 0; k < worker->n; k++) {
                        total_ns += worker->quanta_ns[k];
                        lost_ns += worker->quanta_ns[k] - worker->quanta_ns[0];
                        all[n++] = worker->quanta_ns[k];
                }
        }
        qsort(all, n, sizeof(*all), compare);
        printf("noise: cpus=%zu quanta=%zu least=%u p9999=%u longest=%u lost_ppm=%.0f\n", n_workers, n, all[0],
               all[n - 1 - n / 10000], all[n - 1], (double)lost_ns / (double)total_ns * 1e6);
}

int main(int argc, char *argv[]) {
        static Worker workers[N_CPUS_MAX];
        double seconds = argc == 2 ? atof(argv[1]) : 0;
        uint64_t n_steps = steps_of_a_quantum(), end_ns;
        size_t n = 0;
        cpu_set_t cpus;

        if (!(seconds > 0) || sched_getaffinity(0, sizeof(cpus), &cpus) < 0) {
                fprintf(stderr, "usage: noise SECONDS\n");
                return 2;
        }
        end_ns = clock_monotonic_ns() + (uint64_t)(seconds * (double)NS_PER_S);
        for (int cpu = 0; cpu < N_CPUS_MAX; cpu++) {
                Worker *worker = &workers[n];

                if (!CPU_ISSET(cpu, &cpus))
                        continue;
                *worker = (Worker){ .cpu = cpu, .n_steps = n_steps, .end_ns = end_ns,
                                    .n_max = (size_t)(seconds * 2e9 / (double)QUANTUM_NS) };
                worker->quanta_ns = calloc(worker->n_max, sizeof(*worker->quanta_ns));
                if (!worker->quanta_ns || pthread_create(&worker->thread, NULL, run, worker) != 0)
                        return 1;
                n++;
        }
        for (size_t i = 0; i < n; i++)
                (void)pthread_join(workers[i].thread, NULL);
        report(workers, n);
        for (size_t i = 0; i < n; i++)
                free(workers[i].quanta_ns);
        return 0;
}
