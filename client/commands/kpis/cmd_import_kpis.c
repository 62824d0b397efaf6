/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/api/api_query.h"
#include "client/api/json_server.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"
#include "client/deliver/deliver.h"
#include "client/import/kpi_documents.h"
#include "client/wire/id.h"
#include "util/array.h"
#include "util/clock.h"
#include "value/value_parse.h"

#define ANCHOR_NAME "source.lts.yaml" /* of MatrixBenchmarking */
#define LOGIN "PERFD_OPENSEARCH_LOGIN"
#define SERVER_TIMEOUT_NS (60 * NS_PER_S)
#define PAGE_HITS 100U
#define HITS_MAX 1000000U

typedef struct ImportKpisOptions {
        const char *name, *from, *index; /* NULL: not given */
        OptionTexts filters;
        uint64_t timeout_ns;
        bool replace, json;
} ImportKpisOptions;

/* The KPIs of one file, and the indicators that they make. */
typedef struct KpiImport {
        const ImportKpisOptions *options;
        const char *file, *name; /* name: of the model */
        Arena arena;
        Kpi *kpis;
        size_t n_kpis;
        Submission *items;
        size_t n_items;
} KpiImport;

static void kpi_import_deinit(KpiImport *import) {
        free(import->items);
        arena_deinit(&import->arena);
}

/* --- reading -------------------------------------------------------------------------------------- */

static int refuse_json(const KpiImport *import, const char *text) {
        message_print("%s:1: %s", import->file, text);
        return EXIT_FAILED;
}

/* Reads the only value of a file. Returns an exit status, or a negative errno. */
static int read_json(KpiImport *import, const Buffer *text) {
        const char *complaint = NULL;
        const Value *payload, *further;
        ValueReader reader;
        ValueError error;
        int r;

        value_parse_begin(&reader, text->text, text->n);
        r = value_parse_next(&reader, &import->arena, &payload, &error);
        if (r == VALUE_MALFORMED) {
                message_print("%s:%u:%u: %s", import->file, error.line, error.column, error.text);
                return EXIT_FAILED;
        }
        if (r == VALUE_NO_ROOM)
                return -ENOMEM;
        if (r == 0 && reader.n_not_finite > 0)
                message_print("%s: " INPUT_NOT_FINITE_TEXT, import->file, reader.n_not_finite);
        if (r == 0 && value_parse_next(&reader, &import->arena, &further, &error) != VALUE_END)
                return refuse_json(import, "has text after the JSON value: give each value a file of its own");
        r = r == 0 ? kpi_documents_read(payload, &import->arena, &import->kpis, &import->n_kpis, &complaint) : 0;
        return r == KPI_MALFORMED ? refuse_json(import, complaint) : r < 0 ? r : EXIT_DONE;
}

static int read_text(KpiImport *import, const Buffer *text) {
        KpiError error;
        int r;

        r = kpi_text_parse(text->text, text->n, &import->arena, &import->kpis, &import->n_kpis, &error);
        if (r == KPI_MALFORMED) {
                message_print("%s:%u: %s", import->file, error.line, error.text);
                return EXIT_FAILED;
        }
        if (r == 0 && error.n_not_finite > 0)
                message_print("%s: " INPUT_NOT_FINITE_TEXT, import->file, error.n_not_finite);
        return r < 0 ? r : EXIT_DONE;
}

static int read_kpis(KpiImport *import, const Buffer *text) {
        char first = text->n > 0 ? text->text[strspn(text->text, " \t\r\n")] : '\0';
        bool is_json = first == '{' || first == '[';
        int r;

        r = arena_init(&import->arena, value_parse_arena_size(text->n) + kpi_text_arena_size(text->n));
        if (r == 0)
                r = is_json ? read_json(import, text) : read_text(import, text);
        if (r == EXIT_DONE && import->n_kpis == 0)
                return refuse_json(import, "has no KPI");
        return r == EXIT_DONE ? kpi_documents_index(import->kpis, import->n_kpis) : r;
}

static bool has_id(const Submission *item) {
        static const uint8_t none[RESULT_ID_BYTES] = {};

        return memcmp(item->id, none, sizeof(none)) != 0;
}

/* Makes the indicators. Returns an exit status, or a negative errno. */
static int make_items(KpiImport *import) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;
        size_t n_used = 0;
        Complaint complaint;
        int r = 0;

        for (size_t i = 0; i < import->n_kpis && r == 0; i += n_used) {
                Submission item;

                r = kpi_documents_make(import->kpis, i, import->n_kpis, import->name, &import->arena, &item,
                                       &n_used, &complaint);
                if (r == INDICATOR_INVALID) {
                        message_print("%s: KPI %s: %s: %s", import->file, import->kpis[i].name, complaint.path,
                                      complaint.text);
                        return EXIT_FAILED;
                }
                item.job = "";
                item.replaces = import->options->replace;
                if (r == 0 && item.time_ms == 0)
                        item.time_ms = now_ms;
                if (r == 0 && !has_id(&item))
                        r = id_make_result(now_ms, item.id);
                if (r == 0)
                        r = ARRAY_EXTEND(import->items, import->n_items);
                if (r == 0)
                        import->items[import->n_items++] = item;
        }
        return r < 0 ? r : EXIT_DONE;
}

