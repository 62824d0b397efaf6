/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/model_change.h"

typedef struct IndicatorUnregisterOptions {
        uint64_t timeout_ns;
} IndicatorUnregisterOptions;

static const Option options_table[] = {
        OPTION_ROW_TIMEOUT(IndicatorUnregisterOptions, timeout_ns),
        {},
};

static int indicator_unregister_run(const CommandLine *line) {
        const IndicatorUnregisterOptions *options = line->options;
        const char *name = line->arguments[0], *component = line->n_arguments > 1 ? line->arguments[1] : NULL;
        scoped(courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        Screen screen;
        int r;

        courier_init(&courier, line->global.socket, options->timeout_ns);
        r = deliver_model_gone(&courier, name, component ?: "", &delivery);
        if (r != 0)
                return model_change_refused(&courier, &delivery, name, "removed", r);

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        model_change_put(&screen, name, component, "no longer registered");
        return output_print(&out);
}

const Command cmd_indicator_unregister = {
        .name = "indicator unregister",
        .arguments = "NAME [COMPONENT]",
        .summary = "Remove a registered model",
        .help = "Without a component, removes the model that has none. Stored results are kept; a model of the same name in a "
                "file, if there is one, applies to them again.",
        .examples = { "perfctl indicator unregister MemBw", "perfctl indicator unregister MemBw 'plain C'" },
        COMMAND_OPTIONS(IndicatorUnregisterOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 2,
        .value = OPTION_VALUE_INDICATOR,
        .run = indicator_unregister_run,
};
