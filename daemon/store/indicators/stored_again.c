/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/stored_again.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/json_text.h"
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
        (void)snprintf(text, sizeof(text), "%.*s", (int)(value.n < VALUE_BYTES_MAX ? value.n : VALUE_BYTES_MAX), value.text);
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
static bool find_in_members(const char *path, unsigned depth, JsonText from, JsonText other, bool is_stored, Buffer *out) {
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
                return find_in_members(path, depth, stored, sent, true, out) || find_in_members(path, depth, sent, stored, false, out);

        describe(path, stored, sent, out);
        return true;
}

/* An exit status of 0 and none mean the same. */
static bool status_differs(int64_t stored, int64_t sent, Buffer *out) {
        if (stored != sent)
                buffer_printf(out, "the exit status is %" PRId64 ", and is %" PRId64 " now", stored, sent);
        return stored != sent;
}

enum { STORED_DOCUMENT, STORED_STATUS, N_COLUMNS };
STATEMENT stored_find = { "SELECT document, ifnull(exit_status, 0) FROM result WHERE id = ?1 AND uid = ?2", N_COLUMNS };

int stored_again_compare(Database *database, Field result_id, uint32_t uid, Field document, Field exit_status,
                         char ret[static STORED_AGAIN_TEXT_MAX]) {
        Prepared *row = database_prepare(database, &stored_find, FIELDS(result_id, field_u64(uid)));
        scoped(buffer_deinit) Buffer text = {};
        int r;

        ret[0] = '\0';
        r = database_step(database, row);
        if (r != DATABASE_ROW)
                return r;

        if (!status_differs(column_i64(row, STORED_STATUS), exit_status.integer, &text))
                (void)find_difference("", 0, column_json(row, STORED_DOCUMENT), json_text(document.text, (size_t)document.n), &text);
        r = database_finish(database, row);
        if (r == 0)
                r = buffer_error(&text);
        if (r == 0 && text.n > 0)
                (void)snprintf(ret, STORED_AGAIN_TEXT_MAX, "%.*s", (int)utf8_cut(text.text, STORED_AGAIN_TEXT_MAX - 1), text.text);
        return r;
}

/* --- specification ------------------------------------------------------------------------------- */

STATEMENT specification_find = { "SELECT ifnull(max(ifnull(specification, 0)), -1) FROM result WHERE id = ?1 AND uid = ?2", 1 };
STATEMENT specification_set = { "UPDATE result SET specification = ?3 WHERE id = ?1 AND uid = ?2", 0 };

int stored_again_specify(Database *database, Field result_id, uint32_t uid, int64_t specification) {
        int64_t stored = -1; /* -1: the result of another user */
        int r;

        r = database_get(database, &specification_find, FIELDS(result_id, field_u64(uid)), &stored);
        if (r != 0 || stored == -1 || stored == specification)
                return r;
        if (stored != 0)
                return STORED_AGAIN_DIFFERS;

        r = database_run(database, &specification_set, FIELDS(result_id, field_u64(uid), field_i64(specification)));
        return r == 0 ? STORED_AGAIN_COMPLETED : r;
}
