/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/results_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/matrix/results_plots.h"
#include "client/sweep/sweep_tree.h"
#include "document/path.h"
#include "text/yaml.h"
#include "util/clock.h"
#include "util/parse.h"

#define TEXT_BYTES_MAX 4096U
#define INDEX_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789._-"
#define PARSER_TIMEOUT_NS (300 * NS_PER_S)

static const char *const keys[] = { "name",   "artifacts", "important_files", "values", "parser", "parser_timeout",
                                    "start",  "end",       "presets",         "model",  "results", "payload",
                                    "store",  "regression", "prometheus",     "plots",   "reports", "visualize",
                                    "logs",   "export" };

void results_file_deinit(ResultsFile *file) {
        for (size_t i = 0; i < file->n_rules; i++)
                regex_free(file->rules[i].regex);
        free(file->rules);
        free(file->results);
        model_set_deinit(&file->models);
        arena_deinit(&file->arena);
        buffer_deinit(&file->text);
}

bool results_file_is_inner_path(const char *path) {
        if (!*path || *path == '/')
                return false;
        for (const char *part = path; part; part = strchr(part, '/'), part += part != NULL)
                if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
                        return false;
        return true;
}

/* --- presets -------------------------------------------------------------------------------------- */

/* Returns `base` with the members of `over`, of which objects are merged. NULL without memory. */
static const Value *overlay(const Value *base, const Value *over, Arena *arena) {
        Value *merged;
        Member *members;
        size_t n = 0;

        if (!base || base->type != VALUE_OBJECT || over->type != VALUE_OBJECT)
                return over;
        merged = arena_alloc(arena, sizeof(*merged));
        members = arena_alloc(arena, (base->n_members + over->n_members + 1) * sizeof(*members));
        if (!merged || !members)
                return NULL;
        for (; n < base->n_members; n++)
                members[n] = base->members[n];
        for (size_t i = 0; i < over->n_members; i++) {
                const Member *member = &over->members[i];
                const Value *value = overlay(value_get(base, member->key), &member->value, arena);
                size_t at = 0;

                if (!value)
                        return NULL;
                while (at < n && strcmp(members[at].key, member->key) != 0)
                        at++;
                members[at] = (Member){ member->key, *value };
                n += at == n;
        }
        *merged = (Value){ .type = VALUE_OBJECT, .members = members, .n_members = n };
        return merged;
}

static int apply_presets(ResultsFile *file, ModelReader *reader, const char *const *presets, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const Value *preset = value_get(value_get(file->root, "presets"), presets[i]);

                if (!preset)
                        return model_reader_wrong(reader, "presets", "has no '%.80s'", presets[i]);
                if (preset->type != VALUE_OBJECT)
                        return model_reader_wrong(reader, "presets", "'%.80s' is %s; expected members of this file",
                                                  presets[i], value_type_text(preset));
                file->root = overlay(file->root, preset, &file->arena);
                if (!file->root)
                        return -ENOMEM;
        }
        return 0;
}

/* --- values --------------------------------------------------------------------------------------- */

static int take_object(ModelReader *reader, const Value *object, const char *key, const Value **ret) {
        const Value *value = value_get_given(object, key);

        if (value && value->type != VALUE_OBJECT)
                return model_reader_wrong(reader, key, "is %s; expected names and values", value_type_text(value));
        *ret = value;
        return 0;
}

/* Takes a list of texts that is not empty. */
static int take_texts(ModelReader *reader, const char *key, const Value *object, const Value **ret) {
        const Value *value = value_get_given(object, key);

        if (!value)
                return 0;
        if (value->type != VALUE_LIST || value->n_items == 0)
                return model_reader_wrong(reader, key, "is %s; expected a list of texts", value_type_text(value));
        for (size_t i = 0; i < value->n_items; i++)
                if (value->items[i].type != VALUE_STRING || !*value->items[i].string)
                        return model_reader_wrong(reader, key, "has an item that is no text");
        *ret = value;
        return 0;
}

