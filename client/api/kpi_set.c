/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/kpi_set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/api/indicator_path.h"
#include "client/cli/command.h"
#include "client/cli/message.h"

void kpi_set_deinit(KpiSet *set) {
        for (size_t i = 0; i < set->n; i++)
                api_query_deinit(&set->indicators[i].query);
        free(set->indicators);
        api_query_deinit(&set->names);
        api_query_deinit(&set->models);
}

/* Returns the declaration of the model of the indicator for the component, or for any. */
static const Value *find_model(const Value *models, const char *name, const char *component) {
        const Value *found = NULL;

        for (size_t i = 0; i < answer_length(models); i++) {
                const Value *model = &models->items[i];
                const char *of = value_get_string(model, "component");

                if (strcmp(answer_text(model, "name"), name) != 0 || !answer_model_applies(model) || (of && strcmp(of, component) != 0))
                        continue;
                if (of || !found)
                        found = value_get(model, "declaration");
        }
        return found;
}

static bool is_in(const KpiSet *set, const char *name) {
        for (size_t i = 0; i < set->n; i++)
                if (strcmp(set->indicators[i].name, name) == 0)
                        return true;
        return false;
}

static int read_results(KpiIndicator *indicator, const GlobalOptions *global, size_t n_results) {
        scoped(buffer_deinit) Buffer path = {};
        char limit[24];
        int r;

        (void)snprintf(limit, sizeof(limit), "?limit=%zu", n_results);
        indicator_path_begin(&path, indicator->name, "results");
        buffer_puts(&path, limit);
        r = api_query_open_path(&indicator->query, global, &path);
        indicator->results = value_get(indicator->query.answer, "results");
        return r;
}

static int add_indicator(KpiSet *set, const GlobalOptions *global, const Value *row, size_t n_results) {
        const char *name = answer_text(row, "name");
        const Value *model = find_model(value_get(set->models.answer, "models"), name, answer_text(row, "component"));
        const Value *declared = value_get(model, "results");

        if (!declared || declared->type != VALUE_OBJECT || is_in(set, name) || set->n == KPI_INDICATORS_MAX)
                return EXIT_DONE;
        set->indicators[set->n] = (KpiIndicator){ .name = name, .model = model, .declared = declared };
        return read_results(&set->indicators[set->n++], global, n_results);
}

int kpi_set_open(KpiSet *set, const GlobalOptions *global, size_t n_results) {
        const Value *rows;
        int r;

        set->indicators = calloc(KPI_INDICATORS_MAX, sizeof(*set->indicators));
        if (!set->indicators)
                return command_fail(-ENOMEM);
        r = api_query_open(&set->models, global, "/api/v1/models");
        if (r == EXIT_DONE)
                r = api_query_open(&set->names, global, "/api/v1/indicators");
        rows = value_get(set->names.answer, "indicators");
        for (size_t i = 0; i < answer_length(rows) && r == EXIT_DONE; i++)
                r = add_indicator(set, global, &rows->items[i], n_results);
        return r;
}

bool kpi_set_is_ambiguous(const KpiSet *set, const KpiIndicator *indicator, const char *key) {
        for (size_t i = 0; i < set->n; i++)
                if (&set->indicators[i] != indicator && value_get(set->indicators[i].declared, key))
                        return true;
        return false;
}

const Value *kpi_set_value(const Value *row, const char *key) {
        const Value *derived = value_get(value_get(row, "derived"), key);

        return derived ? value_get(derived, "value") : value_get(value_get(value_get(row, "document"), "@result"), key);
}

const Value *kpi_set_latest(const KpiIndicator *indicator, const char *key, uint64_t *ret_time_ms) {
        for (size_t i = 0; i < answer_length(indicator->results); i++) {
                const Value *row = &indicator->results->items[i];
                const Value *value = kpi_set_value(row, key);

                if (!value)
                        continue;
                *ret_time_ms = answer_time(row, "time_ms");
                return value;
        }
        return NULL;
}
