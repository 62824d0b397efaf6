/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of storing a result durably
 *
 * One thread stores results as fast as the queue accepts them, up to 10^6 rows, one per submission, counted when
 * completed, which means on disk. For comparison, in the same directory: one write and fdatasync(2), and SQLite
 * alone, committing the same documents in groups to a table without an index. Then results are stored at a constant
 * rate of 10,000/s, to measure the latency.
 *
 *   store [DIRECTORY [ROWS]]     a directory on the disk to be measured; default: /var/tmp
 */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "store/indicators/result_rows.h"
#include "store/store.h"
#include "util/clock.h"
#include "util/file.h"

#define GROUP_ROWS 4096
#define N_SYNCS 300
#define N_PARAMETERS 12
#define PACED_PER_S 10000
#define PACED_S 5

/* Returns cookie number `number` of this benchmark; the store does not interpret cookies. */
static StoreCookie cookie_of(uint64_t number) {
        static const char kind[] = "bench";

        return (StoreCookie){ .kind = (const struct Kind *)(const void *)kind,
                              .ticket = { .generation = 1, .number = number } };
}

static void check(bool is_true, const char *what) {
        if (is_true)
                return;
        fprintf(stderr, "store: %s failed\n", what);
        exit(1);
}

static double seconds_since(uint64_t begin_ns) {
        return (double)(clock_boottime_ns() - begin_ns) / 1e9;
}

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

/* --- the result: a convolution with about 350 bytes of JSON -------------------------------------- */

typedef struct Result {
        Member parameters[N_PARAMETERS], numbers[2], members[4];
        Value document;
        Submission submission;
} Result;

static void result_make(Result *result) {
        static const char *const names[N_PARAMETERS] = {
                "batch", "filter_height", "filter_width", "input_channels", "input_height", "input_width",
                "mini_batch", "output_channels", "reps", "strides", "dtype", "device",
        };

        *result = (Result){};
        for (size_t i = 0; i < N_PARAMETERS; i++)
                result->parameters[i] = (Member){ names[i], { .type = VALUE_INT, .integer = (int64_t)(17 * i) } };
        result->parameters[10].value = (Value){ .type = VALUE_STRING, .string = "float32" };
        result->parameters[11].value = (Value){ .type = VALUE_STRING, .string = "cpu" };
        result->numbers[0] = (Member){ "elapsed", { .type = VALUE_DOUBLE, .number = 91.80921246297657 } };
        result->numbers[1] = (Member){ "rate", { .type = VALUE_DOUBLE, .number = 7.856292202602945 } };
        result->members[0] = (Member){ "@parameters", { .type = VALUE_OBJECT } };
        result->members[0].value.members = result->parameters;
        result->members[0].value.n_members = N_PARAMETERS;
        result->members[1] = (Member){ "@result", { .type = VALUE_OBJECT } };
        result->members[1].value.members = result->numbers;
        result->members[1].value.n_members = 2;
        result->members[2] = (Member){ "name", { .type = VALUE_STRING, .string = "PiConv2D" } };
        result->members[3] = (Member){ "component", { .type = VALUE_STRING, .string = "tensorflow" } };
        result->document.type = VALUE_OBJECT;
        result->document.members = result->members;
        result->document.n_members = 4;
        result->submission.indicator = (Indicator){ .component = "tensorflow", .document = &result->document };
}

