/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/models.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "text/encoding.h"
#include "text/yaml.h"
#include "util/array.h"
#include "util/file.h"

Model *model_free(Model *model) {
        if (!model)
                return NULL;

        shares_release(&model->charge);
        arena_deinit(&model->arena);
        free(model->file);
        free(model->json);
        shared_text_unref(model->text);
        free(model);
        return NULL;
}

static char *write_declaration(const Value *document) {
        Buffer out = {};

        value_write_json(document, &(Json){ .out = &out });
        return buffer_take(&out);
}

static int refuse_yaml(const YamlError *error, Complaint *ret_complaint, unsigned *ret_line, unsigned *ret_column) {
        *ret_line = error->line;
        *ret_column = error->column;
        (void)indicator_complain(ret_complaint, "", "%s", error->text);
        return MODEL_INVALID;
}

static char plain(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
}

static bool begins_with_digit(const char *name) {
        return *name >= '0' && *name <= '9';
}

/* True if openmetrics_put_name() writes the same for both. */
static bool have_one_name(const char *a, const char *b) {
        if (begins_with_digit(a) != begins_with_digit(b)) {
                const char **other = begins_with_digit(a) ? &b : &a;

                if (plain(**other) != '_')
                        return false;
                (*other)++;
        }
        while (*a && *b && plain(*a) == plain(*b))
                a++, b++;
        return !*a && !*b;
}

static bool is_exposed(const Property *property) {
        return !property->is_result || property->direction != DIRECTION_UNKNOWN;
}

/* Refuses KPIs or parameters that would be one metric or one label on /metrics. */
static int check_exposed_names(const IndicatorModel *model, Complaint *ret) {
        for (size_t i = 0; i < model->n_properties; i++)
                for (size_t k = 0; k < i; k++) {
                        const Property *a = &model->properties[k], *b = &model->properties[i];

                        if (a->is_result != b->is_result || !is_exposed(a) || !is_exposed(b) ||
                            !have_one_name(a->name, b->name))
                                continue;
                        (void)indicator_complain(ret, b->is_result ? "results" : "parameters",
                                                 "'%.60s' and '%.60s' have the same name on /metrics, where _ "
                                                 "replaces other characters: rename one", a->name, b->name);
                        return MODEL_INVALID;
                }
        return 0;
}

static int read_model(Model *model, const char *text, size_t n, Complaint *ret_complaint, unsigned *ret_line,
                      unsigned *ret_column) {
        const Value *document;
        YamlError error;
        int r;

        r = yaml_read(text, n, &model->arena, &document, &error);
        if (r == YAML_MALFORMED)
                return refuse_yaml(&error, ret_complaint, ret_line, ret_column);
        if (r != 0)
                return -ENOMEM;

        r = indicator_model_from_value(document, &model->arena, &model->model, ret_complaint);
        if (r == 0)
                r = check_exposed_names(&model->model, ret_complaint);
        if (r == MODEL_INVALID)
                yaml_locate(text, n, ret_complaint->path, ret_line, ret_column);
        if (r != 0)
                return r;

        model->json = write_declaration(document);
        return model->json ? 0 : -ENOMEM;
}

int model_new(Model **ret, const char *text, size_t n, Complaint *ret_complaint, unsigned *ret_line,
              unsigned *ret_column) {
        scoped(model_freep) Model *model = NULL;
        int r;

        model = calloc(1, sizeof(*model));
        if (!model)
                return -ENOMEM;

        r = arena_init(&model->arena, yaml_arena_size(n) + MODEL_ARENA_BYTES);
        if (r == 0)
                r = read_model(model, text, n, ret_complaint, ret_line, ret_column);
        if (r == 0)
                *ret = TAKE(model);
        return r;
}

int64_t model_owner(const Model *model) {
        return model->file || model->by_admin ? MODEL_OF_ALL : (int64_t)model->uid;
}

/* --- lists ---------------------------------------------------------------------------------------- */

/* Compares a model with a name, a component and an owner; NULL (any component) and MODEL_OF_ALL sort first. */
static int compare(const Model *model, const char *name, const char *component, int64_t owner) {
        return strcmp(model->model.name, name) ?: strcmp(model->model.component ?: "", component ?: "") ?:
               COMPARE(model_owner(model), owner);
}

static int compare_models(const Model *a, const Model *b) {
        return compare(a, b->model.name, b->model.component, model_owner(b));
}

