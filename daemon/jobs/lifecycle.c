/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/lifecycle.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "jobs/energy_shares.h"
#include "jobs/job_end.h"
#include "jobs/job_watch.h"
#include "jobs/progress.h"
#include "jobs/sampling.h"
#include "store/jobs/job_rows.h"
#include "util/clock.h"

/* --- the charge for a job ----------------------------------------------------------------------------- */

static ShareAccount *open_account(Shares *shares, const JobOrigin *origin) {
        const Owner owner = { .type = OWNER_USER, .uid = origin->uid, .is_admin = origin->is_admin };

        return shares_open_account(shares, &owner);
}

/* A job counts twice if perfd can watch neither a process nor a cgroup of it, because only an end request ends such
 * a job. */
static uint64_t weight_of(bool is_watched) {
        return is_watched ? 1 : 2;
}

/* The jobs of users are at most the limit, and those of administrators have as many places of their own. */
static bool is_exempt(Shares *shares, const Jobs *jobs, const JobOrigin *origin) {
        return origin->is_admin && jobs->n < 2 * shares_limit(shares, RESOURCE_JOBS);
}

/* Charges a job that is about to be added to the user who began it. 0, ORIGIN_REFUSED with the reason, or -ENOMEM. */
enum {
        ORIGIN_REFUSED = 1,
};
static int charge_origin(Shares *shares, const Jobs *jobs, bool is_watched, JobOrigin *origin,
                         char ret_reason[SHARES_REASON_MAX]) {
        ShareAccount *account = open_account(shares, origin);
        int r = 0;

        if (!account)
                return -ENOMEM;

        if (is_exempt(shares, jobs, origin))
                shares_charge_always(account, RESOURCE_JOBS, weight_of(is_watched), &origin->charge);
        else if (shares_charge(account, RESOURCE_JOBS, weight_of(is_watched), &origin->charge) != 0) {
                shares_explain(account, RESOURCE_JOBS, ret_reason);
                r = ORIGIN_REFUSED;
        }
        shares_close_account(account); /* the charge has a reference */
        return r;
}

int lifecycle_charge_again(Shares *shares, bool is_watched, JobOrigin *origin) {
        ShareAccount *account = open_account(shares, origin);

        if (!account)
                return -ENOMEM;

        shares_charge_always(account, RESOURCE_JOBS, weight_of(is_watched), &origin->charge);
        shares_close_account(account);
        return 0;
}

/* --- rows ----------------------------------------------------------------------------------------- */

static StoreCookie cookie_of(size_t kind, Ticket ticket, Job *job) {
        return (StoreCookie){ .kind = &lifecycle_kinds[kind], .ticket = ticket, .owner = job };
}

static int put_begin(Lifecycle *lifecycle, Job *job, Ticket ticket) {
        scoped(job_info_deinit) JobInfo info = {};
        scoped(freep) char *progress = NULL;
        scoped(freep) char *meter = NULL;
        const Node *node = lifecycle->node;
        StoreJobBegin row = {
                .info = &info, .begin_realtime_ms = job->begin_realtime_ms, .boot_id = node->boot_id,
                .begun_by = job->origin.uid, .is_by_admin = job->origin.is_admin && job->is_announced,
        };
        int r;

        assert(job->stage == JOB_BEGINNING);

        r = job_description_info(&job->info, &info);
        if (r == 0)
                r = progress_format(job, NULL, 0, &progress);
        if (r == 0)
                r = meter_save(node->meter, node->boot_id, &meter);
        if (r < 0)
                return r;

        row.progress = progress;
        row.meter = meter;
        return store_put(lifecycle->store, job_rows_pack_begin(&row, cookie_of(LIFECYCLE_BEGIN, ticket, job)));
}

/* Puts the start of a detected job again. Reads the cgroup first, so that the counters are complete even if the job
 * is over by then. */
static int put_begin_again(Lifecycle *lifecycle, Job *job) {
        int r;

        if (groups_refresh(job) == GROUPS_GONE)
                job_watch_note_removal(job);
        r = put_begin(lifecycle, job, (Ticket){});
        job->due.is_begin = r != 0;
        return r < 0 ? r : 0;
}

/* Puts the cgroup, the name and the owner, so that after a restart the job has an owner and counts only its own usage
 * of the cgroup. */
