/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/spec.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cgroup/quantity.h"
#include "util/nearest.h"
#include "util/parse.h"
#include "util/utf8.h"

void spec_deinit(Spec *spec) {
        free(spec->variables);
        free(spec->files);
        buffer_deinit(&spec->ignored_keys);
        *spec = (Spec){};
}

#define refuse(error, ...) (utf8_format((error)->text, sizeof((error)->text), __VA_ARGS__), SPEC_WRONG)

/* --- the script ----------------------------------------------------------------------------------- */

/* A script has several lines or words; a single word that looks like a path or an address is taken for one. */
static bool is_url(const char *text) {
        return strstr(text, "://") && !strpbrk(text, " \t\n");
}

static bool is_path(const char *text) {
        return (strchr(text, '/') || strstr(text, ".py") || strstr(text, ".sh")) && !strpbrk(text, " \t\n");
}

static int take_script(const Value *value, Spec *spec, SpecError *error) {
        const Value *script = value_get_given(value, "script");

        if (!script)
                return refuse(error, "script: missing: add the text of a script");
        if (script->type != VALUE_STRING || !script->string[strspn(script->string, " \t\r\n")])
                return refuse(error, "script: expected the text of a script, not %s",
                              script->type == VALUE_STRING ? "an empty string" : value_type_text(script));
        if (is_url(script->string))
                return refuse(error,
                              "script: %.200s is an address, and perfctl downloads nothing: put the script's text "
                              "here, or name a file with --script",
                              script->string);
        if (is_path(script->string))
                return refuse(error,
                              "script: %.200s is the path of a file: put the script's text here, or name the file "
                              "with --script",
                              script->string);

        spec->script = script->string;
        return 0;
}

/* --- environment, files --------------------------------------------------------------------------- */

#define VARIABLE_FIRST "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

static bool variable_is_valid(const char *name) {
        return *name && strchr(VARIABLE_FIRST, *name) && name[strspn(name, VARIABLE_FIRST "0123456789")] == '\0';
}

bool spec_path_is_below(const char *path) {
        if (*path == '/' || strlen(path) > SPEC_PATH_MAX)
                return false;
        for (;;) {
                size_t n = strcspn(path, "/");

                if (n == 0 || n > NAME_MAX || (n == 1 && path[0] == '.') ||
                    (n == 2 && path[0] == '.' && path[1] == '.'))
                        return false;
                if (!path[n])
                        return true;
                path += n + 1;
        }
}

/* Entries with two strings each. */
static int take_pairs(const Value *value, const char *key, const char *name_key, const char *text_key, SpecPair **ret,
                      size_t *ret_n, SpecError *error) {
        const Value *list = value_get_given(value, key);

        if (!list)
                return 0;
        if (list->type != VALUE_LIST)
                return refuse(error, "%s: is %s: expected a list of {%s, %s}", key, value_type_text(list), name_key,
                              text_key);

        *ret = calloc(list->n_items + 1, sizeof(**ret));
        if (!*ret)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_items; i++) {
                (*ret)[i].name = value_get_string(&list->items[i], name_key);
                (*ret)[i].text = value_get_string(&list->items[i], text_key);
                if (!(*ret)[i].name || !(*ret)[i].text)
                        return refuse(error, "%s[%zu]: expected {%s, %s}, both strings: quote numbers", key, i,
                                      name_key, text_key);
                for (size_t k = 0; k < i; k++)
                        if (strcmp((*ret)[k].name, (*ret)[i].name) == 0)
                                return refuse(error, "%s[%zu].%s: '%.100s' is given twice: remove one", key, i,
                                              name_key, (*ret)[i].name);
        }
        *ret_n = list->n_items;
        return 0;
}

static int check_pairs(const Spec *spec, SpecError *error) {
        for (size_t i = 0; i < spec->n_variables; i++)
                if (!variable_is_valid(spec->variables[i].name))
                        return refuse(
                                error,
                                "environment[%zu].name: '%.100s' is not a valid variable name: use letters, digits and "
                                "underscores, and no digit at the start",
                                i, spec->variables[i].name);
        for (size_t i = 0; i < spec->n_files; i++)
                if (!spec_path_is_below(spec->files[i].name))
                        return refuse(error,
                                      "files[%zu].path: '%.200s' is outside the run's directory: give a relative "
                                      "path without '..'",
                                      i, spec->files[i].name);
        return 0;
}

