/* SPDX-License-Identifier: Apache-2.0 */
#include "forget/forget.h"

#include <stdio.h>

#include "base/log.h"
#include "store/retention/erasure.h"

/* A running job would store its rows again. True after filling the answer. */
static bool refuse_running(const Forget *forget, uint32_t uid, Answer *ret) {
        char text[COMPLAINT_TEXT_MAX];
        const Job *first = NULL;
        size_t n = 0;

        for (const Job *job = forget->jobs->jobs.first; job; job = job->links.next)
                if (job->info.uid == uid && n++ == 0)
                        first = job;
        if (n == 0)
                return false;

        (void)snprintf(text, sizeof(text),
                       "uid %u has %zu running jobs, such as %s: end them first, or forget only what is older with "
                       "--before",
                       uid, n, first->info.id);
        desk_answer(ret, STATUS_INVALID, "forget.uid", text);
        return true;
}

static int place(void *state, const Request *request, Ticket ticket, Answer *ret) {
        const Forget *forget = state;
        uint64_t before_ms = request->forget.before_ms;
        const Erasure order = {
                .uid = request->forget.uid,
                .before_ms = before_ms > 0 ? (int64_t)before_ms : INT64_MAX,
                .removes_copies = request->forget.removes_copies,
        };
        int r;

        if (!request->peer.is_admin)
                return desk_answer(ret, STATUS_DENIED, "",
                                   "permission denied: forgetting a user needs root or a member of the administrators' "
                                   "group ([socket] admin_group)");
        if (registry_is_busy(&forget->indicators->registry))
                return DESK_FULL;
        if (before_ms == 0 && refuse_running(forget, request->forget.uid, ret))
                return 0;
        r = before_ms == 0 ? job_room_forget_totals(forget->jobs, request->forget.uid) : 0;
        if (r == 0)
                r = store_put(forget->store,
                              erasure_pack(&order, (StoreCookie){ .kind = &forget_kinds[0], .ticket = ticket }));
        return desk_pending(r);
}

/* Drops what is kept in memory. 0 or a negative errno. */
static int drop(const Forget *forget, const Erasure *order) {
        uint32_t uid = (uint32_t)order->uid;
        uint64_t before_ms = (uint64_t)order->before_ms;

        jobs_forget_finished_user(&forget->jobs->jobs, uid, before_ms);
        live_kpis_forget(&forget->indicators->kpis, uid, before_ms);
        if (order->before_ms != INT64_MAX)
                return 0;
        tally_forget(&forget->indicators->tally, uid);
        shares_forget(forget->shares, uid);
        return registry_forget(&forget->indicators->registry, uid);
}

static void describe(const Erasure *order, StoreOutcome outcome, const Forget *forget, Answer *ret) {
        const char *removed = order->removed[0] ? order->removed : "nothing was stored";
        char text[COMPLAINT_TEXT_MAX];

        if (outcome != STORE_DONE) {
                desk_answer_store_failed(ret, forget->store);
                return;
        }
        if (order->error[0])
                (void)snprintf(text, sizeof(text), "%s; bytes of removed rows may be left: %s; repeat the command",
                               removed, order->error);
        else if (order->n_copies > 0)
                (void)snprintf(text, sizeof(text),
                               "%s; but %zu files that were put aside (perfd.db.*Z) may have rows of the user: repeat "
                               "with --copies to delete them",
                               removed, order->n_copies);
        else
                (void)snprintf(text, sizeof(text), "%s", removed);
        desk_answer(ret,
                    order->error[0]       ? STATUS_UNAVAILABLE
                    : order->n_copies > 0 ? STATUS_INVALID
                                          : STATUS_OK,
                    "", text);
}

static int complete(void *state, const StoreDone *done, Answer *ret) {
        const Forget *forget = state;
        const Erasure *order = erasure_of(done->rows);
        int r;

        describe(order, done->outcome, forget, ret);
        if (done->outcome != STORE_DONE)
                return 0;

        r = drop(forget, order);
        log_struct(order->removed[0] || order->error[0] ? LOG_LEVEL_NOTICE : LOG_LEVEL_DEBUG, NULL,
                   "Forgot uid %lu%s: %s", (unsigned long)order->uid,
                   order->before_ms != INT64_MAX ? ", what is older than a time" : "", ret->complaint.text);
        return r < 0 ? r : DESK_CHANGED;
}

const Kind forget_kinds[1] = {
        { REQUEST_FORGET, "forget", place, complete, NULL },
};
