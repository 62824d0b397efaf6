/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/parse.h"

static const Record label_record = RECORD(JobLabel,
        RECORD_TEXT_AS("k", JobLabel, key),
        RECORD_TEXT_AS("v", JobLabel, value));

const Record job_labels_record = RECORD(JobInfo,
        RECORD_LIST_OF(JobInfo, labels, n_labels, JOB_LABELS_MAX, &label_record));

int job_text_parse_labels(const char *text, JobInfo *info) {
        JobInfo parsed;
        int r;

        r = record_parse(&job_labels_record, text, &parsed);
        if (r != 0)
                return r;

        free(info->labels);
        info->labels = parsed.labels;
        info->n_labels = parsed.n_labels;
        return 0;
}

#define X(field) RECORD_VALUE_AS(#field, JobRusage, ru_##field),
const Record job_rusage_record = RECORD(JobRusage,
        RECORD_VALUE_AS("utime", JobRusage, ru_utime),
        RECORD_VALUE_AS("stime", JobRusage, ru_stime),
        RUSAGE_COUNTS(X));
#undef X

/* --- metrics ------------------------------------------------------------------------------------- */

#define COMPAT_PREFIX "compat."
#define COMPAT_LETTER 'C'
#define NO_COMPAT_LETTER 'Y'

static const char quality_letters[N_QUALITIES] = {
        [QUALITY_UNKNOWN_SOURCE] = 'U', [QUALITY_TOO_SHORT] = 'T', [QUALITY_LOST] = 'L',
        [QUALITY_NO_GROUP] = 'G',       [QUALITY_NOT_ENABLED] = 'O', [QUALITY_NO_LIMIT] = 'N',
        [QUALITY_NO_EQUIPMENT] = 'Q',   [QUALITY_SAMPLED] = 'S',        [QUALITY_EXACT] = 'V',
};

/* Names of the metrics of each kind. The first n_compat also have values of perf.py. */
typedef struct LayoutTable {
        const MetricInfo *info;
        size_t n, n_compat;
} LayoutTable;

static const LayoutTable tables[N_LAYOUT_KINDS] = {
        [LAYOUT_METRICS] = { metric_info, N_METRICS, N_PERFPY_METRICS },
        [LAYOUT_USAGE] = { usage_info, N_USAGES, 0 },
};

void job_text_write_layout(LayoutKind kind, Buffer *out) {
        const LayoutTable *table = &tables[kind];

        for (size_t i = 0; i < table->n; i++) {
                buffer_puts(out, i > 0 ? " " : "");
                buffer_puts(out, table->info[i].key);
        }
        for (size_t i = 0; i < table->n_compat; i++) {
                buffer_puts(out, " " COMPAT_PREFIX);
                buffer_puts(out, table->info[i].key);
        }
}

/* No number contains a capital letter, so that words need no separator. strtod() would read E and X as a part of the
 * number. */
static void write_word(char letter, bool has_number, double v, Buffer *out) {
        buffer_putc(out, letter);
        if (has_number && (v != 0 || signbit(v)))
                buffer_put_double(out, v);
}

static void write_values(const double *values, const uint8_t *qualities, size_t n, Buffer *out) {
        for (size_t i = 0; i < n; i++) {
                Quality quality = isfinite(values[i]) ? qualities[i] : QUALITY_UNKNOWN_SOURCE;

                assert(quality < N_QUALITIES);
                write_word(quality_letters[quality], quality_is_present(quality), values[i], out);
        }
}

void job_text_write_metrics(const MetricSet *metrics, Buffer *out) {
        write_values(metrics->value, metrics->quality, N_METRICS, out);
        for (size_t i = 0; i < N_PERFPY_METRICS; i++) {
                bool has = metrics->has_compat[i] && isfinite(metrics->compat[i]);

                write_word(has ? COMPAT_LETTER : NO_COMPAT_LETTER, has, metrics->compat[i], out);
        }
}

void job_text_write_usage(const UsageSet *usage, Buffer *out) {
        write_values(usage->value, usage->quality, N_USAGES, out);
}

static int place_find(const LayoutTable *table, const char *word, size_t n) {
        size_t n_prefix = strlen(COMPAT_PREFIX), n_keys = table->n;
        bool is_compat = n > n_prefix && memcmp(word, COMPAT_PREFIX, n_prefix) == 0;

        if (is_compat) {
                word += n_prefix;
                n -= n_prefix;
                n_keys = table->n_compat;
        }
        for (size_t i = 0; i < n_keys; i++)
                if (strncmp(table->info[i].key, word, n) == 0 && table->info[i].key[n] == '\0')
                        return (int)(is_compat ? table->n + i : i);
        return -1;
}

