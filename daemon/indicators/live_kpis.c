/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/live_kpis.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "base/user_counts.h"
#include "document/expression.h"
#include "text/openmetrics.h"
#include "util/array.h"
#include "util/buffer.h"
#include "util/scoped.h"
#include "util/utf8.h"

static void kpi_deinit(LiveKpi *kpi) {
        free(kpi->indicator);
        free(kpi->base);
        free(kpi->unit);
        free(kpi->help);
        free(kpi->labels);
        *kpi = (LiveKpi){};
}

void live_kpis_deinit(LiveKpis *kpis) {
        for (size_t i = 0; i < kpis->n; i++)
                kpi_deinit(&kpis->items[i]);
        free(kpis->items);
        *kpis = (LiveKpis){};
}

void live_kpis_forget(LiveKpis *kpis, uint32_t uid, uint64_t before_ms) {
        for (size_t i = kpis->n; i-- > 0;) {
                if (kpis->items[i].uid != uid || kpis->items[i].time_ms >= before_ms)
                        continue;
                kpi_deinit(&kpis->items[i]);
                kpis->items[i] = kpis->items[--kpis->n];
                kpis->version++;
        }
}

/* --- texts ---------------------------------------------------------------------------------------- */

/* Writes up to LIVE_KPIS_HELP_MAX bytes for a line of help, where quotes, backslashes and unsafe characters have no
 * place. */
