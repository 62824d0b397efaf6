/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/indicators/result_energy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/facts/object_builder.h"

#define TOTAL "energy_total_joules"
/* Results of the job among which the last one with its energy is looked for. */
#define RESULTS_MAX 100U

void result_energy_deinit(ResultEnergy *energy) {
        arena_deinit(&energy->arena);
}

/* Adds up the GPUs. Returns the name of one that is unknown, or NULL. */
static const char *add_gpus(const Value *gpus, double *total) {
        for (size_t i = 0; i < answer_length(gpus); i++) {
                double joules = answer_number(&gpus->items[i], "energy_now_joules");

                if (isnan(joules))
                        return value_get(&gpus->items[i], "gpu") ? answer_text(&gpus->items[i], "gpu") : "";
                *total += joules;
        }
        return NULL;
}

/* Returns what the job has used so far; NAN after a message. */
static double total_of(const Value *job) {
        static const char key[] = "job_energy_joules";
        const Value *gpus = value_get(job, "gpus");
        const char *why = answer_text(answer_find(value_get(job, "absent"), "key", key), "reason");
        double total = 0;
        const char *gpu = add_gpus(gpus, &total);
        AnswerMetric own;
        bool is_measured = answer_metric(job, key, &own);

        if (strcmp(answer_text(job, "state"), "running") != 0) {
                message_print("no energy: the job '%s' does not run", answer_text(job, "id"));
                return NAN;
        }
        if (gpu) {
                message_print("no energy: that of GPU %s is not known now, or others use it, too", *gpu ? gpu : "-");
                return NAN;
        }
        if (!is_measured)
                message_print("%s: processors and memory: %s",
                              answer_length(gpus) > 0 ? "energy of the GPUs alone" : "no energy",
                              *why ? why : "there are no meters, see 'perfctl doctor'");
        if (!is_measured && answer_length(gpus) == 0)
                return NAN;
        return total + (is_measured ? own.value : 0);
}

/* Sets the sum as of the last result that has it; 0: none. False after a message. */
static bool find_last(ApiQuery *query, const char *job, double *ret) {
        scoped(buffer_deinit) Buffer path = {};
        const Value *results;

        buffer_printf(&path, "/api/v1/results?limit=%u", RESULTS_MAX);
        api_query_put_path(&path, "job", job);
        if (api_query_ask_path(query, &path) != EXIT_DONE)
                return false;
        results = value_get(query->answer, "results");
        *ret = 0;
        for (size_t i = 0; i < answer_length(results); i++) {
                const Value *result = value_get(value_get(&results->items[i], "document"), "@result");

                *ret = answer_number(result, TOTAL);
                if (!isnan(*ret))
                        return true;
        }
        *ret = 0;
        if (!*answer_text(query->answer, "next"))
                return true;
        message_print("no energy: none of the last %zu results of the job has it", answer_length(results));
        return false;
}

/* False after a message: the energy is not known. */
static bool measure(ResultEnergy *energy, const GlobalOptions *global, const char *job) {
        ApiQuery query;
        char id[JOB_ID_MAX];
        double last = 0;
        bool is_known;

        if (!*job && !getenv("SLURM_JOB_ID")) {
                message_print("no energy: the job is not known, name it with --job");
                return false;
        }
        is_known = api_query_open_job(&query, global, *job ? job : NULL, "") == EXIT_DONE;
        if (is_known) {
                (void)snprintf(id, sizeof(id), "%s", answer_text(query.answer, "id"));
                energy->total_joules = total_of(query.answer);
                is_known = !isnan(energy->total_joules) && find_last(&query, id, &last);
        }
        api_query_deinit(&query);
        energy->joules = fmax(energy->total_joules - last, 0);
        return is_known;
}

int result_energy_add(ResultEnergy *energy, const GlobalOptions *global, const char *job, const Value **document) {
        const Value *own = value_get(*document, "@result");
        ObjectBuilder object, results;
        Value *value;

        if (!own || own->type != VALUE_OBJECT || !measure(energy, global, job))
                return 0;
        result_energy_deinit(energy); /* of a document before, which was refused */
        if (arena_init(&energy->arena, ((*document)->n_members + own->n_members + 4) * sizeof(Member) + 256) < 0)
                return -ENOMEM;
        object_builder_init(&results, &energy->arena, own->n_members + 2);
        for (size_t i = 0; i < own->n_members; i++)
                object_builder_put(&results, own->members[i].key, &own->members[i].value);
        object_builder_put_double(&results, "energy_joules", energy->joules);
        object_builder_put_double(&results, TOTAL, energy->total_joules);

        object_builder_init(&object, &energy->arena, (*document)->n_members);
        for (size_t i = 0; i < (*document)->n_members; i++)
                if (&(*document)->members[i].value == own)
                        object_builder_put_object(&object, "@result", &results);
                else
                        object_builder_put(&object, (*document)->members[i].key, &(*document)->members[i].value);
        value = arena_alloc(&energy->arena, sizeof(*value));
        if (!value || object_builder_end(&object, value) < 0)
                return -ENOMEM;
        *document = value;
        return 0;
}
