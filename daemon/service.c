#include "service.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "publish.h"
#include "recovery.h"
#include "util/clock.h"
#include "watch.h"

/* How old the last sample may be for a job's begin or end: many at once share one. */
#define BRACKET_AGE_NS NS_PER_MS

/* What a completion is for; in the low bits of StoreCookie.b. */
enum {
        COOKIE_RESULTS = 0, /* a and b hold the ticket */
        COOKIE_AMEND = 1,   /* likewise */
        COOKIE_BEGIN = 2,   /* a is the Job, which stays until then */
        COOKIE_END = 3,     /* likewise */
        COOKIE_KIND = 3,
};

static StoreCookie cookie_of_ticket(Ticket ticket, unsigned kind) {
        return (StoreCookie){
                .a = ((uint64_t)ticket.connection << 32) | ticket.generation,
                .b = (ticket.number << 2) | kind,
        };
}

static Ticket ticket_of_cookie(StoreCookie cookie) {
        return (Ticket){
                .connection = (uint32_t)(cookie.a >> 32),
                .generation = (uint32_t)cookie.a,
                .number = cookie.b >> 2,
        };
}

static StoreCookie cookie_of_job(const Job *job, unsigned kind) {
        return (StoreCookie){ .a = (uintptr_t)job, .b = kind };
}

static void answer(Service *service, Ticket ticket, Status status, const char *path, const char *text) {
        Answer a = { .status = status };

        (void)snprintf(a.complaint.path, sizeof(a.complaint.path), "%s", path);
        (void)snprintf(a.complaint.text, sizeof(a.complaint.text), "%s", text);
        ingest_answer(service->ingest, ticket, &a);
}

static void answer_job(Service *service, Job *job, Status status, const char *text) {
        if (!job->has_ticket)
                return;

        job->has_ticket = false;
        answer(service, job->ticket, status, status == STATUS_OK ? "" : "job", text);
}

/* Why the store cannot take it, in the answer's words. */
static void store_failure_text(Service *service, char *ret, size_t n_max) {
        StoreStats stats;

        store_stats(service->store, &stats);
        (void)snprintf(ret, n_max, "the store cannot write: %s", stats.error[0] ? stats.error : "unknown reason");
}

static void observe_jobs(Service *service) {
        const Observation *observation = &service->node.observation;

        (void)timeline_add(&service->node_point, observation);
        for (Job *job = service->jobs.first; job; job = job->next) {
                window_observe(&job->window, observation, service->node.sample.realtime_ns);
                (void)timeline_add(&job->timeline, observation);
        }
}

/* A sample for a begin or an end. */
static int bracket(Service *service) {
        int r = node_sample(&service->node, BRACKET_AGE_NS);

        if (r == NODE_OBSERVED)
                observe_jobs(service);
        return r < 0 ? r : 0;
}

/* --- begin ------------------------------------------------------------------------------------ */

/* Answers why the job cannot begin; false when it can. */
static bool refuse_begin(Service *service, const Request *request, Ticket ticket) {
        const JobInfo *info = request->job_begin.info;
        const Job *job = jobs_find(&service->jobs, info->id);

        if (job && job->info.uid != request->peer.uid && request->peer.uid != 0)
                answer(service, ticket, STATUS_DENIED, "job_begin.job", "a job of this id is running for another user");
        else if (job && job->phase == JOB_PHASE_ACTIVE)
                answer(service, ticket, STATUS_DUPLICATE, "job_begin.job", "this job is running already");
        else if (job)
                answer(service, ticket, STATUS_UNAVAILABLE, "job_begin.job", "this job is just being begun or ended: ask again");
        else if (service->jobs.n >= service->config.jobs)
                answer(service, ticket, STATUS_QUOTA, "job_begin.job",
                       "limit [limits] jobs is reached: end a job, or ask the administrator to raise it");
        else if (jobs_count_uid(&service->jobs, request->peer.uid) >= service->config.jobs_per_uid)
                answer(service, ticket, STATUS_QUOTA, "job_begin.job",
                       "limit [limits] jobs_per_uid is reached: end a job of yours, or ask the administrator to raise it");
        else
                return false;

        return true;
}

/* Whose process is to stand for the job? Its start time makes the pid unmistakable. */
static bool refuse_pid(Service *service, const Request *request, Ticket ticket) {
        JobInfo *info = request->job_begin.info;
        uint32_t uid = 0;
        int r;

        if (info->pid == 0)
                return false;

        r = node_process_start(&service->node, info->pid, &info->pid_start_ticks, &uid);
        if (r == 0 && (uid == request->peer.uid || request->peer.uid == 0))
                return false;

        answer(service, ticket, r == 0 ? STATUS_DENIED : STATUS_INVALID, "job_begin.pid",
               r == 0 ? "that process belongs to another user" : "there is no such process: leave pid out, or name a running one");
        return true;
}

