/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/model_set.h"
#include "client/cli/command.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"

/* Removes the request from a field path: "results.rate.type" from "register.results.rate.type"; "" for the name,
 * which is known. */
static const char *place_of(const Complaint *complaint) {
        const char *dot = strchr(complaint->path, '.');

        return strcmp(complaint->path, "unregister.name") == 0 ? "" : dot ? dot + 1 : complaint->path;
}

/* Reports a failed delivery. change: as "added". outcome: of the delivery. Returns the exit status. */
static int refuse_change(const Courier *courier, const Delivery *delivery, const char *name, const char *change,
                         int outcome) {
        const Complaint *complaint = &delivery->reply.complaint;

        if (outcome != DELIVERY_REFUSED)
                return delivery_failure_print(delivery, courier, outcome);

        if (delivery->reply.status == STATUS_UNSUPPORTED)
                message_print("the model of %s was not %s: this version of perfd does not support it", name, change);
        else
                message_print("the model of %s was not %s: %s%s%s", name, change, place_of(complaint),
                              place_of(complaint)[0] ? ": " : "",
                              complaint->text[0] ? complaint->text : request_status_name(delivery->reply.status));
        return EXIT_FAILED;
}

/* Writes "MemBw of plain C: added". component: NULL for any. */
static void put_change(Screen *screen, const char *name, const char *component, const char *change) {
        (void)screen_text(screen, name);
        if (component) {
                buffer_puts(screen->out, " of ");
                (void)screen_text(screen, component);
        }
        buffer_printf(screen->out, ": %s\n", change);
}

/* --- model list ------------------------------------------------------------------------------- */

static const char *component_of(const Value *model) {
        const char *component = value_get_string(model, "component");

        return component ? component : "any";
}

/* Number of stored results that the model describes: of its component, or of all. */
static uint64_t count_results(const Value *indicators, const Value *model) {
        const char *component = value_get_string(model, "component");
        uint64_t n = 0;

        for (size_t i = 0; i < answer_length(indicators); i++) {
                const Value *indicator = &indicators->items[i];

                if (strcmp(answer_text(indicator, "name"), answer_text(model, "name")) == 0 &&
                    (!component || strcmp(answer_text(indicator, "component"), component) == 0))
                        n += answer_time(indicator, "results");
        }

        return n;
}

static void put_origin(Grid *grid, const Value *model) {
        const char *file = value_get_string(model, "file");
        const Value *of_user = value_get(model, "applies_to_uid");
        char text[80];

        (void)snprintf(text, sizeof(text), "registered by user %ju%s", (uintmax_t)answer_time(model, "uid"),
                       of_user && of_user->type != VALUE_NULL ? ", own results only" : "");
        grid_text(grid, file ? file : text);
}

static void fill_models(Grid *grid, const Value *models, const Value *indicators) {
        grid_init_heads(grid, "INDICATOR|COMPONENT|>PARAMETERS|>RESULTS|>STORED|DECLARED IN");
        for (size_t i = 0; i < models->n_items; i++) {
                const Value *model = &models->items[i], *declaration = value_get(model, "declaration");

                grid_text(grid, answer_text(model, "name"));
                grid_text(grid, component_of(model));
                grid_count(grid, answer_n_members(value_get(declaration, "parameters")));
                grid_count(grid, answer_n_members(value_get(declaration, "results")));
                grid_count(grid, count_results(indicators, model));
                put_origin(grid, model);
        }
}

static int model_list_run(const CommandLine *line) {
        const JsonOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {}, counts = {};
        scoped(grid_deinit) Grid grid = {};
        const Value *models;
        int r;

        r = api_query_open(&query, &line->global, "/api/v1/models");
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);

        models = value_get(query.answer, "models");
        if (answer_length(models) == 0) {
                message_print("no models; see perfd-indicators(5)");
                return EXIT_DONE;
        }

        r = api_query_open(&counts, &line->global, "/api/v1/indicators");
        if (r != EXIT_DONE)
                return r;
        api_query_say_cut(&counts, "indicators");
        fill_models(&grid, models, value_get(counts.answer, "indicators"));
        return grid_print(&grid, line->global.no_color);
}

const Command cmd_model_list = {
        .name = "model list",
        .summary = "List indicator models",
        .examples = { "perfctl model list", "perfctl model list --json" },
        COMMAND_OPTIONS(JsonOptions, json_options),
        .run = model_list_run,
};

/* --- model schema ----------------------------------------------------------------------------- */

typedef struct ModelSchemaOptions {
        const char *format;
} ModelSchemaOptions;

static void write_schema(const char *format, const ModelSet *set, Buffer *out) {
        if (strcmp(format, "rdf") == 0)
                model_set_write_rdf(set, out);
        else
                model_set_write_json(set, out);
}

static int ask_models(const CommandLine *line, ApiQuery *query, ModelSet *set) {
        int r;

        r = api_query_open(query, &line->global, "/api/v1/models");
        return r == EXIT_DONE ? model_set_add_answer(set, query) : r;
}

