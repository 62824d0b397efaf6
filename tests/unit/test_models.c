/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "indicators/models.h"
#include "util/file.h"
#include "value/value_parse.h"

#define SHIPPED "conf/indicators.d"

typedef struct Fixture {
        Models models;
        char directory[64];
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        strcpy(f->directory, "/tmp/perfd-models-XXXXXX");
        return mkdtemp(f->directory) ? 0 : -1;
}

static int tear_down(void **state) {
        Fixture *f = *state;
        DIR *dir = opendir(f->directory);
        struct dirent *entry;
        char path[512];

        while (dir && (entry = readdir(dir))) {
                (void)snprintf(path, sizeof(path), "%s/%s", f->directory, entry->d_name);
                (void)unlink(path);
        }
        if (dir)
                (void)closedir(dir);
        (void)rmdir(f->directory);
        models_deinit(&f->models);
        free(f);
        return 0;
}

static void write_file(Fixture *f, const char *name, const char *text) {
        char path[512];

        (void)snprintf(path, sizeof(path), "%s/%s", f->directory, name);
        assert_int_equal(file_replace(path, text, strlen(text), 0644, false), 0);
}

/* Reads the files and logs the complaints, with standard error redirected to `ret`. */
static int read_files(Fixture *f, char *ret, size_t n_ret) {
        FILE *log = tmpfile();
        int saved = dup(STDERR_FILENO), r;
        size_t n;

        assert_non_null(log);
        assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
        r = models_read_files(&f->models, f->directory);
        models_log_complaints(&f->models);
        assert_true(dup2(saved, STDERR_FILENO) >= 0);
        close(saved);
        rewind(log);
        n = fread(ret, 1, n_ret - 1, log);
        ret[n] = '\0';
        fclose(log);
        return r;
}

static void assert_says(const char *text, const char *words) {
        if (!strstr(text, words))
                fail_msg("'%s' does not say '%s'", text, words);
}

/* --- files ---------------------------------------------------------------------------------------- */

static void the_models_that_ship_are_good(void **state) {
        Fixture *f = *state;
        const Model *model;
        const Property *p;

        assert_int_equal(models_read_files(&f->models, SHIPPED), 0);
        assert_int_equal(f->models.files.n, 5);
        model = models_find(&f->models, 7, "PiMatmul", "tensorflow");
        p = indicator_model_find(&model->model, "elapsed", true);
        assert_string_equal(p->unit, "ms");
        assert_int_equal(p->direction, DIRECTION_LOWER);
        p = indicator_model_find(&model->model, "rate", true);
        assert_string_equal(p->unit, "GFLOP/s");
        assert_int_equal(p->direction, DIRECTION_HIGHER);
        assert_int_equal(indicator_model_find(&model->model, "matrix_size", false)->index, INDEX_INT);
        model = models_find(&f->models, 7, "PiConv2D", "pytorch");
        p = indicator_model_find(&model->model, "padding", false);
        assert_int_equal(p->types, PROPERTY_INT | PROPERTY_STR);
        assert_int_equal(p->index, INDEX_EXACT);
        assert_true(indicator_model_find(&model->model, "mini_batch", false)->is_optional);
        assert_non_null(models_find(&f->models, 7, "PiConv1D", NULL));
        model = models_find(&f->models, 7, "PiPyBench", "pybench");
        assert_int_equal(model->model.n_properties, 1 + 53);
        p = indicator_model_find(&model->model, "totals_average", true);
        assert_string_equal(p->unit, "ms");
        assert_int_equal(p->direction, DIRECTION_LOWER);
}

