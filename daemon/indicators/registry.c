/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/registry.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "document/accepted_level.h"
#include "store/indicators/model_rows.h"
#include "store/indicators/stored_models.h"
#include "util/clock.h"
#include "util/scoped.h"

void registry_pending_deinit(PendingModels *pending) {
        for (size_t i = 0; i < pending->n; i++)
                model_free(pending->items[i].model);
        free(pending->items);
        *pending = (PendingModels){};
}

void registry_pending_add(PendingModels *pending, Model **model, size_t index) {
        pending->items[pending->n++] = (PendingModel){ .model = TAKE(*model), .index = (uint32_t)index };
}

int registry_pending_compare(const void *a, const void *b) {
        const IndicatorModel *first = &((const PendingModel *)a)->model->model, *second = &((const PendingModel *)b)->model->model;
        int order = strcmp(first->name, second->name);

        return order != 0 ? order : strcmp(first->component ?: "", second->component ?: "");
}

/* --- the table ------------------------------------------------------------------------------------ */

/* Stores the models declared in files. Returns 0, STORE_QUEUE_FULL, or a negative errno. */
static int put_declared(const Registry *registry) {
        const ModelList *files = &registry->models.files;
        scoped(freep) const IndicatorModel **models = NULL;
        size_t n = 0;

        models = calloc(files->n + 1, sizeof(*models));
        if (!models)
                return -ENOMEM;
        for (size_t i = 0; i < files->n; i++)
                if (models_is_effective(&registry->models, files->items[i]))
                        models[n++] = &files->items[i]->model;

        return store_put(registry->store, model_rows_pack_declared(models, n, clock_realtime_ns() / NS_PER_MS));
}

int registry_apply_change(Registry *registry, int64_t owner, bool is_declaration_due) {
        SharedTexts *json;
        int r;

        r = models_list_texts(&registry->models, registry->config->policy, &json);
        if (r < 0)
                return r;

        shared_texts_unref(registry->json);
        registry->json = json;
        registry->changes.owners[registry->changes.n++ % MODEL_CHANGES_KEPT] = owner;
        registry->is_declaration_due |= is_declaration_due;
        return registry_tick(registry);
}

int registry_tick(Registry *registry) {
        int r;

        if (!registry->is_declaration_due)
                return 0;

        r = put_declared(registry);
        if (r == 0)
                registry->is_declaration_due = false;
        return r < 0 ? r : 0;
}

static void log_read(const Registry *registry, int n_bad) {
        size_t n = registry->models.files.n;

        if (n_bad > 0)
                log_warning("Read %zu indicator models; %d files in %s are not valid, see above.", n, n_bad,
                            registry->config->directory);
        else if (n > 0)
                log_info("Read %zu indicator models from %s.", n, registry->config->directory);
}

int registry_configure(Registry *registry) {
        int r;

        r = models_read_files(&registry->models, registry->config->directory);
        if (r < 0)
                return r;

        log_read(registry, r);
        return registry_apply_change(registry, MODEL_OF_ALL, true);
}

int registry_charge(const Registry *registry, Model *model, bool is_stored, char ret_reason[static SHARES_REASON_MAX]) {
        ShareAccount *account = shares_open_account(registry->shares, &(Owner){ .uid = model->uid, .is_admin = model->by_admin });
        uint64_t n_bytes = MODEL_CHARGE_BYTES + strlen(model->json);
        int r;

        if (!account)
                return -ENOMEM;

        r = shares_charge(account, RESOURCE_MODELS, is_stored ? 0 : n_bytes, &model->charge);
        if (r == 0)
                shares_set(&model->charge, n_bytes);
        else
                shares_explain(account, RESOURCE_MODELS, ret_reason);
        shares_close_account(account); /* the charge holds a reference */
        return r;
}

