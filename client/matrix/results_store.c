/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/results_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/deliver/deliver.h"
#include "client/kpi/kpi_judge.h"
#include "document/condition.h"
#include "util/clock.h"
#include "util/error_text.h"

static int fail(const Delivery *delivery, const Courier *courier, int outcome) {
        char reason[DELIVERY_TEXT_MAX];

        if (outcome < 0)
                return command_fail(outcome);
        delivery_explain(delivery, courier, reason);
        message_print("%s", reason);
        return EXIT_FAILED;
}

static int spool(const ResultsStoreOptions *options, const Batch *rest, Buffer *said) {
        char directory[PATH_MAX] = "", name[SPOOL_NAME_MAX];
        int r;

        r = spool_find_directory(options->spool, directory);
        if (r == 0)
                r = spool_put(directory, rest, clock_realtime_ns() / NS_PER_MS, name);
        if (r < 0) {
                message_print("cannot keep the results in %s: %s", directory[0] ? directory : "a spool",
                              error_text(-r));
                return EXIT_FAILED;
        }
        buffer_printf(said, "%zu kept in the spool; 'perfctl flush' sends them", rest->n_items);
        return EXIT_UNREACHABLE;
}

typedef struct Refusals {
        TestTree *tree;
        Findings findings; /* owned */
} Refusals;

/* Makes the refusal of an item a finding of its test. */
static void note_refusal(const Submission *item, Delivery *delivery, void *userdata) {
        const Complaint *complaint = &delivery->reply.complaint;
        scoped(findings_deinit) Findings finding = {};
        Refusals *refusals = userdata;
        TestRecord *record = refusals->tree->records;

        while (record->left_out || memcmp(record->id, item->id, sizeof(record->id)) != 0)
                record++;
        findings_error(&finding, "%s: is not stored: %s%s%s", record->path, complaint->path,
                       complaint->path[0] ? ": " : "", complaint->text);
        findings_add(&record->findings, &finding);
        findings_add(&refusals->findings, &finding);
}

/* Sends all but the items that perfd refuses. */
static int send_all(Courier *courier, TestTree *tree, DeliveryParts *parts) {
        Refusals refusals = { .tree = tree };
        int r;

        courier->is_by_answer = true;
        parts->on_refused = note_refusal;
        parts->userdata = &refusals;
        r = deliver_parts(courier, parts);
        findings_print(&refusals.findings);
        findings_deinit(&refusals.findings);
        return r;
}

int results_store(const ResultsStoreOptions *options, const IndicatorModel *model, TestTree *tree,
                  const Submission *items, size_t n_items, Buffer *said) {
        scoped(deliver_courier_deinit) Courier courier;
        char reason[DELIVERY_TEXT_MAX];
        DeliveryParts sent = { .rest = { .items = items, .n_items = n_items } };
        Delivery *delivery = &sent.last;
        int r = 0;

        deliver_courier_init(&courier, options->socket, options->timeout_ns);
        /* a model that perfd refuses, such as one that another declaration has changed, is no reason to lose results */
        if (model)
                r = deliver_models(&courier, &model->document, 1, delivery);
        if (r == DELIVERY_REFUSED) {
                delivery_explain(delivery, &courier, reason);
                message_print("the model is not registered: %s", reason);
        }
        if (r < 0)
                return command_fail(r);
        r = send_all(&courier, tree, &sent);
        if (r == DELIVERY_UNAVAILABLE || r == DELIVERY_UNREACHABLE) {
                (void)fail(delivery, &courier, r);
                return spool(options, &sent.rest, said);
        }
        if (r != 0)
                return fail(delivery, &courier, r);
        buffer_printf(said, "%zu stored, %zu already stored", sent.n_stored, sent.n_duplicate);
        if (sent.n_refused > 0)
                buffer_printf(said, ", %zu refused", sent.n_refused);
        if (delivery->n_duplicate > 0 && delivery->reply.complaint.text[0])
                message_print("%s", delivery->reply.complaint.text);
        return EXIT_DONE;
}

/* --- verdicts -------------------------------------------------------------------------------------- */

void results_store_check_deinit(ResultsCheck *check) {
        api_query_deinit(&check->query);
        free(check->kpis);
}

int results_store_check(ResultsCheck *ret, const GlobalOptions *global, const Submission *items, size_t n_items) {
        scoped(buffer_deinit) Buffer path = {};
        const Value *kpis;
        int r;

        buffer_puts(&path, "/api/v1/kpis/");
        buffer_put_encoded(&path, items[0].indicator.name);
        buffer_puts(&path, "/regress");
        api_query_put_path(&path, "component", items[0].indicator.component);
        api_query_put_path(&path, "changes", "1");
        r = api_query_open_path(&ret->query, global, &path);
        if (r != EXIT_DONE)
                return r;
        kpis = value_get(ret->query.answer, "kpis");
        ret->kpis = calloc(answer_length(kpis) + 1, sizeof(*ret->kpis));
        if (!ret->kpis)
                return command_fail(-ENOMEM);
        for (size_t i = 0; i < answer_length(kpis); i++)
                if (kpi_judge_is_of(&kpis->items[i], items, n_items)) {
                        ret->kpis[ret->tally.n_all] = kpis->items[i];
                        kpi_gate_count(&ret->tally, &kpis->items[i]);
                }
        ret->member = (Member){ "kpis", { .type = VALUE_LIST, .items = ret->kpis, .n_items = ret->tally.n_all } };
        ret->answer = (Value){ .type = VALUE_OBJECT, .members = &ret->member, .n_members = 1 };
        ret->is_judged = true;
        return EXIT_DONE;
}

