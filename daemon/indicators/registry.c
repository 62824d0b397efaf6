/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/registry.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "store/indicators/model_rows.h"
#include "store/indicators/stored_models.h"
#include "util/clock.h"

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

/*
 * Lists the JSON texts of the changed table, of which only new models are formatted. Stores the models of files if the
 * change affects how the store indexes results.
 */
static int apply_change(Registry *registry, bool is_declaration_due) {
        SharedTexts *json;
        int r;

        r = models_list_texts(&registry->models, registry->config->policy, &json);
        if (r < 0)
                return r;

        shared_texts_unref(registry->json);
        registry->json = json;
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
        return apply_change(registry, true);
}

/*
 * Charges a model to the user who registered it; a stored model is charged without a check. Returns 0; SHARES_REFUSED
 * with the reason; or -ENOMEM.
 */
static int charge_model(const Registry *registry, Model *model, bool is_stored, char ret_reason[static SHARES_REASON_MAX]) {
        Account *account = shares_open_account(registry->shares, &(Owner){ .uid = model->uid, .is_admin = model->by_admin });
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
        r = charge_model(registry, model, true, reason);
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
        return r < 0 ? r : apply_change(registry, true);
}

void registry_deinit(Registry *registry) {
        models_deinit(&registry->models);
        model_freep(&registry->pending);
        registry->json = shared_texts_unref(registry->json);
}

/* --- registering ---------------------------------------------------------------------------------- */

/* Checks whether the peer may declare this name. Returns 0, or REGISTRY_REFUSED after filling the answer. */
static int check_right(const Registry *registry, const Request *request, Answer *ret) {
        const IndicatorModel *asked = request->register_model.model;
        const Model *present = models_find(&registry->models, request->peer.uid, asked->name, asked->component);
        char text[COMPLAINT_TEXT_MAX];

        if (request->peer.is_admin)
                return 0;
        if (strcmp(asked->name, MODEL_ANY_NAME) == 0) {
                desk_answer(ret, STATUS_DENIED, "register.name",
                            "only an administrator can register a model of any name, '*'; specify the name of the indicator");
                return REGISTRY_REFUSED;
        }
        if (!present || model_owner(present) != MODEL_OF_ALL || strcmp(present->model.name, MODEL_ANY_NAME) == 0)
                return 0;

        (void)snprintf(text, sizeof(text), "'%s' is already declared by an administrator; ask for a change there, or use another name",
                       asked->name);
        desk_answer(ret, STATUS_DENIED, "register.name", text);
        return REGISTRY_REFUSED;
}

/* Returns 0; SHARES_REFUSED after filling the answer; or -ENOMEM. */
static int check_limits(const Registry *registry, Model *asked, Answer *ret) {
        Model *replaced = models_find_registered(&registry->models, model_owner(asked), asked->model.name, asked->model.component);
        uint64_t n_before = replaced ? replaced->charge.amount : 0;
        char text[SHARES_REASON_MAX];
        int r = SHARES_REFUSED;

        /* A replaced model is not charged while the charge for its replacement is checked. */
        if (replaced)
                shares_set(&replaced->charge, 0);
        if (registry->models.registered.n >= MODELS_MAX && !replaced)
                (void)snprintf(text, sizeof(text), "the limit of %u registered models is reached", MODELS_MAX);
        else
                r = charge_model(registry, asked, false, text);
        if (replaced)
                shares_set(&replaced->charge, n_before);
        if (r == SHARES_REFUSED)
                desk_answer(ret, STATUS_QUOTA, "register", text);
        return r;
}

/*
 * Makes the model from the text that will be stored, so that an accepted model can be read at the next start. Returns
 * 0; REGISTRY_REFUSED after filling the answer; or a negative errno.
 */
static int copy_model(const Request *request, Answer *ret_answer, Model **ret) {
        scoped(buffer_deinit) Buffer text = {};
        unsigned line, column;
        Complaint complaint;
        int r;

        value_write_json(request->register_model.model->document, &(Json){ .out = &text });
        r = buffer_error(&text);
        if (r == 0 && text.n > MODEL_FILE_BYTES_MAX) {
                (void)indicator_complain(&complaint, "", "the model has %zu bytes as JSON; the limit is %u", text.n, MODEL_FILE_BYTES_MAX);
                r = MODEL_INVALID;
        }
        if (r == 0)
                r = model_new(ret, text.text, text.n, &complaint, &line, &column);
        if (r != MODEL_INVALID)
                return r;

        desk_answer(ret_answer, STATUS_INVALID, "register.model", complaint.text);
        return REGISTRY_REFUSED;
}

