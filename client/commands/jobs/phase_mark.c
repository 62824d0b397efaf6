/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/jobs/phase_mark.h"

#include <errno.h>
#include <string.h>

#include "client/cli/message.h"
#include "job/job.h"
#include "util/utf8.h"

bool phase_mark_check_name(const char *name) {
        if (*name && strlen(name) < PHASE_NAME_MAX && utf8_is_line(name))
                return true;

        message_print("invalid phase name '%.80s': expected 1 to %u bytes of UTF-8 without control characters", name,
                      PHASE_NAME_MAX - 1);
        return false;
}

int phase_mark_send(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret,
                    Delivery *ret_delivery, char ret_text[static DELIVERY_TEXT_MAX]) {
        int r;

        deliver_courier_deinit(courier); /* an earlier connection may be one to a perfd that has been restarted */
        deliver_courier_set_timeout(courier, PHASE_MARK_TIMEOUT_NS);
        courier->is_patient = false;
        r = deliver_mark(courier, job, name, wall_seconds, ret, ret_delivery);
        if (r > 0)
                delivery_explain(ret_delivery, courier, ret_text);
        return r;
}

bool phase_mark_may_be_taken(const Courier *courier, const Delivery *delivery) {
        return delivery->error == -ETIMEDOUT && wire_is_connected(&courier->wire);
}