/*
 * Searches the sorted list. Returns true with the index of the model, or false with the index at which to insert it.
 */
static bool list_search(const ModelList *list, const char *name, const char *component, int64_t owner, size_t *ret_at) {
        size_t low = 0, high = list->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = compare(list->items[middle], name, component, owner);

                if (order == 0) {
                        *ret_at = middle;
                        return true;
                }
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }

        *ret_at = low;
        return false;
}

static Model *list_find(const ModelList *list, const char *name, const char *component, int64_t owner) {
        size_t at;

        return list_search(list, name, component, owner, &at) ? list->items[at] : NULL;
}

static int list_insert(ModelList *list, size_t at, Model **model) {
        assert(at <= list->n);
        assert(at == 0 || compare_models(list->items[at - 1], *model) < 0);
        assert(at == list->n || compare_models(list->items[at], *model) > 0);

        if (list->n == MODELS_MAX)
                return MODELS_FULL;
        if (ARRAY_EXTEND(list->items, list->n) < 0)
                return -ENOMEM;

        memmove(list->items + at + 1, list->items + at, (list->n - at) * sizeof(*list->items));
        list->items[at] = TAKE(*model);
        list->n++;
        return 0;
}

static void list_deinit(ModelList *list) {
        for (size_t i = 0; i < list->n; i++)
                model_free(list->items[i]);
        free(list->items);
        for (size_t i = 0; i < list->n_complaints; i++)
                free(list->complaints[i]);
        *list = (ModelList){};
}

void models_deinit(Models *models) {
        list_deinit(&models->files);
        list_deinit(&models->registered);
}

/* --- files ---------------------------------------------------------------------------------------- */

enum {
        FILE_BAD = 1, /* with a complaint */
};

/* Keeps a complaint for the log and /api/v1/models. Always returns FILE_BAD. */
static int __attribute__((format(printf, 2, 3)))
add_complaint(ModelList *list, const char *format, ...) {
        scoped(freep) char *text = NULL;
        va_list args;

        va_start(args, format);
        if (vasprintf(&text, format, args) < 0)
                text = NULL;
        va_end(args);

        if (text && list->n_complaints < MODEL_COMPLAINTS_MAX)
                list->complaints[list->n_complaints++] = TAKE(text);
        return FILE_BAD;
}

static int add_file(ModelList *list, Model **model) {
        const IndicatorModel *m = &(*model)->model;
        size_t at;
        int r;

        if (indicator_model_is_accepted_level(m))
                return add_complaint(list, "%s:1:1: name: '%s' is not for files; use perfctl kpi accept",
                                     (*model)->file, m->name);
        if (list_search(list, m->name, m->component, MODEL_OF_ALL, &at))
                return add_complaint(list, "%s:1:1: %s%s%s is already declared in %s; remove one of the declarations",
                                     (*model)->file, m->name, m->component ? " of " : "", m->component ?: "",
                                     list->items[at]->file);

        r = list_insert(list, at, model);
        return r == MODELS_FULL ? add_complaint(list, "%s: ignored; the limit of %u models is reached", (*model)->file,
                                                MODELS_MAX)
                                : r;
}

_Static_assert(MODEL_FILE_BYTES_MAX == 256 * 1024, "the message names the limit");

