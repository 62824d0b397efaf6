/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/test_values.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/input.h"
#include "client/matrix/log_scan.h"
#include "client/matrix/parser_step.h"
#include "client/matrix/prometheus_dump.h"
#include "client/matrix/value_cache.h"
#include "document/path.h"
#include "document/property.h"
#include "json/json_text.h"
#include "text/encoding.h"
#include "text/table_row.h"
#include "text/yaml.h"
#include "util/clock.h"
#include "util/parse.h"
#include "value/value_parse.h"

/* --- values of files as the type that is declared for them, as JSON ----------------------------------- */

/* Reads a text as a number, an integer if it is one. */
static bool read_number(const char *text, Value *ret) {
        if (json_text_int((JsonText){ text, strlen(text) }, &ret->integer))
                ret->type = VALUE_INT;
        else if (parse_double(text, &ret->number) == 0)
                ret->type = VALUE_DOUBLE;
        else
                return false;
        return true;
}

/* Writes a value of a type, a PropertyType or 0 for any. A text that reads as a number is one where a number is
 * declared. Returns false if it is not of the type, and writes nothing. */
static bool put_typed(const Value *value, unsigned type, Json *json) {
        Value converted = *value;
        uint64_t unused;
        bool flag;

        if (value->type == VALUE_STRING && (type & (PROPERTY_INT | PROPERTY_FLOAT)) &&
            !read_number(value->string, &converted))
                return false;
        if (value->type == VALUE_STRING && type == PROPERTY_BOOL && parse_bool(value->string, &flag) == 0)
                converted = (Value){ .type = VALUE_BOOL, .boolean = flag };
        if (type == PROPERTY_INT && converted.type == VALUE_DOUBLE && floor(converted.number) == converted.number &&
            fabs(converted.number) < 0x1p53)
                converted = (Value){ .type = VALUE_INT, .integer = (int64_t)converted.number };
        if (type == PROPERTY_TIME && (value->type != VALUE_STRING || clock_parse_utc(value->string, &unused) != 0))
                return false;
        if (type != 0 && type != PROPERTY_TIME && !property_is_of_types(&converted, type))
                return false;
        value_write_json(&converted, json);
        return true;
}

/* As above for a text that has no type, such as a cell: a number if it reads as one. */
static bool put_plain(const char *text, unsigned type, Json *json) {
        Value value = { .type = VALUE_STRING, .string = text };

        if (type == 0 && read_number(text, &value))
                type = 0;
        else
                value = (Value){ .type = VALUE_STRING, .string = text };
        return put_typed(&value, type, json);
}

/* --- reading ------------------------------------------------------------------------------------------ */

/* All that is needed to read the values of one test. */
typedef struct ValueReading {
        const ResultsFile *file;
        const TestTree *tree;
        TestRecord *record;
        RemoteValues *remote;
        char **values;  /* owned texts, JSON; NULL: none */
        bool *is_read;  /* of the rules */
        Buffer path;    /* of the file that was found last, relative to the tree */
        Buffer text;    /* content of the file `loaded` */
        char *loaded;   /* owned; path */
        Arena arena;    /* memory of `document` */
        const Value *document; /* NULL: the file cannot be parsed */
        bool is_parsed;
        Buffer further; /* JSON object: values of the site's own parser */
        PrometheusDump dump;
        Buffer dump_reason; /* why it is not served */
        int dump_outcome;
        bool is_dump_tried;
        bool is_incomplete; /* a server was away, or the parser failed: to be read again */
} ValueReading;

static void reading_deinit(ValueReading *reading) {
        for (size_t i = 0; reading->values && i < reading->file->n_rules; i++)
                free(reading->values[i]);
        free(reading->values);
        free(reading->is_read);
        free(reading->loaded);
        buffer_deinit(&reading->path);
        buffer_deinit(&reading->text);
        buffer_deinit(&reading->further);
        buffer_deinit(&reading->dump_reason);
        prometheus_dump_deinit(&reading->dump);
        arena_deinit(&reading->arena);
}

void test_values_deinit(TestValues *values) {
        free(values->json);
}

/* A value that is missing is no error where it may be, nor in a test that failed. */
#define MISSING(reading, rule, ...)                                                                                    \
        ((rule)->is_optional                 ? (void)0                                                                 \
         : (reading)->record->exit_code != 0 ? findings_warn(&(reading)->record->findings, __VA_ARGS__)                \
                                             : findings_error(&(reading)->record->findings, __VA_ARGS__))

/* --- finding files -------------------------------------------------------------------------------- */

