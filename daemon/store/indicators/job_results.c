/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/job_results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "document/expression.h"
#include "document/indicator_model.h"
#include "measure/metric.h"
#include "measure/usage.h"
#include "store/indicators/result_rows.h"
#include "store/jobs/job_text.h"
#include "store/pipelines/pipeline_reader.h"
#include "util/sha256.h"
#include "value/value_parse.h"

/* --- the job -------------------------------------------------------------------------------------- */

typedef struct EndedJob {
        JobInfo info;
        const char *labels; /* with the numbers: borrowed from the row while it is read */
        JobNumberTexts numbers;
        bool has_exit_status;
        int64_t exit_status;
        uint64_t end_ms;
        MetricSet metrics;
        UsageSet usage;
        PipelineNumbers pipelines;
        bool has_pipelines; /* they were read */
        Buffer run; /* run record of the results */
} EndedJob;

static void ended_job_deinit(EndedJob *job) {
        job_info_deinit(&job->info);
        pipeline_reader_deinit_numbers(&job->pipelines);
        buffer_deinit(&job->run);
}

/* Leaves out an interrupted job, whose numbers are not those of its whole time. */
STATEMENT job_find = SELECT(EndedJob,
        COLUMNS(COLUMN_REQUIRED(EndedJob, info.id, "job.id"),
                COLUMN_REQUIRED(EndedJob, info.name, "name"),
                COLUMN(EndedJob, info.uid, "uid"),
                COLUMN_REQUIRED(EndedJob, labels, "labels"),
                COLUMN(EndedJob, end_ms, "end_ms"),
                COLUMN_OPTIONAL(EndedJob, exit_status, has_exit_status, "exit_status"),
                JOB_NUMBER_COLUMNS(EndedJob, numbers)),
        " FROM job" JOB_LAYOUTS("job") " WHERE job.id = ?1 AND state = 'finished'");

/* DATABASE_ROW: the job was found. */
static int find_job(Database *database, Field id, EndedJob *ret) {
        Prepared *find = database_prepare(database, &job_find, &id, 1);
        int r, end;

        r = database_step(database, find);
        if (r != DATABASE_ROW)
                return r;
        r = statement_read(find, ret) ? job_text_parse_labels(ret->labels, &ret->info) : -ENOMEM;
        (void)job_text_read_numbers(&ret->numbers, &ret->metrics, &ret->usage);
        end = database_finish(database, find);
        return r == -ENOMEM ? r : end != 0 ? end : DATABASE_ROW;
}

static const char *find_label(const void *data, const char *key) {
        const EndedJob *job = data;

        for (size_t i = 0; i < job->info.n_labels; i++)
                if (strcmp(job->info.labels[i].key, key) == 0)
                        return job->info.labels[i].value;
        return NULL;
}

/* Writes the labels, which apply to all results of the job. */
static int write_run(EndedJob *job) {
        Json json = { .out = &job->run };

        json_object_begin(&json);
        json_put_object_begin(&json, "labels");
        for (size_t i = 0; i < job->info.n_labels; i++)
                json_put_string(&json, job->info.labels[i].key, job->info.labels[i].value);
        json_object_end(&json);
        json_object_end(&json);
        return buffer_error(&job->run);
}

/* --- a document ----------------------------------------------------------------------------------- */

/* True if a result of the model has this name, or computes with it. */
static bool is_named(const IndicatorModel *model, const Expression *expressions, const char *name) {
        unsigned column;

        for (size_t i = 0, k = 0; i < model->n_properties; i++) {
                const Property *property = &model->properties[i];

                if (!property->is_result)
                        continue;
                if (property->from ? expression_names_result(&expressions[k++], name, &column)
                                   : strcmp(property->name, name) == 0)
                        return true;
        }
        return false;
}

/* Returns the expressions of the derived results, in order. Caller frees; NULL: out of memory. */
static Expression *parse_expressions(const IndicatorModel *model) {
        Expression *expressions = calloc(model->n_properties + 1, sizeof(*expressions));
        ExpressionError unused;
        size_t n = 0;

        for (size_t i = 0; expressions && i < model->n_properties; i++)
                if (model->properties[i].from)
                        /* checked with the model */
                        (void)expression_parse(model->properties[i].from, &expressions[n++], &unused);
        return expressions;
}

