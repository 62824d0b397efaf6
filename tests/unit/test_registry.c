/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/indicators/registry.c */
#include "room_fixture.h"

#include <sys/stat.h>

#define TEXT(name, unit)                                                \
        "{\"name\": \"" name "\", \"component\": \"c\", \"parameters\": {}, " \
        "\"results\": {\"n\": {\"type\": \"int\", \"unit\": \"" unit "\"}}}"

static void set_policy(Fixture *f, ModelPolicy policy) {
        f->indicators_config.policy = policy;
}

/* Writes a directory with one model. */
static void write_models(Fixture *f, const char *text) {
        (void)snprintf(f->indicators_config.directory, sizeof(f->indicators_config.directory), "%s/models", f->root);
        (void)mkdir(f->indicators_config.directory, 0755);
        tree_write(f->root, "models/one.yaml", text);
}

static Status register_model(Fixture *f, const char *text) {
        scoped(model_freep) Model *model = NULL;
        unsigned line, column;
        Complaint complaint;
        Request request;

        assert_int_equal(model_new(&model, text, strlen(text), &complaint, &line, &column), 0);
        request = (Request){ .kind = REQUEST_REGISTER, .register_model = { .models = &model->model, .n_models = 1 } };
        return serve(f, &registry_kinds[REGISTRY_REGISTER], &request);
}

static Status unregister_model(Fixture *f, const char *name, const char *component) {
        Request request = { .kind = REQUEST_UNREGISTER, .unregister_model = { .name = name, .component = component } };

        return serve(f, &registry_kinds[REGISTRY_UNREGISTER], &request);
}

static const Model *model_of(Fixture *f, const char *name) {
        return models_find(&f->indicators.registry.models, f->peer.uid, name, "c");
}

static void a_change_concerns_the_users_whose_results_have_the_model(void **state) {
        Fixture *f = *state;
        Registry *registry = &f->indicators.registry;
        uint64_t n;

        assert_int_equal(registry_start(registry), 0);
        f->peer.is_admin = false;
        f->peer.uid = 2000;
        n = registry->changes.n;
        assert_false(registry_has_changed(registry, 2000, n));
        assert_int_equal(register_model(f, TEXT("A", "s")), STATUS_OK);
        assert_true(registry_has_changed(registry, 2000, n));
        assert_false(registry_has_changed(registry, 2001, n));
        assert_int_equal(unregister_model(f, "A", "c"), STATUS_OK);
        assert_false(registry_has_changed(registry, 2001, n));
        assert_false(registry_has_changed(registry, 2000, registry->changes.n));
        for (unsigned i = 0; i < MODEL_CHANGES_KEPT; i++)
                assert_int_equal(register_model(f, i % 2 ? TEXT("A", "ms") : TEXT("A", "s")), STATUS_OK);
        assert_true(registry_has_changed(registry, 2001, n)); /* more changes than are known */
        n = registry->changes.n;
        f->peer.is_admin = true;
        assert_int_equal(register_model(f, TEXT("B", "s")), STATUS_OK);
        assert_true(registry_has_changed(registry, 2001, n));
}

static void a_registered_model_applies_until_it_is_removed(void **state) {
        Fixture *f = *state;
        IndicatorsSnapshot snapshot = {};
        scoped(buffer_deinit) Buffer json = {};
        const SharedTexts *before;

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        before = f->indicators.registry.json;
        assert_int_equal(register_model(f, TEXT("A", "s")), STATUS_OK);
        assert_non_null(model_of(f, "A"));
        assert_ptr_not_equal(f->indicators.registry.json, before);
        assert_int_equal(register_model(f, TEXT("A", "s")), STATUS_DUPLICATE);

        assert_int_equal(register_model(f, TEXT("A", "ms")), STATUS_OK);
        assert_non_null(strstr(f->answer.complaint.text, "stored results are not converted"));

        assert_int_equal(results_publish(&f->indicators, &snapshot), 0);
        shared_texts_write(snapshot.models, &json);
        assert_non_null(strstr(json.text, "\"A\""));
        snapshot_indicators_deinit(&snapshot);

        assert_int_equal(unregister_model(f, "A", "c"), STATUS_OK);
        assert_null(model_of(f, "A"));
        assert_int_equal(unregister_model(f, "A", "c"), STATUS_NOT_FOUND);
}

