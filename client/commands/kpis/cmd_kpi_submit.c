/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"
#include "client/deliver/deliver.h"
#include "client/facts/object_builder.h"
#include "client/import/kpi_documents.h"
#include "client/wire/id.h"
#include "util/clock.h"
#include "value/value_parse.h"

#define ARENA_BYTES (1U << 20)

typedef struct KpiSubmitOptions {
        const char *job, *component, *component_version;
        OptionTexts labels, parameters;
        uint64_t timeout_ns;
} KpiSubmitOptions;

/* Reads a number, a list of numbers, or null. */
static bool read_value(const char *text, Arena *arena, const Value **ret) {
        ValueReader reader;
        ValueError error;
        const Value *rest;

        value_parse_begin(&reader, text, strlen(text));
        if (value_parse_next(&reader, arena, ret, &error) != 0 || reader.n_not_finite > 0 ||
            value_parse_next(&reader, arena, &rest, &error) != VALUE_END)
                return false;
        return value_is_number(*ret) || (*ret)->type == VALUE_NULL || value_is_numbers(*ret);
}

static int send_item(const CommandLine *line, const Submission *item) {
        const KpiSubmitOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = deliver(&courier, &(Batch){ .items = item, .n_items = 1 }, &delivery);
        if (r != 0)
                return delivery_failure_print(&delivery, &courier, r);

        buffer_puts(&out, "1 stored\n");
        return output_print(&out);
}

static int kpi_submit_run(const CommandLine *line) {
        const KpiSubmitOptions *options = line->options;
        scoped(arena_deinit) Arena arena = {};
        const char *name = line->arguments[0];
        char id[JOB_ID_MAX];
        Submission item;
        JobRef job;
        const Value *value, *document;
        KpiValue kpi;
        Complaint complaint;
        int r;

        r = arena_init(&arena, ARENA_BYTES + value_parse_arena_size(strlen(line->arguments[1])));
        if (r < 0)
                return command_fail(r);
        if (!read_value(line->arguments[1], &arena, &value))
                return command_refuse(line->command->name,
                                      "VALUE must be a number, a list of numbers as in [1, 2], or null, not '%s'",
                                      line->arguments[1]);

        r = api_query_find_own_job(&line->global, options->job, id, &job);
        if (r != EXIT_DONE)
                return r;
        item = (Submission){ .job = job.id, .is_job_inherited = job.is_inherited };
        item.time_ms = clock_realtime_ns() / NS_PER_MS;
        kpi = (KpiValue){ .name = name,
                          .component = options->component,
                          .version = options->component_version,
                          .value = value,
                          .labels = options->labels.items,
                          .n_labels = options->labels.n,
                          .parameters = options->parameters.items,
                          .n_parameters = options->parameters.n };
        r = kpi_documents_make_one(&kpi, &arena, &document);
        if (r == 0)
                r = object_builder_add_given(document, &arena, &document, &complaint);
        if (r == 0)
                r = id_make_result(item.time_ms, item.id);
        if (r == 0)
                r = indicator_from_value(document, DOCUMENT_LIMITS_NONE, &item.indicator, &complaint);
        if (r < 0)
                return command_fail(r);
        if (r > 0) {
                message_print("%s: %s", complaint.path, complaint.text);
                return EXIT_USAGE;
        }
        return send_item(line, &item);
}

const Command cmd_kpi_submit = {
        .name = "kpi submit",
        .arguments = "NAME VALUE",
        .summary = "Submit one KPI: a number, a list of numbers, or null",
        .help = "Stores the value as the result NAME of the indicator NAME of the component kpi, or of --component. "
                "Each set of parameters has a history of its own; labels describe the run, unless the model of the "
                "KPI declares a parameter of the name. Write -- before a negative value.",
        .examples = { "perfctl kpi submit --parameter model_name=llama3 tokens_per_second 2062.2",
                      "perfctl kpi submit -- gpu_memory -1" },
        COMMAND_OPTION_ROWS(KpiSubmitOptions,
                OPTION_ROW_JOB(KpiSubmitOptions, job),
                OPTION_ROW_COMPONENT(KpiSubmitOptions, component),
                OPTION_ROW_COMPONENT_VERSION(KpiSubmitOptions, component_version),
                { "label", 'l', "KEY=VALUE", "Label; may be repeated",
                  OPTION_TEXTS(KpiSubmitOptions, labels, OPTION_TEXTS_MAX, option_parse_label) },
                { "parameter", 0, "KEY=VALUE", "Parameter, which has a history of its own; may be repeated",
                  OPTION_TEXTS(KpiSubmitOptions, parameters, OPTION_TEXTS_MAX, option_parse_label) },
                OPTION_ROW_TIMEOUT(KpiSubmitOptions, timeout_ns)),
        .n_arguments_min = 2,
        .n_arguments_max = 2,
        .value = OPTION_VALUE_INDICATOR,
        .run = kpi_submit_run,
};