static uint64_t scramble(uint64_t v) {
        v = (v ^ (v >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        v = (v ^ (v >> 27)) * UINT64_C(0x94d049bb133111eb);
        return v ^ (v >> 31);
}

/*
 * Makes an id that begins with the time in milliseconds, as perfd's client does, or a random one, as other clients
 * may.
 */
static void result_number(Result *result, uint64_t n, bool is_random) {
        static const char *const names[] = { "PiConv2D", "PiMatmul", "PiConv1D", "PiPyBench" };
        uint64_t id[2] = { scramble(2 * n), scramble(2 * n + 1) };
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;

        memcpy(result->submission.id, id, sizeof(id));
        for (int i = 0; i < 6 && !is_random; i++)
                result->submission.id[i] = (uint8_t)(now_ms >> (40 - 8 * i));
        result->submission.indicator.name = names[n % N_ELEMENTS(names)];
        result->submission.job = n % 2 ? "job-17" : "";
        result->submission.time_ms = now_ms;
}

/* --- reference values ---------------------------------------------------------------------------- */

static double median_sync_ms(const char *directory) {
        char path[256], block[4096] = {};
        uint64_t ns[N_SYNCS];
        int fd;

        (void)snprintf(path, sizeof(path), "%s/sync", directory);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        check(fd >= 0, "creating a file");
        for (size_t i = 0; i < N_SYNCS; i++) {
                uint64_t begin_ns = clock_boottime_ns();

                check(file_write_all(fd, block, sizeof(block)) == 0 && fdatasync(fd) == 0, "fdatasync");
                ns[i] = clock_boottime_ns() - begin_ns;
        }
        close(fd);
        check(unlink(path) == 0, "unlink");

        qsort(ns, N_SYNCS, sizeof(*ns), compare);
        return (double)ns[N_SYNCS / 2] / 1e6;
}

static double bare_rows_per_s(const char *directory, size_t n_rows) {
        char path[256], document[350];
        sqlite3_stmt *insert;
        uint64_t begin_ns;
        sqlite3 *db;

        (void)snprintf(path, sizeof(path), "%s/bare.db", directory);
        check(sqlite3_open(path, &db) == SQLITE_OK &&
                      sqlite3_exec(db,
                                   "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -2048;"
                                   "CREATE TABLE t (id INTEGER PRIMARY KEY, document TEXT)",
                                   NULL, NULL, NULL) == SQLITE_OK &&
                      sqlite3_prepare_v2(db, "INSERT INTO t (document) VALUES (?1)", -1, &insert, NULL) == SQLITE_OK,
              "opening a bare database");
        memset(document, 'x', sizeof(document));

        begin_ns = clock_boottime_ns();
        for (size_t i = 0; i < n_rows; i++) {
                if (i % GROUP_ROWS == 0)
                        check(sqlite3_exec(db, i == 0 ? "BEGIN" : "COMMIT; BEGIN", NULL, NULL, NULL) == SQLITE_OK,
                              "COMMIT");
                sqlite3_bind_text(insert, 1, document, sizeof(document), SQLITE_STATIC);
                check(sqlite3_step(insert) == SQLITE_DONE, "INSERT");
                sqlite3_reset(insert);
        }
        check(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, "COMMIT");
        begin_ns = clock_boottime_ns() - begin_ns;

        sqlite3_finalize(insert);
        sqlite3_close(db);
        check(unlink(path) == 0, "unlink");
        return (double)n_rows / ((double)begin_ns / 1e9);
}

/* --- the store ----------------------------------------------------------------------------------- */

static Store *open_store(const char *directory) {
        StoreConfig config = {
                .size_max_bytes = UINT64_C(8) << 30,
                .queue_rows_max = 65536,
                .queue_bytes_max = 64 << 20,
        };
        Store *store = NULL;
        char *note = NULL;

        (void)snprintf(config.directory, sizeof(config.directory), "%s", directory);
        check(store_open(&store, &config, &note) == 0 && !note, "store_open");
        return store;
}

static void remove_store(const char *directory) {
        static const char *const names[] = { "perfd.db", "perfd.db-wal", "perfd.db-shm", "perfd.lock" };
        char path[256];

        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                (void)snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
                (void)unlink(path);
        }
}

static void wait_readable(Store *store, int timeout_ms) {
        struct pollfd fd = { .fd = store_fd(store), .events = POLLIN };

        (void)poll(&fd, 1, timeout_ms);
}

static size_t take_done(Store *store) {
        StoreDone done;
        size_t n = 0;

        for (; store_next_done(store, &done) == 0; n++)
                check(done.outcome == STORE_DONE, "storing a result");
        return n;
}

/* Stores rows n_begin … n_end and waits until all are on disk. Returns rows/s. */
static double put_rows(Store *store, Result *result, size_t n_begin, size_t n_end, bool is_random) {
        uint64_t begin_ns = clock_boottime_ns();
        size_t n_put = n_begin, n_done = n_begin;

        while (n_done < n_end) {
                int r = 0;

                while (n_put < n_end && r == 0) {
                        result_number(result, n_put, is_random);
                        r = store_put(store, result_rows_pack(&result->submission, 1, &(Peer){ .uid = 1000 }, 1,
                                                              cookie_of(n_put + 1)));
                        check(r >= 0, "store_put_results");
                        n_put += r == 0;
                }
                wait_readable(store, -1);
                n_done += take_done(store);
        }
        return (double)(n_end - n_begin) / seconds_since(begin_ns);
}

static size_t resident_kib(void) {
        char line[128];
        size_t kib = 0;
        FILE *f = fopen("/proc/self/status", "re");

        check(f != NULL, "reading /proc/self/status");
        while (fgets(line, sizeof(line), f))
                (void)sscanf(line, "VmRSS: %zu", &kib);
        fclose(f);
        return kib;
}

static void bench_growth(const char *directory, size_t n_rows, bool is_random) {
        double first = 0, last = 0, slowest = 1e12;
        Store *store = open_store(directory);
        uint64_t begin_ns = clock_boottime_ns();
        StoreStats stats;
        Result result;

        result_make(&result);
        for (size_t tenth = 0; tenth < 10; tenth++) {
                last = put_rows(store, &result, n_rows * tenth / 10, n_rows * (tenth + 1) / 10, is_random);
                first = tenth == 0 ? last : first;
                slowest = last < slowest ? last : slowest;
        }
        store_stats(store, &stats);
        printf("store: %s ids: %zu rows, %.0f rows/s; first tenth %.0f, last %.0f, slowest %.0f\n",
               is_random ? "random" : "time-ordered", n_rows, (double)n_rows / seconds_since(begin_ns), first, last,
               slowest);
        printf("store: %llu commits, mean %.2f ms; %.0f bytes of disk per row; %zu KiB resident, queue of 65536 "
               "included\n",
               (unsigned long long)stats.n_commits, (double)stats.commit_ns_sum / (double)stats.n_commits / 1e6,
               (double)stats.size_bytes / (double)n_rows, resident_kib());
        store_free(store);
        remove_store(directory);
}

/* Stores a fixed number of results per millisecond, and measures the time from store_put() to the completion. */
static void bench_pace(const char *directory) {
        size_t n_all = PACED_PER_S * PACED_S, n_put = 0, n_done = 0;
        uint64_t *waited_ns = calloc(n_all, sizeof(*waited_ns));
        Store *store = open_store(directory);
        uint64_t begin_ns;
        Result result;

        check(waited_ns != NULL, "calloc");
        result_make(&result);
        begin_ns = clock_boottime_ns();
        while (n_done < n_all) {
                uint64_t now_ns = clock_boottime_ns();
                StoreDone done;

                for (; n_put < n_all && n_put < (now_ns - begin_ns) / (NS_PER_S / PACED_PER_S); n_put++) {
                        result_number(&result, n_put, false);
                        waited_ns[n_put] = now_ns;
                        check(store_put(store, result_rows_pack(&result.submission, 1, &(Peer){}, 1,
                                                                cookie_of(n_put))) == 0, "a put");
                }
                wait_readable(store, 1);
                for (; store_next_done(store, &done) == 0; n_done++)
                        waited_ns[done.cookie.ticket.number] = clock_boottime_ns() -
                                                               waited_ns[done.cookie.ticket.number];
        }

        qsort(waited_ns, n_all, sizeof(*waited_ns), compare);
        printf("store: at %d/s: median %.2f ms, p99 %.2f ms, longest %.2f ms\n", PACED_PER_S,
               (double)waited_ns[n_all / 2] / 1e6, (double)waited_ns[n_all * 99 / 100] / 1e6,
               (double)waited_ns[n_all - 1] / 1e6);
        free(waited_ns);
        store_free(store);
        remove_store(directory);
}

int main(int argc, char **argv) {
        size_t n_rows = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
        char directory[200];

        (void)snprintf(directory, sizeof(directory), "%s/perfd-bench-XXXXXX", argc > 1 ? argv[1] : "/var/tmp");
        check(n_rows >= 10 && mkdtemp(directory), "making a directory");

        printf("store: one write and fdatasync %.2f ms; SQLite alone, groups of %d: %.0f rows/s\n",
               median_sync_ms(directory), GROUP_ROWS, bare_rows_per_s(directory, 400000));
        bench_pace(directory);
        bench_growth(directory, n_rows, false);
        bench_growth(directory, n_rows, true);
        check(rmdir(directory) == 0, "rmdir");
        return 0;
}