/* --- the model ------------------------------------------------------------------------------------ */

/* Reports a difference between the file and the model, which is not changed. */
static void compare_text(const Kpi *kpi, const Value *declared, const char *member, const char *here) {
        const char *there = value_get_string(declared, member);

        if (here && strcmp(here, there ?: "") != 0)
                message_print("%s: %s is '%s' in the file, and %s%s%s in the model; the model is unchanged", kpi->name,
                              member, here, there ? "'" : "", there ?: "not declared", there ? "'" : "");
}

static void compare_model(const KpiImport *import, const Value *declaration) {
        const Value *results = value_get(declaration, "results");

        for (size_t i = 0; i < import->n_kpis; i++) {
                const Kpi *kpi = &import->kpis[i];
                const Value *declared = kpi->before == 0 ? value_get(results, kpi->name) : NULL;

                if (kpi->before > 0)
                        continue;
                if (!declared) {
                        message_print("%s: the model of %s does not declare this KPI", kpi->name,
                                      import->name);
                        continue;
                }
                compare_text(kpi, declared, "unit", value_get_string(kpi->object, "unit"));
                compare_text(kpi, declared, "help", value_get_string(kpi->object, "help"));
                compare_text(kpi, declared, "direction", kpi_documents_direction(kpi->object));
        }
}

/* Registers the user's own model, unless there is one. */
static int provide_model(KpiImport *import, const CommandLine *line, Courier *courier) {
        scoped(api_query_deinit) ApiQuery query = {};
        const Value *declaration;
        Delivery delivery;
        int r;

        r = api_query_open(&query, &line->global, "/api/v1/models");
        if (r != EXIT_DONE)
                return r;
        declaration = answer_find_declaration(value_get(query.answer, "models"), import->name, KPI_COMPONENT);
        if (declaration) {
                compare_model(import, declaration);
                return EXIT_DONE;
        }

        r = kpi_documents_model(import->kpis, import->n_kpis, import->name, &import->arena, &declaration);
        if (r == KPI_TOO_MANY) {
                message_print("no model of %s is registered: the file has %zu KPIs, and a model declares up to %u "
                              "parameters and results",
                              import->name, import->n_kpis, MODEL_PROPERTIES_MAX);
                return EXIT_DONE;
        }
        if (r < 0)
                return command_fail(r);
        r = deliver_models(courier, &declaration, 1, &delivery);
        if (r != 0)
                return delivery_failure_print(&delivery, courier, r);
        message_print("registered a model of %s from the file", import->name);
        return EXIT_DONE;
}

/* --- sending -------------------------------------------------------------------------------------- */

static int send_items(const KpiImport *import, Courier *courier) {
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        int r;

        r = deliver(courier, &(Batch){ .items = import->items, .n_items = import->n_items }, &delivery);
        if (r != 0)
                return delivery_failure_print(&delivery, courier, r);

        /* names the completed or replaced members, or the first difference from the stored result */
        if (delivery.n_duplicate > 0 && delivery.reply.complaint.text[0])
                message_print("%s: %s", import->file, delivery.reply.complaint.text);
        if (import->options->json)
                buffer_printf(&out, "{\"kpis\":%zu,\"stored\":%zu,\"duplicate\":%zu}\n", import->n_kpis,
                              delivery.n_stored, delivery.n_duplicate);
        else
                buffer_printf(&out, "%s: %zu KPIs in %zu results: %zu stored, %zu already stored\n", import->file,
                              import->n_kpis, import->n_items, delivery.n_stored, delivery.n_duplicate);
        return output_print(&out);
}

static int import_text(const CommandLine *line, const char *name, const char *file, const Buffer *text,
                       Courier *courier) {
        const ImportKpisOptions *options = line->options;
        scoped(kpi_import_deinit) KpiImport import = { .options = options, .file = file,
                                                       .name = options->name ?: name };
        int r;

        if (!indicator_name_is_valid(import.name, NAME_MAX_BYTES))
                return command_refuse(line->command->name,
                                      "--model expects 1 to 128 letters, digits, or any of _ . : -, not '%s'",
                                      import.name);
        r = read_kpis(&import, text);
        if (r == EXIT_DONE)
                r = make_items(&import);
        if (r < 0)
                return command_fail(r);

        deliver_courier_set_timeout(courier, options->timeout_ns);
        if (r == EXIT_DONE)
                r = provide_model(&import, line, courier);
        return r == EXIT_DONE ? send_items(&import, courier) : r;
}

