/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/results_plots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 64U
#define DEFAULT_REPORT "report"
#define INDEX_NAME "index" /* of the page that lists the reports */

static bool is_text(const Value *value) {
        return value->type == VALUE_STRING && *value->string;
}

/* --- forms of members ----------------------------------------------------------------------------- */

typedef enum MemberForm {
        FORM_TEXT,
        FORM_FLAG,
        FORM_KIND,
        FORM_NAMES,   /* a name, or a list */
        FORM_LIST,    /* of names */
        FORM_FILTER,  /* {SETTING: VALUE or [VALUES]}, or MatrixBenchmarking's "model=a:b,users=1" */
        FORM_ORDER,   /* {SETTING: [VALUES]} */
        FORM_OPTIONS, /* of the axes */
} MemberForm;

#define MEMBERS_MAX 12U

/* Names of members, and beside them their forms. */
typedef struct MemberTable {
        const char *names[MEMBERS_MAX];
        MemberForm forms[MEMBERS_MAX];
        size_t n;
} MemberTable;

/* Members besides x and y, which a report may change. */
#define LOOK_NAMES "kind", "title", "help", "legend", "facets", "filter", "order", "single", "options"
#define LOOK_FORMS                                                                                                     \
        FORM_KIND, FORM_TEXT, FORM_TEXT, FORM_NAMES, FORM_NAMES, FORM_FILTER, FORM_ORDER, FORM_FLAG, FORM_OPTIONS

static const MemberTable plot_members = { { "x", "y", LOOK_NAMES }, { FORM_TEXT, FORM_TEXT, LOOK_FORMS }, 11 };
static const MemberTable drawn_members = { { "plot", LOOK_NAMES }, { FORM_TEXT, LOOK_FORMS }, 10 };
static const MemberTable option_members = { { "x_label", "y_label", "unit", "zero" },
                                        { FORM_TEXT, FORM_TEXT, FORM_TEXT, FORM_FLAG }, 4 };
static const MemberTable table_members = { { "names", "sort_by" }, { FORM_LIST, FORM_LIST }, 2 };
static const MemberTable choice_members = { { "id", "generate" }, { FORM_TEXT, FORM_LIST }, 2 };

static int check_names(ModelReader *reader, const char *key, const Value *value, bool is_list) {
        if (!is_list && is_text(value))
                return 0;
        for (size_t i = 0; value->type == VALUE_LIST && i < value->n_items; i++)
                if (!is_text(&value->items[i]))
                        return model_reader_wrong(reader, key, "has an item that is no name");
        return value->type == VALUE_LIST ? 0
                                         : model_reader_wrong(reader, key, "is %s; expected %sa list of names",
                                                              value_type_text(value), is_list ? "" : "a name or ");
}

static int check_values(ModelReader *reader, const char *key, const Value *value, bool needs_list) {
        if (value->type != VALUE_OBJECT)
                return model_reader_wrong(reader, key, "is %s; expected settings with their values",
                                          value_type_text(value));
        for (size_t i = 0; i < value->n_members; i++) {
                const Value *of = &value->members[i].value;
                bool is_right = of->type == VALUE_LIST ? of->n_items > 0 : !needs_list && value_is_scalar(of);

                for (size_t k = 0; is_right && of->type == VALUE_LIST && k < of->n_items; k++)
                        is_right = value_is_scalar(&of->items[k]);
                if (!is_right)
                        return model_reader_wrong(reader, key, "%.80s: expected a list of values",
                                                  value->members[i].key);
        }
        return 0;
}

static int check_filter(ModelReader *reader, const Value *value) {
        if (value->type != VALUE_STRING)
                return check_values(reader, "filter", value, false);
        for (const char *part = value->string; part; part = strchr(part, ',') ? strchr(part, ',') + 1 : NULL) {
                size_t n = strcspn(part, "=,");

                if (n == 0 || part[n] != '=')
                        return model_reader_wrong(reader, "filter",
                                                  "expected SETTING=VALUE:VALUE, with commas between");
        }
        return 0;
}

static int check_members(ModelReader *reader, const char *key, const Value *object, const MemberTable *members);

