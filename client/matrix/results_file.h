/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Results file: results.yaml, the declaration of what the tests of a directory have measured
 *
 * perfd-results(5) describes it. Since a parser of the file is a program that is run, the file is never taken from
 * the directory of results.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/api/model_set.h"
#include "client/format/regex.h"
#include "client/matrix/test_tree.h"
#include "document/expression.h"
#include "document/indicator_model.h"
#include "document/property.h"
#include "util/arena.h"
#include "util/buffer.h"
#include "value/value.h"

#define RESULTS_FILE_NAME "results.yaml"
#define RESULTS_FILE_VALUES_MAX 1024U

typedef enum ValueSource {
        VALUE_FROM_PATH,      /* of JSON or YAML */
        VALUE_FROM_COLUMN,    /* of CSV */
        VALUE_FROM_LINE,      /* of a text: a regular expression */
        VALUE_FROM_CONTAINER, /* of the pods in JSON */
        VALUE_FROM_QUERY,     /* of Prometheus */
        VALUE_FROM_METRIC,    /* of the job that the file names */
} ValueSource;

/* The number or text that is taken of a container, or of each series of a query. */
typedef enum ValueTake {
        VALUE_TAKE_DEFAULT,   /* the exit code, or the maximum */
        VALUE_TAKE_EXIT_CODE,
        VALUE_TAKE_REASON,    /* of the container's end */
        VALUE_TAKE_MAX,
        VALUE_TAKE_MIN,
        VALUE_TAKE_MEAN,      /* weighted by time */
        VALUE_TAKE_LAST,
} ValueTake;

/* The value that several series of a query become. */
typedef enum ValueSeries {
        VALUE_SERIES_ONE, /* an error */
        VALUE_SERIES_MAX,
        VALUE_SERIES_ALL, /* a list */
} ValueSeries;

/* Which of several matches or rows. */
typedef enum ValueChoice {
        VALUE_FIRST,
        VALUE_LAST,
        VALUE_ALL, /* as a list */
} ValueChoice;

/* How one value is read; texts are borrowed from the declaration. */
typedef struct ValueRule {
        const char *name;
        const char *directory; /* pattern of the artifact's directory within the test; NULL: the test's own */
        const char *file;      /* pattern within the directory; NULL: of a query */
        ValueSource source;
        const char *from;      /* path, name of a column, regular expression, name of a container, query, or metric */
        ValueChoice which;
        unsigned types;        /* one of PropertyType; 0: any */
        const char *unit;      /* NULL: none */
        bool is_optional;      /* a missing value is no error */
        bool is_always;        /* read each time, and never taken from a cache */
        ValueTake take;
        ValueSeries series;
        Regex *regex;          /* owned; of a line */
} ValueRule;

/* One of the results, borrowed from the declaration. */
typedef struct ResultRule {
        const char *name, *from; /* name of a value, or an expression over values and settings */
        Expression expression;   /* of `from`; unused if it names a value */
} ResultRule;

/* Steps that the declaration can switch off. */
typedef struct ResultsSwitches {
        bool generates, stores, judges, fails_on_regression;
} ResultsSwitches;

/* Program of the site. */
typedef struct ResultsParser {
        const Value *words; /* list of texts; NULL: none */
        uint64_t timeout_ns;
} ResultsParser;

/* Servers that payloads are published to; texts are NULL if they are not declared. */
typedef struct ResultsExport {
        const char *instance, *index, *index_prefix, *prom_index_suffix; /* of OpenSearch */
        const char *test_name; /* of Horreum */
        bool is_enabled, is_enabled_on_replot, fails_test;
} ResultsExport;

typedef struct ResultsServers {
        const char *prometheus; /* URL; NULL: none */
        const char *dump;       /* pattern of each test's own dump, instead of the URL; NULL: none */
        ResultsExport export;
} ResultsServers;

typedef struct ResultsFile {
        const char *path; /* borrowed */
        Buffer text;
        Arena arena;
        const Value *root; /* with the presets applied */
        const char *name;       /* of the results: that of the model; NULL: none */
        const Value *important; /* list of patterns; NULL: all files are */
        ResultsParser parser;
        ResultsServers servers;
        const char *start, *end; /* names of values; NULL: times of files */
        ValueRule *rules; /* owned */
        size_t n_rules;
        const IndicatorModel *model; /* of the results; NULL: none is declared */
        IndicatorModel own_model;    /* declared in the file itself */
        ModelSet models;             /* of a file of its own */
        ResultRule *results; /* owned */
        size_t n_results;    /* 0: all values are results */
        ResultsSwitches switches;
        const char *const *presets; /* borrowed */
        size_t n_presets;
} ResultsFile;

/*
 * Reads the declaration and applies the presets, in their order. path: NULL for results.yaml in the current
 * directory. tree: whose files are no declaration. Returns EXIT_DONE, or an exit status after a message with file and
 * line. Call results_file_deinit() in all cases.
 */
int results_file_open(ResultsFile *ret, const char *path, const TestTree *tree, const char *const *presets,
                      size_t n_presets);
void results_file_deinit(ResultsFile *file);

/* True if a pattern of a declaration stays within the directory to which it is relative. */
bool results_file_is_inner_path(const char *path);