static int check_path(ModelReader *reader, const char *path) {
        const char *p = path;
        PathStep step;

        while ((step = path_next(path, &p)).kind == PATH_KEY || step.kind == PATH_INDEX || step.kind == PATH_ALL)
                ;
        if (step.kind != PATH_END || *p || !*path)
                return model_reader_wrong(reader, "path", "is no path, such as results[0].mean: wrong at '%.40s'", p);
        return 0;
}

static int take_regex(ModelReader *reader, ValueRule *rule) {
        char error[REGEX_ERROR_MAX];
        int r = regex_new(&rule->regex, rule->from, error);

        return r == REGEX_WRONG ? model_reader_wrong(reader, "line", "%s", error) : r;
}

static int take_source(ModelReader *reader, const Value *object, ValueRule *rule) {
        static const char *const sources[] = { [VALUE_FROM_PATH] = "path", [VALUE_FROM_COLUMN] = "column",
                                               [VALUE_FROM_LINE] = "line", [VALUE_FROM_CONTAINER] = "container",
                                               [VALUE_FROM_QUERY] = "query", [VALUE_FROM_METRIC] = "metric" };
        unsigned n = 0;

        for (unsigned i = 0; i < N_ELEMENTS(sources); i++) {
                const char *text = NULL;

                model_reader_take_text(reader, object, sources[i], TEXT_BYTES_MAX, &text);
                n += text != NULL;
                rule->source = text ? (ValueSource)i : rule->source;
                rule->from = text ?: rule->from;
        }
        if (n != 1)
                return model_reader_wrong(reader, NULL,
                                          "has %u of path, column, line, container, query and metric; expected one", n);
        if (rule->source == VALUE_FROM_PATH)
                return check_path(reader, rule->from);
        return rule->source == VALUE_FROM_LINE ? take_regex(reader, rule) : 0;
}

static int take_place(ModelReader *reader, const Value *artifacts, const Value *object, ValueRule *rule) {
        const char *artifact = NULL;
        int r;

        model_reader_take_text(reader, object, "file", PATH_MAX - 1, &rule->file);
        r = model_reader_take_text(reader, object, "artifact", TEXT_BYTES_MAX, &artifact);
        if (r != 0)
                return r;
        if (rule->source == VALUE_FROM_QUERY)
                return rule->file || artifact ? model_reader_wrong(reader, "query", "is of Prometheus, not of a file")
                                              : 0;
        if (!rule->file && rule->source == VALUE_FROM_METRIC)
                rule->file = SWEEP_FILE_JOB;
        if (!rule->file)
                return model_reader_wrong(reader, NULL, "has no file: name one, such as 'file: output.json'");
        if (!results_file_is_inner_path(rule->file))
                return model_reader_wrong(reader, "file",
                                          "is not within the directory of a test: no / in front, no ..");
        if (artifact && !value_get_string(artifacts, artifact))
                return model_reader_wrong(reader, "artifact", "'%.80s' is not declared in artifacts", artifact);
        rule->directory = artifact ? value_get_string(artifacts, artifact) : NULL;
        return 0;
}