static int put_identity(Lifecycle *lifecycle, const Job *job, StoreCookie cookie) {
        const StoreJobIdentity identity = {
                .job = job->info.id,
                .name = job->info.name,
                .user = job->info.user,
                .isolation = job->info.isolation,
                .cgroup = job->info.cgroup,
                .uid = job->info.uid,
                .gid = job->info.gid,
        };

        return store_put(lifecycle->store, job_rows_pack_identity(&identity, cookie));
}

int lifecycle_update_identity(Lifecycle *lifecycle, Job *job) {
        int r;

        r = put_identity(lifecycle, job, (StoreCookie){});
        job->due.is_identity = r != 0;
        return r < 0 ? r : 0;
}

/* Sets the name of the owner, as soon as it is known. What a client says about it is not used. 0 or < 0. */
static int name_owner(Lifecycle *lifecycle, Job *job) {
        char name[USER_NAME_MAX];

        job->due.is_user = !user_names_find(lifecycle->names, job->info.uid, name);
        if (strcmp(name, job->info.user) == 0)
                return 0;
        job->due.is_identity = true;
        return JOB_DESCRIPTION_SET(&job->info, user, name);
}

static int tick_job(Lifecycle *lifecycle, Job *job) {
        int r;

        if (job->stage != JOB_ACTIVE)
                return job->due.is_begin ? put_begin_again(lifecycle, job) : 0;
        if (job->due.is_user) {
                r = name_owner(lifecycle, job);
                if (r < 0)
                        return r;
        }
        if (job->due.is_identity) {
                r = lifecycle_update_identity(lifecycle, job);
                if (r < 0)
                        return r;
        }
        return job_watch_tick(lifecycle, job);
}

/* A full queue leaves the end for the next tick. */
static int settle_job(Lifecycle *lifecycle, Job *job) {
        int r;

        if (!job_end_settle(lifecycle->jobs->gpu_use, job))
                return 0;
        r = job_end_put(job, lifecycle->store, cookie_of(LIFECYCLE_END, job->final->ticket, job));
        if (r == STORE_QUEUE_FULL) {
                job->final->is_put_due = true;
                job->stage = JOB_ENDING;
        }
        return r < 0 ? r : 0;
}

static int settle_jobs(Lifecycle *lifecycle) {
        int r = 0;

        for (Job *job = lifecycle->jobs->first; job && r == 0; job = job->links.next)
                r = settle_job(lifecycle, job);
        return r;
}

static int on_gpu_reading(sd_event_source *source, uint64_t usec, void *userdata) {
        Lifecycle *lifecycle = userdata;
        int r;

        (void)source;
        (void)usec;
        if (gpu_use_is_waiting(lifecycle->jobs->gpu_use, lifecycle->node))
                return 0;
        r = sampling_now(lifecycle->jobs, lifecycle->node);
        return r < 0 ? r : settle_jobs(lifecycle);
}

int lifecycle_watch_gpus(Lifecycle *lifecycle) {
        return gpu_use_watch(lifecycle->jobs->gpu_use, lifecycle->event, on_gpu_reading, lifecycle);
}

int lifecycle_tick(Lifecycle *lifecycle) {
        uint64_t now_ns = lifecycle->node->sample.boottime_ns, keep_ns = lifecycle->config->metrics_finished_ns;
        int r;

        r = settle_jobs(lifecycle);
        for (Job *job = lifecycle->jobs->first; job && r >= 0; job = job->links.next)
                r = tick_job(lifecycle, job);
        if (r < 0)
                return r;

        jobs_forget_finished(lifecycle->jobs, now_ns > keep_ns ? now_ns - keep_ns : 0,
                             lifecycle->config->metrics_jobs_max, keep_ns);
        return 0;
}

/* --- begin ------------------------------------------------------------------------------------ */

static void set_readings(Lifecycle *lifecycle, Job *job, const Request *request) {
        job->readings = (JobReadings){ request->job_begin.cpu_interval_ns, request->peer.is_admin };
        sampling_ask_cpus(lifecycle->jobs, lifecycle->node);
}

