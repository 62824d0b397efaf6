#include "store/job_text.h"

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

/* --- metrics ------------------------------------------------------------------------------------- */

#define COMPAT_PREFIX "compat."

static const char quality_letters[N_QUALITIES] = {
        [QUALITY_UNKNOWN_SOURCE] = 'u', [QUALITY_TOO_SHORT] = 't', [QUALITY_LOST] = 'l',
        [QUALITY_NO_GROUP] = 'g',       [QUALITY_NOT_ENABLED] = 'o', [QUALITY_NO_LIMIT] = 'n',
        [QUALITY_SAMPLED] = 's',        [QUALITY_EXACT] = 'e',
};

void layout_write(Buffer *out) {
        for (size_t i = 0; i < N_METRICS; i++)
                buffer_printf(out, "%s%s", i > 0 ? " " : "", metric_info[i].key);
        for (size_t i = 0; i < N_PERFPY_METRICS; i++)
                buffer_printf(out, " " COMPAT_PREFIX "%s", metric_info[i].key);
}

void metrics_write(const MetricSet *metrics, Buffer *out) {
        for (size_t i = 0; i < N_METRICS; i++) {
                if (i > 0)
                        buffer_putc(out, ' ');
                buffer_putc(out, quality_letters[metrics->quality[i]]);
                if (quality_is_present(metrics->quality[i]))
                        buffer_put_double(out, metrics->value[i]);
        }
        for (size_t i = 0; i < N_PERFPY_METRICS; i++) {
                buffer_puts(out, metrics->has_compat[i] ? " c" : " -");
                if (metrics->has_compat[i])
                        buffer_put_double(out, metrics->compat[i]);
        }
}

static int place_find(const char *word, size_t n) {
        size_t n_prefix = strlen(COMPAT_PREFIX);
        bool is_compat = n > n_prefix && memcmp(word, COMPAT_PREFIX, n_prefix) == 0;
        char key[64];
        int metric;

        if (is_compat) {
                word += n_prefix;
                n -= n_prefix;
        }
        if (n >= sizeof(key))
                return -1;
        memcpy(key, word, n);
        key[n] = '\0';

        metric = metric_find(key);
        if (metric < 0 || !is_compat)
                return metric;
        return metric < (int)N_PERFPY_METRICS ? metric + (int)N_METRICS : -1;
}

int layout_parse(const char *text, Layout *ret) {
        const char *word, *p = text;
        size_t n;

        ret->n = 0;
        while ((word = next_word(&p, &n))) {
                if (ret->n == LAYOUT_MAX)
                        return JOB_TEXT_MALFORMED;
                ret->place[ret->n++] = (int16_t)place_find(word, n);
        }
        return 0;
}

/* One word into its place. */
static int take_word(const char *word, size_t n, int place, MetricSet *ret) {
        const char *letter;

        if (place >= (int)N_METRICS) {
                place -= (int)N_METRICS;
                ret->has_compat[place] = word[0] == 'c';
                return word[0] == 'c' ? parse_number(word + 1, word + n, &ret->compat[place]) : 0;
        }

        letter = memchr(quality_letters, word[0], N_QUALITIES);
        if (!letter)
                return JOB_TEXT_MALFORMED;
        ret->quality[place] = (uint8_t)(letter - quality_letters);
        return quality_is_present(ret->quality[place]) ? parse_number(word + 1, word + n, &ret->value[place]) : 0;
}

int metrics_parse(const char *text, const Layout *layout, MetricSet *ret) {
        const char *word, *p = text;
        size_t i = 0, n;

        *ret = (MetricSet){};
        for (; (word = next_word(&p, &n)); i++) {
                if (i >= layout->n)
                        return JOB_TEXT_MALFORMED;
                if (layout->place[i] >= 0 && take_word(word, n, layout->place[i], ret) != 0)
                        return JOB_TEXT_MALFORMED;
        }
        return i == layout->n ? 0 : JOB_TEXT_MALFORMED;
}
