/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: HTTP requests
 *
 * Input: a line with path and query, a line for Accept, a line for Accept-Encoding. Each request must have one
 * complete answer,
 * which is either the requested data or an error in JSON. The store is not readable.
 */

#include <assert.h>
#include <string.h>

#include "http/format/negotiate.h"
#include "http/routes.h"
#include "tests/unit/snapshot_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const Exchange *exchange) {
        const Buffer *body = exchange->response.body;

        assert(buffer_error(body) == 0);
        assert(body->text && body->n == strlen(body->text));
        assert(exchange->response.status >= 200 && exchange->response.status < 600);
        if (exchange->response.status >= 400 && exchange->response.type == CONTENT_JSON)
                assert(strncmp(body->text, "{\"error\":{\"status\":", 19) == 0 &&
                       strcmp(body->text + body->n - 3, "\"}}") == 0);
        if (exchange->response.type == CONTENT_OPENMETRICS)
                assert(strcmp(body->text + body->n - 6, "# EOF\n") == 0);
}

static int add_parameters(Exchange *exchange, char *query) {
        int r = 0;

        for (char *parameter; r == 0 && (parameter = strsep(&query, "&"));) {
                char *value = parameter, *name = strsep(&value, "=");

                r = exchange_add_parameter(&exchange->target, &exchange->response, name, value);
        }
        return r;
}

static void ask(char *question, const char *accept, const Snapshot *snapshot, Reader *reader, Shares *shares) {
        scoped(buffer_deinit) Buffer body = {};
        char *path = strsep(&question, "?");
        Exchange exchange;

        exchange_init(&exchange, &body);
        exchange.sources.snapshot = snapshot;
        exchange.sources.reader = reader;
        exchange.sources.shares = shares;
        exchange.response.scrape.is_openmetrics = negotiate_openmetrics(accept);
        if (exchange_set_path(&exchange.target, &exchange.response, path) == 0 &&
            (!question || add_parameters(&exchange, question) == 0))
                routes_answer(&exchange);
        check_answer(&exchange);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const SnapshotSize snapshot_size = { .n_cpus = 2, .n_disks = 1, .n_nets = 1, .n_filesystems = 1, .n_jobs = 2 };
        scoped(snapshot_deinit) Snapshot snapshot = {};
        scoped(reader_freep) Reader *reader = NULL;
        scoped(shares_freep) Shares *shares = NULL;
        scoped(freep) char *text = strndup((const char *)data, size);
        char *rest = text, *question, *accept;

        if (!text || reader_new(&reader, "/nonexistent/perfd.db", NULL, NS_PER_S) < 0 ||
            shares_new(&shares, &(SharesConfig){}) < 0)
                return 0;

        fixture_fill(&snapshot, &snapshot_size);
        question = strsep(&rest, "\n");
        accept = strsep(&rest, "\n");
        (void)negotiate_gzip(rest);
        ask(question, accept, size % 2 ? &snapshot : NULL, reader, shares);
        return 0;
}
