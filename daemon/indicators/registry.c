/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/registry.h"

#include <errno.h>
#include <string.h>

#include "reply.h"
#include "store/indicators/model_rows.h"
#include "store/indicators/stored_models.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/utf8.h"

/* --- the table ------------------------------------------------------------------------------------ */

/* Files' models to the store. 0, STORE_QUEUE_FULL, or < 0. */
static int tell_store(Service *service) {
        const ModelList *files = &service->models.files;
        scoped(freep) const IndicatorModel **models = NULL;
        size_t n = 0;

        models = calloc(files->n + 1, sizeof(*models));
        if (!models)
                return -ENOMEM;
        for (size_t i = 0; i < files->n; i++)
                if (models_is_in_force(&service->models, files->items[i]))
                        models[n++] = &files->items[i]->model;

        return store_put(service->store, model_rows_pack_declared(models, n, clock_realtime_ns() / NS_PER_MS));
}

static int note_change(Service *service) {
        Buffer text = {};
        char *json;

        models_write_json(&service->models, service->config.indicators.policy, &text);
        json = buffer_take(&text);
        if (!json)
                return -ENOMEM;

        free(service->models_json);
        service->models_json = json;
        service->models_version++;
        service->must_tell_store = true;
        return registry_tick(service);
}

int registry_tick(Service *service) {
        int r;

        if (!service->must_tell_store)
                return 0;

        r = tell_store(service);
        if (r == 0)
                service->must_tell_store = false;
        return r < 0 ? r : 0;
}

static void log_read(const Service *service, int n_bad) {
        size_t n = service->models.files.n;

        if (n_bad > 0)
                log_warning("%zu models of indicators are read, %d files in %s are not: see above.", n, n_bad,
                            service->config.indicators.directory);
        else if (n > 0)
                log_info("%zu models of indicators are read from %s.", n, service->config.indicators.directory);
}

int registry_configure(Service *service) {
        int r;

        r = models_read_files(&service->models, service->config.indicators.directory);
        if (r < 0)
                return r;

        log_read(service, r);
        return note_change(service);
}

static int take_stored(Service *service, const StoredModel *stored) {
        scoped(model_freep) Model *model = NULL;
        unsigned line, column;
        Complaint complaint;
        int r;

        r = model_new(&model, stored->document, strlen(stored->document), &complaint, &line, &column);
        if (r == MODEL_INVALID) { /* of another perfd, which knew more */
                log_warning("A registered model is not understood and left out: %s: %s", complaint.path, complaint.text);
                return 0;
        }
        if (r < 0)
                return r;

        model->uid = stored->uid;
        model->by_admin = stored->by_admin;
        r = models_add_registered(&service->models, &model);
        return r < 0 ? r : 0;
}

static int recover(Service *service) {
        scoped(stored_models_freep) StoredModels *stored = NULL;
        int r;

        r = stored_models_read(store_path_if_open(service->store), &stored);
        for (size_t i = 0; r == 0 && i < stored->n; i++)
                r = take_stored(service, &stored->items[i]);
        return r;
}

int registry_start(Service *service) {
        int r;

        r = recover(service);
        return r < 0 ? r : registry_configure(service);
}

/* What it was told before it had a database is lost. */
int registry_store_is_back(Service *service) {
        int r;

        r = store_is_late(service->store) ? recover(service) : 0;
        return r < 0 ? r : note_change(service);
}

void registry_deinit(Service *service) {
        models_deinit(&service->models);
        model_freep(&service->pending_model);
        tally_deinit(&service->tally);
        free(TAKE(service->models_json));
}

/* --- registering ---------------------------------------------------------------------------------- */

/* 0, or REGISTRY_REFUSED when it was answered. */
static int check_right(Service *service, const Request *request, Ticket ticket) {
        const IndicatorModel *asked = request->register_model.model;
        const Model *present = models_find(&service->models, asked->name, asked->component);
        char text[COMPLAINT_TEXT_MAX];

        if (request->peer.is_admin || !present)
                return 0;
        if (!present->file && !present->by_admin && present->uid == request->peer.uid)
                return 0;

        (void)snprintf(text, sizeof(text), "'%s' is declared by %s already: ask there for a change, or take another name", asked->name,
                       present->file || present->by_admin ? "an administrator" : "another user");
        reply(service, ticket, STATUS_DENIED, "register.name", text);
        return REGISTRY_REFUSED;
}

