/* SPDX-License-Identifier: Apache-2.0 */
#include "store/catalog/duplicate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json/json_text.h"
#include "store/catalog/catalog.h"
#include "store/catalog/indexing.h"
#include "util/utf8.h"

/* --- differences --------------------------------------------------------------------------------- */

#define DEPTH_MAX 4U
#define VALUE_BYTES_MAX 40U
#define PATH_BYTES_MAX 120U

static void put_value(JsonText value, Buffer *out) {
        char text[VALUE_BYTES_MAX + 1];

        if (!value.text) {
                buffer_puts(out, "missing");
                return;
        }
        (void)snprintf(text, sizeof(text), "%.*s", (int)(value.n < VALUE_BYTES_MAX ? value.n : VALUE_BYTES_MAX),
                       value.text);
        buffer_put(out, text, utf8_cut(text, VALUE_BYTES_MAX));
        if (value.n > VALUE_BYTES_MAX)
                buffer_puts(out, "…");
}

static void describe(const char *path, JsonText stored, JsonText sent, Buffer *out) {
        buffer_printf(out, "%.*s is ", (int)utf8_cut(path, PATH_BYTES_MAX), *path ? path : "the document");
        put_value(stored, out);
        buffer_puts(out, ", and is ");
        put_value(sent, out);
        buffer_puts(out, " now");
}

static bool find_difference(const char *path, unsigned depth, JsonText stored, JsonText sent, Buffer *out);

/* Finds the first member of `from` that differs in `other`, or is missing there. */
static bool find_in_members(const char *path, unsigned depth, JsonText from, JsonText other, bool is_stored,
                            Buffer *out) {
        JsonWalk walk = json_text_walk(from);
        JsonText quoted, value;

        while (json_text_walk_next(&walk, &quoted, &value)) {
                scoped(buffer_deinit) Buffer key = {}, inner = {};
                JsonText of_other;

                json_text_decode(quoted, &key);
                buffer_printf(&inner, "%s%s%s", path, *path ? "." : "", key.text ? key.text : "");
                if (buffer_error(&key) < 0 || buffer_error(&inner) < 0) {
                        out->failed = true;
                        return true;
                }
                of_other = json_text_find(other, key.text ? key.text : "");
                if (is_stored && find_difference(inner.text, depth + 1, value, of_other, out))
                        return true;
                if (!is_stored && !of_other.text) {
                        describe(inner.text, of_other, value, out);
                        return true;
                }
        }
        return false;
}

static bool find_difference(const char *path, unsigned depth, JsonText stored, JsonText sent, Buffer *out) {
        if (json_text_equals(stored, sent))
                return false;
        if (depth < DEPTH_MAX && json_text_kind(stored) == JSON_KIND_OBJECT && json_text_kind(sent) == JSON_KIND_OBJECT)
                return find_in_members(path, depth, stored, sent, true, out) ||
                       find_in_members(path, depth, sent, stored, false, out);

        describe(path, stored, sent, out);
        return true;
}

/* An exit status of 0 and none mean the same. */
static bool status_differs(int64_t stored, int64_t sent, Buffer *out) {
        if (stored != sent)
                buffer_printf(out, "the exit status is %" PRId64 ", and is %" PRId64 " now", stored, sent);
        return stored != sent;
}

/* --- filling ------------------------------------------------------------------------------------- */

static void put_member(JsonText quoted, Json *json) {
        scoped(buffer_deinit) Buffer key = {};

        json_text_decode(quoted, &key);
        json_key(json, key.text ?: "");
}

/* The names that identify a result are known in any case. */
static bool is_identity(JsonText quoted) {
        static const char *const keys[] = { "name", "component", "framework" };

        for (size_t i = 0; i < N_ELEMENTS(keys); i++)
                if (json_text_is_string(quoted, keys[i], strlen(keys[i])))
                        return true;
        return false;
}

static JsonText find_member(JsonText object, JsonText quoted) {
        scoped(buffer_deinit) Buffer key = {};

        json_text_decode(quoted, &key);
        return json_text_find(object, key.text ?: "");
}

/* Writes the stored object with the members that only the sent one has, also of objects within. Returns true if
 * there are any. */
static bool put_filled(JsonText stored, JsonText sent, unsigned depth, Json *json) {
        JsonWalk walk = json_text_walk(stored);
        JsonText quoted, value;
        bool has_filled = false;

        json_object_begin(json);
        while (json_text_walk_next(&walk, &quoted, &value)) {
                JsonText other = find_member(sent, quoted);

                put_member(quoted, json);
                if (depth < DEPTH_MAX && json_text_kind(value) == JSON_KIND_OBJECT &&
                    json_text_kind(other) == JSON_KIND_OBJECT)
                        has_filled |= put_filled(value, other, depth + 1, json);
                else
                        json_text_write(value, json);
        }
        walk = json_text_walk(sent);
        while (json_text_walk_next(&walk, &quoted, &value)) {
                if ((depth == 0 && is_identity(quoted)) || find_member(stored, quoted).text)
                        continue;
                put_member(quoted, json);
                json_text_write(value, json);
                has_filled = true;
        }
        json_object_end(json);
        return has_filled;
}