static void put_metrics(Json *json, const IndicatorModel *model, const Expression *expressions, const EndedJob *job) {
        for (size_t i = 0; i < N_METRICS; i++)
                if (quality_is_present(job->metrics.quality[i]) && is_named(model, expressions, metric_info[i].key))
                        json_put_double(json, metric_info[i].key, job->metrics.value[i] * metric_info[i].scale);
        for (size_t i = 0; i < N_USAGES; i++)
                if (quality_is_present(job->usage.quality[i]) && is_named(model, expressions, usage_info[i].key))
                        json_put_double(json, usage_info[i].key, job->usage.value[i] * usage_info[i].scale);
}

static int put_pipelines(Json *json, const IndicatorModel *model, const Expression *expressions, Database *database,
                         EndedJob *job) {
        bool has_first = is_named(model, expressions, "pipeline"), has_all = is_named(model, expressions, "pipelines");
        int r;

        if (!has_first && !has_all)
                return 0;
        if (!job->has_pipelines) {
                r = pipeline_reader_read_numbers(database, field_string(job->info.id), &job->pipelines);
                if (r != 0)
                        return r;
                job->has_pipelines = true;
        }
        if (has_first) {
                json_key(json, "pipeline");
                pipeline_reader_write_first(&job->pipelines, json);
        }
        if (has_all) {
                json_key(json, "pipelines");
                pipeline_reader_write_numbers(&job->pipelines, json);
        }
        return 0;
}

static const char *component_of(const IndicatorModel *model) {
        return model->component ?: JOB_RESULTS_COMPONENT;
}

static int write_document(const IndicatorModel *model, Database *database, EndedJob *job, Buffer *out) {
        scoped(freep) Expression *expressions = parse_expressions(model);
        Json json = { .out = out };
        int r;

        if (!expressions)
                return -ENOMEM;

        json_object_begin(&json);
        json_put_string(&json, "name", model->name);
        json_put_string(&json, "component", component_of(model));
        json_put_object_begin(&json, "@parameters");
        for (size_t i = 0; i < model->n_properties; i++) {
                const Property *property = &model->properties[i];
                const char *label = property->is_result ? NULL : find_label(job, property->name);
                Value value;

                if (!label)
                        continue;
                value = property_value_of(property, label);
                value_put_json(&value, property->name, &json);
        }
        json_object_end(&json);
        json_put_object_begin(&json, "@result");
        put_metrics(&json, model, expressions, job);
        r = put_pipelines(&json, model, expressions, database, job);
        json_object_end(&json);
        json_object_end(&json);
        return r == 0 ? buffer_error(out) : r;
}

/* --- the results ---------------------------------------------------------------------------------- */

/* A model of jobs, and the result of one job. */
typedef struct MadeResult {
        Arena arena; /* has the model's tree */
        IndicatorModel model;
        Buffer document;
} MadeResult;

typedef struct MadeResults {
        MadeResult items[JOB_RESULTS_MAX];
        size_t n;
} MadeResults;

static void made_results_deinit(MadeResults *results) {
        for (size_t i = 0; i < results->n; i++) {
                arena_deinit(&results->items[i].arena);
                buffer_deinit(&results->items[i].document);
        }
}

/* The text of a declaration is stored in this form. */
#define IS_OF_JOB "instr(m.document, '\"of\":\"job\"') > 0"

STATEMENT models_count = SQL("SELECT count(*) FROM model AS m WHERE " IS_OF_JOB, 1);

enum { MODEL_DOCUMENT, N_MODEL_COLUMNS };

#define MODELS_READ_MAX "64" /* bounds the writer's work for a job of a user with many models */

/* Models in effect for user ?1, in the precedence of MODEL_SHAPE; those of all users first. */
STATEMENT models_list = SQL(
        "SELECT m.document FROM model AS m WHERE " IS_OF_JOB " AND m.owner IN (-1, ?1) AND NOT EXISTS"
        " (SELECT 1 FROM model AS b WHERE b.name = m.name AND ifnull(b.component, '') = ifnull(m.component, '') AND"
        " b.owner IN (-1, ?1)"
        " AND (b.is_declared > m.is_declared OR (b.is_declared = m.is_declared AND b.owner < m.owner)))"
        " ORDER BY m.owner, m.name, m.component LIMIT " MODELS_READ_MAX, N_MODEL_COLUMNS);

/* *ret_fits: the result has the model, which is about the job. A model that this version does not read is left out. */
static int read_model(const char *text, size_t n, const EndedJob *job, MadeResult *ret, bool *ret_fits) {
        const Value *document;
        Complaint complaint;
        ValueError error;
        bool unused;
        int r;

        r = arena_init(&ret->arena, value_parse_arena_size(n) + MODEL_ARENA_BYTES);
        if (r == 0)
                r = value_parse(text, n, &ret->arena, &document, &unused, &error);
        if (r == 0)
                r = indicator_model_from_value(document, &ret->arena, &ret->model, &complaint);
        *ret_fits = r == 0 && indicator_model_fits_job(&ret->model.jobs, job->info.name, find_label, job);
        return r < 0 ? r : 0;
}

