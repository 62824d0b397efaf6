/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/metric_list.h"

#include <errno.h>
#include <string.h>

#include "measure/metric.h"

/* --- names ---------------------------------------------------------------------------------------- */

static bool is_allowed(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_-. /", c));
}

static size_t append(char *ret, size_t n, const char *text) {
        for (; *text && n < METRIC_LIST_NAME_MAX - 1; text++)
                if (is_allowed(*text))
                        ret[n++] = *text;
        return n;
}

void metric_list_name(const char *prefix, const char *key, char ret[static METRIC_LIST_NAME_MAX]) {
        ret[append(ret, append(ret, 0, prefix), key)] = '\0';
}

static bool is_part(const char *part, size_t n) {
        return n > 0 && !(n == 1 && part[0] == '.') && !(n == 2 && part[0] == '.' && part[1] == '.');
}

bool metric_list_name_is_valid(const char *name) {
        if (strncmp(name, "..", 2) == 0)
                return false;

        for (;; name++) {
                size_t n = strcspn(name, "/");

                if (!is_part(name, n))
                        return false;
                name += n;
                if (*name == '\0')
                        return true;
        }
}

/* --- the list ------------------------------------------------------------------------------------- */

void metric_list_names_deinit(MetricListNames *names) {
        free(names->same);
        free(names->refused);
}

/* Caller frees; NULL if out of memory. */
static char *make_name(const char *key, const MetricListStyle *style) {
        int metric = metric_find(key);
        const char *raw = metric >= 0 ? metric_raw_key((Metric)metric) : key;
        char name[METRIC_LIST_NAME_MAX];
        Buffer text = {};

        if (!style->has_raw_names) {
                metric_list_name(style->prefix, raw, name);
                return strdup(name);
        }

        buffer_puts(&text, style->prefix);
        buffer_puts(&text, raw);
        return buffer_take(&text);
}

static int store_first(char **first, const char *name) {
        if (!*first)
                *first = strdup(name);
        return *first ? 0 : -ENOMEM;
}

static int check_name(char *const *names, size_t n, const MetricListStyle *style, MetricListNames *ret) {
        const char *name = names[n];
        int r = 0;

        if (!style->has_raw_names && !metric_list_name_is_valid(name))
                r = store_first(&ret->refused, name);

        for (size_t i = 0; i < n && r == 0; i++) {
                if (strcmp(names[i], name) != 0)
                        continue;
                ret->n_same++;
                return store_first(&ret->same, name);
        }
        return r;
}

static void put_metric(const Value *metric, const char *name, double value, Buffer *out) {
        int64_t timestamp = 0, step = 0;
        Json json = { .out = out };

        (void)value_get_int(metric, "timestamp", &timestamp);
        (void)value_get_int(metric, "step", &step);
        json_object_begin(&json);
        json_put_string(&json, "key", name);
        json_put_double(&json, "value", value);
        json_put_int(&json, "timestamp", timestamp);
        json_put_int(&json, "step", step);
        json_object_end(&json);
}

static void free_names(char ***names) {
        for (size_t i = 0; *names && (*names)[i]; i++)
                free((*names)[i]);
        free(*names);
}

/* *n_written: metrics in the list so far. */
static int write_answer(const Value *answer, const MetricListStyle *style, Buffer *out, size_t *n_written,
                        MetricListNames *names_found) {
        const Value *metrics = value_get(answer, style->is_compat ? "compat" : "metrics");
        size_t n_max = metrics && metrics->type == VALUE_LIST ? metrics->n_items : 0, n = 0;
        scoped(free_names) char **names = calloc(n_max + 1, sizeof(*names));
        int r;

        if (!names)
                return -ENOMEM;

        for (size_t i = 0; i < n_max; i++) {
                const Value *metric = &metrics->items[i];
                const char *key = value_get_string(metric, "key");
                double value;

                if (!key || !value_get_double(metric, "value", &value))
                        continue; /* JSON cannot represent NaN and infinities */
                names[n] = make_name(key, style);
                r = names[n] ? check_name(names, n, style, names_found) : -ENOMEM;
                if (r < 0)
                        return r;

                buffer_puts(out, (*n_written)++ > 0 ? ",\n " : "");
                put_metric(metric, names[n++], value, out);
        }
        return 0;
}

int metric_list_write(const Value *const *answers, size_t n_answers, const MetricListStyle *style, Buffer *out,
                      MetricListNames *ret_names) {
        size_t n_written = 0;
        int r;

        *ret_names = (MetricListNames){};
        buffer_putc(out, '[');
        for (size_t i = 0; i < n_answers; i++) {
                r = write_answer(answers[i], style, out, &n_written, ret_names);
                if (r < 0)
                        return r;
        }
        buffer_puts(out, "]\n");
        return buffer_error(out);
}
