/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_specification.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define ENVIRONMENT "environment"

typedef struct SpecificationWriter {
        const Value *settings;
        SweepUse *uses;
        Json json;
        Buffer path; /* owned; of the value that is being written, "" for the specification */
} SpecificationWriter;

static void specification_writer_deinit(SpecificationWriter *writer) {
        buffer_deinit(&writer->path);
}

/* Goes to a member. Returns the length to go back to. */
static size_t enter(SpecificationWriter *writer, const char *key) {
        size_t n = writer->path.n;

        buffer_printf(&writer->path, "%s%s", n > 0 ? "." : "", key);
        return n;
}

static void leave(SpecificationWriter *writer, size_t n) {
        if (writer->path.failed)
                return;
        writer->path.n = n;
        writer->path.text[n] = '\0';
}

static const char *path_of(const SpecificationWriter *writer) {
        return writer->path.text ?: "";
}

/* Returns the rest of the key of setting i after the path, or NULL if the field is not within the value at the path. */
static const char *find_rest(const SpecificationWriter *writer, size_t i) {
        const char *key = writer->settings->members[i].key;
        size_t n = writer->path.n;

        if (n == 0)
                return key;
        return strncmp(key, path_of(writer), n) == 0 && key[n] == '.' ? key + n + 1 : NULL;
}

static bool has_fields_within(const SpecificationWriter *writer) {
        for (size_t i = 0; i < writer->settings->n_members; i++)
                if (find_rest(writer, i))
                        return true;
        return false;
}

/* Returns the setting of the value at the path, or NULL. */
static const Value *take_setting(SpecificationWriter *writer) {
        for (size_t i = 0; i < writer->settings->n_members; i++)
                if (strcmp(writer->settings->members[i].key, path_of(writer)) == 0) {
                        writer->uses[i] = SWEEP_USE_CHANGED;
                        return &writer->settings->members[i].value;
                }
        return NULL;
}

/* --- lists of named entries ------------------------------------------------------------------------- */

/* Writes the value as a text: the variables of an environment are strings. */
static void write_text(SpecificationWriter *writer, const Value *value) {
        scoped(buffer_deinit) Buffer text = {};

        sweep_text_put(&text, value);
        writer->path.failed |= buffer_error(&text) < 0;
        json_string(&writer->json, text.text ?: "");
}

static void write_entry(SpecificationWriter *writer, const Value *entry) {
        const char *name = value_get_string(entry, "name") ?: value_get_string(entry, "path");
        const char *content = value_get_string(entry, "name") ? "value" : "content";
        size_t n = enter(writer, name ?: "");
        const Value *setting = name ? take_setting(writer) : NULL;

        leave(writer, n);
        if (!setting) {
                value_write_json(entry, &writer->json);
                return;
        }
        json_object_begin(&writer->json);
        for (size_t i = 0; i < entry->n_members; i++)
                if (strcmp(entry->members[i].key, content) != 0)
                        value_put_json(&entry->members[i].value, entry->members[i].key, &writer->json);
        json_key(&writer->json, content);
        write_text(writer, setting);
        json_object_end(&writer->json);
}

/* list NULL: empty. New entries are variables of the environment. */
static void write_list(SpecificationWriter *writer, const Value *list) {
        json_array_begin(&writer->json);
        for (size_t i = 0; list && i < list->n_items; i++)
                write_entry(writer, &list->items[i]);
        for (size_t i = 0; strcmp(path_of(writer), ENVIRONMENT) == 0 && i < writer->settings->n_members; i++) {
                const char *name = find_rest(writer, i);

                if (!name || writer->uses[i] != SWEEP_USE_NONE)
                        continue;
                writer->uses[i] = SWEEP_USE_CHANGED;
                json_object_begin(&writer->json);
                json_put_string(&writer->json, "name", name);
                json_key(&writer->json, "value");
                write_text(writer, &writer->settings->members[i].value);
                json_object_end(&writer->json);
        }
        json_array_end(&writer->json);
}

/* --- objects ---------------------------------------------------------------------------------------- */

static void write_value(SpecificationWriter *writer, const Value *value);

static void write_member(SpecificationWriter *writer, const Member *member) {
        size_t n = enter(writer, member->key);
        const Value *setting = take_setting(writer);

        json_key(&writer->json, member->key);
        if (setting)
                value_write_json(setting, &writer->json);
        else if (has_fields_within(writer))
                write_value(writer, &member->value);
        else
                value_write_json(&member->value, &writer->json);
        leave(writer, n);
}

static void add_members(SpecificationWriter *writer) {
        for (size_t i = 0; i < writer->settings->n_members; i++) {
                const char *key = find_rest(writer, i);

                if (!key || *key == '@' || strchr(key, '.') || writer->uses[i] != SWEEP_USE_NONE)
                        continue;
                writer->uses[i] = SWEEP_USE_ADDED;
                value_put_json(&writer->settings->members[i].value, key, &writer->json);
        }
}

static void add_environment(SpecificationWriter *writer) {
        size_t n = enter(writer, ENVIRONMENT);

        if (has_fields_within(writer)) {
                json_key(&writer->json, ENVIRONMENT);
                write_list(writer, NULL);
        }
        leave(writer, n);
}

static void write_value(SpecificationWriter *writer, const Value *value) {
        if (value->type == VALUE_LIST)
                write_list(writer, value);
        else if (value->type != VALUE_OBJECT)
                value_write_json(value, &writer->json);
        else {
                json_object_begin(&writer->json);
                for (size_t i = 0; i < value->n_members; i++)
                        write_member(writer, &value->members[i]);
                if (writer->path.n == 0 && !value_get(value, ENVIRONMENT))
                        add_environment(writer);
                add_members(writer);
                json_object_end(&writer->json);
        }
}

int sweep_specification_write(const Value *specification, const Value *settings, Buffer *out,
                              SweepUse uses[static SWEEP_SETTINGS_MAX]) {
        scoped(specification_writer_deinit)
                SpecificationWriter writer = { .settings = settings, .uses = uses, .json = { .out = out } };

        assert(specification->type == VALUE_OBJECT && settings->n_members <= SWEEP_SETTINGS_MAX);
        for (size_t i = 0; i < settings->n_members; i++)
                uses[i] = settings->members[i].key[0] == '@' ? SWEEP_USE_CHANGED : SWEEP_USE_NONE;
        buffer_puts(&writer.path, "");
        write_value(&writer, specification);
        return buffer_error(&writer.path) < 0 ? -ENOMEM : buffer_error(out);
}
