/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/models/model_change.h"

static int model_remove_run(const CommandLine *line) {
        const ModelChangeOptions *options = line->options;
        const char *name = line->arguments[0], *component = line->n_arguments > 1 ? line->arguments[1] : NULL;
        scoped(deliver_courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        Screen screen;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = deliver_model_removal(&courier, name, component ?: "", &delivery);
        if (r != 0)
                return model_change_refuse(&courier, &delivery, name, "removed", r);

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        model_change_put(&screen, name, component, "removed");
        return output_print(&out);
}

const Command cmd_model_remove = {
        .name = "model remove",
        .arguments = "NAME [COMPONENT]",
        .summary = "Remove an added model",
        .help = "Without COMPONENT, removes the model without a component. Stored results are kept; a model of the same name in a file, if "
                "there is one, applies to them again.",
        .examples = { "perfctl model remove MemBw", "perfctl model remove MemBw 'plain C'" },
        COMMAND_OPTIONS(ModelChangeOptions, model_change_options),
        .n_arguments_min = 1,
        .n_arguments_max = 2,
        .value = OPTION_VALUE_INDICATOR,
        .run = model_remove_run,
};
