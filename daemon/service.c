/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "indicators/registry.h"
#include "jobs/checkpoints.h"
#include "jobs/detection.h"
#include "jobs/identity.h"
#include "jobs/lifecycle.h"
#include "jobs/phases.h"
#include "jobs/recovery.h"
#include "node/observe.h"
#include "reply.h"
#include "store/indicators/result_rows.h"
#include "store/node/sample_rows.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/parse.h"

/* --- results ---------------------------------------------------------------------------------- */

/* Retention goes by when a result was measured: one that it would take away at once is refused, not lost. 0, or 1: answered. */
static int check_age(Service *service, const Request *request, Ticket ticket) {
        uint64_t now_ns = clock_realtime_ns(), keep_ns = service->config.store.keep_results_ns;
        char path[64], measured[CLOCK_TEXT_MAX], text[COMPLAINT_TEXT_MAX];

        for (size_t i = 0; keep_ns > 0 && keep_ns < now_ns && i < request->submit.n_items; i++) {
                const Submission *item = &request->submit.items[i];

                if (item->time_ms == 0 || item->time_ms >= (now_ns - keep_ns) / NS_PER_MS)
                        continue;

                clock_format_utc(item->time_ms * NS_PER_MS, measured);
                (void)snprintf(path, sizeof(path), "submit.indicators[%zu].time_ms", i);
                (void)snprintf(text, sizeof(text), "was measured at %s, and [store] keep_results is %.3g days: "
                                                   "it would be removed at once, raise that, or set it to 0",
                               measured, (double)keep_ns / (86400.0 * NS_PER_S));
                tally_refuse(&service->tally, item->indicator.name, item->indicator.component);
                reply(service, ticket, STATUS_INVALID, path, text);
                return 1;
        }

        return 0;
}

/* To the store, and into the count of what comes back from there. */
static int put_results(Service *service, const Request *request, const Peer *sender, Ticket ticket) {
        StoreCookie cookie = cookie_of_ticket(ticket, service->is_held_other ? COOKIE_OTHER_RESULTS : COOKIE_RESULTS);
        const Submission *items = request->submit.items;
        size_t n_items = request->submit.n_items, n_odd;
        int r;

        if (!store_has_room(service->store, n_items))
                return STORE_QUEUE_FULL;
        if (check_age(service, request, ticket) != 0 || registry_judge(service, request, ticket, &n_odd) != 0)
                return 0;
        r = tally_note(&service->tally, items, n_items);
        if (r < 0)
                return r;

        r = store_put(service->store, result_rows_pack(items, n_items, sender, clock_realtime_ns() / NS_PER_MS, cookie));
        if (r == 0)
                service->tally.stats.n_odd_keys += n_odd;
        else
                tally_forget_last(&service->tally);
        return r;
}

/* The job it is of, NULL for none that runs. A request that is held may outlive it, hence the copy. */
static const Job *choose_job(Service *service, const Request *request, Ticket ticket, Submission *item) {
        bool is_other;
        const Job *job = identity_choose_job(service, &request->peer, ticket, item->job, item->is_job_inherited, &is_other);

        service->is_held_other |= is_other;
        if (job && (is_other || !item->job[0])) {
                (void)snprintf(service->held_job, sizeof(service->held_job), "%s", job->info.id);
                item->job = service->held_job;
        }
        if (is_other && !job)
                item->job = "";
        item->is_job_inherited &= !job && !is_other; /* the store knows of those that have ended */
        return job;
}