static int read_text(ModelList *list, int dir_fd, const char *name, const char *path, char **ret, size_t *ret_n) {
        const char *why;
        struct stat st;
        int r;

        if (fstatat(dir_fd, name, &st, 0) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
                why = "not a regular file";
        else {
                r = file_read_at(dir_fd, name, MODEL_FILE_BYTES_MAX, ret, ret_n);
                if (r == 0)
                        r = encoding_unify(*ret, ret_n);
                if (r == 0 || r == -ENOMEM)
                        return r;
                why = r == ENCODING_FOREIGN ? "it " ENCODING_FOREIGN_TEXT
                      : r == -EFBIG         ? "larger than 256 KiB"
                                            : strerror(-r);
        }

        return add_complaint(list, "Cannot read the model file %s, ignoring the file: %s", path, why);
}

static int read_file(ModelList *list, int dir_fd, const char *directory, const char *name) {
        scoped(model_freep) Model *model = NULL;
        scoped(freep) char *text = NULL, *path = NULL;
        unsigned line, column;
        Complaint complaint;
        size_t n;
        int r;

        if (asprintf(&path, "%s/%s", directory, name) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        r = read_text(list, dir_fd, name, path, &text, &n);
        if (r != 0)
                return r;
        r = model_new(&model, text, n, &complaint, &line, &column);
        if (r == MODEL_INVALID)
                return add_complaint(list, "%s:%u:%u: %s%s%s", path, line, column, complaint.path,
                                     complaint.path[0] ? ": " : "", complaint.text);
        if (r < 0)
                return r;

        model->file = TAKE(path);
        return add_file(list, &model);
}

static int is_model_file(const struct dirent *entry) {
        size_t n = strlen(entry->d_name);

        return n > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 5, ".yaml") == 0;
}

static int read_entries(ModelList *list, int dir_fd, const char *directory, struct dirent **entries, size_t n) {
        int n_bad = 0, r = 0;

        for (size_t i = 0; i < n && r >= 0; i++) {
                r = read_file(list, dir_fd, directory, entries[i]->d_name);
                n_bad += r > 0;
        }

        return r < 0 ? r : n_bad;
}

/* Reads all files of the directory. A missing directory has no models; an unreadable directory counts as an invalid
 * file. */
static int list_read(ModelList *list, const char *directory) {
        scoped(closep) int dir_fd = -1;
        struct dirent **entries;
        int n, r;

        dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0 && errno == ENOENT)
                return 0;
        n = dir_fd < 0 ? -1 : scandirat(dir_fd, ".", &entries, is_model_file, alphasort);
        if (n < 0)
                return add_complaint(list, "Cannot read the models in %s, continuing without models: %s", directory,
                                     strerror(errno));

        r = read_entries(list, dir_fd, directory, entries, (size_t)n);
        for (int i = 0; i < n; i++)
                free(entries[i]);
        free(entries);
        return r;
}

int models_read_files(Models *models, const char *directory) {
        ModelList fresh = {};
        int r;

        r = directory[0] ? list_read(&fresh, directory) : 0;
        if (r < 0) {
                list_deinit(&fresh);
                return r;
        }

        fresh.n_bad = r;
        models_move_files(models, &(Models){ .files = fresh });
        return r;
}

void models_move_files(Models *models, Models *from) {
        list_deinit(&models->files);
        models->files = from->files;
        from->files = (ModelList){};
}

void models_log_complaints(const Models *models) {
        for (size_t i = 0; i < models->files.n_complaints; i++)
                log_err("%s", models->files.complaints[i]);
}

/* --- registered models ---------------------------------------------------------------------------- */

int models_add_registered(Models *models, Model **model) {
        ModelList *list = &models->registered;
        size_t at;

        assert(!(*model)->file);

        if (!list_search(list, (*model)->model.name, (*model)->model.component, model_owner(*model), &at))
                return list_insert(list, at, model);

        model_free(list->items[at]);
        list->items[at] = TAKE(*model);
        return 0;
}

Model *models_remove_registered(Models *models, const Model *model) {
        ModelList *list = &models->registered;
        Model *removed;
        size_t at = 0;
        bool is_there;

        is_there = list_search(list, model->model.name, model->model.component, model_owner(model), &at);
        assert(is_there && list->items[at] == model);

        removed = list->items[at];
        list->n--;
        memmove(list->items + at, list->items + at + 1, (list->n - at) * sizeof(Model *));
        return removed;
}

Model *models_find_registered(const Models *models, int64_t owner, const char *name, const char *component) {
        return list_find(&models->registered, name, component, owner);
}

const Model *models_find_registered_any(const Models *models, const char *name, const char *component) {
        const ModelList *list = &models->registered;
        size_t at;

        /* the models of several owners are adjacent */
        (void)list_search(list, name, component, MODEL_OF_ALL, &at);
        return at < list->n && compare(list->items[at], name, component, model_owner(list->items[at])) == 0
                       ? list->items[at]
                       : NULL;
}

size_t models_count_accepted(const Models *models, const Model *of) {
        const ModelList *list = &models->registered;
        size_t n = 0;

        for (size_t i = 0; i < list->n; i++)
                n += indicator_model_is_accepted_level(&list->items[i]->model) &&
                     model_owner(list->items[i]) == model_owner(of);
        return n;
}

const Model *models_find_file(const Models *models, const char *name, const char *component) {
        return list_find(&models->files, name, component, MODEL_OF_ALL);
}