static int list_models(Database *database, const EndedJob *job, MadeResults *ret) {
        Field uid = field_u64(job->info.uid);
        Prepared *list = database_prepare(database, &models_list, &uid, 1);
        int r = 0, step;

        while ((step = database_step(database, list)) == DATABASE_ROW && r == 0 && ret->n < JOB_RESULTS_MAX) {
                MadeResult *result = &ret->items[ret->n];
                const char *text = column_text(list, MODEL_DOCUMENT);
                bool fits = false;

                r = text ? read_model(text, column_bytes(list, MODEL_DOCUMENT), job, result, &fits) : -ENOMEM;
                if (fits)
                        ret->n++;
                else {
                        arena_deinit(&result->arena);
                        *result = (MadeResult){};
                }
        }
        if (step == DATABASE_ROW)
                sqlite3_reset(list->handle);
        return r != 0 ? r : step == DATABASE_ROW ? 0 : step;
}

/*
 * The same for the same job and model, so that a completed end replaces the result. The job's id may have been that
 * of a job of another user before.
 */
static void make_id(const EndedJob *job, const IndicatorModel *model, uint8_t ret[static RESULT_ID_BYTES]) {
        scoped(buffer_deinit) Buffer text = {};
        uint8_t digest[SHA256_BYTES];

        buffer_printf(&text, "of: job\n%u\n%s\n%s\n%s", job->info.uid, job->info.id, model->name, component_of(model));
        sha256_of(text.text ?: "", text.n, digest);
        memset(ret, 0, RESULT_ID_OWN_BYTES);
        memcpy(ret + RESULT_ID_OWN_BYTES, digest, RESULT_ID_BYTES - RESULT_ID_OWN_BYTES);
}

static RowSet *pack_results(const EndedJob *job, const MadeResults *results) {
        const Value run = { .type = VALUE_OBJECT }; /* its text is given */
        const Peer owner = { .uid = job->info.uid, .is_vouched = true, .pidfd = -1 };
        Submission items[JOB_RESULTS_MAX];

        for (size_t i = 0; i < results->n; i++) {
                const MadeResult *result = &results->items[i];

                items[i] = (Submission){
                        .job = job->info.id,
                        .time_ms = job->end_ms,
                        .indicator = { .name = result->model.name, .component = component_of(&result->model) },
                        .has_exit_status = job->has_exit_status,
                        .exit_status = (int)job->exit_status,
                        .replaces = true,
                        .run = &run,
                        .run_text = json_text(job->run.text, job->run.n),
                        .document_text = json_text(result->document.text, result->document.n),
                        .model = &result->model,
                };
                make_id(job, &result->model, items[i].id);
        }
        return result_rows_pack(items, results->n, &owner, job->end_ms, (StoreCookie){});
}

/* Writes the documents of all models and stores them as one set. */
static int put_results(Database *database, Catalog *catalog, EndedJob *job, MadeResults *results, RowSet **derived) {
        scoped(rowset_freep) RowSet *set = NULL;
        int r = write_run(job);

        for (size_t i = 0; r == 0 && i < results->n; i++)
                r = write_document(&results->items[i].model, database, job, &results->items[i].document);
        if (r != 0)
                return r;

        set = pack_results(job, results);
        if (!set)
                return -ENOMEM;
        r = result_rows_kind.apply(set, database, catalog);
        if (r != 0)
                return r;
        set->derived = *derived;
        *derived = TAKE(set);
        return 0;
}

static int make_all(Database *database, Catalog *catalog, EndedJob *job, RowSet **derived) {
        scoped(made_results_deinit) MadeResults results = {};
        int r;

        r = list_models(database, job, &results);
        return r != 0 || results.n == 0 ? r : put_results(database, catalog, job, &results, derived);
}

int job_results_make(Database *database, Catalog *catalog, Field job, RowSet **derived) {
        scoped(ended_job_deinit) EndedJob ended = {};
        int *n_models = catalog_job_models(catalog);
        int r;

        if (*n_models < 0) {
                int64_t n = 0;

                r = database_get(database, &models_count, NULL, 0, &n);
                if (r != 0)
                        return r;
                *n_models = (int)n;
        }
        if (*n_models == 0)
                return 0;

        r = find_job(database, job, &ended);
        return r == DATABASE_ROW ? make_all(database, catalog, &ended, derived) : r;
}
