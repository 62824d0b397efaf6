/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Format: how the output of another program becomes indicators
 *
 * Options of the command line, or of a file of them (conf/formats.d), name the elements of a JSON value, or the
 * lines of a text by regular expressions, each of which is a document, and the paths within an element to its
 * component, parameters and results. perfctl-formats(5) describes the options and the paths; no format has code of
 * its own.
 */

#include "client/cli/options.h"
#include "util/arena.h"
#include "util/buffer.h"
#include "value/value.h"

typedef struct FormatOptions {
        const char *from;      /* name or path of a file of options; NULL: none; also below */
        OptionTexts each;      /* paths; the first one that fits a value of the input is used */
        const char *component_from, *version_from, *time_from;
        OptionTexts lines, headings;                          /* regular expressions */
        OptionTexts parameters, results, units, units_from, where, results_where;
} FormatOptions;

extern const Option format_options[];

/* Returns true if one of the options is set. */
bool format_is_given(const FormatOptions *options);

/* All options of a format, those of the command line first. */
typedef struct OutputFormat {
        FormatOptions options; /* borrowed from the command line, or from `text` */
        const char *indicator;
        const char *component, *default_component; /* of the command line, and of the file */
        Buffer text; /* owned: of the file */
} OutputFormat;

void format_deinit(OutputFormat *format);

/*
 * Reads the file of options that `given` names, if any, and checks that nothing is missing. indicator, component: as
 * given by options of the command line; NULL: none. Returns EXIT_DONE, or an exit status after a message.
 */
int format_load(const FormatOptions *given, const char *indicator, const char *component, OutputFormat *ret);

typedef struct FormatDocument {
        const Value *value; /* an indicator, not checked */
        uint64_t time_ms;   /* 0: unknown */
        unsigned line;
} FormatDocument;

#define FORMAT_ERROR_MAX 500
#define FORMAT_NULL_TEXT "numbers that are null, NaN or infinite, and do not count: %zu"
#define FORMAT_LEFT_OUT_TEXT "elements that --where leaves out: %zu (%s)"

typedef struct FormatResult {
        FormatDocument *documents; /* owned; the values live in the arena */
        size_t n;
        size_t n_null;             /* numbers of results that are null, NaN or infinite */
        size_t n_left_out;         /* elements that --where leaves out, or all results of which --result-where does */
        const char *left_out_by;   /* borrowed from the format: the first condition that did; NULL: they are null */
        unsigned line;             /* place of an error */
        char error[FORMAT_ERROR_MAX];
} FormatResult;

void format_result_deinit(FormatResult *result);

enum {
        FORMAT_WRONG = 1, /* the result has the error */
};

/*
 * Makes documents of a text, which encoding_unify() has made, and which a NUL follows. arena: of
 * format_arena_size(n) bytes. Returns 0, FORMAT_WRONG or -ENOMEM.
 */
int format_read(const OutputFormat *format, const char *text, size_t n, Arena *arena, FormatResult *ret);
size_t format_arena_size(size_t n);
