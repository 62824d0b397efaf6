/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/results_publish.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "client/api/json_server.h"
#include "client/cli/command.h"
#include "util/clock.h"
#include "util/file.h"

#define LOGIN "PERFD_OPENSEARCH_LOGIN"
#define TIMEOUT_NS (60 * NS_PER_S)
#define REQUEST_BYTES (8U * 1024U * 1024U)
#define NOTE_NAME ".perfd-processed"
/* As MatrixBenchmarking creates it. */
#define OBJECT(name) "\"" name "\":{\"type\":\"flat_object\"}"
#define INDEX_BODY                                                                                                     \
        "{\"mappings\":{\"properties\":{" OBJECT("metadata") "," OBJECT("kpis") "," OBJECT("results") ","              \
        OBJECT("regression_results") "}},\"settings\":{\"index\":{\"number_of_shards\":4},"                            \
        "\"mapping\":{\"total_fields\":{\"limit\":4000}}}}"

static void put_index(const ResultsRun *run, const char *suffix, Buffer *out) {
        const ResultsExport *to = &run->matrix.file.servers.export;
        size_t begin = out->n;

        buffer_printf(out, "%s%s%s", to->index_prefix ?: "", to->index ?: run->matrix.file.name ?: "results", suffix);
        /* OpenSearch takes no capitals */
        for (size_t i = begin; i < out->n; i++)
                out->text[i] = (char)tolower((unsigned char)out->text[i]);
}

static void put_action(const ResultsRun *run, const TestRecord *record, const char *suffix, Buffer *out) {
        char uuid[TEST_UUID_TEXT_MAX];
        scoped(buffer_deinit) Buffer index = {};
        Json json = { .out = out };

        put_index(run, suffix, &index);
        test_tree_format_uuid(record->id, uuid);
        json_object_begin(&json);
        json_put_object_begin(&json, "index");
        json_put_string(&json, "_index", index.text);
        json_put_string(&json, "_id", uuid);
        json_object_end(&json);
        json_object_end(&json);
        buffer_putc(out, '\n');
}

/* The values of queries have a document of their own. */
static void put_metrics(const ResultsRun *run, size_t i, Buffer *out) {
        const ResultsFile *file = &run->matrix.file;
        const char *values = run->matrix.values[i].json, *suffix = file->servers.export.prom_index_suffix;
        Json json = { .out = out };

        if (!suffix || !(file->servers.prometheus || file->servers.dump))
                return;
        put_action(run, &run->matrix.tree.records[i], suffix, out);
        json_object_begin(&json);
        json_put_object_begin(&json, "metadata");
        json_key(&json, "settings");
        json_raw(&json, run->matrix.tree.records[i].settings);
        json_object_end(&json);
        json_put_object_begin(&json, "results");
        for (size_t k = 0; k < file->n_rules; k++)
                if (file->rules[k].source == VALUE_FROM_QUERY) {
                        json_put_object_begin(&json, file->rules[k].name);
                        json_put_string(&json, "query", file->rules[k].from);
                        json_key(&json, "value");
                        json_text_write(json_text_find(json_text(values, strlen(values)), file->rules[k].name), &json);
                        json_object_end(&json);
                }
        json_object_end(&json);
        json_object_end(&json);
        buffer_putc(out, '\n');
}

static void put_test(const ResultsRun *run, size_t i, Buffer *out) {
        put_action(run, &run->matrix.tree.records[i], "", out);
        results_report_put_payload(run, i, out);
        buffer_putc(out, '\n');
        put_metrics(run, i, out);
}

void results_publish_put_bulk(const ResultsRun *run, Buffer *out) {
        for (size_t i = 0; i < run->matrix.tree.n; i++)
                if (!run->matrix.tree.records[i].left_out)
                        put_test(run, i, out);
}