static void a_model_of_a_user_is_of_the_users_own_results(void **state) {
        Fixture *f = *state;

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(register_model(f, TEXT("A", "s")), STATUS_OK);
        f->peer.uid = 1001;
        assert_null(model_of(f, "A"));
        assert_int_equal(unregister_model(f, "A", "c"), STATUS_DENIED);
        assert_int_equal(register_model(f, TEXT("A", "ms")), STATUS_OK);
        assert_string_equal(f->answer.complaint.text, ""); /* the unit of another user's results has not changed */
        assert_string_equal(model_of(f, "A")->model.properties[0].unit, "ms");
        f->peer.uid = 1000;
        assert_string_equal(model_of(f, "A")->model.properties[0].unit, "s");
}

static void a_model_of_an_administrator_is_of_all_results(void **state) {
        Fixture *f = *state;

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(register_model(f, TEXT("A", "s")), STATUS_OK);
        f->peer.uid = 1001;
        f->peer.is_admin = true;
        assert_int_equal(register_model(f, TEXT("A", "ms")), STATUS_OK);
        f->peer.is_admin = false;
        f->peer.uid = 1000;
        assert_string_equal(model_of(f, "A")->model.properties[0].unit, "ms");
        assert_int_equal(register_model(f, TEXT("A", "us")), STATUS_DENIED);
        assert_non_null(strstr(f->answer.complaint.text, "an administrator"));

        /* A user removes the own model; an administrator removes the model of all users, then those of users. */
        assert_int_equal(unregister_model(f, "A", "c"), STATUS_OK);
        assert_int_equal(unregister_model(f, "A", "c"), STATUS_DENIED);
        assert_non_null(strstr(f->answer.complaint.text, "an administrator"));
        f->peer.is_admin = true;
        assert_int_equal(unregister_model(f, "A", "c"), STATUS_OK);
        f->peer.is_admin = false;
        assert_int_equal(register_model(f, TEXT("A", "us")), STATUS_OK);
        f->peer.uid = 1001;
        f->peer.is_admin = true;
        assert_int_equal(unregister_model(f, "A", "c"), STATUS_OK);
        assert_int_equal(unregister_model(f, "A", "c"), STATUS_NOT_FOUND);
}

static Status register_nth(Fixture *f, unsigned i) {
        char text[256];

        (void)snprintf(text, sizeof(text), "{\"name\": \"M%u\", \"component\": \"c\", \"parameters\": {}, "
                                           "\"results\": {\"n\": {\"type\": \"int\"}}}", i);
        return register_model(f, text);
}

static Status unregister_nth(Fixture *f, unsigned i) {
        char name[32];

        (void)snprintf(name, sizeof(name), "M%u", i);
        return unregister_model(f, name, "c");
}

#define LEVEL(key, kpi)                                                                                                \
        "{\"name\": \"@accepted\", \"component\": \"" key "\", \"accepted\": {\"kpi\": \"" kpi                         \
        "\", \"until_ms\": 5, \"where\": [\"n=1\"]}}"

/* An accepted level is registered as a model is, but applies to no results, and has a limit of its own. */
static void accepted_levels_are_no_models(void **state) {
        Fixture *f = *state;
        unsigned n = 1;

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(register_model(f, LEVEL("a", "A.n")), STATUS_OK);
        assert_int_equal(register_model(f, LEVEL("a", "A.n")), STATUS_DUPLICATE);
        assert_null(model_of(f, "A"));
        assert_int_equal(f->indicators.registry.models.registered.n, 1);
        f->peer.is_admin = true;
        assert_int_equal(register_model(f, LEVEL("a", "A.n")), STATUS_OK);
        f->peer.is_admin = false;
        assert_int_equal(register_model(f, LEVEL("a", "A.m")), STATUS_OK);

        for (Status status = STATUS_OK; status == STATUS_OK; n += status == STATUS_OK) {
                char text[200];

                (void)snprintf(text, sizeof(text), "{\"name\": \"@accepted\", \"component\": \"b%u\", "
                                                   "\"accepted\": {\"kpi\": \"*\", \"until_ms\": 5}}", n);
                status = register_model(f, text);
        }
        assert_int_equal(f->answer.status, STATUS_QUOTA);
        /* the share of all models is smaller here */
        assert_non_null(strstr(f->answer.complaint.text, "uid 1000 holds "));
        rooms_end(f);
        rooms_begin(f);
        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(f->indicators.registry.models.registered.n, n + 1);
        assert_int_equal(unregister_model(f, "@accepted", "a"), STATUS_OK);
        assert_int_equal(unregister_model(f, "@accepted", "a"), STATUS_DENIED);
}

