/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of queries over many results, and their effect on storing results
 *
 * One thread stores results of an indicator as fast as the queue accepts them, one per submission, without a model
 * and with one, alternating, each time in a new store. Then, with 10^6 results with a model in 100 series, it runs
 * the queries of HTTP threads: an indexed filter that matches 1 % of the results, and a median over all. Finally,
 * results are stored without queries, and while another thread repeats the median query.
 *
 * The same follows for results with software stacks, 20 of 200 packages each, in a new store: storing results one
 * per submission, where each submission brings its stack, a query by a package that a twentieth of the results has
 * in this version, and a median by the version of the package.
 *
 *   query [DIRECTORY [ROWS]]     a directory on the disk to be measured; default: /var/tmp
 */

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/routes.h"
#include "stack/stack.h"
#include "store/indicators/result_rows.h"
#include "store/store.h"
#include "util/clock.h"

#define N_SIZES 25
#define N_DTYPES 2
#define N_COMPONENTS 2
#define N_ASKED 20
#define N_TURNS 3
#define N_STACKS 20
#define N_PACKAGES 200

/* Returns cookie number `number` of this benchmark; the store does not interpret cookies. */
static StoreCookie cookie_of(uint64_t number) {
        static const char kind[] = "bench";

        return (StoreCookie){ .kind = (const struct Kind *)(const void *)kind,
                              .ticket = { .generation = 1, .number = number } };
}

static void check(bool is_true, const char *what) {
        if (is_true)
                return;
        fprintf(stderr, "query: %s failed\n", what);
        exit(1);
}

/* --- software stacks ----------------------------------------------------------------------------- */

typedef struct BenchStack {
        char texts[N_PACKAGES + 1][40];
        StackPackage packages[N_PACKAGES + 1];
        SubmissionStack stack;
} BenchStack;

static int compare_packages(const void *a, const void *b) {
        return stack_compare_packages(a, b);
}

/* Makes stack i: numpy has another version in each stack, and a tenth of the other packages too. */
static void stack_make(BenchStack *ret, unsigned i) {
        scoped(buffer_deinit) Buffer form = {};

        *ret = (BenchStack){};
        for (unsigned k = 0; k <= N_PACKAGES; k++) {
                bool is_numpy = k == N_PACKAGES;

                (void)snprintf(ret->texts[k], sizeof(ret->texts[k]), "1.%u", is_numpy || k % 10 == 0 ? i : 0);
                ret->packages[k] = (StackPackage){ .kind = STACK_KIND_PYTHON, .version = ret->texts[k],
                                                   .source = "https://pypi.org/simple" };
                (void)snprintf(ret->texts[k] + 8, sizeof(ret->texts[k]) - 8, is_numpy ? "numpy" : "package-%03u", k);
                ret->packages[k].name = ret->texts[k] + 8;
        }
        ret->stack.stack = (Stack){ .package_manager = "pip", .packages = ret->packages, .n_packages = N_PACKAGES + 1 };
        qsort(ret->packages, N_PACKAGES + 1, sizeof(ret->packages[0]), compare_packages);
        check(stack_put_canonical(&ret->stack.stack, &form) == 0, "a stack");
        ret->stack.n_bytes = form.n;
        stack_digest(&form, ret->stack.digest);
}

/* --- results ------------------------------------------------------------------------------------- */

typedef struct Result {
        Member parameters[4], numbers[2], members[5];
        Value document;
        Property properties[6];
        IndicatorModel model;
        Submission submission;
} Result;

