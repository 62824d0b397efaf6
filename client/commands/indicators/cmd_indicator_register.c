/* SPDX-License-Identifier: Apache-2.0 */
/* Registers and removes indicator models. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/api/model_set.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/deliver/deliver.h"

typedef struct RegisterOptions {
        uint64_t timeout_ns;
} RegisterOptions;

static const Option options_table[] = {
        OPTION_ROW_TIMEOUT(RegisterOptions, timeout_ns),
        {},
};

/* Removes the request from a field path: "results.rate.type" from "register.results.rate.type". */
static const char *place_of(const Complaint *complaint) {
        const char *dot = strchr(complaint->path, '.');

        return dot ? dot + 1 : complaint->path;
}

/* Reports a failed delivery. change: as "registered". outcome: of the delivery. Returns the exit status. */
static int refuse(const Courier *courier, const Delivery *delivery, const char *name, const char *change, int outcome) {
        const Complaint *complaint = &delivery->reply.complaint;
        char reason[DELIVERY_TEXT_MAX];

        assert(outcome != 0);
        if (outcome < 0)
                return command_fail(outcome);
        if (outcome != DELIVERY_REFUSED) {
                delivery_explain(delivery, courier, reason);
                message_print("%s", reason);
                return delivery->error < 0 ? EXIT_UNREACHABLE : EXIT_FAILED;
        }

        if (delivery->reply.status == STATUS_UNSUPPORTED)
                message_print("the model of %s was not %s: this version of perfd does not support it", name, change);
        else
                message_print("the model of %s was not %s: %s%s%s", name, change, place_of(complaint), complaint->path[0] ? ": " : "",
                    complaint->text[0] ? complaint->text : request_status_name(delivery->reply.status));
        return EXIT_FAILED;
}

/* Writes "MemBw of plain C: registered". component: NULL for any. */
static void put_change(Screen *screen, const char *name, const char *component, const char *change) {
        (void)screen_text(screen, name);
        if (component) {
                buffer_puts(screen->out, " of ");
                (void)screen_text(screen, component);
        }
        buffer_printf(screen->out, ": %s\n", change);
}

/* Prints one line for each model. Returns the exit status. */
static int report_registered(const CommandLine *line, const ModelSet *set, const Reply *reply) {
        const char *change = reply->status == STATUS_DUPLICATE ? "already registered" : "registered";
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        for (size_t i = 0; i < set->n; i++)
                put_change(&screen, set->models[i].name, set->models[i].component, change);
        if (reply->complaint.text[0] && reply->status == STATUS_OK)
                message_print("%s: %s", set->models[reply->has_item && reply->item < set->n ? reply->item : 0].name, reply->complaint.text);
        return output_print(&out);
}

/* Registers all models in one request, so that all or none are registered. */
static int register_all(const CommandLine *line, const ModelSet *set) {
        const RegisterOptions *options = line->options;
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
                return report_registered(line, set, &delivery.reply);
        refused = delivery.reply.has_item && delivery.reply.item < set->n ? delivery.reply.item : 0;
        r = refuse(&courier, &delivery, set->models[refused].name, "registered", r);
        if (set->n > 1)
                message_print("no model was registered");
        return r;
}

static int indicator_register_run(const CommandLine *line) {
        scoped(model_set_deinit) ModelSet set = {};
        int r;

        r = model_set_add_files(&set, line->arguments, line->n_arguments);
        if (r != EXIT_DONE) {
                message_print("no model was registered");
                return r;
        }

        return register_all(line, &set);
}

const Command cmd_indicator_register = {
        .name = "indicator register",
        .arguments = "FILE…",
        .summary = "Register a model: declare an indicator's parameters and results",
        .help = "Each file, or standard input for -, declares a model as described in perfd-indicators(5), or contains the models that "
                "`perfctl indicator schema` prints. All models are registered, or none. A model replaces the one with the same name and "
                "component.",
        .examples = { "perfctl indicator register membw.yaml", "./describe.py | perfctl indicator register -",
                      "perfctl indicator schema *.yaml | perfctl indicator register -" },
        COMMAND_OPTIONS(RegisterOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = indicator_register_run,
};

static int indicator_unregister_run(const CommandLine *line) {
        const RegisterOptions *options = line->options;
        const char *name = line->arguments[0], *component = line->n_arguments > 1 ? line->arguments[1] : NULL;
        scoped(deliver_courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        Screen screen;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = deliver_model_removal(&courier, name, component ?: "", &delivery);
        if (r != 0)
                return refuse(&courier, &delivery, name, "removed", r);

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        put_change(&screen, name, component, "no longer registered");
        return output_print(&out);
}

const Command cmd_indicator_unregister = {
        .name = "indicator unregister",
        .arguments = "NAME [COMPONENT]",
        .summary = "Remove a registered model",
        .help = "Without COMPONENT, removes the model without a component. Stored results are kept; a model of the same name in a file, if "
                "there is one, applies to them again.",
        .examples = { "perfctl indicator unregister MemBw", "perfctl indicator unregister MemBw 'plain C'" },
        COMMAND_OPTIONS(RegisterOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 2,
        .value = OPTION_VALUE_INDICATOR,
        .run = indicator_unregister_run,
};