static void put_escaped(Buffer *out, const char *text) {
        for (; *text; text++) {
                if (strchr("*?[]\\", *text))
                        buffer_putc(out, '\\');
                buffer_putc(out, *text);
        }
}

/* Appends what matches a pattern to the path; of several, the last one. Returns 0, ENOENT or -ENOMEM. */
static int find(ValueReading *reading, Buffer *path, const char *pattern) {
        scoped(buffer_deinit) Buffer full = {};
        const char *last = NULL;
        size_t n_root = strlen(reading->tree->root) + 1;
        glob_t found = {};
        int r;

        if (!strpbrk(pattern, "*?[")) {
                buffer_printf(path, "/%s", pattern);
                return buffer_error(path);
        }
        put_escaped(&full, reading->tree->root);
        buffer_putc(&full, '/');
        put_escaped(&full, path->text);
        buffer_printf(&full, "/%s", pattern);
        if (buffer_error(&full) < 0)
                return -ENOMEM;
        r = glob(full.text, GLOB_NOSORT, NULL, &found);
        for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
                if (!last || strcmp(found.gl_pathv[i], last) > 0)
                        last = found.gl_pathv[i];
        if (last && found.gl_pathc > 1)
                findings_warn(&reading->record->findings, "%s/%s: %zu match; the last is taken: %s", path->text,
                              pattern, found.gl_pathc, last + n_root);
        if (last) {
                buffer_clear(path);
                buffer_puts(path, last + n_root);
        }
        globfree(&found);
        return r == GLOB_NOSPACE ? -ENOMEM : last ? buffer_error(path) : ENOENT;
}

int test_values_find(const TestTree *tree, TestRecord *record, const char *pattern, Buffer *ret_path) {
        ValueReading reading = { .tree = tree, .record = record };

        buffer_puts(ret_path, record->path);
        return find(&reading, ret_path, pattern);
}

static bool is_important(const ResultsFile *file, const char *path) {
        for (size_t i = 0; file->important && i < file->important->n_items; i++)
                if (fnmatch(file->important->items[i].string, path, 0) == 0)
                        return true;
        return !file->important;
}

/* Sets the path of the file of a rule. 0, ENOENT or -ENOMEM. */
static int look_up(ValueReading *reading, const ValueRule *rule) {
        int r = 0;

        buffer_clear(&reading->path);
        buffer_puts(&reading->path, reading->record->path);
        if (rule->directory)
                r = find(reading, &reading->path, rule->directory);
        return r == 0 ? find(reading, &reading->path, rule->file) : r;
}

/* Finds the file of a rule. 0, ENOENT after a finding, or -ENOMEM. */
static int find_file(ValueReading *reading, const ValueRule *rule) {
        const char *path = reading->record->path;
        int r = look_up(reading, rule);

        if (r == ENOENT)
                MISSING(reading, rule, "%s/%s%s%s: no such file, for the value %s", path, rule->directory ?: "",
                        rule->directory ? "/" : "", rule->file, rule->name);
        return r;
}

static int open_file(ValueReading *reading, const ValueRule *rule, int *ret_fd) {
        const char *path = reading->path.text;
        struct stat st;
        int r = test_tree_open(reading->tree, path, ret_fd, &st);

        if (r == -ENOMEM)
                return r;
        if (r == -ENOENT)
                MISSING(reading, rule, "%s: no such file, for the value %s", path, rule->name);
        else if (r != 0)
                findings_error(&reading->record->findings, "%s: %s, for the value %s", path, test_tree_why(r),
                               rule->name);
        else if (!is_important(reading->file, path + strlen(reading->record->path) + 1))
                findings_warn(&reading->record->findings, "%s: is read, and is not among important_files", path);
        return r == 0 ? 0 : ENOENT;
}

/* --- documents ------------------------------------------------------------------------------------ */

/* Reads a whole file, unless it is the one that was read last. 0, ENOENT after a finding, or -ENOMEM. */
static int load(ValueReading *reading, const ValueRule *rule) {
        Findings *findings = &reading->record->findings;
        scoped(closep) int fd = -1;
        int r;

        if (reading->loaded && strcmp(reading->loaded, reading->path.text) == 0)
                return 0;
        free(reading->loaded);
        reading->loaded = NULL;
        reading->document = NULL;
        reading->is_parsed = false;
        r = open_file(reading, rule, &fd);
        if (r != 0)
                return r;
        buffer_clear(&reading->text);
        r = input_read_fd(fd, &reading->text);
        if (r == -EFBIG)
                findings_error(findings, "%s: more than %u MiB", reading->path.text, INPUT_BYTES_MAX >> 20);
        else if (r == -EILSEQ)
                findings_error(findings, "%s:1: " ENCODING_FOREIGN_TEXT, reading->path.text);
        else if (r < 0 && r != -ENOMEM)
                findings_error(findings, "%s: %s", reading->path.text, test_tree_why(r));
        if (r != 0)
                return r == -ENOMEM ? r : ENOENT;
        reading->loaded = strdup(reading->path.text);
        return reading->loaded ? 0 : -ENOMEM;
}

