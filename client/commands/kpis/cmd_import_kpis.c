/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "client/api/api_query.h"
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

typedef struct ImportKpisOptions {
        const char *name;
        uint64_t timeout_ns;
        bool replace, json;
} ImportKpisOptions;

static const Option options_table[] = {
        { "model", 0, "NAME", "Name of the model of the KPIs", OPTION_LINE(ImportKpisOptions, name, NAME_MAX_BYTES), .initial = "kpis" },
        OPTION_ROW_REPLACE(ImportKpisOptions, replace),
        OPTION_ROW_TIMEOUT(ImportKpisOptions, timeout_ns),
        OPTION_ROW_JSON(ImportKpisOptions, json),
        {},
};

/* The KPIs of one file, and the indicators that they make. */
typedef struct KpiImport {
        const ImportKpisOptions *options;
        const char *file;
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

                r = kpi_documents_make(import->kpis, i, import->n_kpis, import->options->name, &import->arena, &item,
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
                                      import->options->name);
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
        declaration = answer_find_declaration(value_get(query.answer, "models"), import->options->name, KPI_COMPONENT);
        if (declaration) {
                compare_model(import, declaration);
                return EXIT_DONE;
        }

        r = kpi_documents_model(import->kpis, import->n_kpis, import->options->name, &import->arena, &declaration);
        if (r == KPI_TOO_MANY) {
                message_print("no model of %s is registered: the file has %zu KPIs, and a model declares up to %u "
                              "parameters and results",
                              import->options->name, import->n_kpis, MODEL_PROPERTIES_MAX);
                return EXIT_DONE;
        }
        if (r < 0)
                return command_fail(r);
        r = deliver_models(courier, &declaration, 1, &delivery);
        if (r != 0)
                return delivery_failure_print(&delivery, courier, r);
        message_print("registered a model of %s from the file", import->options->name);
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

static int import_file(const CommandLine *line, const char *file, Courier *courier) {
        const ImportKpisOptions *options = line->options;
        scoped(kpi_import_deinit) KpiImport import = { .options = options, .file = input_name(file) };
        scoped(buffer_deinit) Buffer text = {};
        int r;

        r = input_read(file, &text);
        if (r == EXIT_DONE)
                r = read_kpis(&import, &text);
        if (r == EXIT_DONE)
                r = make_items(&import);
        if (r < 0)
                return command_fail(r);

        deliver_courier_set_timeout(courier, options->timeout_ns);
        if (r == EXIT_DONE)
                r = provide_model(&import, line, courier);
        return r == EXIT_DONE ? send_items(&import, courier) : r;
}

static int import_kpis_run(const CommandLine *line) {
        const ImportKpisOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        int r = EXIT_DONE;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        if (!indicator_name_is_valid(options->name, NAME_MAX_BYTES))
                return command_refuse(line->command->name,
                                      "--model expects 1 to 128 letters, digits, or any of _ . : -, not '%s'",
                                      options->name);
        for (int i = 0; i < line->n_arguments && r == EXIT_DONE; i++)
                r = import_file(line, line->arguments[i], &courier);
        return r;
}

const Command cmd_import_kpis = {
        .name = "import kpis",
        .arguments = "FILE…",
        .summary = "Import KPIs of MatrixBenchmarking",
        .help = "Reads KPIs in JSON, in both text forms of MatrixBenchmarking, and in OpenMetrics, or standard input "
                "for -. The KPIs of a test become one result, whose id is the test_uuid: importing a file again "
                "changes nothing. If there is no model of the name, the import registers a model from unit, help and "
                "lower_better; otherwise differences from the model are reported.",
        .examples = { "perfctl import kpis --model fine-tuning payload.json",
                      "perfctl import kpis --model serving kpis.txt" },
        COMMAND_OPTIONS(ImportKpisOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = import_kpis_run,
};