static void judge_fixture(const Models *models, const char *directory, const char *name) {
        scoped(arena_deinit) Arena arena = {};
        scoped(freep) char *text = NULL;
        char path[1024];
        Indicator indicator;
        Complaint complaint;
        const Value *document;
        const Model *model;
        ValueReader reader;
        ValueError error;
        size_t n, n_deviations;

        (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
        assert_int_equal(file_read_at(AT_FDCWD, path, 1U << 20, &text, &n), 0);
        assert_int_equal(arena_init(&arena, value_parse_arena_size(n)), 0);
        value_parse_begin(&reader, text, n);
        assert_int_equal(value_parse_next(&reader, &arena, &document, &error), 0);
        assert_int_equal(indicator_from_value(document, DOCUMENT_LIMITS_DEFAULT, &indicator, &complaint), 0);
        model = models_find(models, 7, indicator.name, indicator.component);
        if (!model)
                fail_msg("no model of %s", indicator.name);

        if (indicator_model_judge(&model->model, &indicator, MODEL_STRICT, &n_deviations, &complaint) != 0)
                fail_msg("%s: %zu deviations: %s: %s", name, n_deviations, complaint.path, complaint.text);
}

/*
 * Captured outputs of upstream's scripts conform: only mini_batch, which is missing from upstream's models as well,
 * is reported.
 */
static void captured_outputs_conform_to_the_models(void **state) {
        Fixture *f = *state;
        const char *shared = getenv("PERFD_FIXTURES");
        struct dirent *entry;
        size_t n = 0;
        char path[512];
        DIR *dir;

        (void)snprintf(path, sizeof(path), "%s/thoth/stdout", shared ? shared : "../shared/fixtures");
        dir = opendir(path);
        if (!dir)
                skip(); /* captured files are not there (PERFD_FIXTURES) */
        assert_int_equal(models_read_files(&f->models, SHIPPED), 0);
        while ((entry = readdir(dir)))
                if (entry->d_name[0] != '.') {
                        judge_fixture(&f->models, path, entry->d_name);
                        n++;
                }
        closedir(dir);
        assert_true(n >= 14);
}

static void an_invalid_file_is_reported_with_its_position_and_others_are_read(void **state) {
        Fixture *f = *state;
        char log[4096];

        write_file(f, "a.yaml", "name: A\nresults: {x: float}\n");
        write_file(f, "b.yaml", "name: B\nparameters:\n  n: {type: integer}\nresults: {x: float}\n");
        write_file(f, "c.yaml", "name: C\nresults: {x: float\n");
        write_file(f, "d.yaml", "name: A\nresults: {y: float}\n");
        write_file(f, "notes.txt", "not a model");
        write_file(f, ".hidden.yaml", "neither");
        write_file(f, "e.yaml", "");
        assert_int_equal(read_files(f, log, sizeof(log)), 4);
        assert_says(log, "/b.yaml:3:7: parameters.n.type: 'integer' is not a type: use "
                         "str, int, float, bool, semver, time, map, or a list of them");
        assert_says(log, "/c.yaml:3:1: ");
        assert_says(log, "/d.yaml:1:1: A is already declared in ");
        assert_says(log, "/a.yaml; remove one of the declarations");
        assert_says(log, "/e.yaml:1:1: is null, must have name, parameters and results");
        assert_int_equal(f->models.files.n, 1);
        assert_non_null(models_find(&f->models, 7, "A", "any"));
        assert_null(models_find(&f->models, 7, "B", "any"));
}

static void files_that_are_gone_take_their_models_with_them(void **state) {
        Fixture *f = *state;
        char log[1024];

        write_file(f, "a.yaml", "name: A\nresults: {x: float}\n");
        assert_int_equal(read_files(f, log, sizeof(log)), 0);
        assert_non_null(models_find(&f->models, 7, "A", NULL));
        assert_int_equal(models_read_files(&f->models, "/nonexistent/indicators.d"), 0);
        assert_null(models_find(&f->models, 7, "A", NULL));
        assert_int_equal(models_read_files(&f->models, ""), 0);
        assert_int_equal(f->models.files.n, 0);
}

static void a_file_too_large_is_left_out(void **state) {
        Fixture *f = *state;
        scoped(freep) char *text = malloc(MODEL_FILE_BYTES_MAX + 2);
        char log[1024];

        memset(text, '#', MODEL_FILE_BYTES_MAX + 1);
        text[MODEL_FILE_BYTES_MAX + 1] = '\0';
        write_file(f, "large.yaml", text);
        assert_int_equal(read_files(f, log, sizeof(log)), 1);
        assert_says(log, "Cannot read the model file ");
}

/* --- precedence ----------------------------------------------------------------------------------- */

static Model *make(const char *text) {
        Complaint complaint;
        unsigned line, column;
        Model *model;

        if (model_new(&model, text, strlen(text), &complaint, &line, &column) != 0)
                fail_msg("%u:%u: %s: %s", line, column, complaint.path, complaint.text);
        return model;
}

static void add(Fixture *f, const char *text, uint32_t uid, bool by_admin) {
        Model *model = make(text);

        model->uid = uid;
        model->by_admin = by_admin;
        assert_int_equal(models_add_registered(&f->models, &model), 0);
        assert_null(model);
}

static void the_model_of_a_component_goes_before_that_of_any(void **state) {
        Fixture *f = *state;

        add(f, "{name: A, results: {any: int}}", 7, false);
        add(f, "{name: A, component: torch, results: {torch: int}}", 7, false);
        add(f, "{name: B, component: torch, results: {b: int}}", 7, false);
        assert_string_equal(models_find(&f->models, 7, "A", "torch")->model.properties[0].name, "torch");
        assert_string_equal(models_find(&f->models, 7, "A", "jax")->model.properties[0].name, "any");
        assert_string_equal(models_find(&f->models, 7, "A", NULL)->model.properties[0].name, "any");
        assert_null(models_find(&f->models, 7, "B", "jax"));
        assert_null(models_find(&f->models, 7, "B", NULL));
        assert_null(models_find(&f->models, 7, "a", "torch"));
}

static void the_model_of_any_name_comes_last(void **state) {
        Fixture *f = *state;

        add(f, "{name: '*', component: torch, results: {every: int}}", 0, true);
        add(f, "{name: A, results: {any: int}}", 0, true);
        assert_string_equal(models_find(&f->models, 7, "A", "torch")->model.properties[0].name, "any");
        assert_string_equal(models_find(&f->models, 7, "B", "torch")->model.properties[0].name, "every");
        assert_null(models_find(&f->models, 7, "B", "jax"));
        assert_null(models_find(&f->models, 7, "B", NULL));
}

static void administrators_take_precedence_over_files_and_files_over_users(void **state) {
        Fixture *f = *state;
        char log[1024];

        write_file(f, "a.yaml", "name: A\nresults: {file: float}\n");
        assert_int_equal(read_files(f, log, sizeof(log)), 0);
        add(f, "{name: A, results: {user: int}}", 7, false);
        assert_string_equal(models_find(&f->models, 7, "A", "c")->model.properties[0].name, "file");
        assert_true(models_is_effective(&f->models, f->models.files.items[0]));
        add(f, "{name: A, results: {admin: int}}", 0, true);
        assert_string_equal(models_find(&f->models, 7, "A", "c")->model.properties[0].name, "admin");
        assert_false(models_is_effective(&f->models, f->models.files.items[0]));
        assert_int_equal(f->models.registered.n, 2);
        assert_false(models_is_effective(&f->models, models_find_registered(&f->models, 7, "A", NULL)));
        add(f, "{name: A, results: {other: int}}", 1, true);
        assert_int_equal(f->models.registered.n, 2); /* the second replaced the administrator's first model */
        assert_string_equal(models_find(&f->models, 8, "A", "c")->model.properties[0].name, "other");
}

static void models_of_users_are_of_their_own_results(void **state) {
        Fixture *f = *state;

        add(f, "{name: A, results: {seven: int}}", 7, false);
        add(f, "{name: A, results: {eight: int}}", 8, false);
        add(f, "{name: A, component: torch, results: {torch: int}}", 8, false);
        assert_int_equal(f->models.registered.n, 3);
        assert_string_equal(models_find(&f->models, 7, "A", "torch")->model.properties[0].name, "seven");
        assert_string_equal(models_find(&f->models, 8, "A", "torch")->model.properties[0].name, "torch");
        assert_string_equal(models_find(&f->models, 8, "A", "jax")->model.properties[0].name, "eight");
        assert_null(models_find(&f->models, 9, "A", "torch"));
        assert_null(models_find(&f->models, 0, "A", "torch"));
        assert_int_equal(models_find_registered_any(&f->models, "A", NULL)->uid, 7);
        assert_null(models_find_registered_any(&f->models, "A", "jax"));

        /* Applies until an administrator registers a model for all users. */
        add(f, "{name: A, results: {all: int}}", 9, true);
        assert_string_equal(models_find(&f->models, 7, "A", "torch")->model.properties[0].name, "all");
        assert_string_equal(models_find(&f->models, 8, "A", NULL)->model.properties[0].name, "all");
        assert_int_equal(models_find_registered_any(&f->models, "A", NULL)->uid, 9);
}

static void a_removed_model_no_longer_applies(void **state) {
        Fixture *f = *state;
        Model *model;

        add(f, "{name: A, results: {any: int}}", 7, false);
        add(f, "{name: A, component: torch, results: {torch: int}}", 7, false);
        add(f, "{name: B, results: {b: int}}", 7, false);
        model = models_remove_registered(&f->models, models_find_registered(&f->models, 7, "A", "torch"));
        assert_string_equal(model->model.component, "torch");
        assert_string_equal(models_find(&f->models, 7, "A", "torch")->model.properties[0].name, "any");
        assert_string_equal(models_find(&f->models, 7, "B", NULL)->model.properties[0].name, "b");

        assert_int_equal(models_add_registered(&f->models, &model), 0);
        assert_string_equal(models_find(&f->models, 7, "A", "torch")->model.properties[0].name, "torch");
}

static void there_is_a_limit_to_registered_models(void **state) {
        Fixture *f = *state;
        Model *model;
        char text[64];

        for (unsigned i = 0; i < MODELS_MAX; i++) {
                (void)snprintf(text, sizeof(text), "{name: m%u, results: {x: int}}", i / 2);
                add(f, text, i % 2 ? 7 : 8, false);
        }
        model = make("{name: one_more, results: {x: int}}");
        assert_int_equal(models_add_registered(&f->models, &model), MODELS_FULL);
        model_free(model);
        assert_string_equal(models_find(&f->models, 7, "m17", NULL)->model.name, "m17");
}

static void list_models(Fixture *f, Buffer *out) {
        scoped(shared_texts_unrefp) SharedTexts *texts = NULL;

        assert_int_equal(models_list_texts(&f->models, MODEL_STRICT, &texts), 0);
        shared_texts_write(texts, out);
}

static void a_list_formats_only_the_models_that_are_new(void **state) {
        scoped(buffer_deinit) Buffer before = {}, after = {};
        Fixture *f = *state;
        SharedText *text;

        add(f, "{name: A, results: {x: int}}", 1000, false);
        list_models(f, &before);
        text = models_find(&f->models, 1000, "A", NULL)->text;
        assert_non_null(text);
        assert_null(strstr(before.text, "\"B\""));
        add(f, "{name: B, results: {x: int}}", 1000, false);
        list_models(f, &after);
        assert_ptr_equal(models_find(&f->models, 1000, "A", NULL)->text, text);
        assert_says(after.text, "{\"name\":\"A\",\"results\":{\"x\":\"int\"}}},{\"name\":\"B\"");
}

static void of_models_with_the_same_name_those_in_force_are_listed(void **state) {
        static const struct {
                uint32_t uid;
                bool by_admin, is_file;
        } steps[] = { { 7, false, false }, { 8, false, false }, { 0, false, true }, { 9, true, false } };
        static const char *const expected[] = { "7", "7 8", "file", "9" };
        Fixture *f = *state;
        char log[1024];

        for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
                scoped(buffer_deinit) Buffer out = {}, found = {};

                if (steps[i].is_file) {
                        write_file(f, "m.yaml", "name: M\nresults: {x: int}\n");
                        assert_int_equal(read_files(f, log, sizeof(log)), 0);
                } else
                        add(f, "{name: M, results: {x: int}}", steps[i].uid, steps[i].by_admin);
                list_models(f, &out);
                for (const char *p = out.text; (p = strstr(p, "\"uid\":")); p++)
                        buffer_printf(&found, "%s%.*s", found.n > 0 ? " " : "", p[6] == 'n' ? 4 : 1,
                                      p[6] == 'n' ? "file" : p + 6);
                assert_string_equal(found.text, expected[i]);
        }
}