static int add_stored(Registry *registry, const StoredModel *stored) {
        scoped(model_freep) Model *model = NULL;
        unsigned line, column;
        char reason[SHARES_REASON_MAX];
        Complaint complaint;
        int r;

        r = model_new(&model, stored->document, strlen(stored->document), &complaint, &line, &column);
        if (r == MODEL_INVALID) { /* the model was written by a later version */
                log_warning("Ignoring a registered model that this version cannot read: %s: %s", complaint.path, complaint.text);
                return 0;
        }
        if (r < 0)
                return r;

        model->uid = stored->uid;
        model->by_admin = stored->by_admin;
        r = registry_charge(registry, model, true, reason);
        if (r == 0)
                r = models_add_registered(&registry->models, &model);
        return r < 0 ? r : 0;
}

static int read_stored(Registry *registry) {
        scoped(stored_models_freep) StoredModels *stored = NULL;
        int r;

        r = stored_models_read(store_path_if_open(registry->store), store_wal_barrier(registry->store), &stored);
        for (size_t i = 0; r == 0 && i < stored->n; i++)
                r = add_stored(registry, &stored->items[i]);
        return r;
}

int registry_start(Registry *registry) {
        int r;

        r = read_stored(registry);
        return r < 0 ? r : registry_configure(registry);
}

/* Stores all models again, because rows put before the store had a database were lost. */
int registry_restore(Registry *registry) {
        int r;

        r = store_is_late(registry->store) ? read_stored(registry) : 0;
        return r < 0 ? r : registry_apply_change(registry, MODEL_OF_ALL, true);
}

void registry_deinit(Registry *registry) {
        models_deinit(&registry->models);
        registry_pending_deinit(&registry->pending);
        registry->json = shared_texts_unref(registry->json);
}

/* --- queued models -------------------------------------------------------------------------------- */

bool registry_is_busy(const Registry *registry) {
        return registry->pending.n > 0;
}

/* Returns true if a model may apply to a user's results of this indicator. */
static bool may_apply(const Model *model, uint32_t uid, const Indicator *indicator) {
        const char *name = model->model.name, *component = model->model.component;

        if (model_owner(model) != MODEL_OF_ALL && model->uid != uid)
                return false;
        if (strcmp(name, MODEL_ANY_NAME) == 0)
                return strcmp(component, indicator->component ?: "") == 0;
        return strcmp(name, indicator->name) == 0;
}

bool registry_is_busy_with(const Registry *registry, uint32_t uid, const Indicator *indicator) {
        for (size_t i = 0; i < registry->pending.n; i++)
                if (may_apply(registry->pending.items[i].model, uid, indicator))
                        return true;
        return false;
}

/* --- checking results ----------------------------------------------------------------------------- */

bool registry_has_changed(const Registry *registry, uint32_t uid, uint64_t n_changes) {
        const ModelChanges *changes = &registry->changes;

        assert(n_changes <= changes->n);
        if (changes->n - n_changes > MODEL_CHANGES_KEPT)
                return true;
        for (; n_changes < changes->n; n_changes++) {
                int64_t owner = changes->owners[n_changes % MODEL_CHANGES_KEPT];

                if (owner == MODEL_OF_ALL || owner == (int64_t)uid)
                        return true;
        }
        return false;
}

int registry_check(const Registry *registry, uint32_t uid, Submission *item, size_t *ret_n_deviations, Complaint *ret_complaint) {
        const Indicator *indicator = &item->indicator;
        ModelPolicy policy = registry->config->policy;
        const Model *model = models_find(&registry->models, uid, indicator->name, indicator->component);

        *ret_n_deviations = 0;
        item->model = model ? &model->model : NULL;
        if (!model && policy == MODEL_STRICT) {
                (void)indicator_complain(ret_complaint, "name",
                                         "'%s' of '%.100s' has no model here, and [indicators] policy is strict: register one",
                                         indicator->name, indicator->component ?: "");
                return REGISTRY_REFUSED;
        }
        if (!model || submission_has_failed(item))
                return 0;

        return indicator_model_judge(item->model, indicator, policy, ret_n_deviations, ret_complaint) != 0 ? REGISTRY_REFUSED : 0;
}

void registry_publish(const Registry *registry, IndicatorsSnapshot *ret) {
        snapshot_indicators_set_models(ret, registry->json);
}
