/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/amun.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/import/amun_run.h"
#include "client/import/amun_stack.h"
#include "client/run/capture.h"
#include "client/facts/object_builder.h"
#include "value/value_parse.h"
#include "util/nearest.h"
#include "util/utf8.h"

/* The part of a document with the output and exit code of a run, and the path of its stdout for messages. */
typedef struct AmunPart {
        const Value *value;
        const char *stdout_path;
        bool is_top; /* the script's members and the runner's are both at the top level */
} AmunPart;

/* Returns true for members that the runner adds, where they are next to the script's at the top level. */
static bool is_runner_key(const char *key) {
        static const char *const keys[] = { "hwinfo", "stdout", "stderr", "exit_code", "script_sha256", "usage", "datetime",
                                            "start_datetime", "end_datetime", "os_release", "runtime_environment", "hostname" };

        return nearest_is_among(key, keys, N_ELEMENTS(keys));
}

/* A script may print some of the runner's keys, such as `hostname`, but is unlikely to print these three. */
static bool is_top_level(const Value *document) {
        const Value *exit_code = value_get(document, "exit_code"), *usage = value_get(document, "usage");

        return value_get(document, "@result") && exit_code && exit_code->type == VALUE_INT &&
               ((usage && usage->type == VALUE_OBJECT) || value_get_string(document, "script_sha256"));
}

static bool has_run(const Value *part) {
        const Value *exit_code = value_get(part, "exit_code");

        return value_get(part, "stdout") || (exit_code && exit_code->type == VALUE_INT);
}

static bool find_part(const Value *document, AmunPart *ret) {
        static const struct {
                const char *key, *stdout_path;
        } inner[] = { { "job_log", "job_log.stdout" }, { "log", "log.stdout" } };

        *ret = (AmunPart){ .value = document, .stdout_path = "stdout" };
        if (value_get(document, "@result")) {
                ret->stdout_path = "";
                ret->is_top = true;
                return is_top_level(document);
        }

        for (size_t i = 0; i < N_ELEMENTS(inner) && !has_run(ret->value); i++)
                if (has_run(value_get(document, inner[i].key)))
                        *ret = (AmunPart){ .value = value_get(document, inner[i].key), .stdout_path = inner[i].stdout_path };
        return has_run(ret->value);
}

/* Returns the result in an answer of the REST API; any other document unchanged. */
static const Value *unwrap(const Value *document) {
        const Value *result = value_get(document, "result"), *parameters = value_get(document, "parameters");
        AmunPart part;

        if (!parameters || parameters->type != VALUE_OBJECT || value_get(document, "@result") || has_run(document))
                return document;
        return result && find_part(result, &part) ? result : document;
}

bool amun_is_result(const Value *document) {
        AmunPart part;

        return document->type == VALUE_OBJECT && find_part(unwrap(document), &part);
}

/* --- output of the script ------------------------------------------------------------------------- */

static int parse_printed(const char *text, const char *path, Arena *arena, const Value **ret, Complaint *complaint) {
        Capture capture = { .text = { .text = (char *)text, .n = strlen(text) } }; /* borrowed, not released */
        const Value *documents[CAPTURE_DOCUMENTS_MAX];
        CaptureLoss loss;
        size_t n;
        int r;

        r = capture_find(&capture, arena, documents, &n, &loss);
        if (r < 0)
                return r;
        if (n == 0 && loss.error.line > 0)
                return indicator_complain(complaint, path, "contains no indicator: at line %u, column %u: %s", loss.error.line,
                                          loss.error.column, loss.error.text);
        if (n == 0)
                return indicator_complain(complaint, path, "contains no JSON object with @result, but '%.*s'", (int)utf8_cut(text, 60),
                                          text);
        if (n > 1)
                return indicator_complain(complaint, path, "contains %zu indicators; a run has only one: split it", n);

        *ret = documents[0];
        return 0;
}

/* Copies the script's members without the runner's. */
static int copy_script_members(const Value *document, Arena *arena, const Value **ret) {
        Member *members = arena_alloc(arena, document->n_members * sizeof(*members));
        Value *printed = arena_alloc(arena, sizeof(*printed));
        size_t n = 0;

        if (!members || !printed)
                return -ENOMEM;

        for (size_t i = 0; i < document->n_members; i++)
                if (!is_runner_key(document->members[i].key))
                        members[n++] = document->members[i];

        *printed = (Value){ .type = VALUE_OBJECT, .members = members, .n_members = n };
        *ret = printed;
        return 0;
}

static bool is_empty_output(const Value *printed) {
        return !printed || printed->type == VALUE_NULL || (printed->type == VALUE_OBJECT && printed->n_members == 0) ||
               (printed->type == VALUE_STRING && !printed->string[strspn(printed->string, " \t\r\n")]);
}

static int find_printed(const AmunPart *part, Arena *arena, const Value **ret, Complaint *complaint) {
        const Value *printed = value_get(part->value, "stdout");

        *ret = NULL;
        if (part->is_top)
                return copy_script_members(part->value, arena, ret);
        if (is_empty_output(printed))
                return 0;
        if (printed->type == VALUE_STRING)
                return parse_printed(printed->string, part->stdout_path, arena, ret, complaint);
        if (printed->type != VALUE_OBJECT)
                return indicator_complain(complaint, part->stdout_path, "is %s, must be what a script prints: an object with @result",
                                          value_type_text(printed));

        *ret = printed;
        return 0;
}

