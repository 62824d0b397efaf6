/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "client/api/model_set.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/models/model_change.h"

/* Prints one line for each model. Returns the exit status. */
static int report_added(const CommandLine *line, const ModelSet *set, const Reply *reply) {
        const char *change = reply->status == STATUS_DUPLICATE ? "already there" : "added";
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        for (size_t i = 0; i < set->n; i++)
                model_change_put(&screen, set->models[i].name, set->models[i].component, change);
        if (reply->complaint.text[0] && reply->status == STATUS_OK)
                message_print("%s: %s", set->models[reply->has_item && reply->item < set->n ? reply->item : 0].name, reply->complaint.text);
        return output_print(&out);
}

/* Adds all models in one request, so that all or none are added. */
static int add_all(const CommandLine *line, const ModelSet *set) {
        const ModelChangeOptions *options = line->options;
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
        r = model_change_refuse(&courier, &delivery, set->models[refused].name, "added", r);
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
        .help = "Each file, or standard input for -, declares a model as described in perfd-indicators(5), or contains the models that "
                "`perfctl model schema` prints. All models are added, or none. A model replaces the one with the same name and "
                "component.",
        .examples = { "perfctl model add membw.yaml", "./describe.py | perfctl model add -",
                      "perfctl model schema *.yaml | perfctl model add -" },
        COMMAND_OPTIONS(ModelChangeOptions, model_change_options),
        .n_arguments_min = 1,
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = model_add_run,
};
