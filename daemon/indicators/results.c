/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/results.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "store/indicators/result_rows.h"
#include "util/clock.h"
#include "util/clock_sync.h"
#include "util/utf8.h"

#define AHEAD_MAX_MS (3600U * 1000U)

enum {
        OF_NAMED_JOB,
        OF_OTHER_JOB,
};

void results_deinit(Results *results) {
        tally_deinit(&results->tally);
}

/* --- checks --------------------------------------------------------------------------------------- */

/* Answers that an item is invalid. path: relative to the item. */
static void refuse_item(Results *results, const Request *request, size_t i, const char *path, const char *text, Answer *ret) {
        const Indicator *indicator = &request->submit.items[i].indicator;
        char whole[COMPLAINT_PATH_MAX];
        size_t n;

        assert(i < request->submit.n_items);

        (void)snprintf(whole, sizeof(whole), "submit.indicators[%zu].", i);
        n = strlen(whole);
        (void)snprintf(whole + n, sizeof(whole) - n, "%.*s", (int)utf8_cut(path, sizeof(whole) - n - 1), path);
        tally_count(&results->tally, request->peer.uid, indicator->name, indicator->component, INDICATOR_REFUSED);
        desk_answer(ret, STATUS_INVALID, whole, text);
        ret->has_item = true;
        ret->item = (uint32_t)i;
}

/* Refuses results that are older than the retention time, measured from their own time. */
static bool is_too_old(Results *results, const Request *request, Answer *ret) {
        uint64_t now_ns = clock_realtime_ns(), keep_ns = results->store_config->keep_results_ns;
        char measured[CLOCK_TEXT_MAX], text[COMPLAINT_TEXT_MAX];

        for (size_t i = 0; keep_ns > 0 && keep_ns < now_ns && i < request->submit.n_items; i++) {
                const Submission *item = &request->submit.items[i];

                if (item->time_ms == 0 || item->time_ms >= (now_ns - keep_ns) / NS_PER_MS)
                        continue;

                clock_format_utc(item->time_ms * NS_PER_MS, measured);
                (void)snprintf(text, sizeof(text), "was measured at %s, but [store] keep_results is %.3g days; "
                                                   "raise keep_results, or set it to 0",
                               measured, (double)keep_ns / (86400.0 * NS_PER_S));
                refuse_item(results, request, i, "time_ms", text, ret);
                return true;
        }

        return false;
}

/*
 * Handles times more than an hour in the future, which would stay the newest for a long time. If the clock is
 * synchronised, the result is refused; otherwise the time of arrival is used, and the sender's time is stored as a
 * claim.
 */
static bool is_ahead(Results *results, const Request *request, Answer *ret) {
        uint64_t latest_ms = clock_realtime_ns() / NS_PER_MS + AHEAD_MAX_MS;
        char measured[CLOCK_TEXT_MAX], text[COMPLAINT_TEXT_MAX];

        for (size_t i = 0; i < request->submit.n_items; i++) {
                Submission *item = &request->submit.items[i];

                if (item->time_ms <= latest_ms)
                        continue;
                if (!clock_sync_is_on()) {
                        item->claimed_ms = item->time_ms;
                        item->time_ms = 0;
                        continue;
                }

                clock_format_utc(item->time_ms * NS_PER_MS, measured);
                (void)snprintf(text, sizeof(text), "is %s, more than an hour ahead of this node's synchronised clock; "
                                                   "correct the clock of the sender, or omit the time", measured);
                refuse_item(results, request, i, "time_ms", text, ret);
                return true;
        }

        return false;
}

static bool is_refused(Results *results, const Request *request, size_t *ret_n_odd, Answer *ret) {
        RegistryComplaint complaint;

        if (is_too_old(results, request, ret) || is_ahead(results, request, ret))
                return true;
        if (registry_check(results->registry, request->peer.uid, request->submit.items, request->submit.n_items, ret_n_odd,
                           &complaint) == 0)
                return false;

        refuse_item(results, request, complaint.i_item, complaint.complaint.path, complaint.complaint.text, ret);
        return true;
}

/* --- job of a result ------------------------------------------------------------------------------ */

/* Returns the running job that an item belongs to, and sets the item's job; NULL: none. */
static const Job *choose_job(Results *results, const Request *request, Ticket ticket, Submission *item) {
        ResultsJob *chosen = &results->job;
        bool is_other;
        const Job *job = identity_choose_job(results->identity, &request->peer, ticket, item->job, item->is_job_inherited, &is_other);

        chosen->is_other |= is_other;
        if (job && (is_other || !item->job[0])) {
                (void)snprintf(chosen->id, sizeof(chosen->id), "%s", job->info.id);
                item->job = chosen->id;
        }
        if (is_other && !job)
                item->job = "";
        item->is_job_inherited &= !job && !is_other; /* jobs that have ended are in the store */
        return job;
}

/*
 * Finds the job of each item: the named job, else the job of the sender. Returns false after answering that the
 * sender may not act for the job.
 */
static bool choose_jobs(Results *results, const Request *request, Ticket ticket, bool *ret_is_vouched, Answer *ret) {
        *ret_is_vouched = true;
        for (size_t i = 0; i < request->submit.n_items; i++) {
                Submission *item = &request->submit.items[i];
                const Job *job = choose_job(results, request, ticket, item);
                char path[64];

                if (!job) {
                        *ret_is_vouched = *ret_is_vouched && !item->job[0];
                        continue;
                }
                if (!identity_may_act(results->identity, &request->peer, ticket, job)) {
                        (void)snprintf(path, sizeof(path), "submit.indicators[%zu].job", i);
                        desk_answer(ret, STATUS_DENIED, path, "this job belongs to another user");
                        ret->has_item = true;
                        ret->item = (uint32_t)i;
                        return false;
                }
        }

        return true;
}