static bool is_json(const char *path, const Buffer *text) {
        const char *extension = strrchr(path, '.'), *p = text->text ? text->text + strspn(text->text, " \t\n") : "";

        return extension && strcmp(extension, ".json") == 0 ? true : *p == '{' && (!extension || extension[1] != 'y');
}

/* Parses the file that was read last, once. After an error, the document is NULL. */
static int parse(ValueReading *reading, const ValueRule *rule) {
        Findings *findings = &reading->record->findings;
        const Buffer *text = &reading->text;
        const char *path = reading->path.text;
        ValueError error;
        YamlError mistake;
        int r;

        r = load(reading, rule);
        if (r != 0 || reading->is_parsed)
                return r;
        reading->is_parsed = true;
        arena_deinit(&reading->arena);
        if (is_json(path, text)) {
                r = value_parse_only(text->text, text->n, &reading->arena, &reading->document, &error);
                if (r == VALUE_MALFORMED)
                        findings_error(findings, "%s:%u:%u: %s", path, error.line, error.column, error.text);
                else if (r > 0)
                        findings_error(findings, "%s:1: expected one JSON value", path);
        } else {
                r = arena_init(&reading->arena, yaml_arena_size(text->n));
                if (r == 0)
                        r = yaml_read(text->text ?: "", text->n, &reading->arena, &reading->document, &mistake);
                if (r == YAML_MALFORMED)
                        findings_error(findings, "%s:%u:%u: %s", path, mistake.line, mistake.column, mistake.text);
        }
        if (r != 0)
                reading->document = NULL;
        return r < 0 ? r : 0;
}

/* The value, or items of a list, that a rule has found so far. */
typedef struct ValueList {
        const ValueRule *rule;
        Buffer json; /* owned */
        Json writer;
        size_t n;
        bool is_list, is_wrong;
} ValueList;

static void value_list_begin(ValueList *list, const ValueRule *rule, bool is_list) {
        *list = (ValueList){ .rule = rule, .is_list = is_list };
        list->writer.out = &list->json;
        if (is_list)
                json_array_begin(&list->writer);
}

static void value_list_deinit(ValueList *list) {
        buffer_deinit(&list->json);
}

static void wrong_type(ValueReading *reading, ValueList *list, const char *place, const char *text, size_t line) {
        char types[PROPERTY_TYPES_TEXT_MAX], where[24] = "";

        property_types_text(list->rule->types, types);
        if (line > 0)
                (void)snprintf(where, sizeof(where), ":%zu", line);
        findings_error(&reading->record->findings, "%s%s: %s: '%.60s' is not of the type %s", reading->path.text, where,
                       place, text, types);
        list->is_wrong = true;
}

static void add_value(ValueReading *reading, ValueList *list, const Value *value) {
        list->n++;
        if (!put_typed(value, list->rule->types, &list->writer))
                wrong_type(reading, list, list->rule->from,
                           value->type == VALUE_STRING ? value->string : value_type_text(value), 0);
}

static void add_plain(ValueReading *reading, ValueList *list, const char *text, size_t line) {
        list->n++;
        if (!put_plain(text, list->rule->types, &list->writer))
                wrong_type(reading, list, list->rule->name, text, line);
}

/* Keeps the value of a rule, unless it is wrong. */
static int keep(ValueReading *reading, size_t i, ValueList *list) {
        if (list->is_list)
                json_array_end(&list->writer);
        if (buffer_error(&list->json) < 0)
                return -ENOMEM;
        if (!list->is_wrong && (list->is_list || list->n > 0))
                reading->values[i] = buffer_take(&list->json);
        return 0;
}

/* Follows a path, from p on. [] takes all items of a list; an item without the rest of the path is left out. */
static void follow(ValueReading *reading, ValueList *list, const Value *value, const char *p) {
        PathStep step = {};

        while (value && (step = path_next(list->rule->from, &p)).kind != PATH_END && step.kind != PATH_ALL)
                value = path_get(value, &step);
        if (value && step.kind == PATH_ALL)
                for (size_t i = 0; value->type == VALUE_LIST && i < value->n_items; i++)
                        follow(reading, list, &value->items[i], p);
        else if (value && value->type != VALUE_NULL)
                add_value(reading, list, value);
}