/* The fixture's limit is 1 MiB: a single user may have half of it. */
static void models_are_charged_to_their_users(void **state) {
        Fixture *f = *state;
        ResourceStats stats[N_RESOURCES];
        unsigned n = 0;

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        while (register_nth(f, n) == STATUS_OK)
                n++;
        assert_int_equal(f->answer.status, STATUS_QUOTA);
        assert_non_null(strstr(f->answer.complaint.text, "uid 1000 holds "));
        assert_in_range(n, 64, 127);
        f->peer.uid = 1001;
        assert_int_equal(register_nth(f, 0), STATUS_OK);
        f->peer.uid = 0;
        f->peer.is_admin = true;
        assert_int_equal(register_nth(f, 1), STATUS_OK);

        /* The charges match the stored models, also after a restart. */
        shares_stats(f->shares, stats);
        assert_int_equal(stats[RESOURCE_MODELS].n_owners, 3);
        rooms_end(f);
        rooms_begin(f);
        assert_int_equal(registry_start(&f->indicators.registry), 0);
        {
                uint64_t n_held = stats[RESOURCE_MODELS].n_held;

                shares_stats(f->shares, stats);
                assert_int_equal(stats[RESOURCE_MODELS].n_held, n_held);
        }
        f->peer = (Peer){ .uid = 1000, .pidfd = f->pidfd };
        assert_int_equal(register_nth(f, n), STATUS_QUOTA);
        assert_int_equal(unregister_model(f, "M0", "c"), STATUS_OK);
        for (unsigned i = 2; i < n / 3 * 2; i++) /* three users may each have a quarter of the free space */
                assert_int_equal(unregister_nth(f, i), STATUS_OK);
        assert_int_equal(register_nth(f, n), STATUS_OK);
}

static void results_wait_for_a_queued_model_of_any_name(void **state) {
        Fixture *f = *state;
        scoped(model_freep) Model *model = NULL;
        const char *text = TEXT("*", "s");
        unsigned line, column;
        Complaint complaint;
        Request add;
        Indicator indicator = { .name = "A", .component = "c" };

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(model_new(&model, text, strlen(text), &complaint, &line, &column), 0);
        add = (Request){ .kind = REQUEST_REGISTER, .register_model = { .models = &model->model, .n_models = 1 } };
        f->peer.is_admin = true;
        assert_int_equal(place_request(f, &registry_kinds[REGISTRY_REGISTER], &add), DESK_PENDING);
        assert_true(registry_is_busy_with(&f->indicators.registry, f->peer.uid, &indicator));
        indicator.component = "d";
        assert_false(registry_is_busy_with(&f->indicators.registry, f->peer.uid, &indicator));
        indicator.component = NULL;
        assert_false(registry_is_busy_with(&f->indicators.registry, f->peer.uid, &indicator));
        assert_int_equal(complete_one(f), DESK_CHANGED);
}

