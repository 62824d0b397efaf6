/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- labels -------------------------------------------------------------------------------------- */

static void write_escaped(const char *text, Buffer *out) {
        for (; *text; text++) {
                if (*text == '\\' || *text == '=' || *text == '\n')
                        buffer_putc(out, '\\');
                buffer_putc(out, *text == '\n' ? 'n' : *text);
        }
}

void labels_write(const JobInfo *info, Buffer *out) {
        for (size_t i = 0; i < info->n_labels; i++) {
                write_escaped(info->labels[i].key, out);
                buffer_putc(out, '=');
                write_escaped(info->labels[i].value, out);
                buffer_putc(out, '\n');
        }
}

/* Up to an unescaped `end`; past it, or NULL when it is missing or there is no room. */
static const char *parse_escaped(const char *p, char end, char *ret, size_t n_max) {
        size_t n = 0;

        for (; *p && *p != end; p++) {
                char c = *p;

                if (c == '\\') {
                        c = *++p == 'n' ? '\n' : *p;
                        if (!c)
                                return NULL;
                }
                if (n + 1 >= n_max)
                        return NULL;
                ret[n++] = c;
        }

        ret[n] = '\0';
        return *p == end ? p + 1 : NULL;
}

static int add_label(JobInfo *info, const JobLabel *label) {
        JobLabel *labels = reallocarray(info->labels, info->n_labels + 1, sizeof(*labels));

        if (!labels)
                return -ENOMEM;

        labels[info->n_labels++] = *label;
        info->labels = labels;
        return 0;
}