static int read_path(ValueReading *reading, size_t i) {
        const ValueRule *rule = &reading->file->rules[i];
        scoped(value_list_deinit) ValueList list;
        int r;

        value_list_begin(&list, rule, strstr(rule->from, "[]") != NULL);
        r = parse(reading, rule);
        if (r != 0 || !reading->document)
                return r < 0 ? r : 0;
        follow(reading, &list, reading->document, rule->from);
        if (list.n == 0)
                MISSING(reading, rule, "%s: '%s' is missing", reading->path.text, rule->from);
        return keep(reading, i, &list);
}

/* --- pods ----------------------------------------------------------------------------------------- */

/* Finds the ended container of a pod: the named one, or the only one for *. */
static const Value *find_container(const Value *pod, const char *name) {
        const Value *statuses = value_get(value_get(pod, "status"), "containerStatuses");

        for (size_t i = 0; statuses && statuses->type == VALUE_LIST && i < statuses->n_items; i++) {
                const char *given = value_get_string(&statuses->items[i], "name");

                if (strcmp(name, "*") == 0 ? statuses->n_items == 1 : given && strcmp(given, name) == 0)
                        return &statuses->items[i];
        }
        return NULL;
}

static int read_container(ValueReading *reading, size_t i) {
        const ValueRule *rule = &reading->file->rules[i];
        const Value *items, *container, *state, *value;
        scoped(value_list_deinit) ValueList list;
        int r;

        value_list_begin(&list, rule, false);
        r = parse(reading, rule);
        if (r != 0 || !reading->document)
                return r < 0 ? r : 0;
        items = value_get(reading->document, "items");
        container = find_container(reading->document, rule->from);
        for (size_t k = 0; items && items->type == VALUE_LIST && k < items->n_items; k++)
                container = find_container(&items->items[k], rule->from) ?: container;
        state = value_get_given(value_get(container, "state"), "terminated");
        value = value_get_given(state, rule->take == VALUE_TAKE_REASON ? "reason" : "exitCode");
        if (value)
                add_value(reading, &list, value);
        else
                MISSING(reading, rule, "%s: %s", reading->path.text,
                        !container ? "has no such container, or several for *"
                        : !state   ? "the container has not ended"
                                   : "the end of the container is not described");
        return keep(reading, i, &list);
}

/* --- tables --------------------------------------------------------------------------------------- */

static size_t find_column(const TableRow *row, const char *name) {
        for (size_t i = 0; i < row->n; i++)
                if (strcmp(row->cells[i], name) == 0)
                        return i;
        return SIZE_MAX;
}

/* Takes the cells of a column, whose name is in the first line. */
static int read_column(ValueReading *reading, size_t i) {
        const ValueRule *rule = &reading->file->rules[i];
        scoped(value_list_deinit) ValueList list;
        scoped(freep) char *copy = NULL, *last = NULL;
        size_t column = SIZE_MAX, line = 0, last_line = 0;
        char separator = ',';
        int r;

        value_list_begin(&list, rule, rule->which == VALUE_ALL);
        r = load(reading, rule);
        if (r != 0)
                return r < 0 ? r : 0;
        copy = strdup(reading->text.text ?: "");
        if (!copy)
                return -ENOMEM;
        for (char *rest = copy, *begin; (begin = strsep(&rest, "\n"));) {
                TableRow row;

                line++;
                if (begin[strspn(begin, " \t")] == '\0')
                        continue;
                if (column == SIZE_MAX)
                        separator = table_row_find_separator(begin);
                if (!table_row_split(begin, separator, &row)) {
                        findings_error(&reading->record->findings, "%s:%zu: a quoted cell has no end on its line",
                                       reading->path.text, line);
                        return 0;
                }
                if (column == SIZE_MAX) {
                        column = find_column(&row, rule->from);
                        if (column == SIZE_MAX)
                                break;
                        continue;
                }
                if (column >= row.n || !*row.cells[column])
                        continue;
                if (rule->which == VALUE_ALL || (rule->which == VALUE_FIRST && list.n == 0))
                        add_plain(reading, &list, row.cells[column], line);
                free(last);
                last = strdup(row.cells[column]);
                last_line = line;
        }
        if (rule->which == VALUE_LAST && last)
                add_plain(reading, &list, last, last_line);
        if (list.n == 0)
                MISSING(reading, rule, "%s: the column '%s' is missing, or empty", reading->path.text, rule->from);
        return keep(reading, i, &list);
}

/* --- lines ---------------------------------------------------------------------------------------- */