static int check_limits(Service *service, const Request *request, const Model *asked, Ticket ticket) {
        const Model *present = models_find_registered(&service->models, asked->model.name, asked->model.component);
        ModelsOfUser others = models_of_user(&service->models, request->peer.uid, present);
        size_t n_bytes = others.n_bytes + strlen(asked->json);
        char text[COMPLAINT_TEXT_MAX];

        if (!present && service->models.registered.n >= MODELS_MAX)
                (void)snprintf(text, sizeof(text), "there are %u registered models, and no room for more", MODELS_MAX);
        else if (!request->peer.is_admin && others.n >= MODELS_PER_UID_MAX)
                (void)snprintf(text, sizeof(text), "you have %u models registered, which is the limit for one user", MODELS_PER_UID_MAX);
        else if (!request->peer.is_admin && n_bytes > MODELS_BYTES_PER_UID_MAX)
                (void)snprintf(text, sizeof(text), "your models would have %zu bytes as JSON, which may be up to %u for one user", n_bytes,
                               MODELS_BYTES_PER_UID_MAX);
        else
                return 0;

        reply(service, ticket, STATUS_QUOTA, "register", text);
        return REGISTRY_REFUSED;
}

/*
 * What it will be read from at the next start: written and read again, so that whatever is taken now can be taken then. 0,
 * REGISTRY_REFUSED, or < 0.
 */
static int copy_model(Service *service, const Request *request, Ticket ticket, Model **ret) {
        scoped(buffer_deinit) Buffer text = {};
        unsigned line, column;
        Complaint complaint;
        Json json;
        int r;

        json_init(&json, &text);
        value_write_json(request->register_model.model->document, &json);
        r = buffer_error(&text);
        if (r == 0 && text.n > MODEL_FILE_BYTES_MAX) {
                (void)complaint_set(&complaint, "", "has %zu bytes as JSON, may have up to %u", text.n, MODEL_FILE_BYTES_MAX);
                r = MODEL_INVALID;
        }
        if (r == 0)
                r = model_new(ret, text.text, text.n, &complaint, &line, &column);
        if (r != MODEL_INVALID)
                return r;

        reply(service, ticket, STATUS_INVALID, "register.model", complaint.text);
        return REGISTRY_REFUSED;
}

static bool is_known(const Service *service, const Model *model) {
        const Model *present = models_find_registered(&service->models, model->model.name, model->model.component);

        return present && present->uid == model->uid && present->by_admin == model->by_admin && strcmp(present->json, model->json) == 0;
}

bool registry_is_busy(const Service *service) {
        return service->pending_model;
}

int registry_take(Service *service, const Request *request, Ticket ticket) {
        scoped(model_freep) Model *model = NULL;
        StoreModel row;
        int r;

        if (check_right(service, request, ticket) != 0)
                return 0;
        r = copy_model(service, request, ticket, &model);
        if (r != 0)
                return r < 0 ? r : 0;
        if (check_limits(service, request, model, ticket) != 0)
                return 0;

        model->uid = request->peer.uid;
        model->by_admin = request->peer.is_admin;
        if (is_known(service, model)) {
                reply(service, ticket, STATUS_DUPLICATE, "", "already registered: nothing changed");
                return 0;
        }

        row = (StoreModel){ .model = &model->model, .uid = model->uid, .by_admin = model->by_admin };
        r = store_put(service->store, model_rows_pack(&row, clock_realtime_ns() / NS_PER_MS, cookie_of_ticket(ticket, COOKIE_MODEL)));
        if (r == 0)
                service->pending_model = TAKE(model);
        return r;
}

/* 0, or REGISTRY_REFUSED when it was answered. */
static int check_forgettable(Service *service, const Request *request, Ticket ticket) {
        const char *name = request->unregister_model.name, *component = request->unregister_model.component;
        const Model *present = models_find_registered(&service->models, name, component);
        const Model *declared = models_find(&service->models, name, component);
        char text[COMPLAINT_TEXT_MAX];

        if (present && (request->peer.is_admin || (!present->by_admin && present->uid == request->peer.uid)))
                return 0;

        if (present)
                (void)snprintf(text, sizeof(text), "'%s' was registered by %s: ask there", name,
                               present->by_admin ? "an administrator" : "another user");
        else if (declared && declared->file)
                (void)snprintf(text, sizeof(text), "'%s' is not registered, it is declared in %s", name, declared->file);
        else
                (void)snprintf(text, sizeof(text), "no model of '%s'%s%.100s is registered", name, component ? " of " : " of any component",
                               component ?: "");
        reply(service, ticket, present ? STATUS_DENIED : STATUS_NOT_FOUND, "unregister.name", text);
        return REGISTRY_REFUSED;
}