/* Which job each is of: what it says, else the one its sender is in. */
static int submit(Service *service, const Request *request, Ticket ticket) {
        Peer sender = request->peer;
        bool is_vouched_for = true; /* by the table, which knows more than the store: who is in a job */

        for (size_t i = 0; i < request->submit.n_items; i++) {
                Submission *item = &request->submit.items[i];
                const Job *job = choose_job(service, request, ticket, item);
                char path[64];

                if (!job) {
                        is_vouched_for = is_vouched_for && !item->job[0];
                        continue;
                }
                if (!identity_may(service, &request->peer, ticket, job)) {
                        (void)snprintf(path, sizeof(path), "submit.indicators[%zu].job", i);
                        reply(service, ticket, STATUS_DENIED, path, "this job belongs to another user");
                        return 0;
                }
        }

        sender.is_admin = sender.is_admin || is_vouched_for;
        return put_results(service, request, &sender, ticket);
}

static void reply_stored(Service *service, Ticket ticket, StoreDone done) {
        char remark[COMPLAINT_TEXT_MAX] = "";

        if (cookie_kind(done.cookie) == COOKIE_OTHER_RESULTS)
                identity_explain_other(service, ticket, remark);
        else if (cookie_kind(done.cookie) == COOKIE_RESULTS && result_rows_stored(done.rows)->has_left_job)
                (void)snprintf(remark, sizeof(remark), "the job that $PERFD_JOB names has ended: taken for none");
        reply(service, ticket, STATUS_OK, "", remark);
}

static void complete_for_ticket(Service *service, StoreDone done) {
        Ticket ticket = done.cookie.ticket;

        switch (done.outcome) {
        case STORE_DONE:
                reply_stored(service, ticket, done);
                return;
        case STORE_DUPLICATE:
                reply(service, ticket, STATUS_DUPLICATE, "", "already stored: nothing changed");
                return;
        case STORE_MISSING:
                reply(service, ticket, STATUS_NOT_FOUND, "job_end.job", "there is no such job: was it begun on this node?");
                return;
        case STORE_DENIED:
                reply(service, ticket, STATUS_DENIED,
                      cookie_kind(done.cookie) == COOKIE_AMEND ? "job_end.job" : "submit.indicators[].job",
                      "this job belongs to another user");
                return;
        case STORE_CONFLICT:
        case STORE_FAILED:
                reply_store_failed(service, ticket);
        }
}

/* --- the loop's calls ------------------------------------------------------------------------- */

static int place(Service *service, const Request *request, Ticket ticket) {
        /* What comes after a model is judged and indexed by it. */
        if (registry_is_busy(service) && (request->kind == REQUEST_SUBMIT || request->kind == REQUEST_REGISTER ||
                                          request->kind == REQUEST_UNREGISTER))
                return STORE_QUEUE_FULL;

        switch (request->kind) {
        case REQUEST_HELLO: /* ingest's own */
        case N_REQUEST_KINDS:
                return 0;
        case REQUEST_JOB_BEGIN:
                return lifecycle_begin(service, request, ticket);
        case REQUEST_JOB_END:
                return lifecycle_end(service, request, ticket);
        case REQUEST_SUBMIT:
                return submit(service, request, ticket);
        case REQUEST_MARK:
                return phases_mark(service, request, ticket);
        case REQUEST_REGISTER:
                return registry_take(service, request, ticket);
        case REQUEST_UNREGISTER:
                return registry_forget(service, request, ticket);
        }

        return 0;
}

/* One turn takes so many, so that the timer is looked at in between. */
#define REQUESTS_PER_TURN 256

int service_take_requests(Service *service) {
        for (unsigned i = 0; i < REQUESTS_PER_TURN; i++) {
                int r;

                if (!service->has_held) {
                        r = ingest_next(service->ingest, &service->held, &service->held_ticket);
                        if (r < 0)
                                return r;
                        if (r == INGEST_IDLE)
                                break;
                        service->is_held_other = false;
                }

                r = place(service, &service->held, service->held_ticket);
                if (r < 0)
                        return r;
                service->has_held = r == STORE_QUEUE_FULL;
                if (service->has_held)
                        break; /* nothing is read until the store has room: that is the back-pressure */
        }

        ingest_flush(service->ingest);
        if (!service->has_held)
                ingest_wake(service->ingest);
        return 0;
}