static bool is_same_file(const ValueRule *a, const ValueRule *b) {
        return a->source == VALUE_FROM_LINE && b->source == VALUE_FROM_LINE && strcmp(a->file, b->file) == 0 &&
               a->is_always == b->is_always && strcmp(a->directory ?: "", b->directory ?: "") == 0;
}

static int keep_pattern(ValueReading *reading, size_t i, const LogPattern *pattern) {
        const ValueRule *rule = &reading->file->rules[i];
        scoped(value_list_deinit) ValueList list;
        const char *text = pattern->texts.text;

        if (buffer_error(&pattern->texts) < 0)
                return -ENOMEM;
        value_list_begin(&list, rule, rule->which == VALUE_ALL);
        list.is_wrong = pattern->has_failed;
        for (size_t k = 0; k < pattern->n; k++, text += strlen(text) + 1)
                add_plain(reading, &list, text, rule->which == VALUE_ALL ? 0 : pattern->line);
        if (list.n == 0 && !list.is_wrong)
                MISSING(reading, rule, "%s: no line matches, for the value %s", reading->path.text, rule->name);
        return keep(reading, i, &list);
}

/* Reads the values of all rules about lines of the same file. */
static int read_lines(ValueReading *reading, size_t first) {
        const ValueRule *rules = reading->file->rules;
        size_t n = reading->file->n_rules, n_patterns = 0;
        scoped(freep) LogPattern *patterns = calloc(n, sizeof(*patterns));
        scoped(freep) size_t *which = calloc(n, sizeof(*which));
        scoped(closep) int fd = -1;
        int r;

        if (!patterns || !which)
                return -ENOMEM;
        r = open_file(reading, &rules[first], &fd);
        for (size_t i = first; i < n; i++)
                if (is_same_file(&rules[i], &rules[first])) {
                        reading->is_read[i] = true;
                        which[n_patterns] = i;
                        patterns[n_patterns++] = (LogPattern){ .regex = rules[i].regex,
                                                               .takes_first = rules[i].which == VALUE_FIRST,
                                                               .takes_all = rules[i].which == VALUE_ALL };
                }
        if (r == 0)
                r = log_scan(fd, reading->path.text, patterns, n_patterns, &reading->record->findings);
        for (size_t i = 0; i < n_patterns; i++) {
                if (r == 0)
                        r = keep_pattern(reading, which[i], &patterns[i]);
                log_scan_pattern_deinit(&patterns[i]);
        }
        return r < 0 ? r : 0;
}

/* --- other programs ------------------------------------------------------------------------------- */

/* Keeps what a server said about a rule: 0 and the value, or an outcome of remote_values.h and the reason. */
static int keep_remote(ValueReading *reading, size_t i, int outcome, const Buffer *value, const Buffer *reason) {
        const ValueRule *rule = &reading->file->rules[i];
        const char *path = reading->record->path, *why = reason->text ?: "";
        scoped(value_list_deinit) ValueList list = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *root;
        ValueError unused;

        if (outcome == REMOTE_VALUES_NONE)
                MISSING(reading, rule, "%s: %s, for the value %s", path, why, rule->name);
        else if (outcome == REMOTE_VALUES_AWAY && rule->source == VALUE_FROM_METRIC)
                findings_warn(&reading->record->findings, "%s: %s, for the value %s", path, why, rule->name);
        else if (outcome > 0)
                findings_error(&reading->record->findings, "%s: %s, for the value %s", path, why, rule->name);
        reading->is_incomplete |= outcome > REMOTE_VALUES_NONE;
        if (outcome != 0)
                return outcome < 0 ? outcome : 0;
        if (value_parse_only(value->text, value->n, &arena, &root, &unused) != 0)
                return -ENOMEM;
        value_list_begin(&list, rule, root->type == VALUE_LIST);
        for (size_t k = 0; k < (root->type == VALUE_LIST ? root->n_items : 1); k++)
                add_value(reading, &list, root->type == VALUE_LIST ? &root->items[k] : root);
        return keep(reading, i, &list);
}