static bool is_known(const Registry *registry, const Model *model) {
        const Model *present = models_find_registered(&registry->models, model_owner(model), model->model.name, model->model.component);

        return present && present->uid == model->uid && present->by_admin == model->by_admin && strcmp(present->json, model->json) == 0;
}

bool registry_is_busy(const Registry *registry) {
        return registry->pending;
}

bool registry_is_busy_with(const Registry *registry, const Request *request) {
        const Model *pending = registry->pending;

        assert(request->kind == REQUEST_SUBMIT);
        if (!pending || (model_owner(pending) != MODEL_OF_ALL && pending->uid != request->peer.uid))
                return false;
        for (size_t i = 0; i < request->submit.n_items; i++)
                if (strcmp(request->submit.items[i].indicator.name, pending->model.name) == 0)
                        return true;
        return false;
}

static StoreCookie cookie_of(size_t kind, Ticket ticket) {
        return (StoreCookie){ .kind = &registry_kinds[kind], .ticket = ticket };
}

static int place_register(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Registry *registry = state;
        scoped(model_freep) Model *model = NULL;
        StoreModel row;
        int r;

        if (registry_is_busy(registry))
                return DESK_FULL;
        if (check_right(registry, request, ret) != 0)
                return 0;
        r = copy_model(request, ret, &model);
        if (r != 0)
                return r < 0 ? r : 0;

        assert(!registry->pending && !registry->is_pending_removal);
        model->uid = request->peer.uid;
        model->by_admin = request->peer.is_admin;
        if (is_known(registry, model))
                return desk_answer(ret, STATUS_DUPLICATE, "", "already registered: nothing changed");
        r = check_limits(registry, model, ret);
        if (r != 0)
                return r < 0 ? r : 0;

        row = (StoreModel){ .model = &model->model, .uid = model->uid, .by_admin = model->by_admin };
        r = store_put(registry->store, model_rows_pack(&row, clock_realtime_ns() / NS_PER_MS, cookie_of(0, ticket)));
        if (r == 0)
                registry->pending = TAKE(model);
        return desk_pending(r);
}

/*
 * Returns the model that a peer may remove: for an administrator first the model of all users, then the peer's own,
 * then one of another user.
 */
static const Model *find_removable(const Registry *registry, const Request *request) {
        const char *name = request->unregister_model.name, *component = request->unregister_model.component;
        const Models *models = &registry->models;
        const Model *own = models_find_registered(models, request->peer.uid, name, component);

        if (!request->peer.is_admin)
                return own;
        return models_find_registered(models, MODEL_OF_ALL, name, component) ?: own ?: models_find_registered_any(models, name, component);
}

static void refuse_removal(const Registry *registry, const Request *request, Answer *ret) {
        const char *name = request->unregister_model.name, *component = request->unregister_model.component;
        const Model *present = models_find_registered_any(&registry->models, name, component);
        const Model *file = models_find_file(&registry->models, name, component);
        char text[COMPLAINT_TEXT_MAX];

        if (present)
                (void)snprintf(text, sizeof(text), "'%s' was registered by %s; only the owner or an administrator can remove it", name,
                               present->by_admin ? "an administrator" : "another user");
        else if (file)
                (void)snprintf(text, sizeof(text), "'%s' is not registered; it is declared in %s", name, file->file);
        else
                (void)snprintf(text, sizeof(text), "no model of '%s'%s%.100s is registered", name, component ? " of " : " of any component",
                               component ?: "");
        desk_answer(ret, present ? STATUS_DENIED : STATUS_NOT_FOUND, "unregister.name", text);
}

/*
 * Removes the model from the table at once; complete() restores it if the store fails. No result is checked in
 * between.
 */
static int place_unregister(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Registry *registry = state;
        const Model *model;
        int r;

        if (registry_is_busy(registry))
                return DESK_FULL;
        model = find_removable(registry, request);
        if (!model) {
                refuse_removal(registry, request, ret);
                return 0;
        }

        r = store_put(registry->store, model_rows_pack_removal(model->model.name, model->model.component, model_owner(model),
                                                               cookie_of(1, ticket)));
        if (r != 0)
                return desk_pending(r);
        registry->pending = models_remove_registered(&registry->models, model);
        registry->is_pending_removal = true;
        return DESK_PENDING;
}