/* Returns the next word after blanks, and its length; NULL at the end. */
static const char *next_word(const char **p, size_t *ret_n) {
        const char *word = *p + strspn(*p, " ");

        *ret_n = strcspn(word, " ");
        *p = word + *ret_n;
        return *ret_n > 0 ? word : NULL;
}

int job_text_parse_layout(LayoutKind kind, const char *text, Layout *ret) {
        const char *word, *p = text;
        size_t n;

        ret->n = 0;
        while ((word = next_word(&p, &n))) {
                if (ret->n == LAYOUT_MAX)
                        return PARSE_MALFORMED;
                ret->place[ret->n++] = (int16_t)place_find(&tables[kind], word, n);
        }
        return 0;
}

/* Destination of the numbers of a text. */
typedef struct Numbers {
        size_t n; /* entries from here on are values of perf.py */
        double *value;
        uint8_t *quality;
        double *compat;
        bool *has_compat;
} Numbers;

/* Parses the number between a letter and the next one; an empty number is 0. */
static int parse_number(const char *p, const char *word_end, double *ret) {
        char *end;
        double v;

        if (p == word_end) {
                *ret = 0;
                return 0;
        }

        v = strtod(p, &end);
        if (end != word_end || !isfinite(v))
                return PARSE_MALFORMED;

        *ret = v;
        return 0;
}

/* Parses one word into its entry. */
static int take_word(const char *word, const char *end, size_t place, const Numbers *to) {
        const char *letter;

        if (place >= to->n) {
                place -= to->n;
                to->has_compat[place] = word[0] == COMPAT_LETTER;
                return to->has_compat[place] ? parse_number(word + 1, end, &to->compat[place]) : 0;
        }

        letter = memchr(quality_letters, word[0], N_QUALITIES);
        if (!letter)
                return PARSE_MALFORMED;
        to->quality[place] = (uint8_t)(letter - quality_letters);
        return quality_is_present(to->quality[place]) ? parse_number(word + 1, end, &to->value[place]) : 0;
}

static bool is_letter(char c) {
        return c >= 'A' && c <= 'Z';
}

static const char *find_word_end(const char *word) {
        const char *end = word + 1;

        while (*end && !is_letter(*end))
                end++;
        return end;
}

static int parse_numbers(const char *text, const Layout *layout, const Numbers *to) {
        const char *p = text, *end;
        size_t i = 0;

        for (; *p; p = end, i++) {
                if (i >= layout->n || !is_letter(*p))
                        return PARSE_MALFORMED;
                end = find_word_end(p);
                if (layout->place[i] >= 0 && take_word(p, end, (size_t)layout->place[i], to) != 0)
                        return PARSE_MALFORMED;
        }
        return i == layout->n ? 0 : PARSE_MALFORMED;
}

int job_text_parse_metrics(const char *text, const Layout *layout, MetricSet *ret) {
        MetricSet set = {};
        Numbers to = { N_METRICS, set.value, set.quality, set.compat, set.has_compat };

        if (parse_numbers(text, layout, &to) != 0)
                return PARSE_MALFORMED;

        *ret = set;
        return 0;
}

int job_text_parse_usage(const char *text, const Layout *layout, UsageSet *ret) {
        UsageSet set = {};
        Numbers to = { .n = N_USAGES, .value = set.value, .quality = set.quality };

        if (parse_numbers(text, layout, &to) != 0)
                return PARSE_MALFORMED;

        *ret = set;
        return 0;
}

double job_text_find_usage(const char *text, const Layout *layout, UsageMetric metric) {
        const char *p = text;
        size_t i = 0;
        double value = NAN;
        uint8_t quality = QUALITY_UNKNOWN_SOURCE;

        for (; *p && i < layout->n && layout->place[i] != (int16_t)metric; i++)
                p = find_word_end(p);
        if (!*p || i == layout->n ||
            take_word(p, find_word_end(p), 0, &(Numbers){ .n = 1, .value = &value, .quality = &quality }) != 0)
                return NAN;
        return quality_is_present(quality) ? value : NAN;
}

bool job_text_read_numbers(const JobNumberTexts *texts, MetricSet *ret_metrics, UsageSet *ret_usage) {
        bool has_metrics, has_usage;
        Layout layout;

        has_metrics = texts->metric_keys && texts->metrics &&
                      job_text_parse_layout(LAYOUT_METRICS, texts->metric_keys, &layout) == 0 &&
                      job_text_parse_metrics(texts->metrics, &layout, ret_metrics) == 0;
        if (!has_metrics)
                *ret_metrics = (MetricSet){};
        has_usage = texts->usage_keys && texts->usage &&
                    job_text_parse_layout(LAYOUT_USAGE, texts->usage_keys, &layout) == 0 &&
                    job_text_parse_usage(texts->usage, &layout, ret_usage) == 0;
        if (!has_usage)
                *ret_usage = (UsageSet){};
        return has_metrics && has_usage;
}