/* Takes how a container or the series of a query become a value. */
static int take_reduction(ModelReader *reader, const Value *object, ValueRule *rule) {
        static const char *const takes[] = { [VALUE_TAKE_EXIT_CODE] = "exit_code", [VALUE_TAKE_REASON] = "reason",
                                             [VALUE_TAKE_MAX] = "max", [VALUE_TAKE_MIN] = "min",
                                             [VALUE_TAKE_MEAN] = "mean", [VALUE_TAKE_LAST] = "last" };
        static const char *const series[] = { [VALUE_SERIES_ONE] = "one", [VALUE_SERIES_MAX] = "max",
                                              [VALUE_SERIES_ALL] = "all" };
        unsigned take = VALUE_TAKE_DEFAULT, over = VALUE_SERIES_ONE;
        int r;

        model_reader_take_word(reader, object, "take", takes, N_ELEMENTS(takes), &take);
        r = model_reader_take_word(reader, object, "series", series, N_ELEMENTS(series), &over);
        rule->take = (ValueTake)take;
        rule->series = (ValueSeries)over;
        if (r == 0 && take != VALUE_TAKE_DEFAULT &&
            rule->source != (take > VALUE_TAKE_REASON ? VALUE_FROM_QUERY : VALUE_FROM_CONTAINER))
                return model_reader_wrong(reader, "take", "exit_code and reason are of a container; max, min, mean and "
                                                          "last are of a query");
        return r;
}

static int take_rule(ModelReader *reader, const Value *artifacts, const Member *member, ValueRule *rule) {
        static const char *const members[] = { "artifact", "file", "path", "column",   "line", "container",
                                               "which",    "type", "unit", "optional", "take", "query",
                                               "metric",   "series", "always" };
        static const char *const choices[] = { [VALUE_FIRST] = "first", [VALUE_LAST] = "last", [VALUE_ALL] = "all" };
        static const char *const types[] = { "any", "str", "int", "float", "bool", "time" };
        static const unsigned bits[] = { 0, PROPERTY_STR, PROPERTY_INT, PROPERTY_FLOAT, PROPERTY_BOOL, PROPERTY_TIME };
        const Value *object = &member->value;
        unsigned choice = VALUE_FIRST, type = 0;
        int r;

        (void)snprintf(reader->path, sizeof(reader->path), "values.%.100s", member->key);
        *rule = (ValueRule){ .name = member->key };
        if (object->type != VALUE_OBJECT)
                return model_reader_wrong(reader, NULL, "is %s; expected file, and path, column, line or container",
                                          value_type_text(object));
        model_reader_check_keys(reader, object, members, N_ELEMENTS(members));
        r = take_source(reader, object, rule);
        take_place(reader, artifacts, object, rule);
        model_reader_take_word(reader, object, "which", choices, N_ELEMENTS(choices), &choice);
        model_reader_take_word(reader, object, "type", types, N_ELEMENTS(types), &type);
        take_reduction(reader, object, rule);
        model_reader_take_text(reader, object, "unit", NAME_MAX_BYTES, &rule->unit);
        model_reader_take_bool(reader, object, "optional", &rule->is_optional);
        model_reader_take_bool(reader, object, "always", &rule->is_always);
        rule->which = (ValueChoice)choice;
        rule->types = bits[type];
        return r < 0 ? r : model_reader_status(reader);
}

static int take_rules(ModelReader *reader, ResultsFile *file) {
        const Value *artifacts = NULL, *values = NULL;
        int r;

        take_object(reader, file->root, "artifacts", &artifacts);
        take_object(reader, file->root, "values", &values);
        for (size_t i = 0; artifacts && i < artifacts->n_members; i++) {
                const Value *pattern = &artifacts->members[i].value;

                if (pattern->type != VALUE_STRING || !results_file_is_inner_path(pattern->string))
                        model_reader_wrong(reader, "artifacts",
                                           "'%.80s' expects a pattern of a directory within a test, such as "
                                           "'*__load_test'",
                                           artifacts->members[i].key);
        }
        r = model_reader_status(reader);
        if (r != 0 || !values)
                return r;
        if (values->n_members > RESULTS_FILE_VALUES_MAX)
                return model_reader_wrong(reader, "values", "has more than %u values", RESULTS_FILE_VALUES_MAX);
        file->rules = calloc(values->n_members + 1, sizeof(*file->rules));
        if (!file->rules)
                return -ENOMEM;
        for (; r == 0 && file->n_rules < values->n_members; file->n_rules++)
                r = take_rule(reader, artifacts, &values->members[file->n_rules], &file->rules[file->n_rules]);
        for (size_t i = 0; r == 0 && i < file->n_rules && !file->servers.prometheus && !file->servers.dump; i++)
                if (file->rules[i].source == VALUE_FROM_QUERY)
                        return model_reader_wrong(reader, "query",
                                                  "needs 'prometheus:', the URL of the server, or {dump: PATTERN}");
        reader->path[0] = '\0';
        return r;
}

