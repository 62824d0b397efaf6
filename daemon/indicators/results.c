/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/results.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/utf8.h"
#include "value/value_parse.h"

enum {
        OF_NAMED_JOB,
        OF_OTHER_JOB,
        OF_ENDED_JOB, /* made by the store */
};

void results_init(Results *results, const IndicatorsConfig *config, const StoreConfig *store_config, Store *store,
                  Shares *shares, Identity *identity) {
        *results = (Results){
                .store_config = store_config, .store = store, .shares = shares, .identity = identity,
                .registry = { .config = config, .store = store, .shares = shares, .identity = identity },
        };
}

void results_deinit(Results *results) {
        for (size_t i = 0; i < N_ELEMENTS(results->requests); i++) {
                result_rows_packer_free(results->requests[i].packer);
                live_kpis_deinit(&results->requests[i].kpis);
        }
        kpi_queue_deinit(&results->queued_kpis);
        live_kpis_deinit(&results->kpis);
        tally_deinit(&results->tally);
        registry_deinit(&results->registry);
}

/* --- checks --------------------------------------------------------------------------------------- */

/* Outcomes of the passes over the items of a submission. */
enum {
        ITEM_REFUSED = 1, /* the answer is filled */
        ITEM_WAITS,       /* for a model that is queued */
        ITEMS_LEFT,       /* for the next turn of the loop */
};

/* Answers that an item is invalid or denied. path: relative to the item. Returns ITEM_REFUSED. */
static int answer_item(size_t i, Status status, const char *path, const char *text, Answer *ret) {
        char whole[COMPLAINT_PATH_MAX];
        size_t n;

        (void)snprintf(whole, sizeof(whole), "submit.indicators[%zu].", i);
        n = strlen(whole);
        (void)snprintf(whole + n, sizeof(whole) - n, "%.*s", (int)utf8_cut(path, sizeof(whole) - n - 1), path);
        desk_answer(ret, status, whole, text);
        ret->has_item = true;
        ret->item = (uint32_t)i;
        return ITEM_REFUSED;
}

static int refuse_item(Results *results, const Request *request, size_t i, const char *path, const char *text,
                       Answer *ret) {
        const Indicator *indicator = &request->submit.items[i].indicator;

        tally_count(&results->tally, request->peer.uid, indicator->name, indicator->component, INDICATOR_REFUSED);
        return answer_item(i, STATUS_INVALID, path, text, ret);
}

/* Refuses a result that is older than the retention time, measured from its own time. */
static int check_age(Results *results, const Request *request, size_t i, Answer *ret) {
        uint64_t now_ns = results->progress->now_ns, keep_ns = results->store_config->keep_results_ns;
        const Submission *item = &request->submit.items[i];
        char measured[CLOCK_TEXT_MAX], text[COMPLAINT_TEXT_MAX];

        if (item->time_ms == 0 || keep_ns == 0 || keep_ns >= now_ns || item->time_ms >= (now_ns - keep_ns) / NS_PER_MS)
                return 0;

        clock_format_utc(item->time_ms * NS_PER_MS, measured);
        (void)snprintf(text, sizeof(text), "was measured at %s, but [store] keep_results is %.3g days; "
                                           "raise keep_results, or set it to 0",
                       measured, (double)keep_ns / (86400.0 * NS_PER_S));
        return refuse_item(results, request, i, "time_ms", text, ret);
}

/*
 * Handles a time far ahead. If the clock is synchronised, the result is refused; otherwise the time of arrival is
 * used, and the sender's time is stored as a claim.
 */
static int check_ahead(Results *results, const Request *request, size_t i, Answer *ret) {
        Submission *item = &request->submit.items[i];
        char text[COMPLAINT_TEXT_MAX];

        switch (desk_check_time(item->time_ms, results->progress->now_ns / NS_PER_MS, text)) {
        case DESK_TIME_REFUSED:
                return refuse_item(results, request, i, "time_ms", text, ret);
        case DESK_TIME_UNTRUSTED:
                item->claimed_ms = item->time_ms;
                item->time_ms = 0;
        }
        return 0;
}

/* --- job of a result ------------------------------------------------------------------------------ */

/*
 * Returns the running job that an item belongs to, and sets the item's job; NULL: none. All items whose job is not the
 * named one get the same job, also if the process has another job in a later turn.
 */