/* --- requests ------------------------------------------------------------------------------------- */

/* Queues the results for the store. */
static int put(Results *results, const Request *request, const Peer *sender, Ticket ticket, size_t n_odd) {
        const Submission *items = request->submit.items;
        size_t n_items = request->submit.n_items;
        const StoreCookie cookie = {
                .kind = &results_kinds[results->job.is_other ? OF_OTHER_JOB : OF_NAMED_JOB],
                .ticket = ticket,
        };
        int r;

        r = store_put(results->store, result_rows_pack(items, n_items, sender, clock_realtime_ns() / NS_PER_MS, cookie));
        if (r == 0)
                results->tally.stats.n_odd_keys += n_odd;
        return desk_pending(r);
}

static bool is_same(Ticket a, Ticket b) {
        return a.connection == b.connection && a.generation == b.generation && a.number == b.number;
}

static int place(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Results *results = state;
        Peer sender = request->peer;
        bool is_vouched;
        size_t n_odd;

        if (registry_is_busy_with(results->registry, request) || !store_has_room(results->store, request->submit.n_items))
                return DESK_FULL;

        if (!is_same(results->job.ticket, ticket))
                results->job = (ResultsJob){ .ticket = ticket };
        if (!choose_jobs(results, request, ticket, &is_vouched, ret))
                return 0;
        if (is_refused(results, request, &n_odd, ret))
                return 0;

        sender.is_vouched = is_vouched; /* the store cannot check which processes belong to a job */
        return put(results, request, &sender, ticket, n_odd);
}

/* Says what differs of results that were stored before, else what was added to them. "": neither. */
static void explain_again(const ResultsStored *stored, char ret[static COMPLAINT_TEXT_MAX]) {
        bool other_stack = stored->has_other_stack, other_specification = stored->has_other_specification;
        bool stack = stored->has_completed_stack, specification = stored->has_completed_specification;

        ret[0] = '\0';
        if (stored->difference[0])
                (void)snprintf(ret, COMPLAINT_TEXT_MAX, "already stored, and it stays: %s", stored->difference);
        else if (other_stack || other_specification)
                (void)snprintf(ret, COMPLAINT_TEXT_MAX, "already stored with another %s, which stays",
                               other_stack ? "software stack" : "specification");
        else if (stack || specification)
                (void)snprintf(ret, COMPLAINT_TEXT_MAX, "already stored: the %s added",
                               stack && specification ? "software stack and the specification were" :
                               stack ? "software stack was" : "specification was");
}

static int answer_duplicate(const StoreDone *done, Answer *ret) {
        char text[COMPLAINT_TEXT_MAX];

        explain_again(result_rows_stored(done->rows), text);
        return desk_answer(ret, STATUS_DUPLICATE, "", text[0] ? text : "already stored: nothing changed");
}

static int answer_stored(Results *results, const StoreDone *done, Answer *ret) {
        bool is_other = done->cookie.kind == &results_kinds[OF_OTHER_JOB];
        char remark[COMPLAINT_TEXT_MAX] = "";

        if (is_other)
                identity_explain_other(results->identity, done->cookie.ticket, remark);
        else if (result_rows_stored(done->rows)->has_left_job)
                (void)snprintf(remark, sizeof(remark), "the job that $PERFD_JOB names has ended: recorded without a job");
        else
                explain_again(result_rows_stored(done->rows), remark);
        return desk_answer(ret, STATUS_OK, "", remark);
}

static int answer_quota(const Results *results, const StoreDone *done, Answer *ret) {
        const ResultsStored *stored = result_rows_stored(done->rows);
        Account *account = shares_open_account(results->shares, &OWNER_OF_UID(stored->uid));
        char text[SHARES_REASON_MAX] = "";

        if (account)
                shares_explain(account, stored->refused, text);
        shares_close_account(account);
        return desk_answer(ret, STATUS_QUOTA, "submit", text);
}

static void count_stored(Tally *tally, const RowSet *rows) {
        ResultWalk walk = result_rows_walk(rows);
        StoredResult result;

        tally->stats.n_stored += result_rows_stored(rows)->n_new;
        while (result_rows_next(&walk, &result))
                if (result.is_new)
                        tally_count(tally, walk.uid, result.name, result.component,
                                    result.has_failed ? INDICATOR_FAILED : INDICATOR_STORED);
}

static int complete(void *state, const StoreDone *done, Answer *ret) {
        Results *results = state;

        if (done->outcome == STORE_DONE)
                count_stored(&results->tally, done->rows);

        switch (done->outcome) {
        case STORE_DONE:
                return answer_stored(results, done, ret);
        case STORE_DUPLICATE:
                return answer_duplicate(done, ret);
        case STORE_DENIED:
                return desk_answer(ret, STATUS_DENIED, "submit.indicators[].job", "this job belongs to another user");
        case STORE_QUOTA:
                return answer_quota(results, done, ret);
        case STORE_MISSING:
        case STORE_CONFLICT:
        case STORE_FAILED:
                break;
        }

        return desk_answer_store_failed(ret, results->store);
}

const Kind results_kinds[] = {
        [OF_NAMED_JOB] = { REQUEST_SUBMIT, "submit", place, complete },
        [OF_OTHER_JOB] = { REQUEST_HELLO, "submit", NULL, complete },
};
