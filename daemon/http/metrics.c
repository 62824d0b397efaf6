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

/* "node, percpu, self, jobs" */
static void put_names(Buffer *out) {
        const Collector *collector;

        for (size_t i = 0; (collector = metrics_collector_at(i)); i++) {
                bool is_known = false;

                for (size_t k = 0; k < i; k++)
                        is_known = is_known || strcmp(metrics_collector_at(k)->name, collector->name) == 0;
                if (!is_known)
                        buffer_printf(out, "%s%s", i > 0 ? ", " : "", collector->name);
        }
}

/* The only parameter of the route is collect[]. 0 or EXCHANGE_ANSWERED. */
static int check_names(Exchange *exchange) {
        for (size_t i = 0; i < exchange->n_parameters; i++) {
                scoped(buffer_deinit) Buffer names = {};
                const char *name = exchange->parameters[i].value;

                if (is_collector(name))
                        continue;
                put_names(&names);
                return exchange_error(exchange, 400, "query parameter 'collect[]' must be one of: %s; not '%s'",
                                      names.text ?: "", name);
        }
        return 0;
}

static bool is_chosen(const Exchange *exchange, const Collector *collector) {
        for (size_t i = 0; i < exchange->n_parameters; i++)
                if (strcmp(exchange->parameters[i].value, collector->name) == 0)
                        return true;
        return exchange->n_parameters == 0 && !collector->is_on_request;
}

void metrics_answer(Exchange *exchange) {
        const Collector *collector;
        Exposition exposition;

        if (check_names(exchange) > 0)
                return;

        exchange->type = exchange->wants_openmetrics ? CONTENT_OPENMETRICS : CONTENT_METRICS_TEXT;
        exposition_init(&exposition, exchange->body, exchange->wants_openmetrics);
        for (size_t i = 0; (collector = metrics_collector_at(i)); i++)
                if (is_chosen(exchange, collector) && collector->collect(&exposition, exchange) < 0) {
                        (void)exchange_error(exchange, 503, "out of memory");
                        return;
                }
        exposition_end(&exposition);
}
