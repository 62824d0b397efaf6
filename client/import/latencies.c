/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/latencies.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/statistics.h"
#include "client/facts/object_builder.h"
#include "util/nearest.h"
#include "util/parse.h"
#include "util/scoped.h"
#include "value/value_parse.h"

/* --- latency --------------------------------------------------------------------------------------- */

#define US_PER_S 1e6

#define X(id, name) name,
static const char *const names[N_LATENCY_METRICS] = { LATENCY_METRICS(X) };
#undef X

static const double shares[] = { 0.50, 0.75, 0.90, 0.95, 0.99 };

const char *latencies_name(LatencyMetric metric) {
        return names[metric];
}

static void put_percentiles(double *values, size_t n, double ret[static N_ELEMENTS(shares)]) {
        statistics_sort(values, n);
        for (size_t i = 0; i < N_ELEMENTS(shares); i++)
                ret[i] = statistics_quantile_of_sorted(values, n, shares[i]);
}

static uint64_t length_of(const LatencyInput *input, size_t i) {
        return input->lengths ? input->lengths[i] : input->length;
}

int latencies_compute(const LatencyInput *input, LatencySet *ret) {
        scoped(freep) double *batches = NULL, *queries = NULL;
        double sum = 0;
        uint64_t n_queries = 0;

        batches = calloc(input->n + 1, sizeof(*batches));
        queries = calloc(input->n + 1, sizeof(*queries));
        if (!batches || !queries)
                return -ENOMEM;

        for (size_t i = 0; i < input->n; i++) {
                uint64_t length = length_of(input, i);

                n_queries += length;
                sum += input->seconds[i];
                batches[i] = input->seconds[i] * US_PER_S;
                queries[i] = batches[i] / (double)length;
        }

        *ret = (LatencySet){ .n = LATENCY_AVERAGE, .value = { (double)input->n, (double)n_queries } };
        if (input->n >= 1) {
                ret->n = LATENCY_BATCH_P50;
                ret->value[LATENCY_AVERAGE] = sum * US_PER_S / (double)n_queries;
        }
        if (input->n >= 2) {
                ret->n = N_LATENCY_METRICS;
                put_percentiles(batches, input->n, &ret->value[LATENCY_BATCH_P50]);
                put_percentiles(queries, input->n, &ret->value[LATENCY_QUERY_P50]);
        }
        return 0;
}

/* --- latencies --------------------------------------------------------------------------------------- */

#define NAME "inference_latency"
#define COMPONENT "inference" /* default component */
#define SHAPE "{\"time_per_batch\": [0.0123, …], \"batch_length\": 8}"
#define EXPECTED "expected one number of seconds on each line, or " SHAPE
#define SECONDS_MAX 1e9 /* about thirty years */
#define NUMBER_BYTES_MAX 64U

static void free_batches(LatencyInput *batches) {
        free(batches->seconds);
        free(batches->lengths);
}

/* The densest input, {"time_per_batch":[0,0]} repeated, needs about 800 bytes of memory for 24 bytes of text. */
size_t latencies_arena_size(size_t n) {
        return 65536 + 40 * n;
}

/* --- input ---------------------------------------------------------------------------------------- */

static int check_seconds(double seconds, const char *path, Complaint *complaint) {
        if (seconds < 0)
                return indicator_complain(complaint, path,
                                          "is negative: the time that a batch took, in seconds, is 0 or more");
        if (seconds > SECONDS_MAX)
                return indicator_complain(complaint, path, "is %g, which is more than 30 years: give seconds", seconds);
        return 0;
}