/* Turns a detected job into an announced job: its owner and its name are known, and a client may report its end. */
static int adopt(Lifecycle *lifecycle, Job *job, const Request *request, Ticket ticket) {
        const JobInfo *info = request->job_begin.info;
        int r;

        r = info->name[0] ? JOB_DESCRIPTION_SET(&job->info, name, info->name) : 0;
        if (r < 0)
                return r;
        job->info.uid = info->uid;
        job->info.gid = info->gid;
        r = name_owner(lifecycle, job);
        if (r < 0)
                return r;
        set_readings(lifecycle, job, request);
        r = put_identity(lifecycle, job, cookie_of(LIFECYCLE_BEGIN, ticket, NULL));
        if (r != 0)
                return desk_pending(r);

        gpu_use_give(lifecycle->jobs->gpu_use, job, lifecycle->node, info->gpus);
        job->is_announced = true;
        job->due.is_identity = true; /* puts the row again at the next tick, in case the store fails */
        return DESK_PENDING;
}

static void log_displaced(Lifecycle *lifecycle, const Job *job, const char *other) {
        const LogField fields[] = { LOG_TEXT("PERFD_JOB", other), LOG_NUMBER("PERFD_UID", job->info.uid), {} };

        log_for_user(&lifecycle->log_limits.displaced, job->info.uid, LOG_LEVEL_NOTICE, fields,
                    "Job '%s' of uid %u is now '%s': an administrator began a job with the former id.", job->info.id,
                    job->info.uid, other);
}

/*
 * True if an administrator who begins a job with this id takes the id over: the job was begun by its user, who may
 * have chosen any id, such as the next one of the scheduler.
 */
static bool must_yield(const Job *job, uint32_t uid) {
        return job->is_announced && !job->origin.is_admin && job->info.uid != uid;
}

/* Gives the user's job that has this id another one. The store renames jobs that have ended. 0, STORE_QUEUE_FULL or
 * < 0. */
static int displace(Lifecycle *lifecycle, const char *id, uint32_t uid) {
        Job *job = jobs_find(lifecycle->jobs, id);
        char other[JOB_ID_MAX];
        uint32_t number;
        int r;

        if (!job || !must_yield(job, uid))
                return 0;

        do {
                if (getrandom(&number, sizeof(number), 0) != sizeof(number)) /* no user can take the id first */
                        return -errno;
                (void)snprintf(other, sizeof(other), "%.100s.%08x", id, number);
        } while (jobs_find(lifecycle->jobs, other));

        r = store_put(lifecycle->store, job_rows_pack_rename(id, other));
        if (r != 0)
                return r;
        log_displaced(lifecycle, job, other);
        return jobs_rename(lifecycle->jobs, job, other);
}

#define ID_UNUSABLE "this id cannot be used: every job needs its own" /* whether its job runs or has ended, and whose */

/* Returns true after answering why the job cannot begin; false if the job can begin, or be adopted. */
static bool refuse_begin(Lifecycle *lifecycle, const Request *request, Ticket ticket, const Job *job, Answer *ret) {
        const JobInfo *info = request->job_begin.info;

        if (info->uid != request->peer.uid && !request->peer.is_admin)
                desk_answer(ret, STATUS_DENIED, "job_begin.uid",
                            "only an administrator can begin jobs for other users");
        else if (job && request->peer.is_admin && must_yield(job, info->uid))
                return false;
        else if (job && !identity_may_act(lifecycle->identity, &request->peer, ticket, job))
                desk_answer(ret, STATUS_DENIED, "job_begin.job",
                            lifecycle->identity->hides_others ? ID_UNUSABLE
                                                              : "a job of this id is running for another user");
        else if (job && !job->is_announced && job->stage == JOB_ACTIVE)
                return false;
        else if (job && job->info.uid != info->uid) /* an administrator, on behalf of another user */
                desk_answer(ret, STATUS_DENIED, "job_begin.job", "a job of this id is running for another user");
        else if (job && job->stage == JOB_ACTIVE)
                desk_answer(ret, STATUS_DUPLICATE, "job_begin.job", "this job is already running");
        else if (job)
                desk_answer(ret, STATUS_UNAVAILABLE, "job_begin.job", "this job is being begun or ended: try again");
        else
                return false;

        return true;
}

/* Returns why the readings would disturb others, or NULL. job: the detected job that the request adopts, or NULL. */
static const char *find_sharing(Lifecycle *lifecycle, const Request *request, Ticket ticket, const Job *job) {
        const Job *around = identity_find_job(lifecycle->identity, &request->peer, ticket);

        if (request->peer.is_admin || lifecycle->node->config.is_shared_cpu_interval)
                return NULL;
        if (!node_is_whole_for(request->peer.pid))
                return "this process may run on some of them only";
        for (const Job *other = lifecycle->jobs->first; other; other = other->links.next)
                if (!other->final && other != job && other != around && other->info.uid != request->job_begin.info->uid)
                        return "another user's job runs on them";
        return NULL;
}