int service_take_completions(Service *service) {
        StoreDone done;
        int r;

        while ((r = store_next_done(service->store, &done)) == 0) {
                switch (cookie_kind(done.cookie)) {
                case COOKIE_BEGIN:
                        r = lifecycle_complete_begin(service, done.cookie.owner, done.outcome);
                        if (r < 0)
                                return r;
                        break;
                case COOKIE_END:
                        lifecycle_complete_end(service, done.cookie.owner, done.outcome);
                        break;
                case COOKIE_MARK:
                        phases_complete(service, done.cookie.owner, done.outcome);
                        break;
                case COOKIE_RESULTS:
                case COOKIE_OTHER_RESULTS:
                        if (done.outcome == STORE_DONE) {
                                tally_settle(&service->tally, result_rows_stored(done.rows)->old);
                                service->tally.stats.n_stored += result_rows_stored(done.rows)->n_new;
                        } else
                                tally_drop(&service->tally);
                        complete_for_ticket(service, done);
                        break;
                case COOKIE_MODEL:
                        r = registry_complete(service, done.cookie.ticket, done.outcome);
                        if (r < 0)
                                return r;
                        service_publish(service); /* before the reply is sent: HTTP has the model then */
                        break;
                case COOKIE_AMEND:
                        complete_for_ticket(service, done);
                        break;
                case COOKIE_ADOPT:
                        lifecycle_complete_adopt(service, done.cookie.ticket, done.outcome);
                        break;
                case N_COOKIES:
                        break;
                }
        }

        if (r >= 0)
                r = detection_take_postponed(service);
        ingest_flush(service->ingest);
        return r < 0 ? r : checkpoints_continue(service);
}

static int note_store_changes(Service *service) {
        StoreStats stats;

        store_stats(service->store, &stats);
        if (stats.is_writable == service->store_was_writable)
                return 0;

        service->store_was_writable = stats.is_writable;
        if (!stats.is_writable) {
                log_err("The store cannot be written, submissions are answered UNAVAILABLE until it can: %s", stats.error);
                return 0;
        }
        log_notice("The store can be written again.%s%s", stats.notice[0] ? " " : "", stats.notice);
        return registry_store_is_back(service);
}

/* Pages in all and pages resident, from /proc/self/statm. */
static void read_memory(int statm_fd, SelfStats *self) {
        uint64_t virtual_pages, resident_pages, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        const char *p;
        char text[128];
        ssize_t n;

        n = pread(statm_fd, text, sizeof(text) - 1, 0);
        if (n <= 0)
                return;

        text[n] = '\0';
        p = scan_u64(text, &virtual_pages);
        if (p && scan_u64(p, &resident_pages)) {
                self->virtual_bytes = virtual_pages * page_bytes;
                self->resident_bytes = resident_pages * page_bytes;
        }
}

static int fill_snapshot(const Service *service, Snapshot *snapshot) {
        int r;

        r = node_publish(&service->node, service->config.node.interval_ns, &snapshot->node);
        if (r < 0)
                return r;
        r = jobs_publish(&service->jobs, service->config.jobs.metrics_jobs_max, &snapshot->jobs);
        if (r < 0)
                return r;
        r = tally_publish(&service->tally, &snapshot->indicators);
        if (r < 0)
                return r;

        indicators_snapshot_set_models(&snapshot->indicators, service->models_json, service->models_version);
        snapshot->jobs.finder = (FinderStats){};
        if (service->finder)
                finder_stats(service->finder, &snapshot->jobs.finder);
        snapshot->ingest = *ingest_stats(service->ingest);
        store_stats(service->store, &snapshot->store);
        snapshot->self = service->self;
        return 0;
}