static int read_seconds(const Value *list, LatencyInput *ret, Complaint *complaint) {
        char path[48];
        int r;

        if (!list || list->type != VALUE_LIST)
                return indicator_complain(complaint, "time_per_batch",
                                          "%s%s, must be a list of seconds: expected " SHAPE, list ? "is " : "missing",
                                          list ? value_type_text(list) : "");
        if (list->n_items == 0)
                return indicator_complain(complaint, "time_per_batch",
                                          "is empty: give the seconds of at least one batch");

        ret->n = list->n_items;
        ret->seconds = calloc(ret->n, sizeof(*ret->seconds));
        if (!ret->seconds)
                return -ENOMEM;

        for (size_t i = 0; i < ret->n; i++) {
                const Value *item = &list->items[i];

                snprintf(path, sizeof(path), "time_per_batch[%zu]", i);
                if (!value_is_number(item))
                        return indicator_complain(complaint, path, "is %s, must be a number of seconds",
                                                  value_type_text(item));
                ret->seconds[i] = value_number(item);
                r = check_seconds(ret->seconds[i], path, complaint);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Accepts 8.0 for 8: many languages print integral floats this way. */
static int read_length(const Value *value, const char *path, uint64_t *ret, Complaint *complaint) {
        double length = value_is_number(value) ? value_number(value) : 0;

        if (!(length >= 1 && length <= LATENCY_LENGTH_MAX && length == floor(length)))
                return indicator_complain(complaint, path,
                                          "must be a whole number from 1 to %d, the number of queries in a batch",
                                          LATENCY_LENGTH_MAX);

        *ret = (uint64_t)length;
        return 0;
}

static int read_lengths(const Value *list, LatencyInput *ret, Complaint *complaint) {
        char path[48];
        int r;

        if (list->n_items != ret->n)
                return indicator_complain(complaint, "batch_length",
                                "has %zu items and time_per_batch %zu: give one for each batch, or one number for all",
                                list->n_items, ret->n);

        ret->lengths = calloc(ret->n, sizeof(*ret->lengths));
        if (!ret->lengths)
                return -ENOMEM;

        for (size_t i = 0; i < ret->n; i++) {
                snprintf(path, sizeof(path), "batch_length[%zu]", i);
                r = read_length(&list->items[i], path, &ret->lengths[i], complaint);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Reads the batch length; the default is 1, as in log_inferencing_latencies(). */
static int read_batch_length(const Value *document, uint64_t given, LatencyInput *ret, Complaint *complaint) {
        const Value *value = value_get(document, "batch_length");

        ret->length = given > 0 ? given : 1;
        if (!value)
                return 0;
        if (given > 0)
                return indicator_complain(complaint, "batch_length",
                                          "is given here and with --batch-length: remove one");

        return value->type == VALUE_LIST ? read_lengths(value, ret, complaint) :
                                           read_length(value, "batch_length", &ret->length, complaint);
}

/* --- the indicator -------------------------------------------------------------------------------- */

/* Returns true for members that have the same meaning in every indicator. */
static bool is_of_indicator(const char *key) {
        static const char *const keys[] = { "component", "framework", "version", "overall_score" };

        return nearest_is_among(key, keys, N_ELEMENTS(keys));
}

static bool is_input(const char *key) {
        return strcmp(key, "time_per_batch") == 0 || strcmp(key, "batch_length") == 0;
}

/* Adds the batch length if all batches have the same; a list as long as the input is not useful as a parameter. */
static void put_lengths(ObjectBuilder *parameters, const LatencyInput *batches) {
        uint64_t min = UINT64_MAX, max = 0;

        for (size_t i = 0; batches->lengths && i < batches->n; i++) {
                min = batches->lengths[i] < min ? batches->lengths[i] : min;
                max = batches->lengths[i] > max ? batches->lengths[i] : max;
        }

        if (!batches->lengths || min == max) {
                object_builder_put_int(parameters, "batch_length", (int64_t)(batches->lengths ? min : batches->length));
                return;
        }
        object_builder_put_int(parameters, "batch_length_min", (int64_t)min);
        object_builder_put_int(parameters, "batch_length_max", (int64_t)max);
}

static int put_result(const LatencyInput *batches, ObjectBuilder *indicator) {
        ObjectBuilder result, units;
        LatencySet set;
        int r;

        r = latencies_compute(batches, &set);
        if (r < 0)
                return r;

        object_builder_init(&result, indicator->arena, set.n);
        for (size_t i = 0; i < set.n; i++) {
                if (i < LATENCY_AVERAGE)
                        object_builder_put_int(&result, latencies_name((LatencyMetric)i), (int64_t)set.value[i]);
                else
                        object_builder_put_double(&result, latencies_name((LatencyMetric)i), set.value[i]);
        }
        object_builder_put_object(indicator, "@result", &result);

        /* the only unit that is not part of a name */
        object_builder_init(&units, indicator->arena, 1);
        object_builder_put_text(&units, latencies_name(LATENCY_AVERAGE), "us");
        object_builder_put_object(indicator, "units", &units);
        return 0;
}

/* document: the other members of the input; NULL if there are none. */
static int make_indicator(const Value *document, const LatencyInput *batches, Arena *arena, const Value **ret) {
        size_t n_more = document ? document->n_members : 0;
        Value *value = arena_alloc(arena, sizeof(*value));
        ObjectBuilder indicator, parameters;
        int r;

        object_builder_init(&indicator, arena, n_more + 5);
        object_builder_init(&parameters, arena, n_more + 2);
        object_builder_put_text(&indicator, "name", NAME);
        if (!value_get(document, "component") && !value_get(document, "framework"))
                object_builder_put_text(&indicator, "component", COMPONENT);
        put_lengths(&parameters, batches);
        for (size_t i = 0; i < n_more; i++) {
                const Member *member = &document->members[i];

                if (!is_input(member->key))
                        object_builder_put(is_of_indicator(member->key) ? &indicator : &parameters, member->key,
                                           &member->value);
        }
        object_builder_put_object(&indicator, "@parameters", &parameters);
        r = put_result(batches, &indicator);
        if (r == 0)
                r = value ? object_builder_end(&indicator, value) : -ENOMEM;
        if (r == 0)
                *ret = value;
        return r;
}

static int check_members(const Value *document, Complaint *complaint) {
        if (document->type != VALUE_OBJECT)
                return indicator_complain(complaint, "", "is %s, must be an object: expected " SHAPE,
                                          value_type_text(document));
        if (document->n_members > KEYS_MAX)
                return indicator_complain(complaint, "", "has more than %u keys", KEYS_MAX);

        for (size_t i = 0; i < document->n_members; i++) {
                const char *key = document->members[i].key;

                if (key[0] == '@')
                        return indicator_complain(complaint, key,
                                                  "is computed by --latencies: remove it, or submit without "
                                                  "--latencies");
                if (strcmp(key, "name") == 0)
                        return indicator_complain(complaint, key,
                                                  "is always " NAME
                                                  ": remove it, and name the software in \"component\"");
        }
        return 0;
}

int latencies_from_value(const Value *document, uint64_t batch_length, Arena *arena, const Value **ret,
                         Complaint *ret_complaint) {
        scoped(free_batches) LatencyInput batches = {};
        int r;

        r = check_members(document, ret_complaint);
        if (r == 0)
                r = read_seconds(value_get(document, "time_per_batch"), &batches, ret_complaint);
        if (r == 0)
                r = read_batch_length(document, batch_length, &batches, ret_complaint);

        return r == 0 ? make_indicator(document, &batches, arena, ret) : r;
}

/* --- plain numbers -------------------------------------------------------------------------------- */

bool latencies_are_lines(const char *text, size_t n) {
        ValueReader reader;

        value_parse_begin(&reader, text, n);
        return !value_parse_seek(&reader);
}

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r';
}

/* line: without its newline; may have blanks around the number. */
static int parse_line(const char *line, size_t n, LatencyInput *batches, Complaint *complaint) {
        char number[NUMBER_BYTES_MAX];
        int r;

        while (n > 0 && is_blank(line[n - 1]))
                n--;
        while (n > 0 && is_blank(*line))
                line++, n--;
        if (n == 0)
                return 0;

        snprintf(number, sizeof(number), "%.*s", n < sizeof(number) ? (int)n : (int)sizeof(number) - 1, line);
        if (n >= sizeof(number) || strlen(number) != n || parse_double(number, &batches->seconds[batches->n]) != 0)
                return indicator_complain(complaint, "", "'%.40s' is not a finite number%s: " EXPECTED, number,
                                          parse_is_decimal_comma(number) ? " (decimal comma?)" : "");

        r = check_seconds(batches->seconds[batches->n], number, complaint);
        if (r == 0)
                batches->n++;
        return r;
}

static int parse_lines(const char *text, size_t n, LatencyInput *batches, Complaint *complaint, unsigned *ret_line) {
        unsigned line = 1;
        int r;

        batches->seconds = calloc(n / 2 + 1, sizeof(*batches->seconds));
        if (!batches->seconds)
                return -ENOMEM;

        for (size_t at = 0; at < n; line++) {
                const char *newline = memchr(text + at, '\n', n - at);
                size_t end = newline ? (size_t)(newline - text) : n;

                *ret_line = line;
                r = parse_line(text + at, end - at, batches, complaint);
                if (r != 0)
                        return r;
                at = end + 1;
        }

        *ret_line = 1;
        return batches->n > 0 ? 0 : indicator_complain(complaint, "", "contains no time: " EXPECTED);
}

int latencies_from_lines(const char *text, size_t n, uint64_t batch_length, Arena *arena, const Value **ret,
                         Complaint *ret_complaint, unsigned *ret_line) {
        scoped(free_batches) LatencyInput batches = { .length = batch_length > 0 ? batch_length : 1 };

        return parse_lines(text, n, &batches, ret_complaint, ret_line) ?: make_indicator(NULL, &batches, arena, ret);
}