/* Serves the dump of the test, once. 0, an outcome with the reason, or -ENOMEM. */
static int serve_dump(ValueReading *reading, Buffer *ret_reason) {
        scoped(freep) char *full = NULL, *real = NULL;
        size_t n = strlen(reading->tree->root);

        if (!reading->is_dump_tried) {
                reading->is_dump_tried = true;
                buffer_clear(&reading->path);
                buffer_puts(&reading->path, reading->record->path);
                reading->dump_outcome = find(reading, &reading->path, reading->file->servers.dump);
                if (reading->dump_outcome < 0 ||
                    asprintf(&full, "%s/%s", reading->tree->root, reading->path.text) < 0)
                        return -ENOMEM;
                real = reading->dump_outcome == 0 ? realpath(full, NULL) : NULL;
                reading->dump_outcome = REMOTE_VALUES_NONE;
                if (!real)
                        buffer_printf(&reading->dump_reason, "no dump matches %s", reading->file->servers.dump);
                else if (strncmp(real, reading->tree->root, n) != 0 || real[n] != '/')
                        buffer_printf(&reading->dump_reason, "%s", test_tree_why(TEST_TREE_OUTSIDE));
                else
                        reading->dump_outcome = prometheus_dump_open(&reading->dump, real, &reading->dump_reason);
        }
        buffer_puts(ret_reason, reading->dump_reason.text ?: "");
        return reading->dump_outcome;
}

static int read_query(ValueReading *reading, size_t i, const TestValues *times) {
        scoped(buffer_deinit) Buffer value = {}, reason = {};
        bool is_own = reading->file->servers.dump;
        int r = is_own ? serve_dump(reading, &reason) : 0;

        if (r == 0)
                r = remote_values_query(is_own ? &reading->dump.remote : reading->remote,
                                        reading->file->servers.prometheus, &reading->file->rules[i], times->start_ns,
                                        times->end_ns, &value, &reason);
        return keep_remote(reading, i, r, &value, &reason);
}

/* The file names the job, as that of a sweep does. */
static int read_metric(ValueReading *reading, size_t i) {
        scoped(buffer_deinit) Buffer value = {}, reason = {};
        scoped(freep) char *job = NULL;
        int r;

        r = load(reading, &reading->file->rules[i]);
        if (r != 0)
                return r < 0 ? r : 0;
        job = strndup(reading->text.text ?: "", strcspn(reading->text.text ?: "", " \t\r\n"));
        if (!job)
                return -ENOMEM;
        r = remote_values_metric(reading->remote, job, reading->file->rules[i].from, &value, &reason);
        return keep_remote(reading, i, r, &value, &reason);
}

/* Writes the values of the site's own parser. */
static int read_parser(ValueReading *reading) {
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer directory = {};
        const TestRecord *record = reading->record;
        const Value *parsed = NULL;
        Json json = { .out = &reading->further };
        int r = 0;

        buffer_printf(&directory, "%s/%s", reading->tree->root, record->path);
        if (buffer_error(&directory) < 0)
                return -ENOMEM;
        if (reading->file->parser.words)
                r = parser_step_run(reading->file->parser.words, directory.text, record->path,
                                    reading->file->parser.timeout_ns, &arena, &parsed, &reading->record->findings);
        reading->is_incomplete |= reading->file->parser.words && !parsed;
        json_object_begin(&json);
        for (size_t i = 0; parsed && i < parsed->n_members; i++) {
                const Member *member = &parsed->members[i];

                if (value_get(value_get(reading->file->root, "values"), member->key))
                        findings_error(&reading->record->findings, "%s: the parser printed %s, which values declares",
                                       record->path, member->key);
                else
                        value_put_json(&member->value, member->key, &json);
        }
        json_object_end(&json);
        return r < 0 ? r : buffer_error(&reading->further);
}

/* --- cache ---------------------------------------------------------------------------------------- */

/* Identifies the declaration, the test and all files that are read once. */
/* Digests of all that values depend on: the declaration, and the files as they are here. */
typedef struct CacheKeys {
        char declaration[SHA256_TEXT_MAX], files[SHA256_TEXT_MAX];
} CacheKeys;

static int take_keys(ValueReading *reading, CacheKeys *ret) {
        const ResultsFile *file = reading->file;
        TestRecord *record = reading->record;
        Findings findings = record->findings; /* those of a search are found again, or are in the cache */
        scoped(buffer_deinit) Buffer text = {};
        int r = 0;

        buffer_printf(&text, PERFD_VERSION "\n%d\n", record->exit_code);
        buffer_put(&text, file->text.text ?: "", file->text.n);
        for (size_t i = 0; i < file->n_presets; i++)
                buffer_printf(&text, "\n%s", file->presets[i]);
        if (buffer_error(&text) < 0)
                return -ENOMEM;
        sha256_text(text.text, text.n, ret->declaration);
        buffer_printf(&text, "\n%s\n%" PRIu64 " %" PRIu64 "\n", record->path, record->start_ns, record->end_ns);
        record->findings = (Findings){};
        for (size_t i = 0; i < file->n_rules && r >= 0; i++) {
                if (file->rules[i].is_always || !file->rules[i].file)
                        continue;
                r = look_up(reading, &file->rules[i]);
                if (r == 0)
                        value_cache_put_file(reading->tree, reading->path.text, &text);
        }
        if (file->servers.dump && r >= 0) {
                buffer_clear(&reading->path);
                buffer_puts(&reading->path, record->path);
                r = find(reading, &reading->path, file->servers.dump);
                if (r == 0) {
                        value_cache_put_file(reading->tree, reading->path.text, &text); /* also what a link leads to */
                        value_cache_put_directory(reading->tree, reading->path.text, &text);
                }
        }
        findings_deinit(&record->findings);
        record->findings = findings;
        for (size_t i = 0; file->parser.words && i < file->parser.words->n_items; i++)
                value_cache_put_file(NULL, file->parser.words->items[i].string, &text);
        if (file->parser.words)
                value_cache_put_directory(reading->tree, record->path, &text);
        if (r < 0 || buffer_error(&text) < 0)
                return -ENOMEM;
        sha256_text(text.text, text.n, ret->files);
        return 0;
}