void service_publish(Service *service) {
        Snapshot *snapshot = publisher_begin(service->publisher);

        if (!snapshot)
                return; /* out of memory: the former snapshot stays current */

        service->self.process_cpu_ns = clock_process_cpu_ns();
        read_memory(service->statm_fd, &service->self);
        if (fill_snapshot(service, snapshot) < 0)
                publisher_abandon(service->publisher, snapshot);
        else
                publisher_publish(service->publisher, snapshot);
        http_close_slow(service->http);
}

int service_tick(Service *service) {
        int r;

        r = observe_tick(service);
        if (r < 0)
                return r;
        r = lifecycle_tick(service);
        if (r < 0)
                return r;

        r = registry_tick(service);
        if (r < 0)
                return r;

        service->self.n_ticks++;
        jobs_forget_finished(&service->jobs,
                             service->node.sample.boottime_ns > service->config.jobs.metrics_finished_ns
                                     ? service->node.sample.boottime_ns - service->config.jobs.metrics_finished_ns
                                     : 0,
                             service->config.jobs.metrics_jobs_max);
        r = note_store_changes(service);
        if (r < 0)
                return r;
        service_publish(service);
        return 0;
}

/* One point for the whole interval, with room for its last observation to come late. */
#define NODE_POINT_ROOM 16

static void begin_node_point(Service *service) {
        recording_deinit(&service->node_point);
        recording_init(&service->node_point, service->node.sample.boottime_ns, service->node.sample.realtime_ns,
                       NODE_POINT_ROOM * service->config.jobs.checkpoint_interval_ns, 2);
}

/* The interval of node history that is complete goes to the store, the next one begins. */
static void put_node_sample(Service *service) {
        uint64_t interval_ns = service->node_point.interval_ns / NODE_POINT_ROOM; /* as configured when it began */
        uint64_t begin_ms = service->node_point.begin_realtime_ns / NS_PER_MS;
        scoped(freep) char *text = NULL;

        /* When it began is said beside the text, not in it. */
        service->node_point.begin_boottime_ns = service->node_point.begin_realtime_ns = 0;
        if (service->node_point.n > 0 && recording_format(&service->node_point, &text) == 0)
                (void)store_put(service->store, sample_rows_pack(begin_ms, interval_ns / NS_PER_MS, text));

        begin_node_point(service);
}

int service_checkpoint(Service *service) {
        int r;

        put_node_sample(service);
        if (service->jobs.n == 0)
                return 0;

        r = lifecycle_sweep(service);
        return r < 0 ? r : checkpoints_begin(service);
}

int service_configure(Service *service) {
        int result = 0, r;

        ingest_configure(service->ingest, &service->config.ingest);
        store_configure(service->store, &service->config.store);
        meter_set_interval(service->node.meter, service->config.node.interval_ns);
        r = registry_configure(service);
        if (r < 0) {
                log_err("Models of indicators are as before, until the next reload: %s", strerror(-r));
                result = r;
        }
        r = detection_configure(service);
        if (r < 0) {
                log_err("Jobs are looked for by the patterns of before, until the next reload: %s%s", strerror(-r),
                        r == -EMFILE ? " (see fs.inotify.max_user_instances and LimitNOFILE=)" : "");
                result = r;
        }
        return result;
}

int service_start(Service *service) {
        int r;

        service->store_was_writable = true;
        r = recovery_run(service);
        if (r < 0)
                return r;

        r = node_sample(&service->node, 0);
        if (r < 0)
                return r;

        begin_node_point(service);
        r = registry_start(service);
        return r < 0 ? r : detection_configure(service);
}

void service_deinit(Service *service) {
        http_free(service->http);
        publisher_free(service->publisher);
        ingest_free(service->ingest);
        detection_deinit(service);
        phases_deinit(service);
        identity_deinit(&service->identity);
        jobs_deinit(&service->jobs);
        registry_deinit(service);
        cgroup_tree_free(service->cgroups);
        store_free(service->store);
        node_deinit(&service->node);
        recording_deinit(&service->node_point);
        closep(&service->statm_fd);
}