/* --- numbers -------------------------------------------------------------------------------------- */

static int take_batch_size(const Value *value, Spec *spec, SpecError *error) {
        const Value *size = value_get_given(value, "batch_size");
        uint64_t n = 1;
        bool is_number = true;

        if (size && size->type == VALUE_STRING)
                is_number = parse_u64(size->string, &n) == 0;
        else if (size) {
                is_number = size->type == VALUE_INT && size->integer >= 0;
                n = is_number ? (uint64_t)size->integer : 0;
        }
        if (!is_number || n < 1 || n > SPEC_BATCH_MAX)
                return refuse(error, "batch_size: expected a whole number from 1 to %d", SPEC_BATCH_MAX);

        spec->batch_size = (int64_t)n;
        return 0;
}

/* Quotes the text, so that a wrong unit is visible: 500m of memory is half a byte. */
static int refuse_quantity(SpecError *error, const char *key, const Value *given, const char *expected) {
        scoped(buffer_deinit) Buffer text = {};

        if (given->type == VALUE_STRING)
                buffer_printf(&text, "'%.*s'", (int)utf8_cut(given->string, 40), given->string);
        else if (given->type == VALUE_INT)
                buffer_printf(&text, "%" PRId64, given->integer);
        else if (value_is_number(given))
                buffer_printf(&text, "%g", value_number(given));
        else
                buffer_puts(&text, value_type_text(given));
        return refuse(error, "run.requests.%s: expected %s, not %s", key, expected, text.text ?: "");
}

static int take_requests(const Value *value, Spec *spec, SpecError *error) {
        const Value *requests = value_get_given(value_get(value, "run"), "requests"), *cpu, *memory;

        if (!requests)
                return 0;
        cpu = value_get_given(requests, "cpu");
        memory = value_get_given(requests, "memory");
        if (cpu && (!quantity_read(cpu, &spec->limits.cpus) || !limit_cpus_is_valid(spec->limits.cpus)))
                return refuse_quantity(error, "cpu", cpu, "CPUs such as 500m or 2, from 10m on");
        if (memory && (!quantity_read_bytes(memory, &spec->limits.memory_bytes) ||
                       !limit_memory_is_valid(spec->limits.memory_bytes)))
                return refuse_quantity(error, "memory", memory, "bytes such as 256Mi or 4G, from 1Mi to 7Ei");
        return 0;
}

/* --- the rest ------------------------------------------------------------------------------------- */

static void add_ignored(Spec *spec, const char *key) {
        buffer_printf(&spec->ignored_keys, "%s%.60s", spec->ignored_keys.n > 0 ? ", " : "", key);
}

/* Members that begin with @ are annotations of the server. */
static void list_ignored_members(const Value *value, Spec *spec) {
        static const char *const ours[] = { "identifier", "batch_size", "run", "files", "environment", "script" };

        for (size_t i = 0; i < value->n_members; i++) {
                const char *key = value->members[i].key;

                if (!nearest_is_among(key, ours, N_ELEMENTS(ours)) && *key != '@' &&
                    value->members[i].value.type != VALUE_NULL)
                        add_ignored(spec, key);
        }
        if (value_get_given(value_get(value_get(value, "run"), "requests"), "hardware"))
                add_ignored(spec, "run.requests.hardware");
}

int spec_read(const Value *value, const char *script, Spec *ret, SpecError *ret_error) {
        scoped(spec_deinit) Spec spec = {};
        int r;

        if (value->type != VALUE_OBJECT)
                return refuse(ret_error, "is %s: expected an object with 'script'", value_type_text(value));

        spec.script = script;
        r = script ? 0 : take_script(value, &spec, ret_error);
        if (r == 0)
                r = take_pairs(value, "environment", "name", "value", &spec.variables, &spec.n_variables, ret_error);
        if (r == 0)
                r = take_pairs(value, "files", "path", "content", &spec.files, &spec.n_files, ret_error);
        if (r == 0)
                r = check_pairs(&spec, ret_error);
        if (r == 0)
                r = take_batch_size(value, &spec, ret_error);
        if (r == 0)
                r = take_requests(value, &spec, ret_error);
        if (r != 0)
                return r;

        spec.identifier = value_get_string(value, "identifier");
        list_ignored_members(value, &spec);
        r = buffer_error(&spec.ignored_keys);
        if (r < 0)
                return r;
        *ret = spec;
        spec = (Spec){};
        return 0;
}
