/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/jobs/job_change.h"

#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/output.h"

int job_change_print(const char *id, bool is_json, const Courier *courier, const Delivery *delivery, int r, const char *done) {
        scoped(buffer_deinit) Buffer out = {};
        char reason[DELIVERY_TEXT_MAX];
        bool is_duplicate;

        if (r != 0) {
                delivery_explain(delivery, courier, reason);
                message_print("%s", r < 0 ? strerrordesc_np(-r) : reason);
                return r > 0 && delivery->error < 0 ? EXIT_UNREACHABLE : EXIT_FAILED;
        }

        is_duplicate = delivery->reply.status == STATUS_DUPLICATE;
        if (is_json)
                buffer_printf(&out, "{\"job\":\"%s\",\"%s\":true,\"duplicate\":%s}\n", id, done,
                              is_duplicate ? "true" : "false");
        else
                buffer_printf(&out, "job %s: %s%s\n", id, is_duplicate ? "already " : "", done);
        return output_print(&out);
}