static int put_begin(Service *service, Job *job) {
        scoped(freep) char *window = NULL;
        scoped(freep) char *meter = NULL;
        int r;

        r = window_format(&job->window, &window);
        if (r < 0)
                return r;
        r = meter_save(service->node.meter, service->node.boot_id, &meter);
        if (r < 0)
                return r;

        return store_put_job_begin(service->store, &job->info, job->begin_realtime_ms, service->node.boot_id,
                                   window, meter, cookie_of_job(job, COOKIE_BEGIN));
}

static int begin_job(Service *service, const Request *request, Ticket ticket) {
        Job *job;
        int r;

        if (refuse_begin(service, request, ticket) || refuse_pid(service, request, ticket))
                return 0;

        r = bracket(service);
        if (r < 0)
                return r;
        r = jobs_add(&service->jobs, request->job_begin.info, &job);
        if (r < 0)
                return r;

        job->begin_realtime_ms = service->node.sample.realtime_ns / NS_PER_MS;
        window_begin(&job->window, meter_totals(service->node.meter), &service->node.sample);
        timeline_init(&job->timeline, service->node.sample.boottime_ns, service->node.sample.realtime_ns,
                      service->config.interval_ns, service->config.timeline_points);

        r = put_begin(service, job);
        if (r != 0) {
                jobs_remove(&service->jobs, job);
                return r;
        }

        job->ticket = ticket;
        job->has_ticket = true;
        return 0;
}

static int complete_begin(Service *service, Job *job, StoreOutcome outcome) {
        char text[256];

        if (outcome == STORE_DONE) {
                job->phase = JOB_PHASE_ACTIVE;
                service->jobs.n_begun++;
                answer_job(service, job, STATUS_OK, "");
                /* Gone between its request and our commit: an end may still be in the socket, or it is interrupted. */
                if (watch_job(service, job) == WATCH_GONE)
                        return service_job_interrupted(service, job, "its process was gone right after the begin");
                return 0;
        }

        if (outcome == STORE_CONFLICT) {
                answer_job(service, job, STATUS_INVALID, "an earlier job had this id: every job needs its own");
        } else {
                store_failure_text(service, text, sizeof(text));
                answer_job(service, job, STATUS_UNAVAILABLE, text);
        }
        jobs_remove(&service->jobs, job);
        return 0;
}

/* --- end -------------------------------------------------------------------------------------- */

static int put_end(Service *service, Job *job) {
        scoped(freep) char *timeline = NULL;
        int r;

        r = timeline_format(&job->timeline, &timeline);
        if (r < 0)
                return r;

        r = store_put_job_end(service->store, job->info.id, job->end_state, job->end_realtime_ms, &job->end, job->note,
                              &job->end_metrics, timeline, cookie_of_job(job, COOKIE_END));
        if (r == 0)
                job->phase = JOB_PHASE_ENDING;
        return r;
}

/* Takes the job's last sample and queues its end. 0, STORE_QUEUE_FULL (nothing changed), or < 0. */
static int close_job(Service *service, Job *job, JobState state, const JobEnd *end) {
        int r;

        r = bracket(service);
        if (r < 0)
                return r;

        window_metrics(&job->window, meter_totals(service->node.meter), node_n_cpus(&service->node), &job->end_metrics);
        job->end_state = state;
        job->end_realtime_ms = service->node.sample.realtime_ns / NS_PER_MS;
        job->end = *end;
        return put_end(service, job);
}

static const FinishedJob *find_finished(const Jobs *jobs, const char *id) {
        for (const FinishedJob *finished = jobs->first_finished; finished; finished = finished->next)
                if (strcmp(finished->view.info.id, id) == 0 && finished->view.state == JOB_FINISHED)
                        return finished;
        return NULL;
}

static int end_job(Service *service, const Request *request, Ticket ticket) {
        Job *job = jobs_find(&service->jobs, request->job_end.job);
        int r;

        if (!job && find_finished(&service->jobs, request->job_end.job)) {
                answer(service, ticket, STATUS_DUPLICATE, "job_end.job", "this job has ended already");
                return 0;
        }
        if (!job)
                return store_put_job_amend(service->store, request->job_end.job, request->peer.uid, &request->job_end.end,
                                           cookie_of_ticket(ticket, COOKIE_AMEND));
        if (job->info.uid != request->peer.uid && request->peer.uid != 0) {
                answer(service, ticket, STATUS_DENIED, "job_end.job", "this job belongs to another user");
                return 0;
        }
        if (job->phase != JOB_PHASE_ACTIVE) {
                answer(service, ticket, STATUS_UNAVAILABLE, "job_end.job", "this job is just being begun or ended: ask again");
                return 0;
        }

        r = close_job(service, job, JOB_FINISHED, &request->job_end.end);
        if (r != 0)
                return r;

        job->ticket = ticket;
        job->has_ticket = true;
        return 0;
}

