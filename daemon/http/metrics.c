/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics.h"

#include <assert.h>
#include <string.h>

void metrics_scalar_family(Exposition *exposition, const Scalar *scalar) {
        exposition_family(exposition, scalar->name, scalar->type, scalar->unit, scalar->help);
}

void metrics_scalar_value(Exposition *exposition, const Scalar *scalar, const void *part) {
        const void *member = (const char *)part + scalar->offset;

        switch (scalar->scalar) {
        case SCALAR_U64:
                exposition_decimal(exposition, *(const uint64_t *)member, scalar->n_decimals);
                return;
        case SCALAR_U32:
                exposition_u64(exposition, *(const uint32_t *)member);
                return;
        case SCALAR_BOOL:
                exposition_u64(exposition, *(const bool *)member);
                return;
        case SCALAR_DOUBLE:
                exposition_double(exposition, *(const double *)member);
                return;
        }
}

void metrics_scalars(Exposition *exposition, const void *part, const Scalar *scalars, size_t n) {
        for (const Scalar *scalar = scalars; scalar < scalars + n; scalar++) {
                assert(scalar->type != FAMILY_INFO);
                assert(scalar->scalar == SCALAR_U64 || scalar->n_decimals == 0);
                metrics_scalar_family(exposition, scalar);
                exposition_sample(exposition);
                metrics_scalar_value(exposition, scalar, part);
        }
}

const Collector *metrics_collector_at(size_t i) {
        for (const Subject *const *subject = subjects; *subject; subject++)
                for (const Collector *collector = (*subject)->collectors; collector && collector->name; collector++)
                        if (i-- == 0)
                                return collector;
        return NULL;
}

static bool is_collector(const char *name) {
        const Collector *collector;

        for (size_t i = 0; (collector = metrics_collector_at(i)); i++)
                if (strcmp(collector->name, name) == 0)
                        return true;
        return false;
}

/* Whether no collector before the i-th has its name. */
static bool is_first_of_name(size_t i) {
        const char *name = metrics_collector_at(i)->name;

        for (size_t k = 0; k < i; k++)
                if (strcmp(metrics_collector_at(k)->name, name) == 0)
                        return false;
        return true;
}

/* "node, percpu, self, jobs" */
static void put_names(Buffer *out) {
        const Collector *collector;

        for (size_t i = 0; (collector = metrics_collector_at(i)); i++)
                if (is_first_of_name(i))
                        buffer_printf(out, "%s%s", i > 0 ? ", " : "", collector->name);
}

/* The only parameter of the route is collect[]. 0 or EXCHANGE_ANSWERED. */
static int check_names(const Target *target, Response *response) {
        for (size_t i = 0; i < target->n_parameters; i++) {
                scoped(buffer_deinit) Buffer names = {};
                const char *name = target->parameters[i].value;

                if (is_collector(name))
                        continue;
                put_names(&names);
                return exchange_error(response, 400, "query parameter 'collect[]' must be one of: %s; not '%s'",
                                      names.text ?: "", name);
        }
        return 0;
}

/* A text that scrapes share: of the collectors of a name, or of all that need not be named. */
typedef struct MetricsTopic {
        const char *name; /* NULL: all of them */
        size_t place;     /* in the cache */
} MetricsTopic;

static bool is_about(const MetricsTopic *topic, const Collector *collector) {
        return topic->name ? strcmp(collector->name, topic->name) == 0 : !collector->is_on_request;
}

/* Writes what the collectors have to say about the snapshot. */
static int put_text(const Sources *sources, Response *response, const MetricsTopic *topic) {
        const Collector *collector;
        Exposition exposition;

        exposition_init(&exposition, response->body, response->scrape.is_openmetrics);
        exposition.has_names = response->scrape.has_names;
        for (size_t i = 0; (collector = metrics_collector_at(i)); i++)
                if (collector->collect && is_about(topic, collector))
                        collector->collect(&exposition, sources->snapshot);
        return buffer_error(response->body);
}

/* Moves the body, which is put_text()'s, into a text to share. */
static int take_text(Response *response, ScrapeText *ret) {
        scoped(buffer_deinit) Buffer packed = {};
        Gzip *gzip = response->scrape.gzip;
        Buffer *body = response->body;
        GzipSum sum = { .n = body->n };
        int r = 0;

        if (gzip)
                r = gzip_pack_part(gzip, body->text, body->n, &packed, &sum);
        if (r < 0)
                return r;

        buffer_shrink(gzip ? &packed : body);
        r = shared_text_new(&ret->text, gzip ? &packed : body);
        ret->sum = sum;
        buffer_clear(body);
        body->n_max = ANSWER_BYTES_MAX;
        return r;
}

/* Adds the text to the answer: that of an earlier scrape, or a new one. */
static int add_text(const Sources *sources, Response *response, const MetricsTopic *topic) {
        Scrape *scrape = &response->scrape;
        const ScrapeKey key = { topic->place, scrape->is_openmetrics, scrape->gzip, scrape->has_names };
        const uint64_t serial = sources->snapshot->serial;
        ScrapeText text;
        int r;

        if (!scrape->cache)
                return put_text(sources, response, topic);
        if (!scrape_cache_find(scrape->cache, serial, &key, &text)) {
                r = put_text(sources, response, topic);
                if (r == 0)
                        r = take_text(response, &text);
                if (r < 0)
                        return r;
                scrape_cache_keep(scrape->cache, serial, &key, &text);
        }
        scrape_add(scrape, &text);
        return 0;
}

static bool is_named(const Target *target, const char *name) {
        for (size_t i = 0; i < target->n_parameters; i++)
                if (strcmp(target->parameters[i].value, name) == 0)
                        return true;
        return false;
}

/* Adds the texts that scrapes share. */
static int put_shared(const Target *target, const Sources *sources, Response *response) {
        const Collector *collector;
        int r = 0;

        if (target->n_parameters == 0)
                return add_text(sources, response, &(MetricsTopic){});
        for (size_t i = 0; r == 0 && (collector = metrics_collector_at(i)); i++)
                if (is_named(target, collector->name) && is_first_of_name(i))
                        r = add_text(sources, response, &(MetricsTopic){ collector->name, i + 1 });
        return r;
}

/* Writes what does not come from the snapshot. */
static void put_now(const Target *target, const Sources *sources, Response *response) {
        const Collector *collector;
        Exposition exposition;

        exposition_init(&exposition, response->body, response->scrape.is_openmetrics);
        exposition.has_names = response->scrape.has_names;
        for (size_t i = 0; (collector = metrics_collector_at(i)); i++)
                if (collector->collect_now &&
                    (target->n_parameters > 0 ? is_named(target, collector->name) : !collector->is_on_request))
                        collector->collect_now(&exposition, sources);
        exposition_end(&exposition);
}

void metrics_answer(const Target *target, const Sources *sources, Response *response) {
        int r;

        if (check_names(target, response) > 0)
                return;

        response->scrape.has_names = !target->viewer.hides_names;
        response->type = response->scrape.is_openmetrics ? CONTENT_OPENMETRICS : CONTENT_METRICS_TEXT;
        r = put_shared(target, sources, response);
        if (r == 0)
                put_now(target, sources, response);
        else if (!response->body->is_full)
                (void)exchange_error(response, 503, "out of memory");
}
