/* SPDX-License-Identifier: Apache-2.0 */
#include "client/compare/compare_stored.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/api/api_query.h"
#include "client/cli/command.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/results/command_result.h"
#include "client/wire/id.h"

/* Adds a number of a run. Those of a command that printed no indicator are the resources of the run. */
static void put_number(PairedRuns *runs, size_t pair, ComparisonSide side, const Value *of, const char *result,
                       const char *name, double resources[static N_COMPARISON_RESOURCES], double value) {
        static const struct {
                const char *result;
                ComparisonResource resource;
        } results[] = {
                { "elapsed", COMPARISON_WALL_TIME },   { "user_time", COMPARISON_CPU_TIME },
                { "system_time", COMPARISON_CPU_TIME }, { "max_rss", COMPARISON_MEMORY },
                { "read_bytes", COMPARISON_READ },      { "written_bytes", COMPARISON_WRITTEN },
        };
        char both[COMPARISON_NAME_MAX];

        if (strcmp(answer_text(of, "component"), COMMAND_RESULT_COMPONENT) != 0) {
                (void)snprintf(both, sizeof(both), "%s %s", name, result);
                comparison_put(runs, pair, side, both, NULL, value);
                return;
        }
        for (size_t i = 0; i < N_ELEMENTS(results); i++)
                if (strcmp(results[i].result, result) == 0) {
                        double *place = &resources[results[i].resource];

                        *place = (isfinite(*place) ? *place : 0) + value;
                }
}

/* Adds the runs of a file, in which each number has a list of values. Returns their number. */
static size_t put_file(PairedRuns *runs, ComparisonSide side, const Value *lists) {
        size_t n = 0, n_run = 1;

        for (; n < PAIRED_PAIRS_MAX && n_run > 0; n += n_run > 0) {
                double resources[N_COMPARISON_RESOURCES] = { NAN, NAN, NAN, NAN, NAN, NAN };

                n_run = 0;
                for (size_t i = 0; i < answer_length(lists); i++) {
                        const Value *list = &lists->items[i], *values = value_get(list, "values");

                        if (answer_length(values) <= n)
                                continue;
                        n_run++;
                        if (value_is_number(&values->items[n]))
                                put_number(runs, n, side, list, answer_text(list, "result"),
                                           answer_text(list, "indicator"), resources, value_number(&values->items[n]));
                }
                comparison_put_resources(runs, n, side, resources);
        }
        return n;
}

/* Adds the runs of a batch that succeeded, each a result. Returns the number of pairs that they need. */
static size_t put_batch(PairedRuns *runs, ComparisonSide side, const Value *results) {
        size_t n = 0;

        for (size_t i = 0; i < answer_length(results); i++) {
                const Value *result = &results->items[i], *run = value_get(result, "run");
                const Value *rusage = value_get(run, "rusage");
                const Value *numbers = value_get(value_get(result, "document"), "@result");
                double index = answer_number_or_zero(result, "batch_index"), resources[N_COMPARISON_RESOURCES] = {
                        [COMPARISON_WALL_TIME] = answer_number(run, "wall_seconds"),
                        [COMPARISON_CPU_TIME] = answer_number(rusage, "ru_utime") + answer_number(rusage, "ru_stime"),
                        [COMPARISON_MEMORY] = 1024 * answer_number(rusage, "ru_maxrss"),
                        [COMPARISON_JOB_MEMORY] = NAN,
                        [COMPARISON_READ] = 512 * answer_number(rusage, "ru_inblock"),
                        [COMPARISON_WRITTEN] = 512 * answer_number(rusage, "ru_oublock"),
                }, unused[N_COMPARISON_RESOURCES] = {};

                if (answer_number_or_zero(result, "exit_status") != 0 || !(index < PAIRED_PAIRS_MAX))
                        continue;
                n = n > (size_t)index ? n : (size_t)index + 1;
                for (size_t k = 0; k < answer_n_members(numbers); k++)
                        if (value_is_number(&numbers->members[k].value))
                                put_number(runs, (size_t)index, side, result, numbers->members[k].key,
                                           answer_text(result, "name"), unused,
                                           value_number(&numbers->members[k].value));
                comparison_put_resources(runs, (size_t)index, side, resources);
        }
        return n;
}

static int read_file(const char *file, Buffer *text, Arena *arena, const Value **ret) {
        int r = input_read(file, text);

        if (r != EXIT_DONE)
                return r;
        r = arena_init(arena, input_arena_size(text->n));
        if (r == 0)
                r = input_parse(text, input_name(file), arena, ret);
        return r < 0 ? command_fail(r) : r > 0 ? EXIT_FAILED : EXIT_DONE;
}

int compare_stored_read(PairedRuns *runs, ComparisonSide side, const char *what, const GlobalOptions *global) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer text = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *document = NULL;
        uint8_t id[RESULT_ID_BYTES];
        bool is_batch = id_parse_result(what, id) && access(what, F_OK) < 0;
        char path[128];
        size_t n;
        int r;

        (void)snprintf(path, sizeof(path), "/api/v1/results?limit=%u&where=batch%%3D%.32s", PAIRED_PAIRS_MAX, what);
        r = is_batch ? api_query_open(&query, global, path) : read_file(what, &text, &arena, &document);
        if (r != EXIT_DONE)
                return r;
        n = is_batch ? put_batch(runs, side, value_get(query.answer, "results")) :
                       put_file(runs, side, value_get(document, "results"));
        runs->n_pairs = n > runs->n_pairs ? n : runs->n_pairs;
        if (n > 0)
                return EXIT_DONE;
        message_print("%s has no runs that succeeded: expected the id of a stored batch, or a JSON file of 'perfctl "
                      "run --repeat N --output FILE.json'", what);
        return EXIT_FAILED;
}
