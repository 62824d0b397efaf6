/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations of the idle loop
 *
 *     steady --config FILE --socket PATH --state DIRECTORY --http ADDRESS|off
 *
 * Runs the real daemon in a program that interposes malloc(3), which also counts the allocations of the C library and
 * of sd-event. Only the loop's thread is counted; other threads, which wait for the disk or answer queries, may
 * allocate. After the start, allocations are counted for some seconds; then the daemon is stopped normally.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "daemon.h"
#include "util/clock.h"
#include "util/scoped.h"

#define START_S 2
#define WATCH_S 5

#define EXPORTED __attribute__((visibility("default")))

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static _Thread_local bool is_loop;
static atomic_uint_fast64_t n_calls, n_bytes;

static void count(size_t n) {
        if (!is_loop)
                return;
        atomic_fetch_add_explicit(&n_calls, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&n_bytes, n, memory_order_relaxed);
}

EXPORTED void *malloc(size_t n) {
        count(n);
        return __libc_malloc(n);
}

EXPORTED void *calloc(size_t n, size_t size) {
        count(n * size);
        return __libc_calloc(n, size);
}

EXPORTED void *realloc(void *p, size_t n) {
        count(n);
        return __libc_realloc(p, n);
}

static void sleep_s(time_t seconds) {
        struct timespec left = { .tv_sec = seconds };

        while (nanosleep(&left, &left) < 0)
                ;
}

static void *watch(void *userdata) {
        uint64_t calls, bytes, start_ns;

        (void)userdata;
        sleep_s(START_S);
        calls = n_calls;
        bytes = n_bytes;
        start_ns = clock_boottime_ns();

        sleep_s(WATCH_S);
        printf("allocations=%lu bytes=%lu seconds=%.3f\n", (unsigned long)(n_calls - calls),
               (unsigned long)(n_bytes - bytes), (double)(clock_boottime_ns() - start_ns) / (double)NS_PER_S);
        (void)kill(getpid(), SIGTERM);
        return NULL;
}

static bool read_options(char **words, Options *ret) {
        const struct {
                const char *name;
                const char **value;
        } options[] = {
                { "--config", &ret->config_path }, { "--socket", &ret->socket },
                { "--state", &ret->state },        { "--http", &ret->http },
        };

        *ret = (Options){ .root = "/" };
        for (; words[0] && words[1]; words += 2)
                for (size_t i = 0; i < N_ELEMENTS(options); i++)
                        if (strcmp(words[0], options[i].name) == 0)
                                *options[i].value = words[1];
        if (!ret->config_path || !ret->socket || !ret->state || !ret->http || words[0])
                return false;

        /* absolute paths, as set by daemon_options.c */
        (void)snprintf(ret->socket_path, sizeof(ret->socket_path), "%s", ret->socket);
        (void)snprintf(ret->state_path, sizeof(ret->state_path), "%s", ret->state);
        return true;
}

int main(int argc, char **argv) {
        Options options;
        pthread_t thread;
        sigset_t set;
        int status;

        if (argc < 2 || !read_options(argv + 1, &options)) {
                fprintf(stderr, "steady: wrong arguments, see the head of its source\n");
                return 2;
        }

        /* the loop receives the signal that ends it */
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);

        if (pthread_create(&thread, NULL, watch, NULL) != 0)
                return 1;
        is_loop = true;
        status = daemon_run(&options);
        if (status == 0)
                (void)pthread_join(thread, NULL);
        return status;
}