void results_publish_put_horreum(const ResultsRun *run, Buffer *out) {
        const char *name = run->matrix.file.name ?: "results";
        Json json = { .out = out };

        json_array_begin(&json);
        for (size_t i = 0; i < run->matrix.tree.n; i++) {
                scoped(buffer_deinit) Buffer payload = {}, schema = {};

                if (run->matrix.tree.records[i].left_out)
                        continue;
                results_report_put_payload(run, i, &payload);
                buffer_printf(&schema, "urn:%s:1.0.0", name);
                json_object_begin(&json);
                json_put_string(&json, "testname", run->matrix.file.servers.export.test_name ?: name);
                json_put_uint(&json, "start", run->matrix.values[i].start_ns / NS_PER_MS);
                json_put_uint(&json, "stop", run->matrix.values[i].end_ns / NS_PER_MS);
                json_put_object_begin(&json, "data");
                json_put_string(&json, "$schema", schema.text);
                buffer_printf(out, ",%s", payload.text ? payload.text + 1 : "}");
                json.depth--;
                json_object_end(&json);
        }
        json_array_end(&json);
}

/* --- server --------------------------------------------------------------------------------------- */

static int create_index(JsonServer *server, const ResultsRun *run, const char *suffix) {
        scoped(buffer_deinit) Buffer path = {}, body = {};
        const char *type;
        int r;

        buffer_putc(&path, '/');
        put_index(run, suffix, &path);
        buffer_puts(&body, INDEX_BODY);
        r = json_server_ask(server, path.text, &(HttpContent){ "PUT", "application/json", &body });
        type = value_get_string(value_get(server->answer, "error"), "type");
        return r == JSON_SERVER_REFUSED && type && strcmp(type, "resource_already_exists_exception") == 0 ? 0 : r;
}

/* One document that is refused fails the request. */
static int send(JsonServer *server, const Buffer *bulk) {
        const Value *items, *errors;
        int r;

        r = json_server_ask(server, "/_bulk?refresh=true", &(HttpContent){ "POST", "application/x-ndjson", bulk });
        errors = value_get(server->answer, "errors");
        items = value_get(server->answer, "items");
        if (r != 0 || (errors && errors->type == VALUE_BOOL && !errors->boolean && items))
                return r;
        (void)snprintf(server->reason, sizeof(server->reason), "%.100s: the answer is not one of OpenSearch",
                       server->url);
        for (size_t i = 0; i < answer_length(items); i++) {
                const Value *error = value_get_given(value_get(&items->items[i], "index"), "error");

                if (error)
                        (void)snprintf(server->reason, sizeof(server->reason), "%.100s: %.200s", server->url,
                                       answer_text(error, "reason"));
        }
        return JSON_SERVER_REFUSED;
}

int results_publish_send(const ResultsRun *run, Buffer *said) {
        const ResultsExport *to = &run->matrix.file.servers.export;
        scoped(json_server_deinit) JsonServer server;
        size_t n = 0;
        int r;

        r = json_server_open(&server, to->instance, LOGIN, TIMEOUT_NS);
        if (r == 0)
                r = create_index(&server, run, "");
        if (r == 0 && to->prom_index_suffix &&
            (run->matrix.file.servers.prometheus || run->matrix.file.servers.dump))
                r = create_index(&server, run, to->prom_index_suffix);
        for (size_t i = 0; i < run->matrix.tree.n && r == 0;) {
                scoped(buffer_deinit) Buffer bulk = {};

                for (; i < run->matrix.tree.n && bulk.n < REQUEST_BYTES; i++)
                        if (!run->matrix.tree.records[i].left_out) {
                                put_test(run, i, &bulk);
                                n++;
                        }
                r = buffer_error(&bulk);
                if (r == 0 && bulk.n > 0)
                        r = send(&server, &bulk);
        }
        if (r < 0)
                return command_fail(r);
        if (r > 0)
                buffer_printf(said, "failed: %s", server.reason);
        else
                buffer_printf(said, "%zu to %s", n, to->instance);
        return r == 0 ? EXIT_DONE : EXIT_FAILED;
}

/* --- replots -------------------------------------------------------------------------------------- */

bool results_publish_is_replot(const TestTree *tree) {
        char path[PATH_MAX];

        return snprintf(path, sizeof(path), "%s/" NOTE_NAME, tree->root) < (int)sizeof(path) && access(path, F_OK) == 0;
}

void results_publish_note(const TestTree *tree) {
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/" NOTE_NAME, tree->root) < (int)sizeof(path))
                (void)file_replace(path, "", 0, 0644, false);
}
