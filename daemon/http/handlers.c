/* SPDX-License-Identifier: Apache-2.0 */
#include "http/handlers.h"

#include <string.h>

#include "http/assets.h"
#include "http/metrics.h"
#include "util/clock.h"

void answer_healthy(Exchange *exchange) {
        exchange->type = CONTENT_TEXT;
        buffer_puts(exchange->body, "ok\n");
}

void answer_ready(Exchange *exchange) {
        exchange->type = CONTENT_TEXT;
        exchange->status = exchange->is_ready ? 200 : 503;
        buffer_puts(exchange->body, exchange->is_ready ? "ready\n" : "not ready\n");
}

void answer_openapi(Exchange *exchange) {
        buffer_puts(exchange->body, asset_openapi_json);
}

/* One bit for each collector. */
enum {
        COLLECT_NODE = 1 << 0,
        COLLECT_JOBS = 1 << 1,
        COLLECT_SELF = 1 << 2,
        COLLECT_PERCPU = 1 << 3,
};

static unsigned collector_find(const char *name) {
        static const struct {
                const char *name;
                unsigned bit;
        } collectors[] = { { "node", COLLECT_NODE }, { "jobs", COLLECT_JOBS }, { "self", COLLECT_SELF }, { "percpu", COLLECT_PERCPU } };

        for (size_t i = 0; i < N_ELEMENTS(collectors); i++)
                if (strcmp(collectors[i].name, name) == 0)
                        return collectors[i].bit;
        return 0;
}

/* The route has no other parameter. */
static int collectors_parse(Exchange *exchange, unsigned *ret) {
        unsigned chosen = 0;

        for (size_t i = 0; i < exchange->n_parameters; i++) {
                unsigned bit = collector_find(exchange->parameters[i].value);

                if (!bit)
                        return exchange_error(exchange, 400, "Query parameter 'collect[]' must be node, jobs, self or percpu, not '%s'",
                                              exchange->parameters[i].value);
                chosen |= bit;
        }

        *ret = chosen ?: COLLECT_NODE | COLLECT_JOBS | COLLECT_SELF;
        return 0;
}

void answer_metrics(Exchange *exchange) {
        Exposition exposition;
        unsigned collectors = 0;

        if (collectors_parse(exchange, &collectors) != 0)
                return;

        exchange->type = exchange->wants_openmetrics ? CONTENT_OPENMETRICS : CONTENT_METRICS_TEXT;
        exposition_init(&exposition, exchange->body, exchange->wants_openmetrics);
        if (collectors & COLLECT_NODE)
                metrics_node(&exposition, &exchange->snapshot->node);
        if (collectors & COLLECT_PERCPU)
                metrics_node_percpu(&exposition, &exchange->snapshot->node);
        if (collectors & COLLECT_JOBS && metrics_jobs(&exposition, exchange->snapshot) < 0) {
                (void)exchange_error(exchange, 503, "Out of memory");
                return;
        }
        if (collectors & COLLECT_SELF)
                metrics_self(&exposition, exchange->snapshot, &exchange->http);
        exposition_end(&exposition);
}