static int check_form(ModelReader *reader, const Value *object, const char *key, MemberForm form) {
        static const char *const kinds[] = { "line", "bar", "box", "scatter", "distribution" };
        const Value *value = value_get_given(object, key);
        const char *text = NULL;
        unsigned kind;
        bool flag;

        if (!value)
                return 0;
        switch (form) {
        case FORM_TEXT:
                return model_reader_take_text(reader, object, key, COMPLAINT_TEXT_MAX, &text);
        case FORM_FLAG:
                return model_reader_take_bool(reader, object, key, &flag);
        case FORM_KIND:
                return model_reader_take_word(reader, object, key, kinds, N_ELEMENTS(kinds), &kind);
        case FORM_NAMES:
        case FORM_LIST:
                return check_names(reader, key, value, form == FORM_LIST);
        case FORM_FILTER:
                return check_filter(reader, value);
        case FORM_ORDER:
                return check_values(reader, key, value, true);
        case FORM_OPTIONS:
                return check_members(reader, key, value, &option_members);
        }
        return 0;
}

/* Checks the members of an object, which is the member `key` of the reader's; key NULL: that object itself. */
static int check_members(ModelReader *reader, const char *key, const Value *object, const MemberTable *members) {
        ModelReader inner = *reader;
        size_t n = strlen(inner.path);
        int r;

        if (key)
                (void)snprintf(inner.path + n, sizeof(inner.path) - n, ".%s", key);
        if (object->type != VALUE_OBJECT)
                return model_reader_wrong(&inner, NULL, "is %s; expected %s and other members",
                                          value_type_text(object), members->names[0]);
        r = model_reader_check_keys(&inner, object, members->names, members->n);
        for (size_t i = 0; i < members->n && r == 0; i++)
                r = check_form(&inner, object, members->names[i], members->forms[i]);
        return r;
}

/* --- plots ---------------------------------------------------------------------------------------- */

static bool is_declared(const Value *root, const IndicatorModel *model, const char *name) {
        bool is_any = value_get_given(root, "parser") != NULL; /* which may print any values */

        for (size_t i = 0; model && i < model->n_properties && !is_any; i++)
                is_any = strcmp(model->properties[i].name, name) == 0;
        return is_any || value_get(value_get(root, "values"), name) || value_get(value_get(root, "results"), name);
}

static int check_file_name(ModelReader *reader, const char *name) {
        size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

        if (n == 0 || name[n] || n > NAME_BYTES_MAX || *name == '.' || *name == '-' || strcmp(name, INDEX_NAME) == 0)
                return model_reader_wrong(reader, NULL, "is the name of a file: expected 1 to %u letters, digits, or "
                                          "any of _ . -, and not " INDEX_NAME, NAME_BYTES_MAX);
        return 0;
}

static int check_plot(ModelReader *reader, const Value *root, const IndicatorModel *model, const Member *member) {
        const char *x, *y;
        int r;

        (void)snprintf(reader->path, sizeof(reader->path), "plots.%.100s", member->key);
        r = check_file_name(reader, member->key);
        if (r == 0)
                r = check_members(reader, NULL, &member->value, &plot_members);
        if (r != 0)
                return r;
        x = value_get_string(&member->value, "x");
        y = value_get_string(&member->value, "y");
        if (!x || !y)
                return model_reader_wrong(reader, NULL, "has no %s: name a %s", !x ? "x" : "y",
                                          !x ? "setting, a value or 'item'" : "KPI or a value");
        return is_declared(root, model, y)
                       ? 0
                       : model_reader_wrong(reader, "y", "'%.80s' is neither a value nor a result", y);
}

/* --- reports -------------------------------------------------------------------------------------- */

static int check_parts(ModelReader *reader, const Value *root, const Value *parts, bool is_inner);