/* --- results and their model ---------------------------------------------------------------------- */

/* Reads the file that `model` names, relative to the declaration. */
static int take_model_file(ModelReader *reader, ResultsFile *file, const char *name) {
        const char *slash = strrchr(file->path, '/');
        char path[PATH_MAX], *const paths[] = { path };

        if (snprintf(path, sizeof(path), "%.*s%s", (int)(slash && *name != '/' ? slash - file->path + 1 : 0),
                     file->path, name) >= (int)sizeof(path))
                return model_reader_wrong(reader, "model", "is too long");
        if (model_set_add_files(&file->models, paths, 1) != EXIT_DONE || file->models.n != 1)
                return model_reader_wrong(reader, "model", "expected a file with one model: %.80s", path);
        file->model = file->models.models;
        return 0;
}

static int take_model(ModelReader *reader, ResultsFile *file) {
        const Value *model = value_get_given(file->root, "model");
        Complaint complaint;
        int r = 0;

        if (!model)
                return 0;
        if (model->type == VALUE_STRING)
                r = take_model_file(reader, file, model->string);
        else {
                r = indicator_model_from_value(model, &file->arena, &file->own_model, &complaint);
                if (r == MODEL_INVALID)
                        return model_reader_wrong(reader, "model", "%s: %s", complaint.path, complaint.text);
                file->model = &file->own_model;
        }
        if (r == 0 && file->name && strcmp(file->name, file->model->name) != 0)
                return model_reader_wrong(reader, "name", "the model is called %.80s: remove one", file->model->name);
        file->name = r == 0 ? file->model->name : file->name;
        return r;
}

static int take_results(ModelReader *reader, ResultsFile *file) {
        const Value *results = NULL;
        int r;

        r = take_object(reader, file->root, "results", &results);
        if (r != 0 || !results || results->n_members == 0)
                return r;
        file->results = calloc(results->n_members, sizeof(*file->results));
        if (!file->results)
                return -ENOMEM;
        for (size_t i = 0; i < results->n_members; i++) {
                const Member *member = &results->members[i];
                ResultRule *rule = &file->results[i];
                ExpressionError error;

                if (member->value.type != VALUE_STRING)
                        return model_reader_wrong(reader, "results", "%.80s is %s; expected a value or an expression",
                                                  member->key, value_type_text(&member->value));
                *rule = (ResultRule){ .name = member->key, .from = member->value.string };
                if (!value_get(value_get(file->root, "values"), rule->from) &&
                    expression_parse(rule->from, &rule->expression, &error) != 0)
                        return model_reader_wrong(reader, "results", "%.80s: column %u: %s", member->key, error.column,
                                                  error.text);
                file->n_results++;
        }
        return 0;
}

/* Takes {enabled: true}, and the like. */
static int take_switch(ModelReader *reader, const ResultsFile *file, const char *key, const char *const *members,
                       bool *first, bool *second) {
        const Value *object = NULL;
        int r;

        r = take_object(reader, file->root, key, &object);
        if (r != 0 || !object)
                return r;
        (void)snprintf(reader->path, sizeof(reader->path), "%s", key);
        model_reader_check_keys(reader, object, members, second ? 2 : 1);
        model_reader_take_bool(reader, object, members[0], first);
        if (second)
                model_reader_take_bool(reader, object, members[1], second);
        reader->path[0] = '\0';
        return model_reader_status(reader);
}