static void put_help(const char *text, Buffer *out) {
        size_t n = strnlen(text, LIVE_KPIS_HELP_MAX + 1), n_character;

        if (n > LIVE_KPIS_HELP_MAX)
                for (n--; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
                        n--; /* not within a character */
        for (; n > 0; text += n_character, n -= n_character) {
                char safe[UTF8_SAFE_MAX];

                n_character = utf8_make_safe(text, n, safe);
                buffer_puts(out, *text == '"' || *text == '\\' ? "'" : *safe == '\\' ? " " : safe);
        }
}

/* Names that begin with two underscores are Prometheus' own, which refuses the whole scrape because of them. */
static const char *prefix_of(const char *name) {
        static const char *const taken[] = { "component", "uid", "index" };

        for (size_t i = 0; i < N_ELEMENTS(taken); i++)
                if (strcmp(name, taken[i]) == 0)
                        return "parameter_";
        return strncmp(name, "__", 2) == 0 ? "parameter" : "";
}

/* Two parameters may have the same name as a label: the first has it. */
static void put_parameter(const char *key, const char *value, Buffer *out) {
        scoped(buffer_deinit) Buffer label = {}, name = {};

        openmetrics_put_name(&name, key);
        buffer_printf(&label, ",%s%s=\"", prefix_of(name.text ?: ""), name.text ?: "");
        if (!label.text || !out->text || strstr(out->text, label.text))
                return;
        buffer_puts(out, label.text);
        openmetrics_put_escaped(out, value);
        buffer_putc(out, '"');
}

/* The component, the user and the declared parameters distinguish the series of a KPI; other parameters may differ
 * with each run. */
static void put_labels(const Submission *item, uint32_t uid, Buffer *out) {
        const IndicatorModel *model = item->model;

        buffer_puts(out, "component=\"");
        openmetrics_put_escaped(out, item->indicator.component ?: "");
        buffer_printf(out, "\",uid=\"%" PRIu32 "\"", uid);
        for (size_t i = 0; i < model->n_properties; i++) {
                const Property *property = &model->properties[i];
                const Value *value = property->is_result ? NULL
                                                         : value_get_given(item->indicator.parameters, property->name);
                scoped(buffer_deinit) Buffer text = {};

                if (!value || !value_is_scalar(value) || property_identifies_run(property->name))
                        continue;
                if (value->type == VALUE_STRING)
                        buffer_puts(&text, value->string);
                else
                        value_write_json(value, &(Json){ .out = &text });
                put_parameter(property->name, text.text ?: "", out);
        }
}

/* --- series --------------------------------------------------------------------------------------- */

static char *name_of(const char *text) {
        Buffer name = {};

        openmetrics_put_name(&name, text);
        return buffer_take(&name);
}

/* Every family has a help text, as Prometheus expects: without a description and a unit, the name of the result. */
static char *help_of(const Property *property) {
        Buffer help = {};

        put_help(property->help ? property->help : property->unit ? "" : property->name, &help);
        if (property->unit) {
                buffer_puts(&help, help.n > 0 ? " (in " : "(in ");
                put_help(property->unit, &help);
                buffer_putc(&help, ')');
        }
        buffer_puts(&help, "");
        return buffer_take(&help);
}

static LiveKpi *find_series(LiveKpis *kpis, const LiveKpi *key) {
        for (size_t i = 0; i < kpis->n; i++) {
                LiveKpi *kpi = &kpis->items[i];

                if (kpi->hash == key->hash && strcmp(kpi->indicator, key->indicator) == 0 &&
                    strcmp(kpi->base, key->base) == 0 && strcmp(kpi->labels, key->labels) == 0)
                        return kpi;
        }
        return NULL;
}

/* Takes the texts of *added. A series that is there keeps its value if that is newer. */
static void put_series(LiveKpis *kpis, LiveKpi *added) {
        LiveKpi *kpi = find_series(kpis, added);

        assert(kpis->n <= LIVE_KPIS_MAX);
        if (kpi && kpi->time_ms > added->time_ms) {
                kpi_deinit(added);
                return;
        }
        added->used = ++kpis->n_uses;
        added->since = kpi ? kpi->since : added->used;
        if (!kpi && kpis->n == LIVE_KPIS_MAX) {
                size_t victim = user_counts_choose_victim(&kpis->items->uid, &kpis->items->used, sizeof(*kpis->items),
                                                          kpis->n, added->uid);

                assert(victim < kpis->n);
                kpi = &kpis->items[victim];
                kpis->n_not_exposed++;
        }
        if (!kpi) {
                if (ARRAY_EXTEND(kpis->items, kpis->n) < 0) {
                        kpi_deinit(added);
                        return;
                }
                kpis->items[kpis->n] = (LiveKpi){};
                kpi = &kpis->items[kpis->n++];
        }
        kpi_deinit(kpi);
        *kpi = *added;
        *added = (LiveKpi){};
        kpis->version++;
}

static void add_result(LiveKpis *kpis, const Property *property, const char *labels, double value,
                       const LiveKpi *common) {
        LiveKpi kpi = *common;

        kpi.base = name_of(kpi.base ?: property->name);
        kpi.indicator = strdup(kpi.indicator);
        kpi.unit = strdup(property->unit ?: "");
        kpi.help = help_of(property);
        kpi.labels = strdup(labels);
        kpi.value = value;
        if (!kpi.base || !kpi.indicator || !kpi.unit || !kpi.help || !kpi.labels) {
                kpi_deinit(&kpi);
                return;
        }
        kpi.hash = hash_text(hash_text(hash_text(HASH_BEGIN, kpi.indicator), kpi.base), kpi.labels);
        put_series(kpis, &kpi);
}

#define DERIVED_PER_WORK 512U /* nodes times bytes that take as long as adding a number */

/* Computes a derived number. *cost: that of the item so far. Returns false if it has no value, or would take too
 * long. */
static bool derive(const char *from, const Submission *item, double *ret, size_t *cost) {
        JsonText document = item->document_text; /* clients of perfd send the text that is stored */
        char reason[EXPRESSION_TEXT_MAX];
        ExpressionError error;
        Expression expression;

        if (!document.text || *cost >= LIVE_KPIS_DERIVED_MAX || expression_parse(from, &expression, &error) != 0)
                return false;
        *cost += DERIVED_PER_WORK + expression.n_nodes * document.n;
        return *cost <= LIVE_KPIS_DERIVED_MAX && expression_evaluate(&expression, document, ret, reason) == 0;
}

/* Returns false if the item has no such number. */
static bool find_number(const Property *property, const Submission *item, double *ret, size_t *cost) {
        const Value *value;

        if (property->from)
                return derive(property->from, item, ret, cost) && isfinite(*ret);
        value = value_get_given(item->indicator.result, property->name);
        if (!value || !value_is_number(value) || !isfinite(value_number(value)))
                return false;
        *ret = value_number(value);
        return true;
}

/* Adds one number of a result, *n of which have been added. */
static void add_number(LiveKpis *kpis, const Property *property, const char *labels, double value,
                       const LiveKpi *common, size_t *n) {
        if (*n == LIVE_KPIS_PER_RESULT_MAX || strlen(labels) > LIVE_KPIS_LABELS_MAX) {
                kpis->n_not_exposed++;
                return;
        }
        add_result(kpis, property, labels, value, common);
        (*n)++;
}

/* Adds the numbers of a list, each with its index as a label. */
static void add_list(LiveKpis *kpis, const Property *property, const char *labels, const Value *list,
                     const LiveKpi *common, size_t *n) {
        for (size_t i = 0; i < list->n_items; i++) {
                scoped(buffer_deinit) Buffer text = {};

                if (!value_is_number(&list->items[i]) || !isfinite(value_number(&list->items[i])))
                        continue;
                buffer_printf(&text, "%s,index=\"%zu\"", labels, i);
                if (buffer_error(&text) == 0)
                        add_number(kpis, property, text.text, value_number(&list->items[i]), common, n);
        }
}

size_t live_kpis_add(LiveKpis *kpis, uint32_t uid, const Submission *item, uint64_t arrived_ms) {
        const IndicatorModel *model = item->model;
        const LiveKpi common = { .indicator = (char *)item->indicator.name,
                                 .base = (char *)(model ? model->kpi_name : NULL),
                                 .time_ms = item->time_ms ?: arrived_ms,
                                 .uid = uid };
        scoped(buffer_deinit) Buffer labels = {};
        size_t n = 0, cost = 0;

        for (size_t i = 0; model && !submission_has_failed(item) && i < model->n_properties; i++) {
                const Property *property = &model->properties[i];
                double value;

                const Value *list = property->from ? NULL : value_get_given(item->indicator.result, property->name);
                bool is_list = list && list->type == VALUE_LIST;

                if (!property->is_result || property->direction == DIRECTION_UNKNOWN ||
                    (!is_list && !find_number(property, item, &value, &cost)))
                        continue;
                if (labels.n == 0)
                        put_labels(item, uid, &labels);
                if (buffer_error(&labels) < 0)
                        kpis->n_not_exposed++;
                else if (is_list)
                        add_list(kpis, property, labels.text, list, &common, &n);
                else
                        add_number(kpis, property, labels.text, value, &common, &n);
        }
        return n + cost / DERIVED_PER_WORK;
}

void live_kpis_count_not_exposed(LiveKpis *kpis, size_t n) {
        kpis->version += n > 0;
        kpis->n_not_exposed += n;
}

void live_kpis_merge(LiveKpis *kpis, LiveKpis *from) {
        live_kpis_count_not_exposed(kpis, (size_t)from->n_not_exposed);
        for (size_t i = 0; i < from->n; i++)
                put_series(kpis, &from->items[i]);
        free(from->items);
        *from = (LiveKpis){};
}

/* --- publishing ----------------------------------------------------------------------------------- */

/* A series with the place of its texts, which may move while they are written. */
typedef struct Shown {
        const LiveKpi *kpi;
        size_t family, unit, help, labels; /* offsets */
} Shown;

typedef struct ShownList {
        Shown *items; /* owned */
        size_t n;
        Buffer texts; /* owned */
} ShownList;

static void shown_list_deinit(ShownList *list) {
        free(list->items);
        buffer_deinit(&list->texts);
}

static int compare_users(const LiveKpi *x, const LiveKpi *y) {
        return COMPARE(x->uid, y->uid);
}

static int compare_bases(const void *a, const void *b) {
        const LiveKpi *x = ((const Shown *)a)->kpi, *y = ((const Shown *)b)->kpi;

        return strcmp(x->base, y->base) ?: compare_users(x, y) ?: strcmp(x->indicator, y->indicator);
}

static int compare_families(const void *a, const void *b, void *userdata) {
        const Shown *x = a, *y = b;
        const char *texts = userdata;

        return strcmp(texts + x->family, texts + y->family) ?: compare_users(x->kpi, y->kpi) ?:
               strcmp(x->kpi->indicator, y->kpi->indicator) ?: strcmp(x->kpi->labels, y->kpi->labels);
}

/* The prefix keeps a user's names apart from those of perfd and of Prometheus, such as up; one of perfd's has it as
 * well. */
#define FAMILY_PREFIX "perfd_kpi_"
#define OWN_BASE "series_not_exposed"

static size_t put_text(Buffer *texts, const char *text) {
        size_t at = texts->n;

        buffer_put(texts, text, strlen(text) + 1);
        return at;
}

/* Writes the name of the family, with the name of the indicator if another of the user has this name. */
static size_t put_family(Buffer *texts, const LiveKpi *kpi, bool is_clash) {
        size_t at = texts->n;

        buffer_puts(texts, FAMILY_PREFIX);
        if (is_clash)
                openmetrics_put_prefix(texts, kpi->indicator);
        buffer_put(texts, kpi->base, strlen(kpi->base) + 1);
        return at;
}

static bool ends_with_unit(const char *family, const char *unit) {
        size_t n = strlen(family), n_unit = strlen(unit);

        return n_unit > 0 && n > n_unit + 1 && family[n - n_unit - 1] == '_' && strcmp(family + n - n_unit, unit) == 0;
}

static bool is_same_base(const LiveKpi *x, const LiveKpi *y) {
        return strcmp(x->base, y->base) == 0 && x->uid == y->uid;
}

/* Writes the texts of the series, in which those of a user with the same base are neighbours. */
static int put_texts(ShownList *list) {
        for (size_t i = 0, end; i < list->n; i = end) {
                const LiveKpi *first = list->items[i].kpi;
                bool is_clash = strcmp(first->base, OWN_BASE) == 0;

                for (end = i; end < list->n && is_same_base(list->items[end].kpi, first); end++)
                        is_clash |= strcmp(list->items[end].kpi->indicator, first->indicator) != 0;
                for (size_t k = i; k < end; k++) {
                        Shown *shown = &list->items[k];

                        shown->family = put_family(&list->texts, shown->kpi, is_clash);
                        if (buffer_error(&list->texts) < 0)
                                return -ENOMEM;
                        shown->unit = put_text(&list->texts,
                                               ends_with_unit(list->texts.text + shown->family, shown->kpi->unit)
                                                       ? shown->kpi->unit
                                                       : "");
                        shown->help = put_text(&list->texts, shown->kpi->help);
                        shown->labels = put_text(&list->texts, shown->kpi->labels);
                }
        }
        return buffer_error(&list->texts);
}

/* True if the name of the family is too long, of perfd itself, or that of another indicator of the user before in
 * the list. */
static bool has_bad_name(const ShownList *list, size_t i, const Shown *before) {
        const Shown *shown = &list->items[i];
        const char *family = list->texts.text + shown->family;

        return strlen(family) > KPIS_FAMILY_MAX || strcmp(family, FAMILY_PREFIX OWN_BASE) == 0 ||
               (before && strcmp(list->texts.text + before->family, family) == 0 &&
                before->kpi->uid == shown->kpi->uid && strcmp(before->kpi->indicator, shown->kpi->indicator) != 0);
}

/* The first sample of a family has the unit and the help text of the oldest series, whatever the models of later
 * users say. */
static void fill(ShownList *list, KpiSample *samples, KpisSnapshot *ret) {
        const char *texts = list->texts.text;
        const Shown *before = NULL, *oldest = NULL;
        KpiSample *first = samples;

        ret->n = 0;
        for (size_t i = 0; i < list->n; i++) {
                const Shown *shown = &list->items[i];

                if (has_bad_name(list, i, before)) {
                        ret->n_not_exposed++;
                        continue;
                }
                if (!before || strcmp(texts + before->family, texts + shown->family) != 0) {
                        first = &samples[ret->n];
                        oldest = shown;
                }
                before = shown;
                samples[ret->n++] = (KpiSample){ texts + shown->family, texts + shown->unit, texts + shown->help,
                                                 texts + shown->labels, shown->kpi->value };
                if (shown->kpi->since < oldest->kpi->since)
                        oldest = shown;
                first->unit = texts + oldest->unit;
                first->help = texts + oldest->help;
        }
        free(ret->samples);
        free(ret->texts);
        ret->samples = samples;
        ret->texts = buffer_take(&list->texts);
}

int live_kpis_publish(const LiveKpis *kpis, KpisSnapshot *ret) {
        scoped(shown_list_deinit) ShownList list = {};
        KpiSample *samples;
        int r;

        if (ret->version == kpis->version)
                return 0;
        list.items = calloc(kpis->n + 1, sizeof(*list.items));
        if (!list.items)
                return -ENOMEM;
        for (size_t i = 0; i < kpis->n; i++)
                list.items[list.n++].kpi = &kpis->items[i];
        qsort(list.items, list.n, sizeof(*list.items), compare_bases);
        r = put_texts(&list);
        if (r < 0)
                return r;
        if (list.n > 0)
                qsort_r(list.items, list.n, sizeof(*list.items), compare_families, list.texts.text);
        samples = calloc(list.n + 1, sizeof(*samples));
        if (!samples)
                return -ENOMEM;
        ret->n_not_exposed = kpis->n_not_exposed;
        fill(&list, samples, ret);
        ret->version = kpis->version;
        return 0;
}