static int model_schema_run(const CommandLine *line) {
        const ModelSchemaOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(model_set_deinit) ModelSet set = {};
        scoped(buffer_deinit) Buffer out = {};
        int r;

        r = line->n_arguments > 0 ? model_set_add_files(&set, line->arguments, line->n_arguments)
                                  : ask_models(line, &query, &set);
        if (r != EXIT_DONE)
                return r;

        write_schema(options->format, &set, &out);
        return output_print(&out);
}

const Command cmd_model_schema = {
        .name = "model schema",
        .arguments = "[FILE]…",
        .summary = "Print models as a JSON or RDF schema",
        .help = "Prints all models that perfd knows or, without asking perfd, those of the files. The format json "
                "has all members in their long form, and rdf is a schema for the graph database Dgraph.",
        .examples = { "perfctl model schema", "perfctl model schema --format rdf membw.yaml" },
        COMMAND_OPTION_ROWS(ModelSchemaOptions,
                OPTION_ROW_FORMAT(ModelSchemaOptions, format, "json", "rdf")),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = model_schema_run,
};

/* --- model add -------------------------------------------------------------------------------- */

/* Prints one line for each model. Returns the exit status. */
static int report_added(const CommandLine *line, const ModelSet *set, const Reply *reply) {
        const char *change = reply->status == STATUS_DUPLICATE ? "already there" : "added";
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        for (size_t i = 0; i < set->n; i++)
                put_change(&screen, set->models[i].name, set->models[i].component, change);
        if (reply->complaint.text[0] && reply->status == STATUS_OK)
                message_print("%s: %s", set->models[reply->has_item && reply->item < set->n ? reply->item : 0].name,
                              reply->complaint.text);
        return output_print(&out);
}

/* Adds all models in one request, so that all or none are added. */
static int add_all(const CommandLine *line, const ModelSet *set) {
        const TimeoutOptions *options = line->options;
        scoped(freep) const Value **documents = calloc(set->n, sizeof(*documents));
        scoped(deliver_courier_deinit) Courier courier;
        Delivery delivery;
        size_t refused;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        if (!documents)
                return command_fail(-ENOMEM);
        for (size_t i = 0; i < set->n; i++)
                documents[i] = set->models[i].document;

        r = deliver_models(&courier, documents, set->n, &delivery);
        if (r == 0)
                return report_added(line, set, &delivery.reply);
        refused = delivery.reply.has_item && delivery.reply.item < set->n ? delivery.reply.item : 0;
        r = refuse_change(&courier, &delivery, set->models[refused].name, "added", r);
        if (set->n > 1)
                message_print("no model was added");
        return r;
}

static int model_add_run(const CommandLine *line) {
        scoped(model_set_deinit) ModelSet set = {};
        int r;

        r = model_set_add_files(&set, line->arguments, line->n_arguments);
        if (r != EXIT_DONE) {
                message_print("no model was added");
                return r;
        }

        return add_all(line, &set);
}

const Command cmd_model_add = {
        .name = "model add",
        .arguments = "FILE…",
        .summary = "Add a model: declare an indicator's parameters and results",
        .help = "Each file, or standard input for -, declares a model as described in perfd-indicators(5), or "
                "contains the models that `perfctl model schema` prints. All models are added, or none. A model "
                "replaces the one with the same name and component.",
        .examples = { "perfctl model add membw.yaml", "./describe.py | perfctl model add -",
                      "perfctl model schema *.yaml | perfctl model add -" },
        COMMAND_OPTIONS(TimeoutOptions, timeout_options),
        .n_arguments_min = 1,
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = model_add_run,
};

/* --- model remove ----------------------------------------------------------------------------- */

static int model_remove_run(const CommandLine *line) {
        const TimeoutOptions *options = line->options;
        const char *name = line->arguments[0], *component = line->n_arguments > 1 ? line->arguments[1] : NULL;
        scoped(deliver_courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        Screen screen;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = deliver_model_removal(&courier, name, component ?: "", &delivery);
        if (r != 0)
                return refuse_change(&courier, &delivery, name, "removed", r);

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        put_change(&screen, name, component, "removed");
        return output_print(&out);
}

const Command cmd_model_remove = {
        .name = "model remove",
        .arguments = "NAME [COMPONENT]",
        .summary = "Remove an added model",
        .help = "Without COMPONENT, removes the model without a component. Stored results are kept; a model of the "
                "same name in a file, if there is one, applies to them again.",
        .examples = { "perfctl model remove MemBw", "perfctl model remove MemBw 'plain C'" },
        COMMAND_OPTIONS(TimeoutOptions, timeout_options),
        .n_arguments_min = 1,
        .n_arguments_max = 2,
        .value = OPTION_VALUE_INDICATOR,
        .run = model_remove_run,
};