/* It is out of the table from here on: nothing is judged before the store has answered, and then it may come back. */
int registry_forget(Service *service, const Request *request, Ticket ticket) {
        const char *name = request->unregister_model.name, *component = request->unregister_model.component;
        int r;

        if (check_forgettable(service, request, ticket) != 0)
                return 0;

        r = store_put(service->store, model_rows_pack_removal(name, component, cookie_of_ticket(ticket, COOKIE_MODEL)));
        if (r != 0)
                return r;
        service->pending_model = models_take_registered(&service->models, name, component);
        service->is_pending_removal = true;
        return 0;
}

static void log_change(const Model *model, bool is_gone) {
        const char *of = model->model.component ? " of " : "", *component = model->model.component ?: "";

        if (is_gone)
                log_info("The model of %s%s%s, which user %u had registered, is forgotten.", model->model.name, of, component, model->uid);
        else
                log_info("User %u registered the model of %s%s%s.", model->uid, model->model.name, of, component);
}

/* Of results that are stored already: "" where the model says of all what the one that held before said. */
static void say_changed_unit(const Models *models, const IndicatorModel *model, char ret[static COMPLAINT_TEXT_MAX]) {
        const Model *before = models_find(models, model->name, model->component);

        ret[0] = '\0';
        for (size_t i = 0; before && i < model->n_properties; i++) {
                const Property *now = &model->properties[i];
                const Property *then = now->is_result ? indicator_model_find(&before->model, now->name, true) : NULL;

                if (!then || !then->unit || strcmp(then->unit, now->unit ?: "") == 0)
                        continue;
                (void)snprintf(ret, COMPLAINT_TEXT_MAX, "%.100s was in %.50s before, and is %s%.50s now: what is stored is not converted",
                               now->name, then->unit, now->unit ? "in " : "without a unit", now->unit ?: "");
                return;
        }
}

int registry_complete(Service *service, Ticket ticket, StoreOutcome outcome) {
        scoped(model_freep) Model *model = TAKE(service->pending_model);
        bool is_removal = service->is_pending_removal, is_done = outcome == STORE_DONE;
        char remark[COMPLAINT_TEXT_MAX] = "";
        int r = 0;

        service->is_pending_removal = false;
        if (is_done)
                log_change(model, is_removal);
        if (!is_removal)
                say_changed_unit(&service->models, &model->model, remark);
        if (is_done != is_removal)
                r = models_add_registered(&service->models, &model); /* there was room when it was put, and nothing came between */
        if (r == 0 && is_done)
                r = note_change(service);
        if (r < 0)
                return r;

        if (is_done)
                reply(service, ticket, STATUS_OK, "", remark);
        else
                reply_store_failed(service, ticket);
        return 0;
}

/* --- judging -------------------------------------------------------------------------------------- */

static int refuse(Service *service, const Request *request, Ticket ticket, size_t i, const Complaint *complaint) {
        const Indicator *indicator = &request->submit.items[i].indicator;
        char path[COMPLAINT_PATH_MAX];
        size_t n;

        (void)snprintf(path, sizeof(path), "submit.indicators[%zu].", i);
        n = strlen(path);
        (void)snprintf(path + n, sizeof(path) - n, "%.*s", (int)utf8_cut(complaint->path, sizeof(path) - n - 1), complaint->path);
        tally_refuse(&service->tally, indicator->name, indicator->component);
        reply(service, ticket, STATUS_INVALID, path, complaint->text);
        return REGISTRY_REFUSED;
}

static int judge_item(Service *service, Submission *item, size_t *ret_n_odd, Complaint *complaint) {
        const Indicator *indicator = &item->indicator;
        ModelPolicy policy = service->config.indicators.policy;
        const Model *model = models_find(&service->models, indicator->name, indicator->component);

        *ret_n_odd = 0;
        item->model = model ? &model->model : NULL;
        if (!model && policy == MODEL_STRICT)
                return complaint_set(complaint, "name",
                                     "'%s' of '%.100s' has no model here, and [indicators] policy is strict: register one",
                                     indicator->name, indicator->component ?: "");
        if (!model || submission_has_failed(item))
                return 0;

        return indicator_model_judge(item->model, indicator, policy, ret_n_odd, complaint);
}

int registry_judge(Service *service, const Request *request, Ticket ticket, size_t *ret_n_odd) {
        Complaint complaint;
        size_t n_odd;

        *ret_n_odd = 0;
        for (size_t i = 0; i < request->submit.n_items; i++) {
                if (judge_item(service, &request->submit.items[i], &n_odd, &complaint) != 0)
                        return refuse(service, request, ticket, i, &complaint);
                *ret_n_odd += n_odd;
        }

        return 0;
}