/* Returns the model in effect among the models with exactly this name and component, or NULL. */
static const Model *find_exact(const Models *models, uint32_t uid, const char *name, const char *component) {
        return list_find(&models->registered, name, component, MODEL_OF_ALL) ?:
               list_find(&models->files, name, component, MODEL_OF_ALL) ?:
               list_find(&models->registered, name, component, uid);
}

const Model *models_find(const Models *models, uint32_t uid, const char *name, const char *component) {
        const Model *model = component ? find_exact(models, uid, name, component) : NULL;

        if (!model)
                model = find_exact(models, uid, name, NULL);
        return model || !component ? model : find_exact(models, uid, MODEL_ANY_NAME, component);
}

bool models_is_effective(const Models *models, const Model *model) {
        return find_exact(models, model->uid, model->model.name, model->model.component) == model;
}

/* --- JSON ------------------------------------------------------------------------------------------ */

static int write_text(Model *model) {
        Buffer text = {};
        Json json = { .out = &text };

        json_object_begin(&json);
        json_put_string(&json, "name", model->model.name);
        json_put_string(&json, "component", model->model.component);
        json_put_string(&json, "file", model->file);
        json_put_int_or_null(&json, "uid", !model->file, model->uid);
        json_put_int_or_null(&json, "applies_to_uid", model_owner(model) != MODEL_OF_ALL, model->uid);
        json_key(&json, "declaration");
        json_raw(&json, model->json);
        json_object_end(&json);
        return shared_text_new(&model->text, &text);
}

static int write_head(ModelPolicy policy, SharedText **ret) {
        Buffer text = {};

        buffer_printf(&text, "{\"policy\":\"%s\",\"models\":[", policy == MODEL_STRICT ? "strict" : "accept");
        return shared_text_new(ret, &text);
}

static int write_tail(const ModelList *files, SharedText **ret) {
        Buffer text = {};
        Json json = { .out = &text };

        buffer_puts(&text, "],\"complaints\":");
        json_array_begin(&json);
        for (size_t i = 0; i < files->n_complaints; i++)
                json_string(&json, files->complaints[i]);
        json_array_end(&json);
        buffer_putc(&text, '}');
        return shared_text_new(ret, &text);
}

static bool is_same_pair(const Model *a, const Model *b) {
        return strcmp(a->model.name, b->model.name) == 0 &&
               strcmp(a->model.component ?: "", b->model.component ?: "") == 0;
}

/* Returns the model in effect for all users among those of a pair, else the first: the models for all users sort
 * first. */
static Model *choose_first(Model *file, Model *registered) {
        int order = !registered ? -1 : !file ? 1 : compare_models(file, registered);

        return order < 0 ? file : registered;
}

static size_t skip_hidden(const ModelList *list, size_t at, const Model *by) {
        while (at < list->n &&
               (list->items[at] == by || (model_owner(by) == MODEL_OF_ALL && is_same_pair(list->items[at], by))))
                at++;
        return at;
}

/* Merges the two sorted lists, and adds each model that is in effect. */
static int add_texts(Models *models, SharedTexts *texts) {
        const ModelList *files = &models->files, *registered = &models->registered;
        size_t i = 0, k = 0;

        while (i < files->n || k < registered->n) {
                Model *next = choose_first(i < files->n ? files->items[i] : NULL,
                                           k < registered->n ? registered->items[k] : NULL);
                bool is_shown = !indicator_model_is_accepted_level(&next->model);
                int r;

                r = next->text || !is_shown ? 0 : write_text(next);
                if (r < 0)
                        return r;
                if (is_shown)
                        shared_texts_add(texts, next->text);
                i = skip_hidden(files, i, next);
                k = skip_hidden(registered, k, next);
        }
        return 0;
}

int models_list_texts(Models *models, ModelPolicy policy, SharedTexts **ret) {
        scoped(shared_text_unrefp) SharedText *head = NULL, *tail = NULL;
        scoped(shared_texts_unrefp) SharedTexts *texts = NULL;
        int r;

        r = write_head(policy, &head);
        if (r == 0)
                r = write_tail(&models->files, &tail);
        if (r == 0)
                r = shared_texts_new(&texts, models->files.n + models->registered.n, head, tail);
        if (r == 0)
                r = add_texts(models, texts);
        if (r == 0)
                *ret = TAKE(texts);
        return r;
}
