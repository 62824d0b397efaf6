/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/lifecycle.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "jobs/groups.h"
#include "jobs/identity.h"
#include "jobs/job_end.h"
#include "jobs/process_watch.h"
#include "jobs/progress.h"
#include "node/observe.h"
#include "reply.h"
#include "store/jobs/job_rows.h"
#include "util/clock.h"
#include "util/log.h"

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

/* Out of memory: it goes without. */
static void note(Job *job, const char *text) {
        (void)job_description_set_note(&job->info, text);
}

/* --- ends that nobody said --------------------------------------------------------------------- */

/* Nothing of the job runs any more: its numbers end here, whoever says so later. */
static int end_numbers(Service *service, Job *job, const char *why) {
        const JobEnd nothing_said = {};

        if (job->ending || job->phase != JOB_PHASE_ACTIVE)
                return 0;

        job->unsaid = why;
        return job_end_make(service, job, job->is_announced ? JOB_INTERRUPTED : JOB_FINISHED, &nothing_said);
}

/* A full queue leaves it active: the next tick tries again. */
static int close_job(Service *service, Job *job) {
        int r;

        if (job->phase != JOB_PHASE_ACTIVE)
                return 0;
        if (job->is_announced && job->unsaid && job->ending->state == JOB_INTERRUPTED)
                note(job, job->unsaid);
        r = job_end_put(service, job);
        return r < 0 ? r : 0;
}

/* Whoever may say how the job ended is waited for. */
static bool is_waited_for(const Service *service, const Job *job) {
        if (job->info.pid != 0)
                return !job->is_process_gone;
        return service->node.sample.boottime_ns - job->ending->boottime_ns < service->config.jobs.linger_ns;
}

static int on_empty(Service *service, Job *job, const char *why) {
        int r;

        job->is_empty = true;
        r = end_numbers(service, job, why);
        if (r < 0 || !job->ending || is_waited_for(service, job))
                return r;
        return close_job(service, job);
}

/* Whether anything was missed was judged when it was found to be gone. */
static void note_removal(Job *job) {
        if (!job->is_empty && !job->ending)
                note(job, "its cgroup was removed before its last counters were read: they end a sample earlier");
        job->is_empty = true;
}

static int on_removed(Service *service, Job *job) {
        note_removal(job);
        return on_empty(service, job, "its cgroup was removed, and nobody said how it ended");
}

static int on_refilled(Job *job) {
        job->is_empty = false;
        if (job->phase == JOB_PHASE_ACTIVE)
                job_drop_ending(job);
        return 0;
}

/* A group is made empty: that nothing runs in it is an end only after something has. */
static bool has_run(const Job *job) {
        return job->usage->last.usage_us > 0 || job->usage->pids_max > 0;
}

/* First of all its counters: whoever emptied it may remove it the next moment. */
int lifecycle_look_at_group(Service *service, Job *job) {
        bool is_gone = groups_read(service, job) == GROUPS_GONE, is_populated = !is_gone && cgroup_is_populated(job->cgroup);
        int r;

        r = observe_bracket(service);
        if (r < 0)
                return r;
        if (is_gone)
                return on_removed(service, job);
        if (is_populated)
                return job->is_empty ? on_refilled(job) : 0;
        if (job->is_empty || !has_run(job))
                return 0;
        return on_empty(service, job, "its cgroup became empty, and nobody said how it ended");
}

static Job *find_by_source(const Service *service, const sd_event_source *source) {
        for (Job *job = service->jobs.first; job; job = job->next)
                if (job->process == source || job->events == source)
                        return job;
        return NULL;
}

static int on_group_event(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Service *service = userdata;
        Job *job = find_by_source(service, source);

        (void)fd;
        (void)events;
        return job ? lifecycle_look_at_group(service, job) : 0;
}

