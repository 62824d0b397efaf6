/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/mark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/message.h"
#include "document/indicator.h"
#include "util/clock.h"
#include "util/utf8.h"

_Static_assert(MARK_TIMEOUT_NS == 200 * NS_PER_MS, "as the manual says");

bool mark_name_check(const char *name) {
        if (*name && strlen(name) < PHASE_NAME_MAX && utf8_is_line(name))
                return true;

        message_print("invalid phase name '%.80s': expected 1 to %u bytes of UTF-8 without control characters", name, PHASE_NAME_MAX - 1);
        return false;
}

bool mark_job_find(const char *given, JobRef *ret) {
        const char *job = given ? given : getenv("PERFD_JOB");

        *ret = (JobRef){ .id = job ?: "", .is_inherited = !given && job && *job };
        if (!ret->id[0] || name_is_valid(job, JOB_ID_MAX - 1))
                return true;

        message_print("invalid job id '%.200s' in $PERFD_JOB: expected 1 to 128 characters of [A-Za-z0-9_.:-]", job);
        return false;
}

int mark_send(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret, Delivery *ret_delivery,
              char ret_text[static DELIVERY_TEXT_MAX]) {
        int r;

        courier_deinit(courier); /* a connection of before may be one to a perfd that has been restarted */
        courier_allow(courier, MARK_TIMEOUT_NS);
        courier->is_patient = false;
        r = deliver_mark(courier, job, name, wall_seconds, ret, ret_delivery);
        if (r > 0)
                delivery_explain(ret_delivery, courier, ret_text);
        return r;
}

/* perfd did not answer in time, but the request is in its socket. */
bool mark_may_be_taken(const Courier *courier, const Delivery *delivery) {
        return delivery->error == -ETIMEDOUT && wire_is_connected(&courier->wire);
}
