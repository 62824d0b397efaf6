/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/job_origin.h"

#include <errno.h>

static ShareAccount *open_account(Shares *shares, const JobOrigin *origin) {
        const Owner owner = { .type = OWNER_USER, .uid = origin->uid, .is_admin = origin->is_admin };

        return shares_open_account(shares, &owner);
}

static uint64_t weight_of(bool is_watched) {
        return is_watched ? 1 : 2;
}

/* The jobs of users are at most the limit, and those of administrators have as many places of their own. */
static bool is_exempt(Shares *shares, const Jobs *jobs, const JobOrigin *origin) {
        return origin->is_admin && jobs->n < 2 * shares_limit(shares, RESOURCE_JOBS);
}

int job_origin_charge(Shares *shares, const Jobs *jobs, bool is_watched, JobOrigin *origin, char ret_reason[SHARES_REASON_MAX]) {
        ShareAccount *account = open_account(shares, origin);
        int r = 0;

        if (!account)
                return -ENOMEM;

        if (is_exempt(shares, jobs, origin))
                shares_charge_always(account, RESOURCE_JOBS, weight_of(is_watched), &origin->charge);
        else if (shares_charge(account, RESOURCE_JOBS, weight_of(is_watched), &origin->charge) != 0) {
                shares_explain(account, RESOURCE_JOBS, ret_reason);
                r = JOB_ORIGIN_REFUSED;
        }
        shares_close_account(account); /* the charge has a reference */
        return r;
}

int job_origin_resume(Shares *shares, bool is_watched, JobOrigin *origin) {
        ShareAccount *account = open_account(shares, origin);

        if (!account)
                return -ENOMEM;

        shares_charge_always(account, RESOURCE_JOBS, weight_of(is_watched), &origin->charge);
        shares_close_account(account);
        return 0;
}