static int on_process_end(Service *service, Job *job) {
        int r;

        job->is_process_gone = true;
        if (job->phase != JOB_PHASE_ACTIVE)
                return 0; /* its end was said, and is on the way to the disk */
        if (job->cgroup && !job->is_empty) {
                if (!job->ending)
                        note(job, "the process that began it went away without an end; its numbers go on until its cgroup is empty");
                return 0;
        }

        r = observe_bracket(service);
        if (r < 0)
                return r;
        r = end_numbers(service, job, "its process went away without an end");
        if (r < 0 || !job->ending)
                return r;
        return close_job(service, job);
}

static int on_process_gone(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Service *service = userdata;
        Job *job = find_by_source(service, source);

        (void)fd;
        (void)events;
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return job ? on_process_end(service, job) : 0;
}

/* --- watching --------------------------------------------------------------------------------- */

/* Clients can bring this about as often as they like. */
static int say_unwatched(Service *service, const Job *job, const char *what, int error) {
        if (log_limit_pass(&service->log_limit, clock_boottime_ns(), 60 * NS_PER_S, 10))
                log_warning("Cannot watch the %s of job '%s', looking at it now and then instead: %s", what, job->info.id, strerror(error));
        return 0;
}

int lifecycle_watch_group(Service *service, Job *job) {
        int fd = job->cgroup ? cgroup_events_fd(job->cgroup) : -1;
        int r;

        if (fd < 0 || job->events)
                return 0;

        r = sd_event_add_io(service->event, &job->events, fd, EPOLLPRI, on_group_event, service);
        if (r < 0)
                return say_unwatched(service, job, "cgroup", -r);

        (void)sd_event_source_set_exit_on_failure(job->events, true);
        r = sd_event_source_set_priority(job->events, SD_EVENT_PRIORITY_IMPORTANT);
        if (r < 0)
                return r;
        return cgroup_is_populated(job->cgroup) ? 0 : lifecycle_look_at_group(service, job);
}

static int watch_process(Service *service, Job *job) {
        scoped(closep) int fd = -1;
        int r;

        if (job->info.pid == 0)
                return 0;

        r = process_watch_open(&service->node, job->info.pid, job->info.pid_start_ticks, &fd);
        if (r > 0)
                return LIFECYCLE_GONE;
        if (r == 0)
                r = sd_event_add_io(service->event, &job->process, fd, EPOLLIN, on_process_gone, service);
        if (r < 0)
                return say_unwatched(service, job, "process", -r);
        (void)sd_event_source_set_exit_on_failure(job->process, true);
        (void)sd_event_source_set_io_fd_own(job->process, true);
        (void)TAKE_FD(fd);

        /* After the sockets: an end that was sent just before the process went is read first. */
        return sd_event_source_set_priority(job->process, SD_EVENT_PRIORITY_IDLE);
}

int lifecycle_watch(Service *service, Job *job) {
        int r;

        r = lifecycle_watch_group(service, job);
        return r < 0 ? r : watch_process(service, job);
}

static int put_begin(Service *service, Job *job) {
        scoped(job_info_deinit) JobInfo info = {};
        scoped(freep) char *progress = NULL;
        scoped(freep) char *meter = NULL;
        int r;

        r = job_description_info(&job->info, &info);
        if (r == 0)
                r = progress_format(job, NULL, 0, &progress);
        if (r == 0)
                r = meter_save(service->node.meter, service->node.boot_id, &meter);
        if (r < 0)
                return r;

        return store_put(service->store, job_rows_pack_begin(&info, job->begin_realtime_ms, service->node.boot_id, progress, meter,
                                                             cookie_of_owner(job, COOKIE_BEGIN)));
}

/* Of a job that was found. Its group is read meanwhile: what it counted is stored when there is room, even if it is over. */
static int put_begin_again(Service *service, Job *job) {
        int r;

        if (groups_glance(service, job) == GROUPS_GONE)
                note_removal(job);
        r = put_begin(service, job);
        job->is_begin_due = r != 0;
        return r < 0 ? r : 0;
}

/* Without it in the store, the next perfd would take what the group has counted for new, and the job for nobody's. */
int lifecycle_put_learned(Service *service, const Job *job, StoreCookie cookie) {
        const StoreJobIdentity learned = {
                .job = job->info.id,
                .enclosure = job->info.enclosure,
                .cgroup = job->info.cgroup,
                .uid = job->info.uid,
                .gid = job->info.gid,
        };

        return store_put(service->store, job_rows_pack_identity(&learned, cookie));
}