static void result_make(Result *result) {
        *result = (Result){};
        result->parameters[0] = (Member){ "device", { .type = VALUE_STRING, .string = "cpu" } };
        result->parameters[1] = (Member){ "dtype", { .type = VALUE_STRING } };
        result->parameters[2] = (Member){ "matrix_size", { .type = VALUE_INT } };
        result->parameters[3] = (Member){ "reps", { .type = VALUE_INT, .integer = 50 } };
        result->numbers[0] = (Member){ "elapsed", { .type = VALUE_DOUBLE } };
        result->numbers[1] = (Member){ "rate", { .type = VALUE_DOUBLE } };
        result->members[0] = (Member){ "@parameters", { .type = VALUE_OBJECT } };
        result->members[0].value.members = result->parameters;
        result->members[0].value.n_members = 4;
        result->members[1] = (Member){ "@result", { .type = VALUE_OBJECT } };
        result->members[1].value.members = result->numbers;
        result->members[1].value.n_members = 2;
        result->members[2] = (Member){ "name", { .type = VALUE_STRING, .string = "PiMatmul" } };
        result->members[3] = (Member){ "component", { .type = VALUE_STRING } };
        result->members[4] = (Member){ "version", { .type = VALUE_STRING, .string = "2.1" } };
        result->document.type = VALUE_OBJECT;
        result->document.members = result->members;
        result->document.n_members = 5;
        result->submission.job = "";
        result->submission.indicator = (Indicator){ .name = "PiMatmul",
                                                    .version = "2.1",
                                                    .document = &result->document };

        result->properties[0] = (Property){ .name = "device", .index = INDEX_EXACT };
        result->properties[1] = (Property){ .name = "dtype", .index = INDEX_EXACT };
        result->properties[2] = (Property){ .name = "matrix_size", .index = INDEX_INT };
        result->properties[3] = (Property){ .name = "reps", .index = INDEX_INT };
        result->properties[4] = (Property){ .name = "elapsed", .is_result = true };
        result->properties[5] = (Property){ .name = "rate", .is_result = true };
        result->model = (IndicatorModel){
                .name = "PiMatmul", .properties = result->properties, .n_properties = 6, .document = &result->document,
        };
}