static void answers_have_the_models_in_force_as_they_were_declared(void **state) {
        Fixture *f = *state;
        scoped(buffer_deinit) Buffer out = {};
        char log[1024];

        write_file(f, "m.yaml", "name: M\nresults: {\"x'; DROP TABLE model; --\": {type: float, unit: ms}}\n");
        assert_int_equal(read_files(f, log, sizeof(log)), 0);
        add(f, "{name: A, component: \"</script>\", results: {x: int}}", 1000, false);
        add(f, "{name: M, results: {user: int}}", 1000, false);
        list_models(f, &out);
        assert_says(out.text, "{\"policy\":\"strict\",\"models\":[{\"name\":\"A\",\"component\":\"</"
                              "script>\",\"file\":null,\"uid\":1000,"
                              "\"applies_to_uid\":1000,\"declaration\":{\"name\":\"A\"");
        assert_says(out.text, "/m.yaml\",\"uid\":null,\"applies_to_uid\":null,"
                              "\"declaration\":{\"name\":\"M\",\"results\":{\"x'; DROP TABLE model; --\":");
        assert_null(strstr(out.text, "user"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_models_that_ship_are_good),
                TEST(captured_outputs_conform_to_the_models),
                TEST(an_invalid_file_is_reported_with_its_position_and_others_are_read),
                TEST(files_that_are_gone_take_their_models_with_them),
                TEST(a_file_too_large_is_left_out),
                TEST(the_model_of_a_component_goes_before_that_of_any),
                TEST(the_model_of_any_name_comes_last),
                TEST(administrators_take_precedence_over_files_and_files_over_users),
                TEST(models_of_users_are_of_their_own_results),
                TEST(a_removed_model_no_longer_applies),
                TEST(a_list_formats_only_the_models_that_are_new),
                TEST(of_models_with_the_same_name_those_in_force_are_listed),
                TEST(there_is_a_limit_to_registered_models),
                TEST(answers_have_the_models_in_force_as_they_were_declared),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