static void take_switches(ModelReader *reader, ResultsFile *file) {
        ResultsSwitches *to = &file->switches;

        *to = (ResultsSwitches){ .generates = true, .stores = true, .judges = true };
        take_switch(reader, file, "payload", (const char *const[]){ "generate" }, &to->generates, NULL);
        take_switch(reader, file, "store", (const char *const[]){ "enabled" }, &to->stores, NULL);
        take_switch(reader, file, "regression", (const char *const[]){ "enabled", "fail_test_on_regression" },
                    &to->judges, &to->fails_on_regression);
}

/* --- the whole file ------------------------------------------------------------------------------- */

static int take_time(ModelReader *reader, const ResultsFile *file, const char *key, const char **ret) {
        int r = model_reader_take_text(reader, file->root, key, NAME_MAX_BYTES, ret);

        if (r != 0 || !*ret || file->parser.words || value_get(value_get(file->root, "values"), *ret))
                return r;
        return model_reader_wrong(reader, key, "'%.80s' is not declared in values", *ret);
}

static int take_parser(ModelReader *reader, ResultsFile *file) {
        const char *timeout = NULL;

        file->parser.timeout_ns = PARSER_TIMEOUT_NS;
        take_texts(reader, "parser", file->root, &file->parser.words);
        model_reader_take_text(reader, file->root, "parser_timeout", TEXT_BYTES_MAX, &timeout);
        if (timeout && parse_duration_ns(timeout, &file->parser.timeout_ns) != 0)
                return model_reader_wrong(reader, "parser_timeout", "'%.40s' is no time, such as 30s", timeout);
        return model_reader_status(reader);
}

/* Takes the URL of a server. */
static int take_url(ModelReader *reader, const Value *object, const char *key, const char **ret) {
        int r = model_reader_take_text(reader, object, key, TEXT_BYTES_MAX, ret);

        if (r == 0 && *ret && strncmp(*ret, "http://", 7) != 0 && strncmp(*ret, "https://", 8) != 0)
                return model_reader_wrong(reader, key, "is no URL, such as http://localhost:9090");
        return r;
}

static int take_export(ModelReader *reader, ResultsFile *file) {
        static const char *const members[] = { "enabled", "enabled_on_replot", "fail_test_on_fail", "instance", "index",
                                               "index_prefix", "prom_index_suffix", "test_name" };
        ResultsExport *to = &file->servers.export;
        const char **const texts[] = { &to->index, &to->index_prefix, &to->prom_index_suffix, &to->test_name };
        bool *const flags[] = { &to->is_enabled, &to->is_enabled_on_replot, &to->fails_test };
        const Value *object = NULL;
        int r;

        to->fails_test = true;
        r = take_object(reader, file->root, "export", &object);
        if (r != 0 || !object)
                return r;
        (void)snprintf(reader->path, sizeof(reader->path), "export");
        model_reader_check_keys(reader, object, members, N_ELEMENTS(members));
        for (size_t i = 0; i < N_ELEMENTS(flags); i++)
                model_reader_take_bool(reader, object, members[i], flags[i]);
        take_url(reader, object, "instance", &to->instance);
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                model_reader_take_text(reader, object, members[4 + i], NAME_MAX_BYTES, texts[i]);
        for (size_t i = 0; i < 3; i++)
                if (*texts[i] && strspn(*texts[i], INDEX_LETTERS) != strlen(*texts[i]))
                        model_reader_wrong(reader, members[4 + i],
                                           "has other characters than a to z, 0 to 9, . _ -");
        if (to->is_enabled && !to->instance)
                model_reader_wrong(reader, "instance", "is missing: the URL of the server");
        reader->path[0] = '\0';
        return model_reader_status(reader);
}