static void complete_end(Service *service, Job *job, StoreOutcome outcome) {
        char text[256];

        if (outcome == STORE_DONE) {
                answer_job(service, job, STATUS_OK, "");
                jobs_retire(&service->jobs, job, clock_boottime_ns());
                return;
        }

        /* It goes on running here; whoever asked may ask again, and an interrupted one is tried again at the checkpoint. */
        job->phase = JOB_PHASE_ACTIVE;
        store_failure_text(service, text, sizeof(text));
        answer_job(service, job, STATUS_UNAVAILABLE, text);
}

int service_job_interrupted(Service *service, Job *job, const char *note) {
        JobEnd end = {};
        int r;

        if (job->phase != JOB_PHASE_ACTIVE)
                return 0;

        (void)snprintf(job->note, sizeof(job->note), "%s", note);
        r = close_job(service, job, JOB_INTERRUPTED, &end);
        return r < 0 ? r : 0;
}

/* --- results ---------------------------------------------------------------------------------- */

static int submit(Service *service, const Request *request, Ticket ticket) {
        for (size_t i = 0; i < request->submit.n_items; i++) {
                const char *id = request->submit.items[i].job;
                const Job *job = id[0] ? jobs_find(&service->jobs, id) : NULL;
                char path[64];

                if (!job || job->info.uid == request->peer.uid || request->peer.uid == 0)
                        continue;
                (void)snprintf(path, sizeof(path), "submit.indicators[%zu].job", i);
                answer(service, ticket, STATUS_DENIED, path, "this job belongs to another user");
                return 0;
        }

        return store_put_results(service->store, request->submit.items, request->submit.n_items, request->peer.uid,
                                 clock_realtime_ns() / NS_PER_MS, cookie_of_ticket(ticket, COOKIE_RESULTS));
}

static void complete_for_ticket(Service *service, StoreDone done) {
        Ticket ticket = ticket_of_cookie(done.cookie);
        char text[256];

        switch (done.outcome) {
        case STORE_DONE:
                answer(service, ticket, STATUS_OK, "", "");
                return;
        case STORE_DUPLICATE:
                answer(service, ticket, STATUS_DUPLICATE, "", "already stored: nothing changed");
                return;
        case STORE_MISSING:
                answer(service, ticket, STATUS_NOT_FOUND, "job_end.job", "there is no such job: was it begun on this node?");
                return;
        case STORE_DENIED:
                answer(service, ticket, STATUS_DENIED, "job_end.job", "this job belongs to another user");
                return;
        case STORE_CONFLICT:
        case STORE_FAILED:
                store_failure_text(service, text, sizeof(text));
                answer(service, ticket, STATUS_UNAVAILABLE, "", text);
        }
}

/* --- the loop's calls ------------------------------------------------------------------------- */

static int place(Service *service, const Request *request, Ticket ticket) {
        switch (request->kind) {
        case REQUEST_HELLO: /* ingest's own */
                return 0;
        case REQUEST_JOB_BEGIN:
                return begin_job(service, request, ticket);
        case REQUEST_JOB_END:
                return end_job(service, request, ticket);
        case REQUEST_SUBMIT:
                return submit(service, request, ticket);
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
                }

                r = place(service, &service->held, service->held_ticket);
                if (r < 0)
                        return r;
                service->has_held = r == STORE_QUEUE_FULL;
                if (service->has_held)
                        break; /* nothing is read until the store has room: that is the back-pressure */
        }

        ingest_flush(service->ingest);
        return 0;
}

int service_take_completions(Service *service) {
        StoreDone done;
        int r;

        while ((r = store_next_done(service->store, &done)) == 0) {
                switch (done.cookie.b & COOKIE_KIND) {
                case COOKIE_BEGIN:
                        r = complete_begin(service, (Job *)(uintptr_t)done.cookie.a, done.outcome);
                        if (r < 0)
                                return r;
                        break;
                case COOKIE_END:
                        complete_end(service, (Job *)(uintptr_t)done.cookie.a, done.outcome);
                        break;
                default:
                        complete_for_ticket(service, done);
                        if ((done.cookie.b & COOKIE_KIND) == COOKIE_RESULTS && done.outcome == STORE_DONE)
                                service->self.n_indicators_stored++;
                }
        }

        ingest_flush(service->ingest);
        return r < 0 ? r : 0;
}

static void log_store_changes(Service *service) {
        StoreStats stats;

        store_stats(service->store, &stats);
        if (stats.is_writable == service->store_was_writable)
                return;

        service->store_was_writable = stats.is_writable;
        if (stats.is_writable)
                log_notice("The store can be written again.");
        else
                log_err("The store cannot be written, submissions are answered UNAVAILABLE until it can: %s", stats.error);
}

