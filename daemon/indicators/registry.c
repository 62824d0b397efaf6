/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/registry.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/indicator_model.h"
#include "store/indicators/indicator_reader.h"
#include "store/indicators/model_rows.h"
#include "util/clock.h"
#include "util/hash.h"
#include "util/scoped.h"

#define READ_ATTEMPTS 3

static void pending_deinit(PendingModels *pending) {
        for (size_t i = 0; i < pending->n; i++)
                model_free(pending->items[i].model);
        free(pending->items);
        *pending = (PendingModels){};
}

/* Moves a model to the list, which has space for it. */
static void pending_add(PendingModels *pending, Model **model, size_t index) {
        pending->items[pending->n++] = (PendingModel){ .model = TAKE(*model), .index = (uint32_t)index };
}

/* Compares two PendingModel for qsort(3): 0 if they declare the same indicator. */
static int pending_compare(const void *a, const void *b) {
        const IndicatorModel *first = &((const PendingModel *)a)->model->model,
                             *second = &((const PendingModel *)b)->model->model;

        return strcmp(first->name, second->name) ?: strcmp(first->component ?: "", second->component ?: "");
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

/*
 * Lists the JSON texts of the table, in which models of this owner have changed; only new models are formatted.
 * Stores the models of files if the change affects how the store indexes results. Returns 0 or a negative errno.
 */
static int apply_change(Registry *registry, int64_t owner, bool is_declaration_due) {
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

/* A client can cause a reload, but no other complaints: they are logged once, until they change. */
static void log_read(Registry *registry, int n_bad) {
        const ModelList *files = &registry->models.files;
        uint64_t hash = hash_bytes(HASH_BEGIN, &files->n, sizeof(files->n));
        size_t n = files->n;

        for (size_t i = 0; i < files->n_complaints; i++)
                hash = hash_bytes(hash, files->complaints[i], strlen(files->complaints[i]));
        if (hash == registry->logged_hash)
                return;

        registry->logged_hash = hash;
        models_log_complaints(&registry->models);
        if (n_bad > 0)
                log_warning("Read %zu indicator models; %d files in %s are not valid, see above.", n, n_bad,
                            registry->config->directory);
        else if (n > 0)
                log_info("Read %zu indicator models from %s.", n, registry->config->directory);
}

int registry_configure(Registry *registry, Models *read) {
        int r = 0;

        if (read)
                models_move_files(&registry->models, read);
        else
                r = models_read_files(&registry->models, registry->config->directory);
        if (r < 0)
                return r;

        log_read(registry, registry->models.files.n_bad);
        return apply_change(registry, MODEL_OF_ALL, true);
}

/*
 * Charges a model to the user who registered it; a stored model is charged without a check. Returns 0; SHARES_REFUSED
 * with the reason; or -ENOMEM.
 */
static int charge(const Registry *registry, Model *model, bool is_stored, char ret_reason[static SHARES_REASON_MAX]) {
        ShareAccount *account = shares_open_account(registry->shares,
                                                    &(Owner){ .uid = model->uid, .is_admin = model->by_admin });
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

static int add_stored(Registry *registry, const RegisteredModelRow *stored) {
        scoped(model_freep) Model *model = NULL;
        unsigned line, column;
        char reason[SHARES_REASON_MAX];
        Complaint complaint;
        int r;

        r = model_new(&model, stored->document, strlen(stored->document), &complaint, &line, &column);
        if (r == MODEL_INVALID) { /* the model was written by a later version */
                log_warning("Ignoring a registered model that this version cannot read: %s: %s", complaint.path,
                            complaint.text);
                return 0;
        }
        if (r < 0)
                return r;

        model->uid = stored->uid;
        model->by_admin = stored->by_admin;
        r = charge(registry, model, true, reason);
        if (r == 0)
                r = models_add_registered(&registry->models, &model);
        return r < 0 ? r : 0;
}

static int add_all_stored(Registry *registry, Reader *reader) {
        RegisteredModelRow row;
        int r;

        r = indicator_reader_list_registered(reader);
        while (r == 0 && (r = indicator_reader_next_registered(reader, &row)) == 0)
                r = add_stored(registry, &row);
        return r == READER_END ? 0 : r > 0 ? -EIO : r;
}

/* Damage that is found here makes the writer replace the file; the next attempt waits for the new file. */
static int read_stored(Registry *registry) {
        const char *path = store_path_if_open(registry->store);
        int r = path ? -EIO : 0;

        for (int i = 0; r == -EIO && i < READ_ATTEMPTS; i++) {
                scoped(reader_freep) Reader *reader = NULL;

                r = reader_new(&reader, path, store_wal_barrier(registry->store), UINT64_MAX);
                if (r == 0)
                        r = add_all_stored(registry, reader);
        }
        return r;
}

int registry_start(Registry *registry) {
        int r;

        r = read_stored(registry);
        return r < 0 ? r : registry_configure(registry, NULL);
}

/* Stores all models again, because rows put before the store had a database were lost. */
int registry_restore(Registry *registry) {
        int r;

        r = store_is_late(registry->store) ? read_stored(registry) : 0;
        return r < 0 ? r : apply_change(registry, MODEL_OF_ALL, true);
}

int registry_forget(Registry *registry, uint32_t uid) {
        char reason[SHARES_REASON_MAX];
        int r = 0;

        for (size_t i = registry->models.registered.n; r >= 0 && i-- > 0;) {
                Model *model = registry->models.registered.items[i];

                if (model->uid != uid)
                        continue;
                if (model_owner(model) != MODEL_OF_ALL) {
                        model_free(models_remove_registered(&registry->models, model));
                        continue;
                }
                model->uid = 0;
                model->text = shared_text_unref(model->text);
                shares_release(&model->charge);
                r = charge(registry, model, true, reason);
        }
        return r < 0 ? r : apply_change(registry, MODEL_OF_ALL, false);
}

void registry_deinit(Registry *registry) {
        models_deinit(&registry->models);
        pending_deinit(&registry->pending);
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

int registry_check(const Registry *registry, uint32_t uid, Submission *item, LabelParameters *ret_added,
                   size_t *ret_n_deviations, Complaint *ret_complaint) {
        const Indicator *indicator = &item->indicator;
        ModelPolicy policy = registry->config->policy;
        const Model *model = models_find(&registry->models, uid, indicator->name, indicator->component);

        *ret_n_deviations = 0;
        item->model = model ? &model->model : NULL;
        if (!model && policy == MODEL_STRICT) {
                (void)indicator_complain(ret_complaint, "name",
                                         "'%s' of '%.100s' has no model here, and [indicators] policy is strict: "
                                         "register one",
                                         indicator->name, indicator->component ?: "");
                return REGISTRY_REFUSED;
        }
        if (!model)
                return 0;
        if (label_parameters_add(item->model, item, ret_added) < 0)
                return -ENOMEM;
        if (submission_has_failed(item))
                return 0;

        return indicator_model_judge(item->model, indicator, policy, ret_n_deviations, ret_complaint) != 0
                       ? REGISTRY_REFUSED
                       : 0;
}

void registry_publish(const Registry *registry, IndicatorsSnapshot *ret) {
        snapshot_indicators_set_models(ret, registry->json);
}

/* --- kinds of requests: models that clients register and remove -------------------------------------- */

/* Outcome of the checks of a request. */
enum {
        REGISTRATION_REFUSED = 1,
};

/* Names the model of the request that an answer is about. Returns REGISTRATION_REFUSED. */
static int answer_about(Answer *ret, size_t index) {
        ret->has_item = true;
        ret->item = (uint32_t)index;
        return REGISTRATION_REFUSED;
}

/* Checks whether the peer may declare this name. Returns 0, or REGISTRATION_REFUSED after filling the answer. */
static int check_right(const Registry *registry, const Request *request, const IndicatorModel *asked, Answer *ret) {
        const Model *present = models_find(&registry->models, request->peer.uid, asked->name, asked->component);
        char text[COMPLAINT_TEXT_MAX];

        if (request->peer.is_admin || indicator_model_is_accepted_level(asked))
                return 0;
        if (strcmp(asked->name, MODEL_ANY_NAME) == 0) {
                desk_answer(ret, STATUS_DENIED, "register.name",
                            "only an administrator can register a model of any name, '*'; specify the name of the "
                            "indicator");
                return REGISTRATION_REFUSED;
        }
        if (!present || model_owner(present) != MODEL_OF_ALL || strcmp(present->model.name, MODEL_ANY_NAME) == 0)
                return 0;

        (void)snprintf(text, sizeof(text),
                       "'%s' is already declared by an administrator; ask for a change there, or use another name",
                       asked->name);
        desk_answer(ret, STATUS_DENIED, "register.name", text);
        return REGISTRATION_REFUSED;
}

/* A model that a queued model replaces, and its charge. */
typedef struct Replaced {
        Model *model; /* borrowed; NULL: none */
        uint64_t n_bytes;
} Replaced;

/* Charges all models, or stops at the first that a limit refuses. Returns 0; REGISTRATION_REFUSED after filling the
 * answer; or -ENOMEM. */
static int charge_models(const Registry *registry, PendingModels *asked, const Replaced *replaced, Answer *ret) {
        size_t n_registered = registry->models.registered.n,
               n_accepted = models_count_accepted(&registry->models, asked->items[0].model);
        char text[SHARES_REASON_MAX];

        for (size_t i = 0; i < asked->n; i++) {
                int r = SHARES_REFUSED;

                n_registered += !replaced[i].model;
                n_accepted += !replaced[i].model && indicator_model_is_accepted_level(&asked->items[i].model->model);
                if (n_accepted > ACCEPTED_LEVELS_MAX)
                        (void)snprintf(text, sizeof(text),
                                       "the limit of %u accepted levels per user is reached: remove some with "
                                       "perfctl kpi accept --remove",
                                       ACCEPTED_LEVELS_MAX);
                else if (n_registered > MODELS_MAX)
                        (void)snprintf(text, sizeof(text), "the limit of %u registered models is reached", MODELS_MAX);
                else
                        r = charge(registry, asked->items[i].model, false, text);
                if (r == SHARES_REFUSED) {
                        desk_answer(ret, STATUS_QUOTA, "register", text);
                        return answer_about(ret, asked->items[i].index);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Returns as charge_models(). A replaced model is not charged while the charge for its replacement is checked. */
static int check_limits(const Registry *registry, PendingModels *asked, Answer *ret) {
        scoped(freep) Replaced *replaced = calloc(asked->n, sizeof(*replaced));
        int r;

        if (!replaced)
                return -ENOMEM;
        for (size_t i = 0; i < asked->n; i++) {
                const Model *model = asked->items[i].model;

                replaced[i].model = models_find_registered(&registry->models, model_owner(model), model->model.name,
                                                           model->model.component);
                if (!replaced[i].model)
                        continue;
                replaced[i].n_bytes = replaced[i].model->charge.amount;
                shares_set(&replaced[i].model->charge, 0);
        }
        r = charge_models(registry, asked, replaced, ret);
        for (size_t i = 0; i < asked->n; i++)
                if (replaced[i].model)
                        shares_set(&replaced[i].model->charge, replaced[i].n_bytes);
        return r;
}

/*
 * Makes the model from the text that will be stored, so that an accepted model can be read at the next start. Returns
 * 0; REGISTRATION_REFUSED after filling the answer; or a negative errno.
 */
static int copy_model(const IndicatorModel *asked, Answer *ret_answer, Model **ret) {
        scoped(buffer_deinit) Buffer text = {};
        unsigned line, column;
        Complaint complaint;
        int r;

        value_write_json(asked->document, &(Json){ .out = &text });
        r = buffer_error(&text);
        if (r == 0 && text.n > MODEL_FILE_BYTES_MAX) {
                (void)indicator_complain(&complaint, "", "the model has %zu bytes as JSON; the limit is %u", text.n,
                                         MODEL_FILE_BYTES_MAX);
                r = MODEL_INVALID;
        }
        if (r == 0)
                r = model_new(ret, text.text, text.n, &complaint, &line, &column);
        if (r != MODEL_INVALID)
                return r;

        desk_answer(ret_answer, STATUS_INVALID, "register.model", complaint.text);
        return REGISTRATION_REFUSED;
}

static bool is_known(const Registry *registry, const Model *model) {
        const Model *present = models_find_registered(&registry->models, model_owner(model), model->model.name,
                                                      model->model.component);

        return present && present->uid == model->uid && present->by_admin == model->by_admin &&
               strcmp(present->json, model->json) == 0;
}

/*
 * Copies the models that the peer may declare and that are not registered already. Returns 0; REGISTRATION_REFUSED
 * after filling the answer; or a negative errno.
 */
static int copy_models(const Registry *registry, const Request *request, Answer *ret_answer, PendingModels *ret) {
        for (size_t i = 0; i < request->register_model.n_models; i++) {
                const IndicatorModel *asked = &request->register_model.models[i];
                scoped(model_freep) Model *model = NULL;
                int r;

                r = check_right(registry, request, asked, ret_answer);
                if (r == 0)
                        r = copy_model(asked, ret_answer, &model);
                if (r != 0)
                        return r < 0 ? r : answer_about(ret_answer, i);

                model->uid = request->peer.uid;
                model->by_admin = request->peer.is_admin;
                pending_add(ret, &model, i);
        }
        return 0;
}

/* Sorts the models, and removes those that are registered already. Returns 0, or REGISTRATION_REFUSED after filling
 * the answer. */
static int drop_known(const Registry *registry, PendingModels *asked, Answer *ret) {
        size_t n = 0;

        qsort(asked->items, asked->n, sizeof(*asked->items), pending_compare);
        for (size_t i = 1; i < asked->n; i++)
                if (pending_compare(&asked->items[i - 1], &asked->items[i]) == 0) {
                        desk_answer(ret, STATUS_INVALID, "register.name",
                                    "a request declares this model twice: remove one");
                        return answer_about(ret, asked->items[i].index);
                }

        for (size_t i = 0; i < asked->n; i++)
                if (is_known(registry, asked->items[i].model))
                        model_free(asked->items[i].model);
                else
                        asked->items[n++] = asked->items[i];
        asked->n = n;
        return 0;
}

static StoreCookie cookie_of(size_t kind, Ticket ticket) {
        return (StoreCookie){ .kind = &registry_kinds[kind], .ticket = ticket };
}

/* Returns as store_put(). */
static int put_registered(const Registry *registry, const Request *request, const PendingModels *asked, Ticket ticket) {
        scoped(freep) const IndicatorModel **models = calloc(asked->n, sizeof(*models));
        const StoreModels rows = {
                .models = models, .n_models = asked->n, .uid = request->peer.uid, .by_admin = request->peer.is_admin
        };

        if (!models)
                return -ENOMEM;
        for (size_t i = 0; i < asked->n; i++)
                models[i] = &asked->items[i].model->model;
        return store_put(registry->store,
                         model_rows_pack(&rows, clock_realtime_ns() / NS_PER_MS, cookie_of(REGISTRY_REGISTER, ticket)));
}

static int place_register(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Registry *registry = state;
        scoped(pending_deinit) PendingModels asked = {};
        int r;

        if (registry_is_busy(registry))
                return DESK_FULL;
        asked.items = calloc(request->register_model.n_models, sizeof(*asked.items));
        if (!asked.items)
                return -ENOMEM;
        r = copy_models(registry, request, ret, &asked);
        if (r == 0)
                r = drop_known(registry, &asked, ret);
        if (r == 0 && asked.n == 0)
                return desk_answer(ret, STATUS_DUPLICATE, "", "already registered: nothing changed");
        if (r == 0)
                r = check_limits(registry, &asked, ret);
        if (r != 0)
                return r < 0 ? r : 0;

        r = put_registered(registry, request, &asked, ticket);
        if (r == 0) {
                registry->pending = asked;
                asked = (PendingModels){};
        }
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
        return models_find_registered(models, MODEL_OF_ALL, name, component) ?: own ?:
               models_find_registered_any(models, name, component);
}

static void refuse_removal(const Registry *registry, const Request *request, Answer *ret) {
        const char *name = request->unregister_model.name, *component = request->unregister_model.component;
        const Model *present = models_find_registered_any(&registry->models, name, component);
        const Model *file = models_find_file(&registry->models, name, component);
        char text[COMPLAINT_TEXT_MAX];

        if (present && registry->identity->hides_others && model_owner(present) != MODEL_OF_ALL)
                present = NULL;
        if (present)
                (void)snprintf(text, sizeof(text),
                               "'%s' was registered by %s; only the owner or an administrator can remove it", name,
                               present->by_admin ? "an administrator" : "another user");
        else if (file)
                (void)snprintf(text, sizeof(text), "'%s' is declared in %s: remove it there", name, file->file);
        else
                (void)snprintf(text, sizeof(text), "no model of '%s'%s%.100s is registered", name,
                               component ? " of " : " of any component", component ?: "");
        desk_answer(ret, present ? STATUS_DENIED : STATUS_NOT_FOUND, "unregister.name", text);
}

/*
 * Removes the model from the table at once; complete() restores it if the store fails. No result is checked in
 * between.
 */
static int place_unregister(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Registry *registry = state;
        scoped(pending_deinit) PendingModels pending = { .items = calloc(1, sizeof(PendingModel)), .is_removal = true };
        scoped(model_freep) Model *removed = NULL;
        const Model *model;
        int r;

        if (registry_is_busy(registry))
                return DESK_FULL;
        if (!pending.items)
                return -ENOMEM;
        model = find_removable(registry, request);
        if (!model) {
                refuse_removal(registry, request, ret);
                return 0;
        }

        r = store_put(registry->store,
                      model_rows_pack_removal(model->model.name, model->model.component, model_owner(model),
                                              cookie_of(REGISTRY_UNREGISTER, ticket)));
        if (r != 0)
                return desk_pending(r);
        removed = models_remove_registered(&registry->models, model);
        pending_add(&pending, &removed, 0);
        registry->pending = pending;
        pending = (PendingModels){};
        return DESK_PENDING;
}

/* --- completion ----------------------------------------------------------------------------------- */

static void log_change(LogUserLimits *limits, const Model *model, bool is_gone) {
        const char *of = model->model.component ? " of " : "", *component = model->model.component ?: "",
                   *name = model->model.name;

        if (indicator_model_is_accepted_level(&model->model))
                log_for_user(limits, model->uid, LOG_LEVEL_INFO, NULL, "User %u %s a level of %s.", model->uid,
                             is_gone ? "no longer accepts" : "accepted",
                             value_get_string(value_get(model->model.document, "accepted"), "kpi") ?: "");
        else
                log_for_user(limits, model->uid, LOG_LEVEL_INFO, NULL,
                             is_gone ? "Removed the model of %2$s%3$s%4$s, registered by user %1$u."
                                     : "User %1$u registered the model of %2$s%3$s%4$s.",
                             model->uid, name, of, component);
}

/* Writes a remark if the new model changes the unit of stored results. Returns true if it does. */
static bool explain_changed_unit(const Models *models, const Model *model, Answer *ret) {
        const Model *before = models_find(models, model->uid, model->model.name, model->model.component);
        char text[COMPLAINT_TEXT_MAX];

        for (size_t i = 0; before && i < model->model.n_properties; i++) {
                const Property *now = &model->model.properties[i];
                const Property *then = now->is_result ? indicator_model_find(&before->model, now->name, true) : NULL;

                if (!then || !then->unit || strcmp(then->unit, now->unit ?: "") == 0)
                        continue;
                (void)snprintf(text, sizeof(text),
                               "%.100s was in %.50s before, and is %s%.50s now: stored results are not converted",
                               now->name, then->unit, now->unit ? "in " : "without a unit", now->unit ?: "");
                desk_answer(ret, STATUS_OK, "", text);
                return true;
        }
        return false;
}

/* Answers that the models are registered, with a remark on the first in the request whose unit changes. */
static void answer_registered(const Registry *registry, const PendingModels *pending, Answer *ret) {
        Answer remark = {};

        desk_answer(ret, STATUS_OK, "", "");
        for (size_t i = 0; i < pending->n; i++)
                if ((!ret->has_item || pending->items[i].index < ret->item) &&
                    explain_changed_unit(&registry->models, pending->items[i].model, &remark)) {
                        *ret = remark;
                        (void)answer_about(ret, pending->items[i].index);
                }
}

/* Adds the model to the table. Returns true in *ret_hides if a declaration in a file no longer applies, or applies
 * again. */
static int finish_model(Registry *registry, PendingModel *item, bool is_done, bool is_removal, bool *ret_hides) {
        const Model *model = item->model;
        int r;

        if (is_done)
                log_change(&registry->log_limits, model, is_removal);
        *ret_hides |= model->by_admin && models_find_file(&registry->models, model->model.name, model->model.component);
        if (is_done == is_removal)
                return 0;
        r = models_add_registered(&registry->models, &item->model);
        assert(r <= 0); /* the limit was checked before the row was queued, and no other model was added since */
        return r;
}

static int complete(void *state, const StoreDone *done, Answer *ret) {
        Registry *registry = state;
        scoped(pending_deinit) PendingModels pending = registry->pending;
        bool hides_file = false, is_done = done->outcome == STORE_DONE;
        int64_t owner = pending.n > 0 ? model_owner(pending.items[0].model) : MODEL_OF_ALL;
        int r = 0;

        assert(pending.n > 0);
        assert(pending.is_removal == (done->cookie.kind == &registry_kinds[REGISTRY_UNREGISTER]));

        registry->pending = (PendingModels){};
        if (!is_done)
                desk_answer_store_failed(ret, registry->store);
        else if (pending.is_removal)
                desk_answer(ret, STATUS_OK, "", "");
        else
                answer_registered(registry, &pending, ret);

        for (size_t i = 0; i < pending.n && r == 0; i++)
                r = finish_model(registry, &pending.items[i], is_done, pending.is_removal, &hides_file);
        if (r == 0 && is_done)
                r = apply_change(registry, owner, hides_file);
        return r < 0 ? r : DESK_CHANGED;
}

const Kind registry_kinds[] = {
        [REGISTRY_REGISTER] = { REQUEST_REGISTER, "register", place_register, complete, NULL },
        [REGISTRY_UNREGISTER] = { REQUEST_UNREGISTER, "unregister", place_unregister, complete, NULL },
};