/* Returns true after refusing the requested interval of CPU readings. */
static bool refuse_cpu_interval(Lifecycle *lifecycle, const Request *request, Ticket ticket, const Job *job,
                                Answer *ret) {
        uint64_t asked_ns = request->job_begin.cpu_interval_ns,
                 least_ns = lifecycle->node->config.job_cpu_interval_ns;
        char text[COMPLAINT_TEXT_MAX];
        const char *sharing;

        if (asked_ns == 0)
                return false;

        if (least_ns == 0)
                (void)snprintf(text, sizeof(text),
                               "jobs may not request an interval of CPU readings on this node: job_cpu_interval in "
                               "[sampling] of perfd.conf is 0");
        else if (asked_ns < least_ns)
                (void)snprintf(text, sizeof(text),
                               "%u ms is below the shortest interval that a job may request, %u ms: job_cpu_interval "
                               "in [sampling] of perfd.conf",
                               (unsigned)(asked_ns / NS_PER_MS), (unsigned)(least_ns / NS_PER_MS));
        else if ((sharing = find_sharing(lifecycle, request, ticket, job)))
                (void)snprintf(text, sizeof(text),
                               "an interval of CPU readings needs all CPUs of the node, and %s; an administrator may "
                               "begin the job, or set job_cpu_interval_shared in [sampling] of perfd.conf",
                               sharing);
        else
                return false;
        desk_answer(ret, STATUS_DENIED, "job_begin.sample_ms", text);
        return true;
}

/*
 * Returns true after answering why the peer may not name this process. Translates *pid from the peer's PID
 * namespace, and sets the start time of the process. A process that /proc hides from perfd is left out.
 */
static bool refuse_process(const Node *node, const Peer *peer, const char *path, int32_t *pid, uint64_t *ret_ticks,
                           Answer *ret) {
        uint32_t uid = 0;
        int r;

        if (*pid == 0)
                return false;

        r = node_find_process(peer->pid, *pid, pid);
        if (r == PID_NAMESPACE_OTHER) {
                desk_answer(ret, STATUS_INVALID, path,
                            "no such process near the client in its PID namespace: name the client, an ancestor or a "
                            "child of one, or omit the field");
                return true;
        }
        if (r == PID_NAMESPACE_HIDDEN) {
                *pid = 0;
                return false;
        }

        if (r == 0)
                r = node_process_start(node, *pid, ret_ticks, &uid);
        if (r == 0 && (uid == peer->uid || peer->is_admin))
                return false;

        if (r == 0)
                desk_answer(ret, STATUS_DENIED, path, "this process belongs to another user");
        else if (r == -ESRCH)
                desk_answer(ret, STATUS_INVALID, path, "no such process; name a running process or omit the field");
        else
                desk_answer(ret, STATUS_UNAVAILABLE, path, "perfd cannot read this process now: try again");
        return true;
}

/*
 * Adds a job whose windows begin now. origin: taken over. place: the job's own cgroup, or NULL. 0;
 * LIFECYCLE_REFUSED: added without that cgroup; or < 0.
 */
static int make_job(Lifecycle *lifecycle, const JobInfo *info, JobOrigin *origin, const CgroupPlace *place,
                    bool is_fresh, Job **ret) {
        const Node *node = lifecycle->node;
        Job *job;
        int r;

        r = sampling_now(lifecycle->jobs, lifecycle->node);
        if (r == 0)
                r = jobs_add(lifecycle->jobs, info, meter_totals(node->meter), &job);
        if (r < 0) {
                shares_release(&origin->charge);
                return r;
        }

        job->origin = *origin;
        job->begin_realtime_ms = node_realtime_ms(node);
        window_begin_peaks(&job->peaks, &node->sample);
        sample_log_span_begin(&job->samples, &lifecycle->jobs->samples, job->begin_realtime_ms);
        recording_init(&job->recording, node->sample.boottime_ns, node->sample.realtime_ns, node->config.interval_ns,
                       lifecycle->config->timeline_points);
        *ret = job;
        if (!place)
                return 0;

        r = groups_attach(lifecycle->groups, job, place, is_fresh);
        if (r == 0)
                usage_drop_pressure(job->group.usage);
        return r == GROUPS_REFUSED ? LIFECYCLE_REFUSED : r;
}