/* --- completion ----------------------------------------------------------------------------------- */

static void log_change(const Model *model, bool is_gone) {
        const char *of = model->model.component ? " of " : "", *component = model->model.component ?: "";

        if (is_gone)
                log_info("Removed the model of %s%s%s, registered by user %u.", model->model.name, of, component, model->uid);
        else
                log_info("User %u registered the model of %s%s%s.", model->uid, model->model.name, of, component);
}

/* Writes a remark if the new model changes the unit of stored results; "" if all units are unchanged. */
static void explain_changed_unit(const Models *models, uint32_t uid, const IndicatorModel *model, char ret[static COMPLAINT_TEXT_MAX]) {
        const Model *before = models_find(models, uid, model->name, model->component);

        ret[0] = '\0';
        for (size_t i = 0; before && i < model->n_properties; i++) {
                const Property *now = &model->properties[i];
                const Property *then = now->is_result ? indicator_model_find(&before->model, now->name, true) : NULL;

                if (!then || !then->unit || strcmp(then->unit, now->unit ?: "") == 0)
                        continue;
                (void)snprintf(ret, COMPLAINT_TEXT_MAX, "%.100s was in %.50s before, and is %s%.50s now: stored results are not converted",
                               now->name, then->unit, now->unit ? "in " : "without a unit", now->unit ?: "");
                return;
        }
}

static int complete(void *state, const StoreDone *done, Answer *ret) {
        Registry *registry = state;
        scoped(model_freep) Model *model = TAKE(registry->pending);
        bool hides_file, is_removal = registry->is_pending_removal, is_done = done->outcome == STORE_DONE;
        char remark[COMPLAINT_TEXT_MAX] = "";
        int r = 0;

        assert(model);
        assert(is_removal == (done->cookie.kind == &registry_kinds[1]));

        registry->is_pending_removal = false;
        if (is_done)
                log_change(model, is_removal);
        if (!is_removal)
                explain_changed_unit(&registry->models, model->uid, &model->model, remark);
        hides_file = model->by_admin && models_find_file(&registry->models, model->model.name, model->model.component);
        if (is_done != is_removal)
                r = models_add_registered(&registry->models, &model);
        assert(r <= 0); /* the limit was checked before the row was queued, and no other model was added since */
        if (r == 0 && is_done)
                r = apply_change(registry, hides_file);
        if (r < 0)
                return r;

        if (is_done)
                desk_answer(ret, STATUS_OK, "", remark);
        else
                desk_answer_store_failed(ret, registry->store);
        return DESK_CHANGED;
}

const Kind registry_kinds[] = {
        { REQUEST_REGISTER, "register", place_register, complete },
        { REQUEST_UNREGISTER, "unregister", place_unregister, complete },
};

/* --- checking results ----------------------------------------------------------------------------- */

static int check_item(const Registry *registry, uint32_t uid, Submission *item, size_t *ret_n_odd, Complaint *complaint) {
        const Indicator *indicator = &item->indicator;
        ModelPolicy policy = registry->config->policy;
        const Model *model = models_find(&registry->models, uid, indicator->name, indicator->component);

        *ret_n_odd = 0;
        item->model = model ? &model->model : NULL;
        if (!model && policy == MODEL_STRICT)
                return indicator_complain(complaint, "name",
                                          "'%s' of '%.100s' has no model here, and [indicators] policy is strict: register one",
                                          indicator->name, indicator->component ?: "");
        if (!model || submission_has_failed(item))
                return 0;

        return indicator_model_judge(item->model, indicator, policy, ret_n_odd, complaint);
}

int registry_check(const Registry *registry, uint32_t uid, Submission *items, size_t n_items, size_t *ret_n_odd,
                   RegistryComplaint *ret_complaint) {
        size_t n_odd;

        *ret_n_odd = 0;
        for (size_t i = 0; i < n_items; i++) {
                if (check_item(registry, uid, &items[i], &n_odd, &ret_complaint->complaint) != 0) {
                        ret_complaint->i_item = i;
                        return REGISTRY_REFUSED;
                }
                *ret_n_odd += n_odd;
        }

        return 0;
}

void registry_publish(const Registry *registry, IndicatorsSnapshot *ret) {
        indicators_snapshot_set_models(ret, registry->json);
}