int labels_parse(const char *text, JobInfo *info) {
        const char *p = text;

        while (*p) {
                JobLabel label;
                int r;

                p = parse_escaped(p, '=', label.key, sizeof(label.key));
                if (p)
                        p = parse_escaped(p, '\n', label.value, sizeof(label.value));
                if (!p)
                        return JOB_TEXT_MALFORMED;

                r = add_label(info, &label);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- words --------------------------------------------------------------------------------------- */

/* The next word after blanks, and its length; NULL at the end. */
static const char *next_word(const char **p, size_t *ret_n) {
        const char *word = *p + strspn(*p, " ");

        *ret_n = strcspn(word, " ");
        *p = word + *ret_n;
        return *ret_n > 0 ? word : NULL;
}

/* A number that makes up the rest of a word. */
static int parse_number(const char *p, const char *word_end, double *ret) {
        char *end;
        double v;

        v = strtod(p, &end);
        if (end != word_end || end == p)
                return JOB_TEXT_MALFORMED;

        *ret = v;
        return 0;
}

void rusage_write(const JobRusage *rusage, Buffer *out) {
        buffer_put_double(out, rusage->ru_utime);
        buffer_putc(out, ' ');
        buffer_put_double(out, rusage->ru_stime);
#define X(field) buffer_printf(out, " %lld", (long long)rusage->field);
        RUSAGE_FIELDS(X)
#undef X
}

static int parse_integer(const char **p, int64_t *ret) {
        const char *word;
        char *end;
        size_t n;

        word = next_word(p, &n);
        if (!word)
                return JOB_TEXT_MALFORMED;
        *ret = strtoll(word, &end, 10);
        return end == word + n ? 0 : JOB_TEXT_MALFORMED;
}

int rusage_parse(const char *text, JobRusage *ret) {
        JobRusage rusage = {};
        const char *p = text;

        for (size_t i = 0; i < 2; i++) {
                size_t n;
                const char *word = next_word(&p, &n);

                if (!word || parse_number(word, word + n, i == 0 ? &rusage.ru_utime : &rusage.ru_stime) != 0)
                        return JOB_TEXT_MALFORMED;
        }
#define X(field)                                        \
        if (parse_integer(&p, &rusage.field) != 0)      \
                return JOB_TEXT_MALFORMED;
        RUSAGE_FIELDS(X)
#undef X

        *ret = rusage;
        return 0;
}

/* --- numbers ------------------------------------------------------------------------------------- */

#define COMPAT_PREFIX "compat."

static const char quality_letters[N_QUALITIES] = {
        [QUALITY_UNKNOWN_SOURCE] = 'u', [QUALITY_TOO_SHORT] = 't', [QUALITY_LOST] = 'l',
        [QUALITY_NO_GROUP] = 'g',       [QUALITY_NOT_ENABLED] = 'o', [QUALITY_NO_LIMIT] = 'n',
        [QUALITY_SAMPLED] = 's',        [QUALITY_EXACT] = 'e',
};

/* What the numbers of each kind are called. perf.py's reading is of the first n_compat. */
typedef struct Table {
        const MetricInfo *info;
        size_t n, n_compat;
} Table;

static const Table tables[N_LAYOUT_KINDS] = {
        [LAYOUT_METRICS] = { metric_info, N_METRICS, N_PERFPY_METRICS },
        [LAYOUT_USAGE] = { usage_info, N_USAGES, 0 },
};

void layout_write(LayoutKind kind, Buffer *out) {
        const Table *table = &tables[kind];

        for (size_t i = 0; i < table->n; i++)
                buffer_printf(out, "%s%s", i > 0 ? " " : "", table->info[i].key);
        for (size_t i = 0; i < table->n_compat; i++)
                buffer_printf(out, " " COMPAT_PREFIX "%s", table->info[i].key);
}

static void write_values(const double *values, const uint8_t *qualities, size_t n, Buffer *out) {
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        buffer_putc(out, ' ');
                buffer_putc(out, quality_letters[qualities[i]]);
                if (quality_is_present(qualities[i]))
                        buffer_put_double(out, values[i]);
        }
}

void metrics_write(const MetricSet *metrics, Buffer *out) {
        write_values(metrics->value, metrics->quality, N_METRICS, out);
        for (size_t i = 0; i < N_PERFPY_METRICS; i++) {
                buffer_puts(out, metrics->has_compat[i] ? " c" : " -");
                if (metrics->has_compat[i])
                        buffer_put_double(out, metrics->compat[i]);
        }
}

void usage_set_write(const UsageSet *usage, Buffer *out) {
        write_values(usage->value, usage->quality, N_USAGES, out);
}

static int place_find(const Table *table, const char *word, size_t n) {
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

int layout_parse(LayoutKind kind, const char *text, Layout *ret) {
        const char *word, *p = text;
        size_t n;

        ret->n = 0;
        while ((word = next_word(&p, &n))) {
                if (ret->n == LAYOUT_MAX)
                        return JOB_TEXT_MALFORMED;
                ret->place[ret->n++] = (int16_t)place_find(&tables[kind], word, n);
        }
        return 0;
}

/* Where the numbers of a text go. */
typedef struct Numbers {
        size_t n; /* places from here on are perf.py's reading */
        double *value;
        uint8_t *quality;
        double *compat;
        bool *has_compat;
} Numbers;

/* One word into its place. */
static int take_word(const char *word, size_t n, size_t place, const Numbers *to) {
        const char *letter;

        if (place >= to->n) {
                place -= to->n;
                to->has_compat[place] = word[0] == 'c';
                return word[0] == 'c' ? parse_number(word + 1, word + n, &to->compat[place]) : 0;
        }

        letter = memchr(quality_letters, word[0], N_QUALITIES);
        if (!letter)
                return JOB_TEXT_MALFORMED;
        to->quality[place] = (uint8_t)(letter - quality_letters);
        return quality_is_present(to->quality[place]) ? parse_number(word + 1, word + n, &to->value[place]) : 0;
}

static int parse_numbers(const char *text, const Layout *layout, const Numbers *to) {
        const char *word, *p = text;
        size_t i = 0, n;

        for (; (word = next_word(&p, &n)); i++) {
                if (i >= layout->n)
                        return JOB_TEXT_MALFORMED;
                if (layout->place[i] >= 0 && take_word(word, n, (size_t)layout->place[i], to) != 0)
                        return JOB_TEXT_MALFORMED;
        }
        return i == layout->n ? 0 : JOB_TEXT_MALFORMED;
}

int metrics_parse(const char *text, const Layout *layout, MetricSet *ret) {
        MetricSet set = {};
        Numbers to = { N_METRICS, set.value, set.quality, set.compat, set.has_compat };

        if (parse_numbers(text, layout, &to) != 0)
                return JOB_TEXT_MALFORMED;

        *ret = set;
        return 0;
}

int usage_set_parse(const char *text, const Layout *layout, UsageSet *ret) {
        UsageSet set = {};
        Numbers to = { .n = N_USAGES, .value = set.value, .quality = set.quality };

        if (parse_numbers(text, layout, &to) != 0)
                return JOB_TEXT_MALFORMED;

        *ret = set;
        return 0;
}
