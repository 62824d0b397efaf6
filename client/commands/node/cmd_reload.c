/* SPDX-License-Identifier: Apache-2.0 */

#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"
#include "client/deliver/deliver.h"
#include "util/error_text.h"

static int reload_run(const CommandLine *line) {
        const TimeoutOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        char reason[DELIVERY_TEXT_MAX];
        Delivery delivery;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = deliver_reload(&courier, &delivery);
        if (r != 0) {
                delivery_explain(&delivery, &courier, reason);
                message_print("%s%s", delivery.error < 0 || delivery.reply.status == STATUS_DENIED ? "" :
                              "the configuration was not changed: ",
                              r < 0 ? error_text(-r) : reason);
                return delivery_failure_status(&delivery, r);
        }

        if (delivery.reply.complaint.text[0])
                message_print("%s", delivery.reply.complaint.text);
        buffer_puts(&out, "configuration reloaded\n");
        return output_print(&out);
}

const Command cmd_reload = {
        .name = "reload",
        .summary = "Make perfd reload its configuration",
        .help = "For administrators. perfd applies all its configuration files or none: when a file has an error, "
                "the error is printed and the exit status is 1. systemctl reload perfd does the same.",
        .examples = { "perfctl reload" },
        COMMAND_OPTIONS(TimeoutOptions, timeout_options),
        .run = reload_run,
};
