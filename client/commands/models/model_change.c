/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/models/model_change.h"

#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/commands/delivery_failure.h"

const Option model_change_options[] = {
        OPTION_ROW_TIMEOUT(ModelChangeOptions, timeout_ns),
        {},
};

/* Removes the request from a field path: "results.rate.type" from "register.results.rate.type"; "" for the name, which is known. */
static const char *place_of(const Complaint *complaint) {
        const char *dot = strchr(complaint->path, '.');

        return strcmp(complaint->path, "unregister.name") == 0 ? "" : dot ? dot + 1 : complaint->path;
}

int model_change_refuse(const Courier *courier, const Delivery *delivery, const char *name, const char *change, int outcome) {
        const Complaint *complaint = &delivery->reply.complaint;

        if (outcome != DELIVERY_REFUSED)
                return delivery_failure_print(delivery, courier, outcome);

        if (delivery->reply.status == STATUS_UNSUPPORTED)
                message_print("the model of %s was not %s: this version of perfd does not support it", name, change);
        else
                message_print("the model of %s was not %s: %s%s%s", name, change, place_of(complaint), place_of(complaint)[0] ? ": " : "",
                    complaint->text[0] ? complaint->text : request_status_name(delivery->reply.status));
        return EXIT_FAILED;
}

void model_change_put(Screen *screen, const char *name, const char *component, const char *change) {
        (void)screen_text(screen, name);
        if (component) {
                buffer_puts(screen->out, " of ");
                (void)screen_text(screen, component);
        }
        buffer_printf(screen->out, ": %s\n", change);
}