static int import_file(const CommandLine *line, const char *name, const char *file, Courier *courier) {
        scoped(buffer_deinit) Buffer text = {};
        int r = input_read(file, &text);

        return r == EXIT_DONE ? import_text(line, name, input_name(file), &text, courier) : r;
}

/* --- directories ---------------------------------------------------------------------------------- */

/* Reads the name of the index from the anchor of a directory. "": there is no anchor. */
static int read_anchor(const char *directory, char ret_index[static NAME_MAX_BYTES + 1]) {
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer text = {};
        char path[PATH_MAX];
        const Value *root;
        int r;

        ret_index[0] = '\0';
        if (snprintf(path, sizeof(path), "%s/" ANCHOR_NAME, directory) >= (int)sizeof(path) || access(path, F_OK) < 0)
                return EXIT_DONE;
        r = input_read(path, &text);
        if (r == EXIT_DONE)
                r = arena_init(&arena, input_arena_size(text.n));
        if (r == 0)
                r = input_parse(&text, path, &arena, &root);
        if (r == 0)
                (void)snprintf(ret_index, NAME_MAX_BYTES + 1, "%s", value_get_string(root, "index") ?: "kpis");
        return r < 0 ? command_fail(r) : r == INPUT_WRONG ? EXIT_FAILED : r;
}