/* Returns the time for which the job has run already, at most the age of its process. */
static uint64_t find_late_ns(const Request *request) {
        const JobInfo *info = request->job_begin.info;
        uint64_t started_ns = info->pid_start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)),
                 now_ns = clock_boottime_ns();
        uint64_t lived_ns = info->pid != 0 && now_ns > started_ns ? now_ns - started_ns : 0;

        return request->job_begin.late_ms < lived_ns / NS_PER_MS ? request->job_begin.late_ms * NS_PER_MS : lived_ns;
}

/* Moves a job's start back. The node's metrics begin now; the metrics of the job's own cgroup are complete. */
static void begin_earlier(Job *job, uint64_t late_ns) {
        char text[160];

        if (late_ns == 0)
                return;

        job->begin_realtime_ms -= late_ns / NS_PER_MS;
        if (job->group.usage && job->group.usage->is_fresh)
                usage_begin_earlier(job->group.usage, late_ns);
        (void)snprintf(text, sizeof(text),
                       "the start was reported %.1f s late; metrics of the node cover the time since the report",
                       (double)late_ns / 1e9);
        running_job_set_note(job, text);
}

int lifecycle_begin_found(Lifecycle *lifecycle, const JobInfo *info, const CgroupPlace *place) {
        JobOrigin origin = JOB_ORIGIN_SYSTEM;
        char reason[SHARES_REASON_MAX];
        Job *job;
        int r;

        r = charge_origin(lifecycle->shares, lifecycle->jobs, true, &origin, reason);
        if (r != 0)
                return r == ORIGIN_REFUSED ? LIFECYCLE_FULL : r;

        r = make_job(lifecycle, info, &origin, place, true, &job);
        if (r == LIFECYCLE_REFUSED)
                jobs_remove(lifecycle->jobs, job);
        if (r != 0)
                return r;

        job->group.is_vouched = true;
        r = put_begin(lifecycle, job, (Ticket){});
        job->due.is_begin = r == STORE_QUEUE_FULL;
        return r < 0 ? r : 0;
}

/* Appends the begin time to the id of a detected job, such as a restarted unit, because an earlier job had this id. */
static int begin_found_again(Lifecycle *lifecycle, Job *job) {
        scoped(job_info_deinit) JobInfo info = {};
        CgroupPlace place;
        int r;

        if (cgroup_tree_place_from_name(job->info.cgroup, &place) != 0)
                return 0;
        r = job_description_info(&job->info, &info);
        if (r < 0)
                return r;

        (void)snprintf(info.id, sizeof(info.id), "%.100s.%lu", job->info.id,
                       (unsigned long)(job->begin_realtime_ms / 1000));
        jobs_remove(lifecycle->jobs, job);
        r = lifecycle_begin_found(lifecycle, &info, &place);
        return r < 0 ? r : 0;
}

static int place_begin(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Lifecycle *lifecycle = state;
        JobInfo *info = request->job_begin.info;
        int32_t member_pid = request->job_begin.member_pid;
        JobOrigin origin = { .uid = request->peer.uid, .is_admin = request->peer.is_admin };
        char reason[SHARES_REASON_MAX];
        CgroupPlace place;
        uint64_t unused;
        bool has_place, is_named;
        Job *job;
        int r;

        job = jobs_find(lifecycle->jobs, info->id);
        if (refuse_begin(lifecycle, request, ticket, job, ret) ||
            refuse_cpu_interval(lifecycle, request, ticket, job, ret))
                return 0;
        if (job && !must_yield(job, info->uid))
                return adopt(lifecycle, job, request, ticket);
        if (refuse_process(lifecycle->node, &request->peer, "job_begin.pid", &info->pid, &info->pid_start_ticks, ret) ||
            refuse_process(lifecycle->node, &request->peer, "job_begin.member_pid", &member_pid, &unused, ret))
                return 0;

        r = displace(lifecycle, info->id, info->uid);
        if (r != 0)
                return desk_pending(r);
        is_named = user_names_find(lifecycle->names, info->uid, info->user);
        has_place = groups_find_place(lifecycle->groups, member_pid, &place);
        r = charge_origin(lifecycle->shares, lifecycle->jobs, info->pid != 0 || has_place, &origin, reason);
        if (r == ORIGIN_REFUSED)
                return desk_answer(ret, STATUS_QUOTA, "job_begin.job", reason);
        if (r >= 0)
                r = make_job(lifecycle, info, &origin, has_place ? &place : NULL, request->job_begin.is_fresh, &job);
        if (r < 0)
                return r;

        if (job->group.usage && job->group.usage->is_fresh)
                usage_exclude(job->group.usage, &request->job_begin.client_cpu);
        begin_earlier(job, find_late_ns(request));
        set_readings(lifecycle, job, request);
        gpu_use_give(lifecycle->jobs->gpu_use, job, lifecycle->node, info->gpus);
        job->is_announced = true;
        job->due.is_user = !is_named;
        job->group.is_vouched = request->peer.is_admin;
        /* The isolation that the client reports is valid only if perfd can read the cgroup. */
        if (!job->group.cgroup && info->isolation != ISOLATION_SUBREAPER)
                job->info.isolation = ISOLATION_NONE;

        r = put_begin(lifecycle, job, ticket);
        if (r != 0)
                jobs_remove(lifecycle->jobs, job);
        return desk_pending(r);
}