static void a_store_that_fails_leaves_the_models_as_they_were(void **state) {
        Fixture *f = *state;
        scoped(model_freep) Model *model = NULL;
        const char *text = TEXT("A", "s");
        unsigned line, column;
        Complaint complaint;
        Request add, remove = { .kind = REQUEST_UNREGISTER, .unregister_model = { .name = "A", .component = "c" } };
        Indicator indicator = { .name = "A" };

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(model_new(&model, text, strlen(text), &complaint, &line, &column), 0);
        add = (Request){ .kind = REQUEST_REGISTER, .register_model = { .models = &model->model, .n_models = 1 } };
        assert_int_equal(place_request(f, &registry_kinds[REGISTRY_REGISTER], &add), DESK_PENDING);
        assert_true(registry_is_busy(&f->indicators.registry));
        /* Only results that the model may judge wait. */
        assert_true(registry_is_busy_with(&f->indicators.registry, f->peer.uid, &indicator));
        assert_false(registry_is_busy_with(&f->indicators.registry, f->peer.uid + 1, &indicator));
        indicator.name = "B";
        assert_false(registry_is_busy_with(&f->indicators.registry, f->peer.uid, &indicator));
        assert_int_equal(place_request(f, &registry_kinds[REGISTRY_REGISTER], &add), DESK_FULL);
        assert_int_equal(place_request(f, &registry_kinds[REGISTRY_UNREGISTER], &remove), DESK_FULL);
        assert_int_equal(complete_as(f, STORE_FAILED), DESK_CHANGED);
        assert_int_equal(f->answer.status, STATUS_UNAVAILABLE);
        assert_null(model_of(f, "A"));

        assert_int_equal(serve(f, &registry_kinds[REGISTRY_REGISTER], &add), STATUS_OK);
        assert_int_equal(place_request(f, &registry_kinds[REGISTRY_UNREGISTER], &remove), DESK_PENDING);
        assert_null(model_of(f, "A"));
        assert_int_equal(complete_as(f, STORE_FAILED), DESK_CHANGED);
        assert_non_null(model_of(f, "A"));
}

static Status register_both(Fixture *f, const char *first, const char *second) {
        scoped(model_freep) Model *a = NULL, *b = NULL;
        unsigned line, column;
        Complaint complaint;
        IndicatorModel models[2];
        Request request = { .kind = REQUEST_REGISTER, .register_model = { .models = models, .n_models = 2 } };

        assert_int_equal(model_new(&a, first, strlen(first), &complaint, &line, &column), 0);
        assert_int_equal(model_new(&b, second, strlen(second), &complaint, &line, &column), 0);
        models[0] = a->model;
        models[1] = b->model;
        return serve(f, &registry_kinds[REGISTRY_REGISTER], &request);
}

static void models_of_a_request_are_registered_all_or_none(void **state) {
        Fixture *f = *state;

        write_models(f, "name: F\ncomponent: c\nresults:\n  n:\n    type: int\n");
        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(register_both(f, TEXT("A", "s"), TEXT("F", "s")), STATUS_DENIED);
        assert_true(f->answer.has_item);
        assert_int_equal(f->answer.item, 1);
        assert_null(model_of(f, "A"));
        assert_int_equal(register_both(f, TEXT("A", "s"), TEXT("A", "ms")), STATUS_INVALID);
        assert_null(model_of(f, "A"));

        assert_int_equal(register_both(f, TEXT("B", "s"), TEXT("A", "s")), STATUS_OK);
        assert_non_null(model_of(f, "A"));
        assert_non_null(model_of(f, "B"));
        assert_int_equal(register_both(f, TEXT("B", "s"), TEXT("A", "s")), STATUS_DUPLICATE);
        assert_int_equal(register_both(f, TEXT("B", "s"), TEXT("A", "ms")), STATUS_OK);
        assert_int_equal(f->answer.item, 1); /* the remark on the changed unit is about the second */
        assert_non_null(strstr(f->answer.complaint.text, "stored results are not converted"));
}

static void models_survive_a_restart(void **state) {
        Fixture *f = *state;

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(register_model(f, TEXT("A", "s")), STATUS_OK);
        rooms_end(f);
        place_close(&f->place);
        place_open_with(&f->place, &f->store_config);
        rooms_begin(f);
        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_non_null(model_of(f, "A"));
        assert_int_equal(model_of(f, "A")->uid, 1000);
        assert_int_equal(registry_restore(&f->indicators.registry), 0);
}