static int check_part(ModelReader *reader, const Value *root, const Value *part, bool is_inner) {
        enum { HEADING, TEXT, PLOT, ENTRIES, KPIS, CHECK, CONFIGURATION, ERRORS };
        static const char *const words[] = { "heading", "text",          "plot",  "entries", "kpis",
                                             "check",   "configuration", "errors" };
        const Value *value = part->type == VALUE_OBJECT && part->n_members > 0 ? &part->members[0].value : NULL;
        const char *key = value ? part->members[0].key : part->type == VALUE_STRING ? part->string : "";
        size_t i = model_reader_find_word(key, words, N_ELEMENTS(words));

        if (i == N_ELEMENTS(words) || (value ? i >= CONFIGURATION : i <= ENTRIES) || (is_inner && i == ENTRIES))
                return model_reader_wrong(reader, NULL,
                                          "begins with '%.40s'; expected configuration, errors, kpis or check, or a "
                                          "mapping that begins with heading, text, plot, %skpis or check",
                                          key, is_inner ? "" : "entries, ");
        if (!value)
                return 0;
        if (i == PLOT && (!is_text(value) || !value_get(value_get(root, "plots"), value->string)))
                return model_reader_wrong(reader, key, "is not declared in plots");
        if (i == PLOT)
                return check_members(reader, NULL, part, &drawn_members);
        if (part->n_members != 1)
                return model_reader_wrong(reader, part->members[1].key, "is unknown beside '%s'", key);
        if (i == ENTRIES)
                return check_parts(reader, root, value, true);
        if (i == KPIS || i == CHECK)
                return check_members(reader, key, value, &table_members);
        return is_text(value) ? 0 : model_reader_wrong(reader, key, "expected a text");
}

static int check_parts(ModelReader *reader, const Value *root, const Value *parts, bool is_inner) {
        char base[COMPLAINT_PATH_MAX];
        int r = 0;

        (void)snprintf(base, sizeof(base), "%.*s%s", COMPLAINT_PATH_MAX - 32, reader->path, is_inner ? ".entries" : "");
        if (parts->type != VALUE_LIST || parts->n_items == 0)
                return model_reader_wrong(reader, is_inner ? "entries" : NULL,
                                          "expected a list of parts, such as [kpis, errors]");
        for (size_t i = 0; i < parts->n_items && r == 0; i++) {
                (void)snprintf(reader->path, sizeof(reader->path), "%.*s[%zu]", COMPLAINT_PATH_MAX - 32, base, i);
                r = check_part(reader, root, &parts->items[i], is_inner);
        }
        return r;
}

static int check_report(ModelReader *reader, const Value *root, const Member *member) {
        int r;

        (void)snprintf(reader->path, sizeof(reader->path), "reports.%.100s", member->key);
        r = check_file_name(reader, member->key);
        if (r == 0 && value_get(value_get(root, "plots"), member->key))
                r = model_reader_wrong(reader, NULL, "is also the name of a plot");
        return r == 0 ? check_parts(reader, root, &member->value, false) : r;
}

static int check_choice(ModelReader *reader, const Value *root, const Value *choice) {
        const Value *names = value_get_given(choice, "generate");
        int r;

        r = check_members(reader, NULL, choice, &choice_members);
        if (r == 0 && (!value_get_string(choice, "id") || !names))
                r = model_reader_wrong(reader, NULL, "expected id, and generate with reports or plots");
        for (size_t i = 0; r == 0 && i < names->n_items; i++)
                if (!value_get(value_get(root, "reports"), names->items[i].string) &&
                    !value_get(value_get(root, "plots"), names->items[i].string))
                        r = model_reader_wrong(reader, "generate", "'%.80s' is neither in reports nor in plots",
                                               names->items[i].string);
        return r;
}

