/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/job_watch.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jobs/energy_shares.h"
#include "jobs/job_end.h"
#include "jobs/sampling.h"

/* --- processes ------------------------------------------------------------------------------------ */

bool job_watch_is_alive(const Node *node, int32_t pid, uint64_t start_ticks) {
        uint64_t present_ticks;
        uint32_t uid;
        int r;

        if (pid == 0)
                return true;

        r = node_process_start(node, pid, &present_ticks, &uid);
        return r == 0 ? present_ticks == start_ticks : r != -ESRCH;
}

int job_watch_open_process(const Node *node, int32_t pid, uint64_t start_ticks, int *ret_fd) {
        scoped(closep) int fd = -1;

        assert(pid != 0);

        fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
                return errno == ESRCH ? JOB_WATCH_GONE : -errno;
        /* Compares after opening: the descriptor then refers to the process that was compared. */
        if (!job_watch_is_alive(node, pid, start_ticks))
                return JOB_WATCH_GONE;

        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* --- jobs ----------------------------------------------------------------------------------------- */

#define EMPTY_NOTE "its cgroup became empty; " JOB_NO_END_NOTE

/* Makes the final numbers of a job that has no process any more. The client that began the job may still report its
 * end. */
static int make_final(Lifecycle *lifecycle, Job *job, const char *note) {
        const JobEnd unknown = {};

        if (job->final || job->stage != JOB_ACTIVE)
                return 0;

        job->default_note = note;
        energy_shares_settle(lifecycle->jobs, job, meter_totals(lifecycle->node->meter));
        return job_end_make(lifecycle->jobs, job, lifecycle->node,
                            job->is_announced ? JOB_INTERRUPTED : JOB_FINISHED, &unknown);
}

/* Puts the end of a job with final numbers. A full queue leaves the job active: the next tick tries again. */
static int close_job(Lifecycle *lifecycle, Job *job) {
        const StoreCookie cookie = { .kind = &lifecycle_kinds[LIFECYCLE_END], .owner = job };
        int r;

        if (job->stage != JOB_ACTIVE)
                return 0;
        assert(job->final);
        if (job->is_announced && job->default_note && job->final->state == JOB_INTERRUPTED)
                running_job_set_note(job, job->default_note);
        r = job_end_put(job, lifecycle->store, cookie);
        return r < 0 ? r : 0;
}

/* Returns true while a client may still report how the job ended. */
static bool is_waited_for(const Lifecycle *lifecycle, const Job *job) {
        if (job->info.pid != 0)
                return !job->process.is_gone;
        return lifecycle->node->sample.boottime_ns - job->final->boottime_ns < lifecycle->config->linger_ns;
}

static int on_empty(Lifecycle *lifecycle, Job *job, const char *note) {
        int r;

        job->group.is_empty = true;
        r = make_final(lifecycle, job, note);
        if (r < 0 || !job->final || is_waited_for(lifecycle, job))
                return r;
        return close_job(lifecycle, job);
}

void job_watch_note_removal(Job *job) {
        if (!job->group.is_empty && !job->final)
                running_job_set_note(
                        job,
                        "its cgroup was removed before its last counters were read; totals end at the previous sample");
        job->group.is_empty = true;
}

static int on_removed(Lifecycle *lifecycle, Job *job) {
        job_watch_note_removal(job);
        return on_empty(lifecycle, job, "its cgroup was removed; " JOB_NO_END_NOTE);
}

static int on_refilled(Job *job) {
        job->group.is_empty = false;
        if (job->stage == JOB_ACTIVE)
                running_job_drop_final(job);
        return 0;
}

/* Reads the counters first: the cgroup may be removed as soon as it is empty. */
int job_watch_check_group(Lifecycle *lifecycle, Job *job) {
        bool is_gone = groups_read(job) == GROUPS_GONE,
             is_populated = !is_gone && cgroup_is_populated(job->group.cgroup);
        int r;

        r = sampling_now(lifecycle->jobs, lifecycle->node);
        if (r < 0)
                return r;
        if (is_gone)
                return on_removed(lifecycle, job);
        if (is_populated)
                return job->group.is_empty ? on_refilled(job) : 0;
        if (job->group.is_empty || !groups_has_run(job))
                return 0;
        return on_empty(lifecycle, job, EMPTY_NOTE);
}

static Job *find_by_source(const Lifecycle *lifecycle, const sd_event_source *source) {
        for (Job *job = lifecycle->jobs->first; job; job = job->links.next)
                if (job->process.source == source || job->group.events == source)
                        return job;
        return NULL;
}

static int on_group_event(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Lifecycle *lifecycle = userdata;
        Job *job = find_by_source(lifecycle, source);

        (void)fd;
        (void)events;
        return job ? job_watch_check_group(lifecycle, job) : 0;
}

int job_watch_end_process(Lifecycle *lifecycle, Job *job) {
        int r;

        job->process.is_gone = true;
        if (job->stage != JOB_ACTIVE)
                return 0; /* the end is queued already */
        if (job->group.cgroup && !job->group.is_empty) {
                if (!job->final)
                        running_job_set_note(job, "its process ended, " JOB_NO_END_NOTE
                                                  "; the job continues until its cgroup is empty");
                return 0;
        }

        r = sampling_now(lifecycle->jobs, lifecycle->node);
        if (r < 0)
                return r;
        r = make_final(lifecycle, job, "its process ended; " JOB_NO_END_NOTE);
        if (r < 0 || !job->final)
                return r;
        return close_job(lifecycle, job);
}

static int on_process_gone(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Lifecycle *lifecycle = userdata;
        Job *job = find_by_source(lifecycle, source);

        (void)fd;
        (void)events;
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return job ? job_watch_end_process(lifecycle, job) : 0;
}

/* --- watching --------------------------------------------------------------------------------- */

/* Limits the rate of the message, because clients can cause any number of failures. */
static void log_unwatched(Lifecycle *lifecycle, const Job *job, const char *what, int error) {
        const LogField fields[] = { LOG_TEXT("PERFD_JOB", job->info.id),
                                    LOG_NUMBER("PERFD_UID", job->info.uid), LOG_NUMBER("ERRNO", error), {} };

        log_for_user(&lifecycle->log_limits.unwatched, job->info.uid, LOG_LEVEL_WARNING, fields,
                    "Cannot watch the %s of job '%s', checking it at each tick instead: "
                    "%s", what, job->info.id, strerror(error));
}

int job_watch_start_group(Lifecycle *lifecycle, Job *job) {
        int fd = job->group.cgroup ? cgroup_events_fd(job->group.cgroup) : -1;
        int r;

        if (fd < 0 || job->group.events)
                return 0;

        r = sd_event_add_io(lifecycle->event, &job->group.events, fd, EPOLLPRI, on_group_event, lifecycle);
        if (r < 0) {
                log_unwatched(lifecycle, job, "cgroup", -r);
                return 0;
        }

        (void)sd_event_source_set_exit_on_failure(job->group.events, true);
        r = sd_event_source_set_priority(job->group.events, SD_EVENT_PRIORITY_IMPORTANT);
        if (r < 0)
                return r;
        return cgroup_is_populated(job->group.cgroup) ? 0 : job_watch_check_group(lifecycle, job);
}

static int watch_process(Lifecycle *lifecycle, Job *job) {
        scoped(closep) int fd = -1;
        int r;

        if (job->info.pid == 0)
                return 0;
        assert(!job->process.source);

        r = job_watch_open_process(lifecycle->node, job->info.pid, job->info.pid_start_ticks, &fd);
        if (r > 0)
                return JOB_WATCH_GONE;
        if (r == 0)
                r = sd_event_add_io(lifecycle->event, &job->process.source, fd, EPOLLIN, on_process_gone, lifecycle);
        if (r < 0) {
                log_unwatched(lifecycle, job, "process", -r);
                return 0;
        }
        (void)sd_event_source_set_exit_on_failure(job->process.source, true);
        (void)sd_event_source_set_io_fd_own(job->process.source, true);
        (void)TAKE_FD(fd);

        /* Lower priority than the sockets: an end request that the process sent before it exited is read first. */
        return sd_event_source_set_priority(job->process.source, SD_EVENT_PRIORITY_IDLE);
}

int job_watch_start(Lifecycle *lifecycle, Job *job) {
        int r;

        r = job_watch_start_group(lifecycle, job);
        return r < 0 ? r : watch_process(lifecycle, job);
}

int job_watch_sweep(Lifecycle *lifecycle) {
        for (Job *job = lifecycle->jobs->first; job; job = job->links.next) {
                int r;

                if (job->stage != JOB_ACTIVE || job->process.is_gone ||
                    job_watch_is_alive(lifecycle->node, job->info.pid, job->info.pid_start_ticks))
                        continue;
                r = job_watch_end_process(lifecycle, job);
                if (r < 0)
                        return r;
        }

        return 0;
}

int job_watch_tick(Lifecycle *lifecycle, Job *job) {
        assert(job->stage == JOB_ACTIVE);

        if (job->final)
                return is_waited_for(lifecycle, job) ? 0 : close_job(lifecycle, job);
        if (job->group.is_empty) /* the cgroup became empty before the begin of the job was stored */
                return on_empty(lifecycle, job, EMPTY_NOTE);
        return groups_refresh(job) == GROUPS_GONE ? on_removed(lifecycle, job) : 0;
}