static int compare_names(const FTSENT **a, const FTSENT **b) {
        return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Imports all files beside each anchor below a directory. */
static int import_directory(const CommandLine *line, char *directory, Courier *courier) {
        FTS *walk = fts_open((char *[]){ directory, NULL }, FTS_PHYSICAL | FTS_NOCHDIR, compare_names);
        char index[NAME_MAX_BYTES + 1], parent[PATH_MAX];
        int r = EXIT_DONE, status = EXIT_DONE;
        FTSENT *entry;
        size_t n = 0;

        while (walk && r != EXIT_UNREACHABLE && (entry = fts_read(walk))) {
                if (entry->fts_level > 0 && *entry->fts_name == '.')
                        (void)fts_set(walk, entry, FTS_SKIP);
                if (entry->fts_info != FTS_F || *entry->fts_name == '.' || strcmp(entry->fts_name, ANCHOR_NAME) == 0)
                        continue;
                (void)snprintf(parent, sizeof(parent), "%.*s", (int)(entry->fts_pathlen - entry->fts_namelen),
                               entry->fts_path);
                r = read_anchor(parent, index);
                if (r == EXIT_DONE && *index) {
                        r = import_file(line, index, entry->fts_path, courier);
                        n++;
                }
                status = r == EXIT_DONE ? status : r;
        }
        if (walk)
                (void)fts_close(walk);
        if (n > 0 || status != EXIT_DONE)
                return status;
        message_print("%s: no payloads: there is no " ANCHOR_NAME " with files beside it", directory);
        return EXIT_FAILED;
}

/* --- OpenSearch ----------------------------------------------------------------------------------- */

/* A setting is found in an index with MatrixBenchmarking's mapping, and in one whose fields OpenSearch chose. */
static void put_filter(const char *filter, Json *json) {
        const char *equals = strchrnul(filter, '=');

        json_object_begin(json);
        json_put_object_begin(json, "bool");
        json_put_array_begin(json, "should");
        for (unsigned i = 0; i < 4; i++) {
                scoped(buffer_deinit) Buffer field = {};

                buffer_printf(&field, "%s%.*s%s", i < 2 ? "metadata.settings." : "", (int)(equals - filter), filter,
                              i % 2 ? ".keyword" : "");
                json_object_begin(json);
                json_put_object_begin(json, "term");
                json_put_string(json, field.text, *equals ? equals + 1 : "");
                json_object_end(json);
                json_object_end(json);
        }
        json_array_end(json);
        json_object_end(json);
        json_object_end(json);
}

static void put_query(const ImportKpisOptions *options, Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_uint(&json, "size", PAGE_HITS);
        json_put_object_begin(&json, "query");
        json_put_object_begin(&json, "bool");
        json_put_array_begin(&json, "must");
        for (size_t i = 0; i < options->filters.n; i++)
                put_filter(options->filters.items[i], &json);
        json_array_end(&json);
        json_object_end(&json);
        json_object_end(&json);
        json_object_end(&json);
}

static int import_hits(const CommandLine *line, const Value *hits, Courier *courier) {
        const ImportKpisOptions *options = line->options;
        int r = EXIT_DONE, status = EXIT_DONE;

        for (size_t i = 0; i < answer_length(hits) && r != EXIT_UNREACHABLE; i++) {
                scoped(buffer_deinit) Buffer name = {}, text = {};
                const Value *source = value_get(&hits->items[i], "_source");

                buffer_printf(&name, "%s/%s", options->index, answer_text(&hits->items[i], "_id"));
                if (source)
                        value_write_json(source, &(Json){ .out = &text });
                r = buffer_error(&text) < 0 ? command_fail(-ENOMEM)
                                            : import_text(line, options->index, name.text, &text, courier);
                status = r == EXIT_DONE ? status : r;
        }
        return status;
}

/* Imports page after page, however many payloads an index has. */
static int import_server(const CommandLine *line, Courier *courier) {
        const ImportKpisOptions *options = line->options;
        scoped(json_server_deinit) JsonServer server;
        scoped(buffer_deinit) Buffer path = {}, query = {};
        size_t n = 0, n_page = 1;
        int r, status = EXIT_DONE;

        put_query(options, &query);
        buffer_putc(&path, '/');
        buffer_put_encoded(&path, options->index);
        buffer_puts(&path, "/_search?scroll=5m");
        r = json_server_open(&server, options->from, LOGIN, SERVER_TIMEOUT_NS);
        while (r == 0 && n_page > 0 && status != EXIT_UNREACHABLE && n < HITS_MAX) {
                const Value *hits;
                int imported;

                r = json_server_ask(&server, path.text, &(HttpContent){ "POST", "application/json", &query });
                hits = value_get(value_get(server.answer, "hits"), "hits");
                if (r != 0)
                        break;
                n_page = answer_length(hits);
                n += n_page;
                imported = import_hits(line, hits, courier);
                status = imported == EXIT_DONE ? status : imported;
                buffer_clear(&path);
                buffer_puts(&path, "/_search/scroll");
                buffer_clear(&query);
                buffer_puts(&query, "{\"scroll\":\"5m\",\"scroll_id\":");
                json_string(&(Json){ .out = &query }, answer_text(server.answer, "_scroll_id"));
                buffer_putc(&query, '}');
        }
        if (r < 0)
                return command_fail(r);
        if (r == 0 && n > 0)
                return status;
        message_print("%s", r > 0 ? server.reason : "the server has no such payload");
        return EXIT_FAILED;
}

/* --- command -------------------------------------------------------------------------------------- */

static int import_kpis_run(const CommandLine *line) {
        const ImportKpisOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        int r = EXIT_DONE;

        if (!options->from != !options->index || (!options->from && line->n_arguments == 0))
                return command_refuse(line->command->name, "expected files or directories, or --from with --index");
        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        if (options->from)
                r = import_server(line, &courier);
        for (int i = 0; i < line->n_arguments && r == EXIT_DONE; i++) {
                struct stat st;
                char *path = line->arguments[i];

                r = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? import_directory(line, path, &courier)
                                                                : import_file(line, "kpis", path, &courier);
        }
        return r;
}

const Command cmd_import_kpis = {
        .name = "import kpis",
        .arguments = "[FILE | DIRECTORY]…",
        .summary = "Import KPIs of MatrixBenchmarking",
        .help = "Reads KPIs in JSON, in both text forms of MatrixBenchmarking, and in OpenMetrics, or standard input "
                "for -; of a directory, the payloads beside source.lts.yaml; with --from, those of an OpenSearch "
                "index. "
                "The KPIs of a test become one result, whose id is the test_uuid: importing a file again "
                "changes nothing. If there is no model of the name, the import registers a model from unit, help and "
                "lower_better; otherwise differences from the model are reported.",
        .examples = { "perfctl import kpis --model fine-tuning payload.json",
                      "perfctl import kpis --model serving kpis.txt",
                      "perfctl import kpis --from http://localhost:9200 --index serving" },
        COMMAND_OPTION_ROWS(ImportKpisOptions,
                { "model", 0, "NAME", "Name of the model of the KPIs; default: the index, or kpis",
                  OPTION_LINE(ImportKpisOptions, name, NAME_MAX_BYTES) },
                { "from", 0, "URL", "Import the payloads of an OpenSearch server", OPTION_TEXT(ImportKpisOptions, from) },
                { "index", 0, "NAME", "Index of the server", OPTION_TEXT(ImportKpisOptions, index) },
                { "filter", 0, "KEY=VALUE", "Only payloads with this setting; may be repeated",
                  OPTION_TEXTS(ImportKpisOptions, filters, OPTION_TEXTS_MAX, option_parse_list) },
                OPTION_ROW_REPLACE(ImportKpisOptions, replace),
                OPTION_ROW_TIMEOUT(ImportKpisOptions, timeout_ns),
                OPTION_ROW_JSON(ImportKpisOptions, json)),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = import_kpis_run,
};