static const Job *choose_job(Results *results, const Request *request, Submission *item) {
        ResultsProgress *progress = results->progress;
        bool is_other;
        const Job *job = identity_choose_job(results->identity, &request->peer, progress->ticket, item->job,
                                             item->is_job_inherited, &is_other);

        progress->is_other |= is_other;
        if (job && (is_other || !item->job[0])) {
                if (!progress->job[0])
                        (void)snprintf(progress->job, sizeof(progress->job), "%s", job->info.id);
                item->job = progress->job;
        }
        if (is_other && !job)
                item->job = "";
        item->is_job_inherited &= !job && !is_other; /* jobs that have ended are in the store */
        return job;
}

/*
 * Finds the job of an item: the named job, else the job of the sender. Refuses a job for which the sender may not act.
 * Notes the documents that several items share.
 */
static int find_job(Results *results, const Request *request, size_t i, Answer *ret) {
        ResultsProgress *progress = results->progress;
        Submission *item = &request->submit.items[i];
        const Job *job = choose_job(results, request, item);

        if (job && !identity_may_act(results->identity, &request->peer, progress->ticket, job))
                return answer_item(i, STATUS_DENIED, "job", IDENTITY_FOREIGN, ret);
        progress->is_unvouched |= !job && item->job[0];
        if (!progress->packer)
                progress->packer = result_rows_packer_new();
        if (!progress->packer)
                return -ENOMEM;
        result_rows_packer_note(progress->packer, item);
        return 0;
}

/* --- requests ------------------------------------------------------------------------------------- */

/* Checks an item against its model, which may be queued, and packs the item. */
static int pack_item(Results *results, const Request *request, size_t i, Answer *ret) {
        ResultsProgress *progress = results->progress;
        Submission item = request->submit.items[i]; /* the models may change before the next turn */
        scoped(label_parameters_deinit) LabelParameters added = {};
        Complaint complaint;
        size_t n_deviations;
        int r;

        if (registry_is_busy_with(&results->registry, request->peer.uid, &item.indicator))
                return ITEM_WAITS;
        r = registry_check(&results->registry, request->peer.uid, &item, &added, &n_deviations, &complaint);
        if (r != 0)
                return r < 0 ? r : refuse_item(results, request, i, complaint.path, complaint.text, ret);
        progress->n_deviations += n_deviations;
        if (i == 0) {
                Peer sender = request->peer;

                /* the store cannot check which processes belong to a job */
                sender.is_vouched = !progress->is_unvouched;
                sender.is_blind = results->identity->hides_others;
                result_rows_packer_begin(progress->packer, &sender);
        }
        result_rows_packer_add(progress->packer, &item, progress->now_ns / NS_PER_MS);
        progress->n_work += live_kpis_add(&progress->kpis, request->peer.uid, &item, progress->now_ns / NS_PER_MS);
        return 0;
}

/* Passes over the items, each over all items before the next. An answer is about the first item that the first pass
 * refuses. */
static int (*const passes[])(Results *results, const Request *request, size_t i, Answer *ret) = {
        find_job, check_age, check_ahead, pack_item,
};

static int pass_items(Results *results, const Request *request, Answer *ret) {
        ResultsProgress *progress = results->progress;
        size_t n_items = request->submit.n_items;

        assert(n_items > 0);
        progress->n_work = 0;
        for (; progress->pass < N_ELEMENTS(passes); progress->pass++, progress->i = 0)
                for (; progress->i < n_items; progress->i++) {
                        int r;

                        if (progress->n_work++ >= RESULTS_PER_TURN)
                                return ITEMS_LEFT;
                        r = passes[progress->pass](results, request, progress->i, ret);
                        if (r != 0)
                                return r;
                }
        return 0;
}

/* Drops the packed results. The chosen job is kept: it may end before the store has space. */
static void restart(Results *results) {
        ResultsProgress *progress = results->progress;

        progress->packer = result_rows_packer_free(progress->packer);
        live_kpis_deinit(&progress->kpis);
        progress->pass = progress->i = progress->n_deviations = 0;
        progress->is_unvouched = false;
        progress->now_ns = clock_realtime_ns();
        progress->n_changes = results->registry.changes.n;
}

/* Ends a request, which the desk does not place again. */
static void end(Results *results) {
        restart(results);
        results->progress->ticket = (Ticket){};
}

/* Returns the progress of a request that was placed before, or else a free one. The desk has at most one other
 * request. */
static ResultsProgress *find_placing(Results *results, Ticket ticket) {
        ResultsProgress *unused = NULL;

        for (size_t i = 0; i < N_ELEMENTS(results->requests); i++) {
                ResultsProgress *progress = &results->requests[i];

                if (ticket_is_same(progress->ticket, ticket))
                        return progress;
                if (!ticket_is_set(progress->ticket))
                        unused = progress;
        }
        assert(unused);
        return unused;
}