static int take_prometheus(ModelReader *reader, ResultsFile *file, const Value *value) {
        static const char *const members[] = { "dump" };

        if (!value || value->type != VALUE_OBJECT)
                return take_url(reader, file->root, "prometheus", &file->servers.prometheus);
        (void)snprintf(reader->path, sizeof(reader->path), "prometheus");
        model_reader_check_keys(reader, value, members, N_ELEMENTS(members));
        model_reader_take_text(reader, value, "dump", TEXT_BYTES_MAX, &file->servers.dump);
        if (!file->servers.dump || !results_file_is_inner_path(file->servers.dump))
                model_reader_wrong(reader, "dump", "expected a pattern within a test, such as '*/prometheus.t*'");
        reader->path[0] = '\0';
        return model_reader_status(reader);
}

static int take_all(ModelReader *reader, ResultsFile *file) {
        int r;

        model_reader_check_keys(reader, file->root, keys, N_ELEMENTS(keys));
        model_reader_take_text(reader, file->root, "name", NAME_MAX_BYTES, &file->name);
        if (file->name && !indicator_name_is_valid(file->name, NAME_MAX_BYTES))
                model_reader_wrong(reader, "name", "expected letters, digits, or any of _ . : -");
        take_texts(reader, "important_files", file->root, &file->important);
        take_parser(reader, file);
        take_prometheus(reader, file, value_get_given(file->root, "prometheus"));
        r = take_rules(reader, file);
        if (r == 0)
                r = take_model(reader, file);
        if (r == 0)
                r = take_results(reader, file);
        if (r == 0)
                r = results_plots_check(reader, file->root, file->model);
        if (r != 0)
                return r;
        take_switches(reader, file);
        take_export(reader, file);
        take_time(reader, file, "start", &file->start);
        return take_time(reader, file, "end", &file->end);
}

static int explain(const ResultsFile *file, const Complaint *complaint) {
        unsigned line = 1, column = 1;

        yaml_locate(file->text.text ?: "", file->text.n, complaint->path, &line, &column);
        message_print("%s:%u:%u: %s%s%s", input_name(file->path), line, column, complaint->path,
                      complaint->path[0] ? ": " : "", complaint->text);
        return EXIT_FAILED;
}

/* A program in the tree of results, which others have written, is not run. */
static bool is_of_tree(const char *path, const TestTree *tree) {
        char real[PATH_MAX];
        size_t n = strlen(tree->root);

        return realpath(path, real) && strncmp(real, tree->root, n) == 0 && (real[n] == '/' || n == 1);
}

int results_file_open(ResultsFile *ret, const char *path, const TestTree *tree, const char *const *presets,
                      size_t n_presets) {
        Complaint complaint;
        ModelReader reader = { .complaint = &complaint };
        int r;

        *ret = (ResultsFile){ .path = path ?: RESULTS_FILE_NAME, .presets = presets, .n_presets = n_presets };
        if (is_of_tree(ret->path, tree)) {
                message_print("%s is in the directory of results: a declaration can run programs, and is taken from "
                              "elsewhere; give one with --config",
                              ret->path);
                return EXIT_FAILED;
        }
        r = input_read(ret->path, &ret->text);
        if (r != EXIT_DONE) {
                if (!path)
                        message_print("--config names the declaration; perfd-results(5) describes it");
                return r;
        }
        r = arena_init(&ret->arena, 2 * input_arena_size(ret->text.n) + MODEL_ARENA_BYTES + (1U << 20));
        if (r == 0)
                r = input_parse(&ret->text, input_name(ret->path), &ret->arena, &ret->root);
        if (r != 0)
                return r < 0 ? command_fail(r) : EXIT_FAILED;
        if (ret->root->type != VALUE_OBJECT)
                r = model_reader_wrong(&reader, NULL, "is %s; expected names and values, such as 'values:'",
                                       value_type_text(ret->root));
        if (r == 0)
                r = apply_presets(ret, &reader, presets, n_presets);
        if (r == 0)
                r = take_all(&reader, ret);
        return r == 0 ? EXIT_DONE : r < 0 ? command_fail(r) : explain(ret, &complaint);
}