int results_plots_check(ModelReader *reader, const Value *root, const IndicatorModel *model) {
        const Value *plots = value_get_given(root, "plots"), *reports = value_get_given(root, "reports"),
                    *choices = value_get_given(root, "visualize");
        int r = 0;

        if ((plots && plots->type != VALUE_OBJECT) || (reports && reports->type != VALUE_OBJECT))
                return model_reader_wrong(reader, plots && plots->type != VALUE_OBJECT ? "plots" : "reports",
                                          "expected names, each with %s",
                                          plots && plots->type != VALUE_OBJECT ? "x, y and kind" : "a list of parts");
        if (choices && choices->type != VALUE_LIST)
                return model_reader_wrong(reader, "visualize", "is %s; expected a list of id and generate",
                                          value_type_text(choices));
        for (size_t i = 0; plots && i < plots->n_members && r == 0; i++)
                r = check_plot(reader, root, model, &plots->members[i]);
        for (size_t i = 0; reports && i < reports->n_members && r == 0; i++)
                r = check_report(reader, root, &reports->members[i]);
        for (size_t i = 0; choices && i < choices->n_items && r == 0; i++) {
                (void)snprintf(reader->path, sizeof(reader->path), "visualize[%zu]", i);
                r = check_choice(reader, root, &choices->items[i]);
        }
        if (r != 0)
                return r;
        reader->path[0] = '\0';
        return check_form(reader, root, "logs", FORM_LIST);
}

bool results_plots_show(const Value *root, const char *name) {
        static const char *const members[] = { "x", "y", "legend", "facets" };
        const Value *plots = value_get_given(root, "plots");

        for (size_t i = 0; plots && i < plots->n_members * N_ELEMENTS(members); i++) {
                const Value *shown = value_get(&plots->members[i / N_ELEMENTS(members)].value,
                                               members[i % N_ELEMENTS(members)]);
                size_t n = shown && shown->type == VALUE_LIST ? shown->n_items : shown != NULL;

                for (size_t k = 0; k < n; k++)
                        if (strcmp((shown->type == VALUE_LIST ? &shown->items[k] : shown)->string, name) == 0)
                                return true;
        }
        return false;
}

/* --- choice --------------------------------------------------------------------------------------- */

void results_plots_reports_deinit(ResultsReports *reports) {
        free(reports->names);
}

static void add(ResultsReports *to, const char *name) {
        if (model_reader_find_word(name, to->names, to->n) == to->n)
                to->names[to->n++] = name;
}

void results_plots_put_off(const Value *root, const ResultsReports *reports, Buffer *out) {
        const Value *declared = value_get_given(root, "reports");
        const char *before = "; off: ";

        for (size_t i = 0; declared && i < declared->n_members; i++) {
                const char *name = declared->members[i].key;

                if (model_reader_find_word(name, reports->names, reports->n) < reports->n)
                        continue;
                buffer_printf(out, "%s%s", before, name);
                before = ", ";
        }
}

/* Adds what the ids of `visualize` name. id NULL: all. False: there is none. */
static bool add_choice(const Value *choices, const char *id, ResultsReports *to) {
        bool is_found = false;

        for (size_t i = 0; choices && i < choices->n_items; i++) {
                const Value *names = value_get(&choices->items[i], "generate");

                if (id && strcmp(value_get_string(&choices->items[i], "id"), id) != 0)
                        continue;
                is_found = true;
                for (size_t k = 0; k < names->n_items; k++)
                        add(to, names->items[k].string);
        }
        return is_found;
}

int results_plots_choose(const Value *root, const char *const *wanted, size_t n, ResultsReports *ret,
                         const char **ret_unknown) {
        const Value *plots = value_get_given(root, "plots"), *reports = value_get_given(root, "reports"),
                    *choices = value_get_given(root, "visualize");
        size_t n_plots = plots ? plots->n_members : 0, n_reports = reports ? reports->n_members : 0;

        *ret = (ResultsReports){};
        ret->names = calloc(n_plots + n_reports + 1, sizeof(*ret->names));
        if (!ret->names)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                const bool is_default = n_reports == 0 && strcmp(wanted[i], DEFAULT_REPORT) == 0;

                if (is_default || value_get(reports, wanted[i]) || value_get(plots, wanted[i]))
                        add(ret, wanted[i]);
                else if (!add_choice(choices, wanted[i], ret)) {
                        *ret_unknown = wanted[i];
                        return 1;
                }
        }
        if (n > 0 || add_choice(choices, NULL, ret))
                return 0;
        for (size_t i = 0; i < n_reports; i++)
                add(ret, reports->members[i].key);
        if (n_reports == 0)
                add(ret, DEFAULT_REPORT);
        return 0;
}
