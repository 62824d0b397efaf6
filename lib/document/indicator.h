/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Indicator: one measurement, as printed by a script
 *
 * The form is that of Thoth's performance indicators: an object with `@parameters`, `@result`, `name`, `framework`
 * or `component`, and any other members. The client checks the rules before sending, and the daemon before storing;
 * both use this module, so that their messages are the same.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "value/value.h"

#define NAME_MAX_BYTES 128U       /* length of a name, of [A-Za-z0-9_.:-] */
#define COMPONENT_MAX_BYTES 256U
#define KEY_MAX_BYTES 256U        /* length of any key */
#define STRING_MAX_BYTES 65536U   /* default length of any string in a document */
#define KEYS_MAX 65536U           /* default number of members in a whole document */

/* Sizes of a document that a node accepts: section [limits] of perfd.conf(5). */
typedef struct DocumentLimits {
        size_t string_bytes; /* length of any string */
        size_t n_keys;       /* number of members, also of inner objects */
} DocumentLimits;

#define DOCUMENT_LIMITS_DEFAULT ((DocumentLimits){ STRING_MAX_BYTES, KEYS_MAX })
#define DOCUMENT_LIMITS_NONE ((DocumentLimits){ SIZE_MAX, SIZE_MAX }) /* for clients: perfd decides */

typedef struct Indicator {
        const char *name;
        const char *component; /* `component`, or `framework` if that was given; as written, or folded by perfd */
        const char *written_component; /* original spelling, if perfd has folded the component; otherwise NULL */
        const char *version;   /* NULL if absent */
        bool has_overall_score; /* false if absent or null */
        double overall_score;
        const Value *parameters;
        const Value *result;
        const Value *document; /* the whole document, as printed */
} Indicator;

/* Names of a run that failed before it printed them. NULL or "": unknown. */
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

/* Checks a document and extracts its members. Everything in *ret is borrowed from `document`. 0, or
 * INDICATOR_INVALID with the first complaint. */
int indicator_from_value(const Value *document, DocumentLimits limits, Indicator *ret, Complaint *ret_complaint);

/*
 * Checks a failed run: its output, which may be an indicator, another document or missing (NULL), and the names that
 * the runner knows. Name, component and version come from the document if they are valid there; the name is
 * required. Parameters and result are used if they are objects. Otherwise as indicator_from_value().
 */
int indicator_from_failed_run(const Value *document, const IndicatorGiven *given, DocumentLimits limits, Indicator *ret,
                              Complaint *ret_complaint);

/* Checks an object that is kept with a document, by the rules for all documents: depth, keys, UTF-8, finite numbers.
 * 0, or INDICATOR_INVALID. */
int indicator_check_object(const Value *object, DocumentLimits limits, Complaint *ret_complaint);

/* Sets a complaint of another module: the path and a sentence, cut between characters. Returns INDICATOR_INVALID. */
int indicator_complain(Complaint *ret, const char *path, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* True if the component is in lower case, in which perfd compares and lists components: TensorFlow and tensorflow
 * are one. */
bool indicator_component_is_folded(const char *component);
/* Returns the component with a to z for A to Z: `component` itself, or a copy in the arena. NULL if the arena is
 * full. */
const char *indicator_folded_component(const char *component, Arena *arena);

/* True for 1…max_bytes characters of [A-Za-z0-9_.:-]. */
bool indicator_name_is_valid(const char *text, size_t max_bytes);
