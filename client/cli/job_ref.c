/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/job_ref.h"

#include <stdlib.h>

#include "client/cli/message.h"
#include "document/indicator.h"

bool job_ref_find(const char *given, JobRef *ret) {
        const char *job = given ? given : getenv("PERFD_JOB");

        *ret = (JobRef){ .id = job ?: "", .is_inherited = !given && job && *job };
        if (!ret->id[0] || indicator_name_is_valid(job, JOB_ID_MAX - 1))
                return true;

        message_print("invalid job id '%.200s' in $PERFD_JOB: expected 1 to 128 characters of [A-Za-z0-9_.:-]", job);
        return false;
}
