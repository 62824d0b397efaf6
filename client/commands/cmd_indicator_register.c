/* SPDX-License-Identifier: Apache-2.0 */
/* Registers and removes indicator models. */

#include <assert.h>
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

/* Removes the request from a field path: "results.rate.type" of "register.results.rate.type". */
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

static int register_all(const CommandLine *line, const ModelSet *set) {
        const RegisterOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        Screen screen;
        int r = 0;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        for (size_t i = 0; i < set->n && r == 0; i++) {
                const IndicatorModel *model = &set->models[i];

                r = deliver_model(&courier, model->document, &delivery);
                if (r != 0) {
                        r = refuse(&courier, &delivery, model->name, "registered", r);
                        break;
                }
                put_change(&screen, model->name, model->component,
                           delivery.reply.status == STATUS_DUPLICATE ? "already registered" : "registered");
                if (delivery.reply.complaint.text[0] && delivery.reply.status == STATUS_OK)
                        message_print("%s: %s", model->name, delivery.reply.complaint.text);
        }

        return output_print(&out) == EXIT_DONE ? r : EXIT_FAILED;
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
        .help = "Each file, or standard input for -, declares one model as described in perfd-indicators(5). A model replaces the "
                "one with the same name and component.",
        .examples = { "perfctl indicator register membw.yaml", "./describe.py | perfctl indicator register -" },
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
        .help = "Without a component, removes the model that has none. Stored results are kept; a model of the same name in a "
                "file, if there is one, applies to them again.",
        .examples = { "perfctl indicator unregister MemBw", "perfctl indicator unregister MemBw 'plain C'" },
        COMMAND_OPTIONS(RegisterOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 2,
        .value = OPTION_VALUE_INDICATOR,
        .run = indicator_unregister_run,
};