static uint64_t scramble(uint64_t v) {
        v = (v ^ (v >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        v = (v ^ (v >> 27)) * UINT64_C(0x94d049bb133111eb);
        return v ^ (v >> 31);
}

static void result_number(Result *result, uint64_t n, bool has_model) {
        static const char *const components[N_COMPONENTS] = { "tensorflow", "pytorch" }, *const dtypes[N_DTYPES] = {
                "float32", "float64"
        };
        uint64_t random = scramble(n + 1), now_ms = clock_realtime_ns() / NS_PER_MS;

        for (int i = 0; i < 6; i++)
                result->submission.id[i] = (uint8_t)(now_ms >> (40 - 8 * i));
        memcpy(result->submission.id + 8, &n, sizeof(n));
        result->submission.time_ms = now_ms;
        result->submission.model = has_model ? &result->model : NULL;
        result->submission.indicator.component = components[random % N_COMPONENTS];
        result->members[3].value.string = components[random % N_COMPONENTS];
        result->parameters[1].value.string = dtypes[random / 2 % N_DTYPES];
        result->parameters[2].value.integer = (int64_t)(64 * (1 + random / 4 % N_SIZES));
        result->numbers[0].value.number = 1 + (double)(random >> 40) / 1e6;
        result->numbers[1].value.number = 300 / result->numbers[0].value.number;
}

/* --- the store ----------------------------------------------------------------------------------- */

static Store *open_store(const char *directory) {
        StoreConfig config = {
                .size_max_bytes = UINT64_C(8) << 30, .queue_rows_max = 65536, .queue_bytes_max = 64 << 20,
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

/* Stores rows n_begin … n_end and waits until all are on disk. stacks: N_STACKS in turn, or NULL: none. Returns
 * rows/s. */
static double put_rows(Store *store, size_t n_begin, size_t n_end, bool has_model, const BenchStack *stacks) {
        uint64_t begin_ns = clock_boottime_ns();
        size_t n_put = n_begin, n_done = n_begin;
        Result result;

        result_make(&result);
        while (n_done < n_end) {
                struct pollfd fd = { .fd = store_fd(store), .events = POLLIN };
                StoreDone done;
                int r = 0;

                while (n_put < n_end && r == 0) {
                        result_number(&result, n_put, has_model);
                        result.submission.stack = stacks ? &stacks[n_put % N_STACKS].stack : NULL;
                        r = store_put(store, result_rows_pack(&result.submission, 1, &(Peer){ .uid = 1000 }, 1,
                                                              cookie_of(n_put + 1)));
                        check(r >= 0, "store_put_results");
                        n_put += r == 0;
                }
                (void)poll(&fd, 1, -1);
                for (; store_next_done(store, &done) == 0; n_done++)
                        check(done.outcome == STORE_DONE, "storing a result");
        }
        return (double)(n_end - n_begin) / ((double)(clock_boottime_ns() - begin_ns) / 1e9);
}

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static double median(double *values, size_t n) {
        qsort(values, n, sizeof(*values), compare);
        return values[n / 2];
}

static void bench_cost(const char *directory, size_t n_rows) {
        double rates[2][N_TURNS];

        for (size_t turn = 0; turn < N_TURNS; turn++)
                for (int has_model = 0; has_model < 2; has_model++) {
                        Store *store = open_store(directory);

                        rates[has_model][turn] = put_rows(store, 0, n_rows, has_model, NULL);
                        store_free(store);
                        remove_store(directory);
                }
        printf("query: model_ratio=%.2f with_model=%.0f without_model=%.0f\n",
               median(rates[1], N_TURNS) / median(rates[0], N_TURNS), median(rates[1], N_TURNS),
               median(rates[0], N_TURNS));
}

/* --- queries ------------------------------------------------------------------------------------- */

static double ask_ms(Reader *reader, const char *const *words, size_t n_words, const char *expected) {
        scoped(buffer_deinit) Buffer body = {};
        uint64_t begin_ns = clock_boottime_ns();
        Exchange exchange;

        exchange_init(&exchange, &body);
        exchange.sources.reader = reader;
        check(exchange_set_path(&exchange.target, &exchange.response, "/api/v1/indicators/PiMatmul/query") == 0,
              "a path");
        for (size_t i = 0; i < n_words; i += 2)
                check(exchange_add_parameter(&exchange.target, &exchange.response, words[i], words[i + 1]) == 0,
                      "a query parameter");
        routes_answer(&exchange);
        check(exchange.response.status == 200 && strstr(body.text, expected), "a question");
        return (double)(clock_boottime_ns() - begin_ns) / 1e6;
}

static const char *const filter[] = { "where",     "matrix_size=512", "where", "dtype=float32",
                                      "component", "pytorch",         "stat",  "median:rate" };
static const char *const aggregate[] = { "group_by", "component,version", "stat", "median:rate" };

static double cpu_ms(void) {
        return (double)clock_thread_cpu_ns() / 1e6;
}

/* Asks repeatedly. Returns the median of the times; *ret_cpu: of the CPU times. */
static double ask_again(Reader *reader, const char *const *words, size_t n_words, const char *expected,
                        double *ret_cpu) {
        double ms[N_ASKED], cpu[N_ASKED];

        for (size_t i = 0; i < N_ASKED; i++) {
                cpu[i] = cpu_ms();
                ms[i] = ask_ms(reader, words, n_words, expected);
                cpu[i] = cpu_ms() - cpu[i];
        }
        *ret_cpu = median(cpu, N_ASKED);
        return median(ms, N_ASKED);
}

static void bench_questions(Store *store) {
        double filtered, filtered_cpu, aggregated, aggregated_cpu;
        Reader *reader;

        check(reader_new(&reader, store_path(store), store_wal_barrier(store), 60 * NS_PER_S) == 0, "reader_new");
        filtered = ask_again(reader, filter, N_ELEMENTS(filter), "\"key\":{}", &filtered_cpu);
        aggregated = ask_again(reader, aggregate, N_ELEMENTS(aggregate), "\"pytorch\"", &aggregated_cpu);
        reader_free(reader);
        printf("query: filter_ms=%.2f filter_cpu_ms=%.2f aggregate_ms=%.0f aggregate_cpu_ms=%.0f\n", filtered,
               filtered_cpu, aggregated, aggregated_cpu);
}

typedef struct Asker {
        Store *store;
        atomic_bool must_end;
        size_t n_asked;
} Asker;

static void *on_start(void *userdata) {
        Asker *asker = userdata;
        Reader *reader;

        check(reader_new(&reader, store_path(asker->store), store_wal_barrier(asker->store), 60 * NS_PER_S) == 0,
              "reader_new");
        for (; !atomic_load(&asker->must_end); asker->n_asked++)
                (void)ask_ms(reader, aggregate, N_ELEMENTS(aggregate), "\"pytorch\"");
        reader_free(reader);
        return NULL;
}

static void bench_together(Store *store, size_t n_rows, size_t n_more) {
        Asker asker = { .store = store };
        double alone, together;
        pthread_t thread;

        alone = put_rows(store, n_rows, n_rows + n_more, true, NULL);
        check(pthread_create(&thread, NULL, on_start, &asker) == 0, "pthread_create");
        together = put_rows(store, n_rows + n_more, n_rows + 2 * n_more, true, NULL);
        atomic_store(&asker.must_end, true);
        (void)pthread_join(thread, NULL);
        printf("query: asked_ratio=%.2f while_asked=%.0f alone=%.0f answers=%zu\n", together / alone,
               together, alone, asker.n_asked);
}

/* --- queries by package -------------------------------------------------------------------------- */

static const char *const of_package[] = { "where", "package.numpy=1.7", "stat", "median:rate" };
static const char *const by_package[] = { "group_by", "package.numpy", "stat", "median:rate" };

/* without_stack: rate of results without stacks. */
static void bench_stacks(const char *directory, size_t n_rows, double without_stack) {
        scoped(freep) BenchStack *stacks = calloc(N_STACKS, sizeof(*stacks));
        double selected, selected_cpu, grouped, grouped_cpu, rate;
        Store *store = open_store(directory);
        Reader *reader;

        check(stacks, "calloc");
        for (unsigned i = 0; i < N_STACKS; i++)
                stack_make(&stacks[i], i);
        rate = put_rows(store, 0, n_rows, true, stacks);
        check(reader_new(&reader, store_path(store), store_wal_barrier(store), 60 * NS_PER_S) == 0, "reader_new");
        selected = ask_again(reader, of_package, N_ELEMENTS(of_package), "\"key\":{}", &selected_cpu);
        grouped = ask_again(reader, by_package, N_ELEMENTS(by_package), "\"1.7\"", &grouped_cpu);
        reader_free(reader);
        store_free(store);
        remove_store(directory);
        printf("query: stack_ratio=%.2f with_stack=%.0f without_stack=%.0f\n", rate / without_stack, rate,
               without_stack);
        printf("query: package_ms=%.2f package_cpu_ms=%.2f by_package_ms=%.0f by_package_cpu_ms=%.0f\n", selected,
               selected_cpu, grouped, grouped_cpu);
}

int main(int argc, char **argv) {
        size_t n_rows = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
        char directory[200];
        char path[PATH_MAX];
        struct stat st;
        double rate;
        Store *store;

        (void)snprintf(directory, sizeof(directory), "%s/perfd-bench-XXXXXX", argc > 1 ? argv[1] : "/var/tmp");
        check(n_rows >= 1000 && mkdtemp(directory), "making a directory");
        bench_cost(directory, n_rows / 5);

        store = open_store(directory);
        rate = put_rows(store, 0, n_rows, true, NULL);
        printf("query: rows=%zu series=%d\n", n_rows, N_SIZES * N_DTYPES * N_COMPONENTS);
        bench_questions(store);
        bench_together(store, n_rows, n_rows / 5);
        (void)snprintf(path, sizeof(path), "%s", store_path(store));
        store_free(store);
        /* closing empties the write-ahead log: its length at any other moment depends on when the last checkpoint
         * was */
        check(stat(path, &st) == 0, "reading the size of the database");
        printf("query: row_bytes=%.0f\n", (double)st.st_size / (double)(n_rows + 2 * (n_rows / 5)));
        remove_store(directory);
        bench_stacks(directory, n_rows, rate);
        check(rmdir(directory) == 0, "rmdir");
        return 0;
}
