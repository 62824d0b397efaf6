/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Indicator: one measurement a script printed
 *
 * The shape of Thoth's performance indicators (perfd.conf names no other): an object with
 * `@parameters`, `@result`, `name`, `framework` or `component`, and whatever else the
 * script had to say. The rules are checked in one place for the client (before sending)
 * and the daemon (before storing), so both say the same words.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/value.h"

#define NAME_MAX_BYTES 128U       /* names: [A-Za-z0-9_.:-] */
#define COMPONENT_MAX_BYTES 256U
#define KEY_MAX_BYTES 256U        /* of a member, wherever it is */
#define STRING_MAX_BYTES 65536U   /* any string inside a document, unless [limits] string_size says otherwise */
#define STRING_ANY_BYTES SIZE_MAX /* of who only sends it: perfd alone knows its string_size, and judges */
#define KEYS_MAX 4096U            /* members in a whole document */

typedef struct Indicator {
        const char *name;
        const char *component; /* `component`, or `framework` where that was given */
        const char *version;   /* NULL when not given */
        bool has_overall_score; /* false when absent or null */
        double overall_score;
        const Value *parameters;
        const Value *result;
        const Value *document; /* all of it, as printed */
} Indicator;

/* A runner's knowledge of a run that failed before naming itself. NULL or "": unknown. */
typedef struct IndicatorGiven {
        const char *name, *component, *version;
} IndicatorGiven;

#define COMPLAINT_PATH_MAX 200
#define COMPLAINT_TEXT_MAX 300

/* Place of an error ("@result.rate"; "" for the whole document) and a sentence with the fix. */
typedef struct Complaint {
        char path[COMPLAINT_PATH_MAX];
        char text[COMPLAINT_TEXT_MAX];
} Complaint;

enum {
        INDICATOR_INVALID = 1,
};

/*
 * Checks a document and takes it apart. Everything in *ret is borrowed from `document`.
 * 0, or INDICATOR_INVALID with the first complaint. string_max: longest string in bytes.
 */
int indicator_from_value(const Value *document, size_t string_max, Indicator *ret, Complaint *ret_complaint);

/*
 * A run that failed: whatever it printed, which may be no indicator or nothing at all (NULL), and what its runner knows of
 * it. Name, component and version come from the document where it has proper ones; the name is required. Parameters and result
 * are taken where they are objects. The rest as indicator_from_value().
 */
int indicator_from_failed_run(const Value *document, const IndicatorGiven *given, size_t string_max, Indicator *ret,
                              Complaint *ret_complaint);

/*
 * An object that is kept beside a document, by the rules for all documents: depth, keys, UTF-8, finite numbers.
 * 0, or INDICATOR_INVALID.
 */
int indicator_check_object(const Value *object, size_t string_max, Complaint *ret_complaint);

/* For complaints of other modules: the path and a sentence, cut between characters. Returns INDICATOR_INVALID. */
int indicator_complain(Complaint *ret, const char *path, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* True for 1…max_bytes characters of [A-Za-z0-9_.:-]. */
bool indicator_name_is_valid(const char *text, size_t max_bytes);