static int tick_job(Service *service, Job *job) {
        if (job->phase != JOB_PHASE_ACTIVE)
                return job->is_begin_due ? put_begin_again(service, job) : 0;
        if (job->is_learned_due)
                job->is_learned_due = lifecycle_put_learned(service, job, (StoreCookie){}) != 0;
        if (job->ending)
                return is_waited_for(service, job) ? 0 : close_job(service, job);
        if (job->is_empty) /* while its begin was on the way to the disk */
                return on_empty(service, job, "its cgroup became empty, and nobody said how it ended");
        if (groups_glance(service, job) == GROUPS_GONE)
                return on_removed(service, job);
        return 0;
}

int lifecycle_tick(Service *service) {
        for (Job *job = service->jobs.first; job; job = job->next) {
                int r;

                r = tick_job(service, job);
                if (r < 0)
                        return r;
        }

        return 0;
}

int lifecycle_sweep(Service *service) {
        for (Job *job = service->jobs.first; job; job = job->next) {
                int r;

                if (job->phase != JOB_PHASE_ACTIVE || job->is_process_gone ||
                    process_watch_is_alive(&service->node, job->info.pid, job->info.pid_start_ticks))
                        continue;
                r = on_process_end(service, job);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* --- begin ------------------------------------------------------------------------------------ */

/* Its cgroup was there first: from now on somebody is known who says how it ended, and whose it is. */
static int adopt(Service *service, Job *job, const JobInfo *info, Ticket ticket) {
        int r;

        job->info.uid = info->uid;
        job->info.gid = info->gid;
        r = lifecycle_put_learned(service, job, cookie_of_ticket(ticket, COOKIE_ADOPT));
        if (r != 0)
                return r;

        job->is_announced = true;
        job->is_learned_due = true; /* once more, where the store fails */
        return 0;
}

void lifecycle_complete_adopt(Service *service, Ticket ticket, StoreOutcome outcome) {
        if (outcome == STORE_FAILED)
                reply_store_failed(service, ticket);
        else
                reply(service, ticket, STATUS_DUPLICATE, "job_begin.job", "this job is running already: perfd had found its cgroup");
}

/* Answers why the job cannot begin; false when it can, or can be adopted. */
static bool refuse_begin(Service *service, const Request *request, Ticket ticket, const Job *job) {
        const JobInfo *info = request->job_begin.info;

        if (info->uid != request->peer.uid && !request->peer.is_admin)
                reply(service, ticket, STATUS_DENIED, "job_begin.uid", "only an administrator begins jobs for others");
        else if (job && !identity_may(service, &request->peer, ticket, job))
                reply(service, ticket, STATUS_DENIED, "job_begin.job", "a job of this id is running for another user");
        else if (job && !job->is_announced && job->phase == JOB_PHASE_ACTIVE)
                return false;
        else if (job && job->info.uid != info->uid) /* an administrator speaks, but for somebody else */
                reply(service, ticket, STATUS_DENIED, "job_begin.job", "a job of this id is running for another user");
        else if (job && job->phase == JOB_PHASE_ACTIVE)
                reply(service, ticket, STATUS_DUPLICATE, "job_begin.job", "this job is running already");
        else if (job)
                reply(service, ticket, STATUS_UNAVAILABLE, "job_begin.job", "this job is just being begun or ended: ask again");
        else if (service->jobs.n >= service->config.jobs.jobs_max)
                reply(service, ticket, STATUS_QUOTA, "job_begin.job",
                       "limit [limits] jobs is reached: end a job, or ask the administrator to raise it");
        else if (jobs_count_uid(&service->jobs, info->uid) >= service->config.jobs.jobs_per_uid_max)
                reply(service, ticket, STATUS_QUOTA, "job_begin.job",
                       "limit [limits] jobs_per_uid is reached: end a job of yours, or ask the administrator to raise it");
        else
                return false;

        return true;
}

/* May the peer name this process? Its start time makes the pid unmistakable. */
static bool refuse_process(Service *service, const Request *request, Ticket ticket, const char *path, int32_t pid, uint64_t *ret_ticks) {
        uint32_t uid = 0;
        int r;

        if (pid == 0)
                return false;

        r = node_process_start(&service->node, pid, ret_ticks, &uid);
        if (r == 0 && (uid == request->peer.uid || request->peer.is_admin))
                return false;

        if (r == 0)
                reply(service, ticket, STATUS_DENIED, path, "that process belongs to another user");
        else if (r == -ESRCH)
                reply(service, ticket, STATUS_INVALID, path, "there is no such process: leave it out, or name a running one");
        else
                reply(service, ticket, STATUS_UNAVAILABLE, path, "perfd cannot look at that process now: try again");
        return true;
}

/* In the table, with windows that begin now. place: of its own group, or NULL. 0, LIFECYCLE_REFUSED without that group, or < 0. */
static int make_job(Service *service, const JobInfo *info, const CgroupPlace *place, bool is_fresh, Job **ret) {
        Job *job;
        int r;

        r = observe_bracket(service);
        if (r < 0)
                return r;
        r = jobs_add(&service->jobs, info, &job);
        if (r < 0)
                return r;

        job->begin_realtime_ms = service->node.sample.realtime_ns / NS_PER_MS;
        window_begin(&job->window, meter_totals(service->node.meter), &service->node.sample);
        recording_init(&job->recording, service->node.sample.boottime_ns, service->node.sample.realtime_ns,
                       service->config.node.interval_ns, service->config.jobs.timeline_points);
        *ret = job;
        if (!place)
                return 0;

        r = groups_attach(service, job, place, is_fresh);
        if (r == 0)
                usage_drop_pressure(job->usage);
        return r == GROUPS_REFUSED ? LIFECYCLE_REFUSED : r;
}

/* How long the job has run already. A client cannot have told of its begin before there was its process. */
static uint64_t find_late_ns(const Request *request) {
        const JobInfo *info = request->job_begin.info;
        uint64_t started_ns = info->pid_start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)), now_ns = clock_boottime_ns();
        uint64_t lived_ns = info->pid != 0 && now_ns > started_ns ? now_ns - started_ns : 0;

        return request->job_begin.late_ms < lived_ns / NS_PER_MS ? request->job_begin.late_ms * NS_PER_MS : lived_ns;
}

