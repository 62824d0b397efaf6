#include "lifecycle.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "reply.h"
#include "util/clock.h"
#include "util/log.h"
#include "watch.h"

/* How old the last sample may be for a job's begin or end: many at once share one. */
#define BRACKET_AGE_NS NS_PER_MS

void lifecycle_observe(Service *service) {
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
                lifecycle_observe(service);
        return r < 0 ? r : 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void answer_job(Service *service, Job *job, Status status, const char *text) {
        if (!job->has_ticket)
                return;

        job->has_ticket = false;
        reply(service, job->ticket, status, status == STATUS_OK ? "" : "job_begin.job", text);
}

static void answer_job_not_stored(Service *service, Job *job) {
        if (!job->has_ticket)
                return;

        job->has_ticket = false;
        reply_store_failed(service, job->ticket);
}

/* --- closing ---------------------------------------------------------------------------------- */

static int put_end(Service *service, Job *job) {
        scoped(freep) char *timeline = NULL;
        StoreJobEnd row = {
                .job = job->info.id, .state = job->end_state, .end_realtime_ms = job->end_realtime_ms, .end = &job->end,
                .note = job->note, .metrics = &job->end_metrics,
        };
        int r;

        r = timeline_format(&job->timeline, &timeline);
        if (r < 0)
                return r;

        row.timeline = timeline;
        r = store_put_job_end(service->store, &row, cookie_of_job(job, COOKIE_END));
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

/* A full queue leaves it active: the next sweep tries again. */
static int interrupt(Service *service, Job *job, const char *note) {
        const JobEnd end = {};
        int r;

        if (job->phase != JOB_PHASE_ACTIVE)
                return 0;

        (void)snprintf(job->note, sizeof(job->note), "%s", note);
        r = close_job(service, job, JOB_INTERRUPTED, &end);
        return r < 0 ? r : 0;
}

static int on_process_gone(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Service *service = userdata;

        (void)fd;
        (void)events;
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
        for (Job *job = service->jobs.first; job; job = job->next)
                if (job->process == source)
                        return interrupt(service, job, "its process went away without an end");
        return 0;
}

int lifecycle_watch(Service *service, Job *job) {
        scoped(closep) int fd = -1;
        int r;

        if (job->info.pid == 0)
                return 0;

        r = watch_open(&service->node, &job->info, &fd);
        if (r > 0)
                return LIFECYCLE_GONE;
        if (r == 0)
                r = sd_event_add_io(service->event, &job->process, fd, EPOLLIN, on_process_gone, service);
        if (r < 0) {
                /* Clients can bring this about as often as they like. */
                if (log_limit_pass(&service->log_limit, clock_boottime_ns(), 60 * NS_PER_S, 10))
                        log_warning("Cannot watch process %d of job '%s', looking for it at every checkpoint instead: %s",
                                    job->info.pid, job->info.id, strerror(-r));
                return 0;
        }
        (void)sd_event_source_set_io_fd_own(job->process, true);
        (void)TAKE_FD(fd);

        /* After the sockets: an end that was sent just before the process went is read first. */
        return sd_event_source_set_priority(job->process, SD_EVENT_PRIORITY_IDLE);
}

int lifecycle_sweep(Service *service) {
        for (Job *job = service->jobs.first, *next; job; job = next) {
                int r;

                next = job->next;
                if (watch_is_alive(&service->node, &job->info))
                        continue;
                r = interrupt(service, job, "its process went away without an end");
                if (r < 0)
                        return r;
        }

        return 0;
}

/* --- begin ------------------------------------------------------------------------------------ */

/* Answers why the job cannot begin; false when it can. */
static bool refuse_begin(Service *service, const Request *request, Ticket ticket) {
        const JobInfo *info = request->job_begin.info;
        const Job *job = jobs_find(&service->jobs, info->id);

        if (job && job->info.uid != request->peer.uid && request->peer.uid != 0)
                reply(service, ticket, STATUS_DENIED, "job_begin.job", "a job of this id is running for another user");
        else if (job && job->phase == JOB_PHASE_ACTIVE)
                reply(service, ticket, STATUS_DUPLICATE, "job_begin.job", "this job is running already");
        else if (job)
                reply(service, ticket, STATUS_UNAVAILABLE, "job_begin.job", "this job is just being begun or ended: ask again");
        else if (service->jobs.n >= service->config.jobs)
                reply(service, ticket, STATUS_QUOTA, "job_begin.job",
                       "limit [limits] jobs is reached: end a job, or ask the administrator to raise it");
        else if (jobs_count_uid(&service->jobs, request->peer.uid) >= service->config.jobs_per_uid)
                reply(service, ticket, STATUS_QUOTA, "job_begin.job",
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

        if (r == 0)
                reply(service, ticket, STATUS_DENIED, "job_begin.pid", "that process belongs to another user");
        else if (r == -ESRCH)
                reply(service, ticket, STATUS_INVALID, "job_begin.pid", "there is no such process: leave pid out, or name a running one");
        else
                reply(service, ticket, STATUS_UNAVAILABLE, "job_begin.pid", "perfd cannot look at that process now: try again");
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

int lifecycle_begin(Service *service, const Request *request, Ticket ticket) {
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

int lifecycle_complete_begin(Service *service, Job *job, StoreOutcome outcome) {
        int r;

        if (outcome == STORE_DONE) {
                job->phase = JOB_PHASE_ACTIVE;
                service->jobs.n_begun++;
                answer_job(service, job, STATUS_OK, "");
                r = lifecycle_watch(service, job);
                return r == LIFECYCLE_GONE ? interrupt(service, job, "its process was gone right after the begin") : r;
        }

        if (outcome == STORE_CONFLICT)
                answer_job(service, job, STATUS_INVALID, "an earlier job had this id: every job needs its own");
        else
                answer_job_not_stored(service, job);
        jobs_remove(&service->jobs, job);
        return 0;
}

/* --- end -------------------------------------------------------------------------------------- */

int lifecycle_end(Service *service, const Request *request, Ticket ticket) {
        Job *job = jobs_find(&service->jobs, request->job_end.job);
        int r;

        if (!job)
                return store_put_job_amend(service->store, request->job_end.job, &request->peer, &request->job_end.end,
                                           cookie_of_ticket(ticket, COOKIE_AMEND));
        if (job->info.uid != request->peer.uid && request->peer.uid != 0) {
                reply(service, ticket, STATUS_DENIED, "job_end.job", "this job belongs to another user");
                return 0;
        }
        if (job->phase != JOB_PHASE_ACTIVE) {
                reply(service, ticket, STATUS_UNAVAILABLE, "job_end.job", "this job is just being begun or ended: ask again");
                return 0;
        }

        r = close_job(service, job, JOB_FINISHED, &request->job_end.end);
        if (r != 0)
                return r;

        job->ticket = ticket;
        job->has_ticket = true;
        return 0;
}

void lifecycle_complete_end(Service *service, Job *job, StoreOutcome outcome) {
        if (outcome == STORE_DONE || outcome == STORE_MISSING) {
                answer_job(service, job, outcome == STORE_DONE ? STATUS_OK : STATUS_NOT_FOUND,
                           outcome == STORE_DONE ? "" : "the store has lost this job: its database was replaced");
                jobs_retire(&service->jobs, job, clock_boottime_ns());
                /* Not only at the next tick: thousands may end before it. */
                jobs_forget_finished(&service->jobs, 0, service->config.metrics_jobs);
                return;
        }

        /* It goes on running here; whoever asked may ask again, and an interrupted one is tried again at the checkpoint. */
        job->phase = JOB_PHASE_ACTIVE;
        answer_job_not_stored(service, job);
}