/* Takes all values that are read once. *ret_found: there are such values for the key. */
/* member and key: as of value_cache_read(). */
static int read_cache(ValueReading *reading, const char *member, const char *key, bool *ret_found) {
        scoped(arena_deinit) Arena arena = {};
        const ResultsFile *file = reading->file;
        const Value *cache, *values, *further;
        int r;

        r = value_cache_read(reading->tree, reading->record->path, member, key, &arena, &cache);
        values = value_get(cache, "values");
        further = value_get(cache, "further");
        *ret_found = values && further && further->type == VALUE_OBJECT;
        if (r < 0 || !*ret_found)
                return r;
        for (size_t i = 0; i < file->n_rules; i++) {
                scoped(buffer_deinit) Buffer text = {};
                const Value *value = value_get_given(values, file->rules[i].name);

                reading->is_read[i] = !file->rules[i].is_always;
                if (!value || file->rules[i].is_always)
                        continue;
                value_write_json(value, &(Json){ .out = &text });
                reading->values[i] = buffer_take(&text);
                if (!reading->values[i])
                        return -ENOMEM;
        }
        value_write_json(further, &(Json){ .out = &reading->further });
        findings_read_json(&reading->record->findings, value_get(cache, "findings"));
        return buffer_error(&reading->further);
}

/* findings: those about values that are read once. */
static void write_cache(const ValueReading *reading, const CacheKeys *keys, const Findings *findings) {
        scoped(buffer_deinit) Buffer text = {};
        Json json = { .out = &text };

        json_object_begin(&json);
        json_put_string(&json, "key", keys->files);
        json_put_string(&json, "declaration", keys->declaration);
        json_put_object_begin(&json, "values");
        for (size_t i = 0; i < reading->file->n_rules; i++)
                if (reading->values[i] && !reading->file->rules[i].is_always) {
                        json_key(&json, reading->file->rules[i].name);
                        json_raw(&json, reading->values[i]);
                }
        json_object_end(&json);
        json_key(&json, "further");
        json_raw(&json, reading->further.text);
        json_key(&json, "findings");
        findings_write_json(findings, &json);
        json_object_end(&json);
        value_cache_write(reading->tree, reading->record->path, &text);
}

/* --- all values ----------------------------------------------------------------------------------- */

static int read_rule(ValueReading *reading, size_t i, const TestValues *times) {
        const ValueRule *rule = &reading->file->rules[i];
        int r = rule->file ? find_file(reading, rule) : 0;

        reading->is_read[i] = true;
        if (r != 0)
                return r < 0 ? r : 0;
        switch (rule->source) {
        case VALUE_FROM_PATH:
                return read_path(reading, i);
        case VALUE_FROM_COLUMN:
                return read_column(reading, i);
        case VALUE_FROM_LINE:
                return read_lines(reading, i);
        case VALUE_FROM_CONTAINER:
                return read_container(reading, i);
        case VALUE_FROM_QUERY:
                return read_query(reading, i, times);
        case VALUE_FROM_METRIC:
                return read_metric(reading, i);
        }
        return 0;
}

/* Reads the rules that are read each time, or the others; queries only once the times of the test are known. */
static int read_rules(ValueReading *reading, bool are_always, const TestValues *times) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < reading->file->n_rules; i++)
                if (!reading->is_read[i] && reading->file->rules[i].is_always == are_always &&
                    (times || reading->file->rules[i].source != VALUE_FROM_QUERY))
                        r = read_rule(reading, i, times);
        return r;
}