static int complete_adopt(Lifecycle *lifecycle, StoreOutcome outcome, Answer *ret) {
        if (outcome == STORE_FAILED)
                return desk_answer_store_failed(ret, lifecycle->store);
        return desk_answer(ret, STATUS_DUPLICATE, "job_begin.job",
                           "this job is already running; perfd detected its cgroup");
}

static int activate(Lifecycle *lifecycle, Job *job) {
        int r;

        assert(!job->final && !job->process.source);

        job->stage = JOB_ACTIVE;
        lifecycle->jobs->stats.n_begun++;
        user_totals_note(&lifecycle->jobs->totals, job->info.uid);
        r = job_watch_start(lifecycle, job);
        return r == JOB_WATCH_GONE ? job_watch_end_process(lifecycle, job) : r;
}

static int complete_begin(void *state, const StoreDone *done, Answer *ret) {
        Lifecycle *lifecycle = state;
        Job *job = done->cookie.owner;

        if (!job)
                return complete_adopt(lifecycle, done->outcome, ret);

        assert(job->stage == JOB_BEGINNING);

        if (done->outcome == STORE_DONE) {
                desk_answer(ret, STATUS_OK, "", "");
                if (job->origin.is_admin)
                        /* the store gave the earlier job another id */
                        jobs_forget_finished_id(lifecycle->jobs, job->info.id);
                return activate(lifecycle, job);
        }
        if (!job->is_announced) {
                job->due.is_begin = done->outcome != STORE_CONFLICT;
                return job->due.is_begin ? 0 : begin_found_again(lifecycle, job);
        }

        if (done->outcome == STORE_CONFLICT && lifecycle->identity->hides_others)
                desk_answer(ret, STATUS_DENIED, "job_begin.job", ID_UNUSABLE);
        else if (done->outcome == STORE_CONFLICT)
                desk_answer(ret, STATUS_INVALID, "job_begin.job",
                            "an earlier job used this id; every job needs its own");
        else
                desk_answer_store_failed(ret, lifecycle->store);
        jobs_remove(lifecycle->jobs, job);
        return 0;
}

/* --- end -------------------------------------------------------------------------------------- */

static int put_amend(Lifecycle *lifecycle, const Request *request, const Peer *sender, Ticket ticket) {
        const Node *node = lifecycle->node;

        return desk_pending(store_put(lifecycle->store,
                                      job_rows_pack_amend(request->job_end.job, sender, &request->job_end.end,
                                                          lifecycle->start_realtime_ms, clock_realtime_ns() / NS_PER_MS,
                                                          node_n_cpus(node),
                                                          cookie_of(LIFECYCLE_END, ticket, NULL))));
}

/* Returns the CPU time that a snapshot can have: that of the latest reading, before the client's is excluded. */
static ShownCpu shown_cpu(const Lifecycle *lifecycle, const Job *job) {
        UsageSet usage;

        if (!job->group.usage)
                return (ShownCpu){};
        if (job->final)
                usage = job->final->result.usage;
        else
                groups_metrics(job, lifecycle->node, NULL, &usage);
        return (ShownCpu){ usage.value[USAGE_CPU_SECONDS], usage.value[USAGE_CPU_USER], usage.value[USAGE_CPU_SYSTEM] };
}