/* Nothing of the node was counted for it, all that its own group did. */
static void begin_earlier(Job *job, uint64_t late_ns) {
        char text[160];

        if (late_ns == 0)
                return;

        job->begin_realtime_ms -= late_ns / NS_PER_MS;
        if (job->usage && job->usage->is_fresh)
                usage_begin_earlier(job->usage, late_ns);
        (void)snprintf(text, sizeof(text), "perfd was told of its begin %.1f s late: numbers of the node are from then on",
                       (double)late_ns / 1e9);
        note(job, text);
}

int lifecycle_begin(Service *service, const Request *request, Ticket ticket) {
        JobInfo *info = request->job_begin.info;
        CgroupPlace place;
        uint64_t unused;
        bool has_place;
        Job *job;
        int r;

        job = jobs_find(&service->jobs, info->id);
        if (refuse_begin(service, request, ticket, job))
                return 0;
        if (job)
                return adopt(service, job, info, ticket);
        if (refuse_process(service, request, ticket, "job_begin.pid", info->pid, &info->pid_start_ticks) ||
            refuse_process(service, request, ticket, "job_begin.member_pid", request->job_begin.member_pid, &unused))
                return 0;

        has_place = groups_find_place(service, request->job_begin.member_pid, &place);
        r = make_job(service, info, has_place ? &place : NULL, request->job_begin.is_fresh, &job);
        if (r < 0)
                return r;

        begin_earlier(job, find_late_ns(request));
        job->is_announced = true;
        job->is_group_vouched = request->peer.is_admin;
        /* What it said of its group is true only if that is followed. */
        if (!job->cgroup && info->enclosure != ENCLOSURE_SUBREAPER)
                job->info.enclosure = ENCLOSURE_NONE;

        r = put_begin(service, job);
        if (r != 0) {
                jobs_remove(&service->jobs, job);
                return r;
        }

        job->ticket = ticket;
        job->has_ticket = true;
        return 0;
}

