/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/model_set.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/model_change.h"

typedef struct IndicatorRegisterOptions {
        uint64_t timeout_ns;
} IndicatorRegisterOptions;

static const Option options_table[] = {
        OPTION_ROW_TIMEOUT(IndicatorRegisterOptions, timeout_ns),
        {},
};

static int register_all(const CommandLine *line, const ModelSet *set) {
        const IndicatorRegisterOptions *options = line->options;
        scoped(courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        Screen screen;
        int r = 0;

        courier_init(&courier, line->global.socket, options->timeout_ns);
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        for (size_t i = 0; i < set->n && r == 0; i++) {
                const IndicatorModel *model = &set->models[i];

                r = deliver_model(&courier, model->document, &delivery);
                if (r != 0) {
                        r = model_change_refused(&courier, &delivery, model->name, "registered", r);
                        break;
                }
                model_change_put(&screen, model->name, model->component,
                           delivery.reply.status == STATUS_DUPLICATE ? "registered already" : "registered");
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
        COMMAND_OPTIONS(IndicatorRegisterOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = indicator_register_run,
};