void results_store_write_verdicts(const ResultsCheck *check, const Submission *item, Json *json) {
        json_object_begin(json);
        for (size_t i = 0; i < check->tally.n_all; i++)
                if (kpi_judge_is_of(&check->kpis[i], item, 1))
                        value_put_json(&check->kpis[i], answer_text(&check->kpis[i], "kpi"), json);
        json_object_end(json);
}

/* --- histories: the runs with which the KPIs were compared, by version ------------------------------- */

/* In full: a condition does not accept the first digits of a digest. */
static void put_text(const Value *value, Buffer *out) {
        if (value->type == VALUE_STRING)
                buffer_puts(out, value->string);
        else if (value->type != VALUE_NULL)
                value_write_json(value, &(Json){ .out = out });
}

static void put_condition(const char *before, const char *key, const Value *value, Buffer *path) {
        scoped(buffer_deinit) Buffer condition = {};

        buffer_printf(&condition, "%s%s=", before, key);
        put_text(value, &condition);
        api_query_put_path(path, "where", condition.text);
}

/* Conditions that select this KPI alone. */
static void put_conditions(const Value *labels, Buffer *path) {
        const Value *parameters = value_get(labels, "parameters"), *hardware = value_get_given(labels, "hardware");

        for (size_t i = 0; i < answer_n_members(parameters); i++)
                put_condition(CONDITION_PARAMETERS, parameters->members[i].key, &parameters->members[i].value, path);
        if (hardware)
                put_condition("", "hardware", hardware, path);
}

static void put_path(const Value *kpi, const IndicatorModel *model, Buffer *path) {
        const char *name = answer_text(kpi, "kpi"), *point = strrchr(name, '.') ?: name;
        const char *result = *point ? point + 1 : point;
        scoped(buffer_deinit) Buffer indicator = {}, stats = {}, keys = {};

        buffer_printf(&indicator, "%.*s", (int)(point - name), name);
        buffer_printf(&stats, "median:%s,min:%s,max:%s", result, result, result);
        for (size_t i = 0; model && model->compare_by && i < model->compare_by->n_items; i++)
                buffer_printf(&keys, "%s%s", i > 0 ? "," : "", model->compare_by->items[i].string);
        api_query_begin_path(path, indicator.text ?: "", "query");
        api_query_put_path(path, "limit", "1000");
        api_query_put_path(path, "stat", stats.text);
        api_query_put_path(path, "group_by", keys.text ?: "version");
        api_query_put_path(path, "component", answer_text(value_get(kpi, "labels"), "component"));
        put_conditions(value_get(kpi, "labels"), path);
}

/* Writes the key as verdicts have it: the value of one field, or "A=1|B=2". */
static void put_version(const Value *key, Json *json) {
        scoped(buffer_deinit) Buffer text = {};

        for (size_t i = 0; i < answer_n_members(key); i++) {
                if (key->n_members > 1)
                        buffer_printf(&text, "%s%s=", i > 0 ? "|" : "", key->members[i].key);
                put_text(&key->members[i].value, &text);
        }
        json_put_string(json, "version", text.text);
}

static void put_groups(const Value *groups, Json *json) {
        static const char *const stats[] = { "median", "min", "max" };

        json_array_begin(json);
        for (size_t i = 0; i < answer_length(groups); i++) {
                const Value *group = &groups->items[i], *values = value_get(group, "values");

                json_object_begin(json);
                put_version(value_get(group, "key"), json);
                json_put_double(json, "n", answer_number_or_zero(group, "n"));
                json_put_double(json, "first_ms", answer_number_or_zero(group, "first_ms"));
                for (size_t k = 0; k < N_ELEMENTS(stats) && k < answer_n_members(values); k++)
                        value_put_json(&values->members[k].value, stats[k], json);
                json_object_end(json);
        }
        json_array_end(json);
}

int results_store_write_histories(const ResultsCheck *check, const IndicatorModel *model, const GlobalOptions *global,
                                  Json *json) {
        scoped(api_query_deinit) ApiQuery query = {};
        size_t n = check->is_judged ? check->tally.n_all : 0;
        bool is_open = n > 0 && api_query_init(&query, global) == EXIT_DONE;

        json_array_begin(json);
        for (size_t i = 0; i < n; i++) {
                scoped(buffer_deinit) Buffer path = {}, unused = {};
                const Value *answer = NULL;

                put_path(&check->kpis[i], model, &path);
                if (buffer_error(&path) < 0)
                        return -ENOMEM;
                if (is_open && i < RESULTS_HISTORIES_MAX)
                        answer = api_query_read(&query, path.text, &unused);
                if (answer)
                        put_groups(value_get(answer, "groups"), json);
                else
                        json_null(json);
        }
        json_array_end(json);
        return 0;
}