/* Continues a request, from its first item on if the user's models have changed since the last turn. */
static void resume(Results *results, uint32_t uid, Ticket ticket) {
        ResultsProgress *progress = results->progress = find_placing(results, ticket);
        bool is_new = !ticket_is_set(progress->ticket);

        if (is_new) {
                progress->ticket = ticket;
                progress->job[0] = '\0';
                progress->is_other = false;
        }
        if (is_new || registry_has_changed(&results->registry, uid, progress->n_changes))
                restart(results);
}

static void take_kpis(Results *results, Ticket ticket, bool is_stored) {
        LiveKpis kpis = kpi_queue_take(&results->queued_kpis, ticket);

        if (is_stored)
                live_kpis_merge(&results->kpis, &kpis);
        live_kpis_deinit(&kpis);
}

/* Queues the packed results for the store. */
static int put(Results *results, size_t n_items) {
        ResultsProgress *progress = results->progress;
        const StoreCookie cookie = {
                .kind = &results_kinds[progress->is_other ? OF_OTHER_JOB : OF_NAMED_JOB],
                .ticket = progress->ticket,
        };
        int r;

        if (!store_has_room(results->store, n_items, result_rows_packer_size(progress->packer)))
                return DESK_FULL;

        r = store_put(results->store, result_rows_packer_finish(TAKE(progress->packer), cookie));
        if (r == 0) {
                results->tally.stats.n_deviations += progress->n_deviations;
                live_kpis_count_not_exposed(&results->kpis,
                                            kpi_queue_put(&results->queued_kpis, progress->ticket, &progress->kpis));
        }
        end(results);
        return desk_pending(r);
}

static int place(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Results *results = state;
        int r;

        resume(results, request->peer.uid, ticket);
        r = pass_items(results, request, ret);
        if (r == 0)
                return put(results, request->submit.n_items);
        if (r == ITEM_WAITS)
                return DESK_FULL;
        if (r == ITEMS_LEFT)
                return DESK_MORE;

        end(results);
        return r < 0 ? r : 0;
}

/* Writes the first difference from results that were stored before, otherwise the members that were added. "":
 * neither. */
static void explain_repeated(const ResultsStored *stored, char ret[static COMPLAINT_TEXT_MAX]) {
        bool other_stack = stored->has_other_stack, other_specification = stored->has_other_specification;
        bool filled = stored->has_filled, stack = stored->has_completed_stack,
             specification = stored->has_completed_specification;

        ret[0] = '\0';
        if (stored->difference[0])
                (void)snprintf(ret, COMPLAINT_TEXT_MAX, "already stored, and kept unchanged: %s", stored->difference);
        else if (other_stack || other_specification)
                (void)snprintf(ret, COMPLAINT_TEXT_MAX, "already stored with another %s, which is kept",
                               other_stack ? "software stack" : "specification");
        else if (stored->has_replaced)
                (void)snprintf(ret, COMPLAINT_TEXT_MAX, "already stored: the content was replaced");
        else if (stack || specification || filled)
                (void)snprintf(ret, COMPLAINT_TEXT_MAX, "already stored: the %s added",
                               filled                   ? "missing members were"
                               : stack && specification ? "software stack and the specification were"
                               : stack                  ? "software stack was"
                                                        : "specification was");
}

static int answer_duplicate(const StoreDone *done, Answer *ret) {
        char text[COMPLAINT_TEXT_MAX];

        explain_repeated(result_rows_stored(done->rows), text);
        return desk_answer(ret, STATUS_DUPLICATE, "", text);
}

static int answer_stored(Results *results, const StoreDone *done, Answer *ret) {
        bool is_other = done->cookie.kind == &results_kinds[OF_OTHER_JOB];
        char remark[COMPLAINT_TEXT_MAX] = "";

        if (is_other)
                identity_explain_other(results->identity, done->cookie.ticket, remark);
        else if (result_rows_stored(done->rows)->has_left_job)
                (void)snprintf(remark, sizeof(remark),
                               "the job that $PERFD_JOB names has ended: recorded without a job");
        else
                explain_repeated(result_rows_stored(done->rows), remark);
        return desk_answer(ret, STATUS_OK, "", remark);
}

static int answer_quota(const Results *results, const StoreDone *done, Answer *ret) {
        const ResultsStored *stored = result_rows_stored(done->rows);
        ShareAccount *account = shares_open_account(results->shares, &OWNER_OF_UID(stored->uid));
        char text[SHARES_REASON_MAX] = "";

        if (account)
                shares_explain(account, stored->refused, text);
        shares_close_account(account);
        return desk_answer(ret, STATUS_QUOTA, "submit", text);
}