static void files_declare_models_too(void **state) {
        Fixture *f = *state;
        sqlite3 *db;

        write_models(f, "name: F\ncomponent: c\nresults:\n  n:\n    type: int\n");
        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_non_null(model_of(f, "F"));
        assert_false(f->indicators.registry.is_declaration_due);
        assert_int_equal(unregister_model(f, "F", "c"), STATUS_NOT_FOUND);
        assert_non_null(strstr(f->answer.complaint.text, "remove it there"));
        assert_int_equal(register_model(f, TEXT("F", "s")), STATUS_DENIED);

        write_models(f, "name: G\ncomponent: c\nresults:\n  n:\n    type: nonsense\n");
        db = block_store(f);
        assert_int_equal(registry_configure(&f->indicators.registry, NULL), 0);
        assert_null(model_of(f, "F"));
        assert_true(f->indicators.registry.is_declaration_due);
        unblock_store(f, db);
        assert_int_equal(registry_tick(&f->indicators.registry), 0);
        assert_false(f->indicators.registry.is_declaration_due);
}

static void a_strict_policy_refuses_undeclared_keys(void **state) {
        Fixture *f = *state;
        const Value none = { .type = VALUE_OBJECT };
        LabelParameters added = {}; /* the items have no labels */
        Complaint complaint;
        Item items[2];
        size_t n_deviations;

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(register_model(f, TEXT("A", "s")), STATUS_OK);
        item_make(&items[0], "A", "c", 1);
        item_make(&items[1], "B", "c", 2);
        items[0].submission.indicator.parameters = &none;
        set_policy(f, MODEL_ACCEPT);
        for (size_t i = 0; i < N_ELEMENTS(items); i++)
                assert_int_equal(
                        registry_check(&f->indicators.registry, 1000, &items[i].submission, &added,
                                       &n_deviations, &complaint),
                        0);
        assert_non_null(items[0].submission.model);
        assert_null(items[1].submission.model);
        set_policy(f, MODEL_STRICT);
        assert_int_equal(registry_check(&f->indicators.registry, 1000, &items[0].submission, &added, &n_deviations,
                                        &complaint),
                         0);
        assert_int_equal(registry_check(&f->indicators.registry, 1000, &items[1].submission, &added, &n_deviations,
                                        &complaint),
                         REGISTRY_REFUSED);
        assert_string_equal(complaint.path, "name");
}

static void the_models_of_a_user_are_forgotten(void **state) {
        Fixture *f = *state;
        const Model *left;

        assert_int_equal(registry_start(&f->indicators.registry), 0);
        assert_int_equal(register_model(f, TEXT("Own", "s")), STATUS_OK);
        f->peer.is_admin = true;
        assert_int_equal(register_model(f, TEXT("OfAll", "s")), STATUS_OK);
        f->peer = (Peer){ .uid = 1001 };
        assert_int_equal(register_model(f, TEXT("Other", "s")), STATUS_OK);
        assert_int_equal(registry_forget(&f->indicators.registry, 1000), 0);
        assert_int_equal(f->indicators.registry.models.registered.n, 2);
        left = model_of(f, "OfAll");
        assert_non_null(left);
        assert_int_equal(left->uid, 0);
        assert_true(left->charge.amount > 0);
        assert_non_null(model_of(f, "Other"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(a_change_concerns_the_users_whose_results_have_the_model),
                ROOM_TEST(a_registered_model_applies_until_it_is_removed),
                ROOM_TEST(a_model_of_a_user_is_of_the_users_own_results),
                ROOM_TEST(a_model_of_an_administrator_is_of_all_results),
                ROOM_TEST(models_are_charged_to_their_users),
                ROOM_TEST(accepted_levels_are_no_models),
                ROOM_TEST(results_wait_for_a_queued_model_of_any_name),
                ROOM_TEST(a_store_that_fails_leaves_the_models_as_they_were),
                ROOM_TEST(models_of_a_request_are_registered_all_or_none),
                ROOM_TEST(models_survive_a_restart),
                ROOM_TEST(files_declare_models_too),
                ROOM_TEST(a_strict_policy_refuses_undeclared_keys),
                ROOM_TEST(the_models_of_a_user_are_forgotten),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