int service_tick(Service *service) {
        int r;

        r = node_sample(&service->node, 0);
        if (r < 0)
                return r;
        if (r == NODE_OBSERVED)
                observe_jobs(service);

        service->self.n_ticks++;
        jobs_forget_finished(&service->jobs,
                             service->node.sample.boottime_ns > service->config.metrics_finished_ns
                                     ? service->node.sample.boottime_ns - service->config.metrics_finished_ns
                                     : 0,
                             service->config.metrics_jobs);
        log_store_changes(service);
        publish(service);
        return 0;
}

/* One point for the whole interval, with room for its last observation to come late. */
static void begin_node_point(Service *service) {
        timeline_deinit(&service->node_point);
        timeline_init(&service->node_point, service->node.sample.boottime_ns, service->node.sample.realtime_ns,
                      2 * service->config.checkpoint_interval_ns, 2);
}

/* The interval of node history that is complete goes to the store, the next one begins. */
static void put_node_sample(Service *service) {
        uint64_t interval_ns = service->config.checkpoint_interval_ns;
        scoped(freep) char *text = NULL;

        if (service->node_point.n > 0 && timeline_format(&service->node_point, &text) == 0)
                (void)store_put_node_sample(service->store, service->node_point.begin_realtime_ns / NS_PER_MS,
                                            interval_ns / NS_PER_MS, text);

        begin_node_point(service);
}

static int put_checkpoints(Service *service) {
        scoped(freep) StoreCheckpoint *items = NULL;
        scoped(freep) char *meter = NULL;
        size_t n = 0;
        int r;

        items = calloc(service->jobs.n, sizeof(*items));
        if (!items)
                return -ENOMEM;

        r = meter_save(service->node.meter, service->node.boot_id, &meter);
        for (const Job *job = service->jobs.first; job && r == 0; job = job->next) {
                char *window;

                if (job->phase != JOB_PHASE_ACTIVE)
                        continue;
                r = window_format(&job->window, &window);
                if (r == 0)
                        items[n++] = (StoreCheckpoint){ .job = job->info.id, .window = window };
        }

        /* A full queue costs one checkpoint, not the daemon: the next is an interval away. */
        if (r == 0)
                (void)store_put_checkpoints(service->store, items, n, service->node.boot_id, meter,
                                            service->node.sample.realtime_ns / NS_PER_MS);

        for (size_t i = 0; i < n; i++)
                free((char *)items[i].window);
        return r;
}

static bool process_is_gone(Service *service, const Job *job) {
        uint64_t start_ticks;
        uint32_t uid;

        return job->info.pid > 0 && (node_process_start(&service->node, job->info.pid, &start_ticks, &uid) != 0 ||
                                     start_ticks != job->info.pid_start_ticks);
}

int service_checkpoint(Service *service) {
        int r;

        put_node_sample(service);
        if (service->jobs.n == 0)
                return 0;

        for (Job *job = service->jobs.first, *next; job; job = next) {
                next = job->next;
                if (!process_is_gone(service, job))
                        continue;
                r = service_job_interrupted(service, job, "its process went away without an end");
                if (r < 0)
                        return r;
        }

        return put_checkpoints(service);
}

void service_configure(Service *service) {
        IngestConfig ingest = service_ingest_config(service);
        StoreConfig store = service_store_config(service);

        ingest_configure(service->ingest, &ingest);
        store_configure(service->store, &store);
        meter_set_interval(service->node.meter, service->config.interval_ns);
}

IngestConfig service_ingest_config(const Service *service) {
        const Config *config = &service->config;

        return (IngestConfig){
                .frame_max_bytes = config->frame_size,
                .connections_max = (unsigned)config->connections,
                .connections_per_uid_max = (unsigned)config->connections_per_uid,
                .in_flight_max = (unsigned)config->in_flight,
                .string_max_bytes = config->string_size,
                .server = "perfd " PERFD_VERSION,
                .node = service->hostname,
                .durable = !config->store_volatile,
        };
}

StoreConfig service_store_config(const Service *service) {
        const Config *config = &service->config;

        return (StoreConfig){
                .directory = config->store_directory,
                .is_volatile = config->store_volatile,
                .size_max_bytes = config->store_max_size,
                .keep_samples_ns = config->store_keep_samples_ns,
                .keep_jobs_ns = config->store_keep_jobs_ns,
                .keep_results_ns = config->store_keep_results_ns,
                .queue_rows_max = config->store_queue_rows,
                .queue_bytes_max = config->store_queue_size,
        };
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
        publish(service);
        return 0;
}

void service_deinit(Service *service) {
        http_free(service->http);
        ingest_free(service->ingest);
        jobs_deinit(&service->jobs);
        store_free(service->store);
        node_deinit(&service->node);
        timeline_deinit(&service->node_point);
        closep(&service->statm_fd);
}
