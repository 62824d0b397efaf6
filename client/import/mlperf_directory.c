/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a result directory of MLPerf Storage. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/document.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/import/mlperf.h"
#include "util/array.h"
#include "util/scoped.h"

#define OUTPUT_SUFFIX "_output.json"

/* A parsed file. The tree is in the arena. */
typedef struct ResultFile {
        Arena arena;
        const Value *document;
} ResultFile;

static void result_file_deinit(ResultFile *file) {
        arena_deinit(&file->arena);
}

/* Returns EXIT_DONE or EXIT_FAILED after a message. */
static int read_file(const char *directory, const char *name, ResultFile *ret) {
        scoped(buffer_deinit) Buffer text = {};
        char path[PATH_MAX];
        int r;

        if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
                return command_fail(-ENAMETOOLONG);
        r = input_read(path, &text);
        if (r != EXIT_DONE)
                return r;

        r = arena_init(&ret->arena, document_arena_size(text.n));
        if (r == 0)
                r = document_parse(&text, path, &ret->arena, &ret->document);
        return r == 0 ? EXIT_DONE : r < 0 ? command_fail(r) : EXIT_FAILED;
}

/* "14_output.json" is the file of rank 14. */
static bool parse_name(const char *name, uint64_t *ret_rank) {
        unsigned long long rank;
        char *end;

        if (name[0] < '0' || name[0] > '9' || (name[0] == '0' && name[1] != '_'))
                return false;
        errno = 0;
        rank = strtoull(name, &end, 10);
        *ret_rank = rank;
        return errno == 0 && strcmp(end, OUTPUT_SUFFIX) == 0;
}

typedef struct OutputFiles {
        uint64_t *ranks; /* owned */
        size_t n;
} OutputFiles;

static void output_files_deinit(OutputFiles *list) {
        free(list->ranks);
}

/* Returns 0 or a negative errno. */
static int list_ranks(const char *directory, OutputFiles *ret) {
        DIR *d = opendir(directory);
        int r = 0;

        if (!d)
                return -errno;
        for (const struct dirent *entry; r == 0 && (entry = readdir(d));) {
                uint64_t rank;

                if (!parse_name(entry->d_name, &rank))
                        continue;
                r = ret->n < MLPERF_RANKS_MAX ? ARRAY_EXTEND(ret->ranks, ret->n) : -EFBIG;
                if (r == 0)
                        ret->ranks[ret->n++] = rank;
        }
        (void)closedir(d);
        return r;
}

static int add_rank(MlperfRun *run, const char *directory, uint64_t rank, const Value *stats) {
        scoped(result_file_deinit) ResultFile output = {};
        char name[48];
        int r;

        (void)snprintf(name, sizeof(name), "%ju%s", (uintmax_t)rank, OUTPUT_SUFFIX);
        r = read_file(directory, name, &output);
        if (r != EXIT_DONE)
                return r;

        r = mlperf_run_add_rank(run, rank, output.document, stats);
        return r < 0 ? command_fail(r) : EXIT_DONE;
}

/* summary.json is optional. */
static int read_summary(MlperfRun *run, const char *directory) {
        scoped(result_file_deinit) ResultFile summary = {};
        char path[PATH_MAX];
        int64_t n;
        int r;

        if (snprintf(path, sizeof(path), "%s/summary.json", directory) >= (int)sizeof(path) || access(path, F_OK) < 0)
                return EXIT_DONE;
        r = read_file(directory, "summary.json", &summary);
        if (r == EXIT_DONE && value_get_int(summary.document, "num_accelerators", &n) && n > 0)
                run->n_accelerators = (uint64_t)n;
        return r;
}

int mlperf_run_read(MlperfRun *run, const char *directory) {
        scoped(result_file_deinit) ResultFile stats = {};
        scoped(output_files_deinit) OutputFiles list = {};
        int r;

        r = list_ranks(directory, &list);
        if (r == 0 && list.n == 0) {
                message_print("%s: no results of MLPerf Storage; a directory of a run has 0_output.json, 1_output.json and so on, and "
                              "per_epoch_stats.json", directory);
                return EXIT_FAILED;
        }
        if (r < 0) {
                message_print("cannot read %s: %s", directory, r == -EFBIG ? "more than 100000 ranks" : strerrordesc_np(-r));
                return EXIT_FAILED;
        }

        r = read_file(directory, "per_epoch_stats.json", &stats);
        if (r == EXIT_DONE)
                r = read_summary(run, directory);
        for (size_t i = 0; i < list.n && r == EXIT_DONE; i++)
                r = add_rank(run, directory, list.ranks[i], stats.document);
        mlperf_run_sort(run);
        return r;
}
