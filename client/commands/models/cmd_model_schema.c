/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/model_set.h"
#include "client/api/model_schema.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"

typedef struct ModelSchemaOptions {
        const char *format;
} ModelSchemaOptions;

static const Option options_table[] = {
        OPTION_ROW_FORMAT(ModelSchemaOptions, format, "json", "rdf"),
        {},
};

static void write_schema(const char *format, const ModelSet *set, Buffer *out) {
        if (strcmp(format, "rdf") == 0)
                model_schema_write_rdf(set->models, set->n, out);
        else
                model_schema_write_json(set->models, set->n, out);
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

        r = line->n_arguments > 0 ? model_set_add_files(&set, line->arguments, line->n_arguments) : ask_models(line, &query, &set);
        if (r != EXIT_DONE)
                return r;

        write_schema(options->format, &set, &out);
        return output_print(&out);
}

const Command cmd_model_schema = {
        .name = "model schema",
        .arguments = "[FILE]…",
        .summary = "Print models as a JSON or RDF schema",
        .help = "Prints all models that perfd knows or, without asking perfd, those of the files. The format json has all members in "
                "their long form, and rdf is a schema for the graph database Dgraph.",
        .examples = { "perfctl model schema", "perfctl model schema --format rdf membw.yaml" },
        COMMAND_OPTIONS(ModelSchemaOptions, options_table),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = model_schema_run,
};