static int write_values(ValueReading *reading, TestValues *ret) {
        JsonWalk walk = json_text_walk(json_text(reading->further.text, reading->further.n));
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };
        JsonText key, value;

        ret->n = reading->file->n_rules;
        ret->n_missing = 0;
        json_object_begin(&json);
        for (size_t i = 0; i < ret->n; i++) {
                ret->n_missing += !reading->values[i];
                json_key(&json, reading->file->rules[i].name);
                json_raw(&json, reading->values[i] ?: "null");
        }
        for (; json_text_walk_next(&walk, &key, &value); ret->n++) {
                scoped(buffer_deinit) Buffer name = {};

                json_text_decode(key, &name);
                json_key(&json, name.text ?: "");
                json_text_write(value, &json);
        }
        json_object_end(&json);
        free(ret->json);
        ret->json = buffer_error(&out) < 0 ? NULL : buffer_take(&out);
        return ret->json ? 0 : -ENOMEM;
}

/* Takes a time from a value, which is of the type time. */
static void take_time(ValueReading *reading, JsonText all, const char *name, uint64_t *ret) {
        scoped(buffer_deinit) Buffer text = {};

        if (!name)
                return;
        json_text_decode(json_text_find(all, name), &text);
        if (buffer_error(&text) < 0 || clock_parse_utc(text.text ?: "", ret) != 0)
                findings_error(&reading->record->findings, "%s: the value %s is no time", reading->record->path, name);
}

/* Reads what the cache does not have. */
static int read_rest(ValueReading *reading, const CacheKeys *keys, bool is_cached, TestValues *ret) {
        Findings *findings = &reading->record->findings, once, always;
        int r = is_cached ? 0 : read_rules(reading, false, NULL);

        if (r == 0 && !is_cached)
                r = read_parser(reading);
        once = *findings;
        *findings = (Findings){};
        if (r == 0)
                r = read_rules(reading, true, NULL);
        if (r == 0)
                r = write_values(reading, ret);
        if (r == 0) {
                take_time(reading, json_text(ret->json, strlen(ret->json)), reading->file->start, &ret->start_ns);
                take_time(reading, json_text(ret->json, strlen(ret->json)), reading->file->end, &ret->end_ns);
                r = read_rules(reading, true, ret);
        }
        always = *findings;
        *findings = once;
        if (r == 0)
                r = read_rules(reading, false, ret);
        if (r == 0 && keys && !is_cached && !reading->is_incomplete)
                write_cache(reading, keys, findings);
        findings_add(findings, &always);
        findings_deinit(&always);
        return r == 0 ? write_values(reading, ret) : r;
}

int test_values_read(const ResultsFile *file, const TestTree *tree, TestRecord *record, RemoteValues *remote,
                     bool has_cache, TestValues *ret) {
        scoped(reading_deinit) ValueReading reading = { .file = file, .tree = tree, .record = record,
                                                        .remote = remote, .dump = PROMETHEUS_DUMP_NONE };
        CacheKeys keys;
        bool is_cached = false;
        int r = 0;

        *ret = (TestValues){ .start_ns = record->start_ns, .end_ns = record->end_ns };
        reading.values = calloc(file->n_rules + 1, sizeof(*reading.values));
        reading.is_read = calloc(file->n_rules + 1, sizeof(*reading.is_read));
        if (!reading.values || !reading.is_read)
                return -ENOMEM;
        if (has_cache)
                r = take_keys(&reading, &keys);
        if (r == 0 && has_cache)
                r = read_cache(&reading, "key", keys.files, &is_cached);
        return r == 0 ? read_rest(&reading, has_cache ? &keys : NULL, is_cached, ret) : r;
}

int test_values_adopt(const ResultsFile *file, const TestTree *tree, TestRecord *record, bool is_new,
                      bool *ret_has_cache) {
        scoped(reading_deinit) ValueReading reading = { .file = file, .tree = tree, .record = record,
                                                        .dump = PROMETHEUS_DUMP_NONE };
        CacheKeys keys;
        int r;

        reading.values = calloc(file->n_rules + 1, sizeof(*reading.values));
        reading.is_read = calloc(file->n_rules + 1, sizeof(*reading.is_read));
        if (!reading.values || !reading.is_read)
                return -ENOMEM;
        findings_deinit(&record->findings); /* which the cache has */
        record->findings = (Findings){};
        r = take_keys(&reading, &keys);
        if (r == 0)
                r = read_cache(&reading, is_new ? "declaration" : "key", is_new ? keys.declaration : keys.files,
                               ret_has_cache);
        if (r == 0 && is_new && *ret_has_cache)
                write_cache(&reading, &keys, &record->findings);
        return r;
}
