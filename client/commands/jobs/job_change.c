/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/jobs/job_change.h"

#include "client/cli/output.h"
#include "client/commands/delivery_failure.h"

int job_change_print(const char *id, bool is_json, const Courier *courier, const Delivery *delivery, int r, const char *done) {
        scoped(buffer_deinit) Buffer out = {};
        bool is_duplicate;

        if (r != 0)
                return delivery_failure_print(delivery, courier, r);

        is_duplicate = delivery->reply.status == STATUS_DUPLICATE;
        if (is_json)
                buffer_printf(&out, "{\"job\":\"%s\",\"%s\":true,\"duplicate\":%s}\n", id, done,
                              is_duplicate ? "true" : "false");
        else
                buffer_printf(&out, "job %s: %s%s\n", id, is_duplicate ? "already " : "", done);
        return output_print(&out);
}