/* --- the stored result ---------------------------------------------------------------------------- */

enum { STORED_DOCUMENT, STORED_STATUS, STORED_ROW, STORED_SERIES, STORED_IS_SAME, N_COLUMNS };
STATEMENT stored_find = SQL(
        "SELECT document, ifnull(exit_status, 0), row, ifnull(series, 0),"
        " (SELECT text FROM term WHERE id = name) = ?3 AND (SELECT text FROM term WHERE id = component) = ?4"
        " FROM result WHERE id = ?1 AND uid = ?2", N_COLUMNS);
STATEMENT stored_charge = SQL(
        "UPDATE holder SET n_bytes = n_bytes + length(CAST(?2 AS BLOB)) -"
        " (SELECT length(CAST(document AS BLOB)) FROM result WHERE row = ?3) WHERE uid = ?1", 0);
STATEMENT stored_fill = SQL(
        "UPDATE result SET document = ?2, version = coalesce(version, ?3), score = coalesce(score, ?4) WHERE row = ?1",
        0);
STATEMENT stored_replace = SQL(
        "UPDATE result SET document = ?2, version = ?3, score = ?4, exit_status = ?5 WHERE row = ?1", 0);

typedef struct Found {
        int64_t row, series;
        bool is_same_name;
        Buffer document; /* owned; new document of the result */
        bool has_filled;
        Buffer difference; /* owned */
} Found;

static void found_deinit(Found *found) {
        buffer_deinit(&found->document);
        buffer_deinit(&found->difference);
}

/* Reads the stored row, and finds its missing members and its first difference. */
static void read_row(const Prepared *row, const Duplicate *sent, Found *ret) {
        JsonText stored = column_json(row, STORED_DOCUMENT),
                 document = json_text(sent->document.text, (size_t)sent->document.n);

        ret->row = column_i64(row, STORED_ROW);
        ret->series = column_i64(row, STORED_SERIES);
        ret->is_same_name = column_i64(row, STORED_IS_SAME);
        if (!ret->is_same_name)
                buffer_puts(&ret->difference, "it is a result of another indicator or component");
        if (!ret->is_same_name ||
            status_differs(column_i64(row, STORED_STATUS), sent->exit_status.integer, &ret->difference))
                return;
        ret->has_filled = put_filled(stored, document, 0, &(Json){ .out = &ret->document }) &&
                          ret->document.n <= DUPLICATE_DOCUMENT_MAX;
        if (ret->has_filled)
                stored = json_text(ret->document.text ?: "", ret->document.n);
        (void)find_difference("", 0, stored, document, &ret->difference);
}

/* The result moves to the series of its new parameters. */
static int update(Database *database, Catalog *catalog, const Duplicate *sent, const Found *found, int64_t *n_new_max) {
        Field row = field_i64(found->row), document = sent->replaces ? sent->document : field_buffer(&found->document);
        int r;

        r = database_run(database, &stored_charge, FIELDS(field_u64(sent->uid), document, row));
        if (r == 0 && sent->replaces)
                r = database_run(database, &stored_replace,
                                 FIELDS(row, document, sent->version, sent->score, sent->exit_status));
        else if (r == 0)
                r = database_run(database, &stored_fill, FIELDS(row, document, sent->version, sent->score));
        if (r != 0 || found->series == 0)
                return r;

        r = indexing_index_row(database, catalog, found->row, n_new_max);
        catalog_forget_series(catalog); /* the former series may have lost its last point */
        return r;
}

int duplicate_apply(Database *database, Catalog *catalog, const Duplicate *sent, int64_t *n_new_max,
                    DuplicateOutcome *ret, char ret_difference[static DUPLICATE_TEXT_MAX]) {
        Prepared *row = database_prepare(database, &stored_find,
                                         FIELDS(sent->id, field_u64(sent->uid), sent->name, sent->component));
        scoped(found_deinit) Found found = {};
        bool is_change, replaces;
        int r;

        *ret = DUPLICATE_UNCHANGED;
        ret_difference[0] = '\0';
        r = database_step(database, row);
        if (r != DATABASE_ROW)
                return r;
        read_row(row, sent, &found);
        r = database_finish(database, row);
        if (r != 0 || buffer_error(&found.document) < 0 || buffer_error(&found.difference) < 0)
                return r != 0 ? r : -ENOMEM;

        is_change = found.has_filled || found.difference.n > 0;
        replaces = sent->replaces && found.is_same_name && is_change;
        if (found.difference.n > 0 && !replaces)
                (void)snprintf(ret_difference, DUPLICATE_TEXT_MAX, "%.*s",
                               (int)utf8_cut(found.difference.text, DUPLICATE_TEXT_MAX - 1), found.difference.text);
        if (!replaces && !found.has_filled)
                return 0;
        *ret = replaces ? DUPLICATE_REPLACED : DUPLICATE_COMPLETED;
        return update(database, catalog, sent, &found, n_new_max);
}