int lifecycle_begin_found(Service *service, const JobInfo *info, const CgroupPlace *place) {
        Job *job;
        int r;

        if (service->jobs.n >= service->config.jobs.jobs_max)
                return LIFECYCLE_REFUSED;

        r = make_job(service, info, place, true, &job);
        if (r == LIFECYCLE_REFUSED)
                jobs_remove(&service->jobs, job);
        if (r != 0)
                return r;

        job->is_group_vouched = true;
        r = put_begin(service, job);
        job->is_begin_due = r == STORE_QUEUE_FULL;
        return r < 0 ? r : 0;
}

/* An earlier job had the id, as a unit's is when it is started once more: the time tells them apart. */
static int begin_found_again(Service *service, Job *job) {
        scoped(job_info_deinit) JobInfo info = {};
        CgroupPlace place;
        int r;

        if (cgroup_place_named(job->info.cgroup, &place) != 0)
                return 0;
        r = job_description_info(&job->info, &info);
        if (r < 0)
                return r;

        (void)snprintf(info.id, sizeof(info.id), "%.100s.%lu", job->info.id, (unsigned long)(job->begin_realtime_ms / 1000));
        jobs_remove(&service->jobs, job);
        return lifecycle_begin_found(service, &info, &place);
}

int lifecycle_complete_begin(Service *service, Job *job, StoreOutcome outcome) {
        int r;

        if (outcome == STORE_DONE) {
                job->phase = JOB_PHASE_ACTIVE;
                service->jobs.stats.n_begun++;
                answer_job(service, job, STATUS_OK, "");
                r = lifecycle_watch(service, job);
                return r == LIFECYCLE_GONE ? on_process_end(service, job) : r;
        }

        if (outcome == STORE_CONFLICT && !job->is_announced) {
                r = begin_found_again(service, job);
                return r < 0 ? r : 0;
        }
        if (!job->is_announced) {
                job->is_begin_due = true;
                return 0;
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
                return store_put(service->store, job_rows_pack_amend(request->job_end.job, &request->peer, &request->job_end.end,
                                                                     cookie_of_ticket(ticket, COOKIE_AMEND)));
        if (!identity_may(service, &request->peer, ticket, job)) {
                reply(service, ticket, STATUS_DENIED, "job_end.job", "this job belongs to another user");
                return 0;
        }
        /* The store takes it after the end that is on its way there. */
        if (job->phase == JOB_PHASE_ENDING) {
                Peer sender = request->peer;

                sender.is_admin = true; /* or in it, which the store cannot tell */
                return store_put(service->store, job_rows_pack_amend(request->job_end.job, &sender, &request->job_end.end,
                                                                     cookie_of_ticket(ticket, COOKIE_AMEND)));
        }
        if (job->phase != JOB_PHASE_ACTIVE) {
                reply(service, ticket, STATUS_UNAVAILABLE, "job_end.job", "this job is just being begun: ask again");
                return 0;
        }

        r = observe_bracket(service);
        if (r < 0)
                return r;
        if (!job->ending && groups_read(service, job) == GROUPS_GONE)
                note_removal(job);
        r = job_end_make(service, job, JOB_FINISHED, &request->job_end.end);
        if (r < 0)
                return r;
        r = job_end_put(service, job);
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
                jobs_forget_finished(&service->jobs, 0, service->config.jobs.metrics_jobs_max);
                return;
        }

        /* It goes on running here; whoever asked may ask again, and one whose end nobody said is tried again at the next tick. */
        job->phase = JOB_PHASE_ACTIVE;
        if (!job->is_empty && !job->is_process_gone)
                job_drop_ending(job);
        answer_job_not_stored(service, job);
}