int amun_find_printed(const Value *document, Arena *arena, const Value **ret, Complaint *ret_complaint) {
        AmunPart part;

        if (!find_part(unwrap(document), &part))
                return indicator_complain(ret_complaint, "", "is not a result of Amun");
        return find_printed(&part, arena, ret, ret_complaint);
}

/* --- the indicator -------------------------------------------------------------------------------- */

/* Derives "matmul" from https://example.org/tensorflow/matmul.py. */
static const char *name_of_script(const char *origin, Arena *arena) {
        const char *base = origin ? strrchr(origin, '/') : NULL, *dot;
        char *name;

        if (!base || strchr(origin, '\n'))
                return NULL;

        dot = strrchr(++base, '.');
        name = arena_strndup(arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
        return name && indicator_name_is_valid(name, NAME_MAX_BYTES) ? name : NULL;
}

/* Makes the indicator of a failed run. The run's output is used only if it is a valid document. */
static int make_failed_indicator(const Value *printed, const AmunContext *context, const AmunPlace *place, Arena *arena, Indicator *ret,
                                 Complaint *complaint) {
        const IndicatorGiven given = {
                .name = context->name ?: name_of_script(amun_run_origin(place), arena),
                .component = context->component,
                .version = context->version ?: amun_run_text(place, "script_sha256"),
        };
        int r;

        r = indicator_from_failed_run(printed ?: context->printed, &given, DOCUMENT_LIMITS_NONE, ret, complaint);
        if (r == INDICATOR_INVALID && printed)
                r = indicator_from_failed_run(context->printed, &given, DOCUMENT_LIMITS_NONE, ret, complaint);
        if (r == INDICATOR_INVALID && !given.name)
                return indicator_complain(complaint, "name",
                                          "a failed run names no indicator: use --indicator-name, as in --indicator-name PiMatmul");
        return r;
}

static int make_indicator(const Value *printed, const AmunPart *part, const char *sha256, Arena *arena, Indicator *ret,
                          Complaint *complaint) {
        char path[2 * COMPLAINT_PATH_MAX];
        Complaint inner;
        int r = 0;

        if (sha256) /* as in Amun, the hash is the version if the script has none */
                r = object_builder_complete(printed, "version", sha256, arena, &printed);
        if (r == 0)
                r = indicator_from_value(printed, DOCUMENT_LIMITS_NONE, ret, &inner);
        if (r != INDICATOR_INVALID)
                return r;

        (void)snprintf(path, sizeof(path), "%s%s%s", part->stdout_path, part->stdout_path[0] && inner.path[0] ? "." : "", inner.path);
        return indicator_complain(complaint, path, "%s", inner.text);
}

/* --- exit code ------------------------------------------------------------------------------------ */

/* Python reports a signal as a negative number, a shell as 128 plus its number. */
static int read_exit_code(const Value *part, Submission *ret, Complaint *complaint) {
        int64_t code;

        if (!value_get_given(part, "exit_code"))
                return 0;
        if (!value_get_int(part, "exit_code", &code) || code < -127 || code > 255)
                return indicator_complain(complaint, "exit_code", "must be a whole number from 0 to 255, or -1 to -127 for a signal");

        ret->has_exit_status = true;
        ret->exit_status = (int32_t)(code < 0 ? 128 - code : code);
        return 0;
}

int amun_read(const Value *document, const AmunContext *context, Arena *arena, Submission *ret, Complaint *ret_complaint) {
        const Value *result = unwrap(document);
        AmunPlace place = {
                .document = result,
                .specification = value_get(result, "specification") ?: context->specification,
                .hwinfo = context->hwinfo,
                .inspection = context->inspection ?: value_get_string(value_get(document, "parameters"), "inspection_id"),
        };
        Submission submission = {};
        const Value *printed;
        AmunPart part;
        int r;

        if (!find_part(result, &part))
                return indicator_complain(ret_complaint, "", "is not a result of Amun: it has neither stdout nor exit_code");

        place.part = part.value;
        r = read_exit_code(part.value, &submission, ret_complaint);
        if (r == 0)
                r = find_printed(&part, arena, &printed, ret_complaint);
        /* the output of a failed run need not be valid */
        if (r == INDICATOR_INVALID && submission_has_failed(&submission)) {
                printed = NULL;
                r = 0;
        }
        if (r != 0)
                return r;

        if (!printed && !submission_has_failed(&submission)) {
                submission.has_exit_status = true;
                submission.exit_status = AMUN_PRINTED_NOTHING;
        }
        r = submission_has_failed(&submission) ?
                    make_failed_indicator(printed, context, &place, arena, &submission.indicator, ret_complaint) :
                    make_indicator(printed, &part, amun_run_text(&place, "script_sha256"), arena, &submission.indicator, ret_complaint);
        if (r == 0)
                r = amun_run_make(&place, arena, &submission, ret_complaint);
        if (r == 0)
                r = amun_stack_make(&place, arena, &submission);
        if (r != 0)
                return r;

        if (place.specification && place.specification->type == VALUE_OBJECT && place.specification->n_members > 0)
                submission.specification = place.specification;
        *ret = submission;
        return 0;
}

/* Covers the tree, the tree of a string in it, and the copies made for the run. */
size_t amun_arena_size(size_t n) {
        return 3 * value_parse_arena_size(n) + AMUN_RUN_ARENA_BYTES;
}