/* Counts the results of a set that was stored, a bounded number in each turn. Returns true after the last. */
static bool count_stored(Results *results, const RowSet *rows) {
        ResultWalk *walk = &results->counting;
        StoredResult result;

        if (!walk->set) {
                *walk = result_rows_walk(rows);
                results->tally.stats.n_stored += result_rows_stored(rows)->n_new;
        }

        assert(walk->set == rows);
        for (size_t i = 0; i < RESULTS_PER_TURN; i++) {
                if (!result_rows_next(walk, &result)) {
                        *walk = (ResultWalk){};
                        return true;
                }
                if (result.is_new)
                        tally_count(&results->tally, walk->uid, result.name, result.component,
                                    result.has_failed ? INDICATOR_FAILED : INDICATOR_STORED);
        }
        return false;
}

/* True if the results that were sent equal the stored results. */
static bool has_shown_content(const StoreDone *done) {
        bool is_stored = done->outcome == STORE_DONE || done->outcome == STORE_DUPLICATE;

        return is_stored && !result_rows_stored(done->rows)->difference[0];
}

static int complete(void *state, const StoreDone *done, Answer *ret) {
        Results *results = state;

        assert(done->cookie.kind == &results_kinds[OF_NAMED_JOB] || done->cookie.kind == &results_kinds[OF_OTHER_JOB]);
        if (done->outcome == STORE_DONE && !count_stored(results, done->rows))
                return DESK_MORE;

        take_kpis(results, done->cookie.ticket, has_shown_content(done));
        switch (done->outcome) {
        case STORE_DONE:
                return answer_stored(results, done, ret);
        case STORE_DUPLICATE:
                return answer_duplicate(done, ret);
        case STORE_DENIED:
                return identity_refuse(results->identity, "submit.indicators[].job", ret);
        case STORE_QUOTA:
                return answer_quota(results, done, ret);
        case STORE_MISSING:
        case STORE_CONFLICT:
        case STORE_FAILED:
                break;
        }

        return desk_answer_store_failed(ret, results->store);
}

/* Shows the numbers of a result that the store made. Out of memory: they are missing. */
static void show_made(Results *results, uint32_t uid, const StoredResult *stored) {
        const Model *model = models_find(&results->registry.models, uid, stored->name, stored->component);
        scoped(live_kpis_deinit) LiveKpis kpis = {};
        scoped(arena_deinit) Arena arena = {};
        Submission item = { .time_ms = stored->time_ms, .document_text = stored->document };
        const Value *document;
        Complaint complaint;
        ValueError error;
        bool unused;

        if (!model || stored->has_failed || arena_init(&arena, value_parse_arena_size(stored->document.n)) < 0 ||
            value_parse(stored->document.text, stored->document.n, &arena, &document, &unused, &error) != 0 ||
            indicator_from_value(document, DOCUMENT_LIMITS_NONE, &item.indicator, &complaint) != 0)
                return;
        item.model = &model->model;
        (void)live_kpis_add(&kpis, uid, &item, stored->time_ms);
        live_kpis_merge(&results->kpis, &kpis);
}

/* A user whose share is exhausted is counted with the refusals of the store. */
static int complete_derived(void *state, const StoreDone *done, Answer *ret) {
        Results *results = state;
        ResultWalk walk;
        StoredResult stored;

        (void)ret;
        if (done->outcome != STORE_DONE && done->outcome != STORE_DUPLICATE)
                return 0;

        results->tally.stats.n_stored += result_rows_stored(done->rows)->n_new;
        walk = result_rows_walk(done->rows);
        while (result_rows_next(&walk, &stored)) {
                if (stored.is_new)
                        tally_count(&results->tally, walk.uid, stored.name, stored.component,
                                    stored.has_failed ? INDICATOR_FAILED : INDICATOR_STORED);
                show_made(results, walk.uid, &stored);
        }
        return 0;
}

const Kind results_kinds[] = {
        [OF_NAMED_JOB] = { REQUEST_SUBMIT, "submit", place, complete, NULL },
        [OF_OTHER_JOB] = { REQUEST_HELLO, "submit", NULL, complete, NULL },
        [OF_ENDED_JOB] = { REQUEST_HELLO, "results of jobs", NULL, complete_derived, &result_rows_kind },
};

int results_publish(const Results *results, IndicatorsSnapshot *ret) {
        int r;

        registry_publish(&results->registry, ret);
        r = live_kpis_publish(&results->kpis, &ret->kpis);
        return r < 0 ? r : tally_publish(&results->tally, ret);
}