static int end_active(Lifecycle *lifecycle, Job *job, const JobEnd *end, Ticket ticket) {
        const ShownCpu shown = shown_cpu(lifecycle, job);
        int r;

        r = sampling_now(lifecycle->jobs, lifecycle->node);
        if (r < 0)
                return r;
        if (!job->final && groups_read(job) == GROUPS_GONE)
                job_watch_note_removal(job);
        energy_shares_settle(lifecycle->jobs, job, meter_totals(lifecycle->node->meter));
        if (!job->final)
                groups_exclude(job, &end->client_cpu);
        r = job_end_make(lifecycle->jobs, job, lifecycle->node, JOB_FINISHED, end);
        if (r < 0)
                return r;
        job->final->result.shown = shown;
        return desk_pending(job_end_put(job, lifecycle->store, cookie_of(LIFECYCLE_END, ticket, job)));
}

static int place_end(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Lifecycle *lifecycle = state;
        Job *job = jobs_find(lifecycle->jobs, request->job_end.job);
        Peer sender = request->peer;

        if (!job)
                return put_amend(lifecycle, request, &sender, ticket);
        if (!identity_may_act(lifecycle->identity, &request->peer, ticket, job))
                return identity_refuse(lifecycle->identity, "job_end.job", ret);

        switch (job->stage) {
        case JOB_BEGINNING:
                return desk_answer(ret, STATUS_UNAVAILABLE, "job_end.job", "is being begun: try again");
        case JOB_ACTIVE:
                return end_active(lifecycle, job, &request->job_end.end, ticket);
        case JOB_ENDING:
                if (job->final->is_put_due && ticket_is_set(job->final->ticket))
                        return desk_answer(ret, STATUS_UNAVAILABLE, "job_end.job", "is being ended: try again");
                if (job->final->is_put_due) { /* nobody has reported this end so far */
                        job->stage = JOB_ACTIVE;
                        return end_active(lifecycle, job, &request->job_end.end, ticket);
                }
                /* the store applies the amendment after the queued end */
                sender.is_admin = true; /* the store does not know which processes are in the job */
                return put_amend(lifecycle, request, &sender, ticket);
        }

        return 0;
}

static int complete_amend(Lifecycle *lifecycle, StoreOutcome outcome, Answer *ret) {
        switch (outcome) {
        case STORE_DONE:
                return desk_answer(ret, STATUS_OK, "", "");
        case STORE_DUPLICATE:
                return desk_answer(ret, STATUS_DUPLICATE, "", "already stored: nothing changed");
        case STORE_MISSING:
                return identity_refuse_missing("job_end.job", ret);
        case STORE_DENIED:
                return identity_refuse(lifecycle->identity, "job_end.job", ret);
        case STORE_CONFLICT:
        case STORE_QUOTA:
        case STORE_FAILED:
                break;
        }

        return desk_answer_store_failed(ret, lifecycle->store);
}

static int complete_end(void *state, const StoreDone *done, Answer *ret) {
        Lifecycle *lifecycle = state;
        Job *job = done->cookie.owner;

        if (!job)
                return complete_amend(lifecycle, done->outcome, ret);

        assert(job->stage == JOB_ENDING);

        if (done->outcome == STORE_DONE || done->outcome == STORE_MISSING) {
                if (done->outcome == STORE_DONE)
                        desk_answer(ret, STATUS_OK, "", "");
                else
                        desk_answer(ret, STATUS_NOT_FOUND, "job_end.job",
                                    "the store has lost this job: its database was replaced");
                jobs_retire(lifecycle->jobs, job, clock_boottime_ns());
                /* Does not wait for the next tick: thousands of jobs may end before that. */
                jobs_forget_finished(lifecycle->jobs, 0, lifecycle->config->metrics_jobs_max,
                                     lifecycle->config->metrics_finished_ns);
                return 0;
        }

        /* Makes the job active again: a client may repeat its end request, and the next tick puts an unreported end
         * again. */
        job->stage = JOB_ACTIVE;
        if (!job->group.is_empty && !job->process.is_gone)
                running_job_drop_final(job);
        return desk_answer_store_failed(ret, lifecycle->store);
}

const Kind lifecycle_kinds[] = {
        [LIFECYCLE_BEGIN] = { REQUEST_JOB_BEGIN, "job_begin", place_begin, complete_begin, NULL },
        [LIFECYCLE_END] = { REQUEST_JOB_END, "job_end", place_end, complete_end, NULL },
};
