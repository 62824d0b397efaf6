/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job: a piece of work with a start and an end on this node
 *
 * A JobInfo describes the job as reported by its client and by the kernel, with space for texts of maximum length. A
 * JobEnd tells how the job ended. Both are plain structs that own their members. job_description.h stores a JobInfo
 * in a tenth of its size.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"
#include "measure/metric.h"
#include "measure/usage.h"

#define JOB_ID_MAX 129     /* with NUL; [A-Za-z0-9_.:-]{1,128} */
#define JOB_LAST "last"    /* stands for the newest job of a user: no job begins with this id */
#define JOB_TEXT_MAX 257   /* name, label value; with NUL */
#define JOB_LABELS_MAX 64
#define JOB_COMMAND_MAX 1024
#define JOB_UID_UNKNOWN                                                                                                \
        UINT32_MAX /* owner of a found job whose cgroup path does not name a user; also used for the gid */
#define JOB_GPUS_MAX 64U     /* GPUs of a job */
#define JOB_GPU_TEXT_MAX 64U /* word for a GPU, with NUL: "3", "GPU-6b1f…", "MIG-…", or the number of /dev/nvidia3: */
#define JOB_GPU_MINOR "minor:"
#define JOB_GPU_AMD "amd" /* in front of the number that ROCm has */
#define JOB_GPUS_TEXT_MAX (JOB_GPUS_MAX * JOB_GPU_TEXT_MAX)
#define PHASE_NAME_MAX 65  /* with NUL; UTF-8 without control characters */

typedef enum JobState {
        JOB_RUNNING,
        JOB_FINISHED,    /* a client reported the end */
        JOB_INTERRUPTED, /* the process or the machine went away without a reported end */
        N_JOB_STATES,
} JobState;

extern const char *const job_state_names[N_JOB_STATES + 1]; /* "running", "finished", "interrupted"; NULL-terminated */
const char *job_state_name(JobState state);
int job_state_find(const char *name); /* -1 when there is none */

/* The means that separates the job's processes from all others of the node. The numbers are those of the protocol. */
typedef enum Isolation {
        ISOLATION_NONE,      /* no isolation: the metrics are those of the node */
        ISOLATION_SCOPE,     /* a transient scope of systemd, made for the job */
        ISOLATION_CGROUP,    /* a cgroup, made for the job by perfctl */
        ISOLATION_SUBREAPER, /* no cgroup: wait4(2) of its whole process tree told the CPU time at the end */
        ISOLATION_FOUND,     /* cannot be requested: a cgroup made for the job by a scheduler, systemd or Kubernetes */
        N_ISOLATIONS,
} Isolation;

/* Names of the kinds of isolation that can be requested, those before ISOLATION_FOUND; NULL-terminated. */
extern const char *const job_isolation_choices[ISOLATION_FOUND + 1];
const char *job_isolation_name(Isolation isolation); /* "none", "scope", "cgroup", "subreaper", "found" */
int job_isolation_find(const char *name);            /* -1 when there is none */

typedef struct JobLabel {
        char key[65];
        char value[JOB_TEXT_MAX];
} JobLabel;

typedef struct JobInfo {
        char id[JOB_ID_MAX];
        char name[JOB_TEXT_MAX];       /* "" when not given */
        char command[JOB_COMMAND_MAX]; /* command line for display; cut with …; "" when not known */
        char user[65];                 /* name of the uid below, or the number; "": the owner is not known */
        uint32_t uid, gid;             /* of the peer, from the kernel */
        int32_t pid;                   /* process that represents the job; 0: no process to watch */
        uint64_t pid_start_ticks;      /* start time of the process (proc/PID/stat field 22), to detect a reused pid */
        int64_t rank;                  /* -1 when not given; `step` of the job's metrics is max(rank, 0) */
        /* index of this node among the run's, -1 when not given; ranks of one node share it */
        int32_t node;
        uint32_t n_nodes, n_ranks;     /* of the whole run; 0 when not given */
        Isolation isolation;
        char *cgroup; /* owned; the job's own cgroup: "/…" in cgroup v2, "cpuacct:/…" in v1; NULL without one */
        char *gpus;   /* owned; words for the GPUs that it was given, with commas between; NULL: not known */
        size_t n_labels;
        JobLabel *labels; /* owned */
} JobInfo;

void job_info_deinit(JobInfo *info);

/* The sixteen fields of struct rusage, as wait4(2) gave them for the job's first process: two times, and counts. */
#define RUSAGE_COUNTS(X)                                                                        \
        X(maxrss) X(ixrss) X(idrss) X(isrss) X(minflt) X(majflt) X(nswap) X(inblock) X(oublock) \
        X(msgsnd) X(msgrcv) X(nsignals) X(nvcsw) X(nivcsw)

typedef struct JobRusage {
        double ru_utime, ru_stime; /* seconds */
#define X(field) int64_t ru_##field;
        RUSAGE_COUNTS(X) /* ru_maxrss in KiB, ru_inblock and ru_oublock in 512-byte blocks */
#undef X
} JobRusage;

void job_rusage_write_json(const JobRusage *rusage, Json *json);

typedef struct JobEnd {
        bool has_exit_status;
        int32_t exit_status; /* as in a shell: 0…255, 128 + signal */
        int32_t signal;      /* 0: none */
        bool has_rusage;
        bool is_rusage_partial; /* processes are missing, or counted in clock ticks */
        JobRusage rusage;
        uint64_t realtime_ms; /* time of the end by the client's clock, since the epoch; 0: not reported */
        ClientCpu client_cpu; /* since the start; not part of the rusage */
} JobEnd;

/* Part of the notes that a report of the end makes false. */
#define JOB_NO_END_NOTE "no end was reported"
/* Part of the note of a job that was running when the machine went down. */
#define JOB_REBOOT_NOTE "the machine was rebooted"

/* A phase of a job: the time between two marks, or between a mark and the start or end. */
typedef struct PhaseView {
        uint32_t index;            /* from 0 */
        char name[PHASE_NAME_MAX]; /* "" before the first mark */
        uint64_t begin_realtime_ms, end_realtime_ms; /* end is 0 while the phase lasts */
        bool has_wall_seconds;
        double wall_seconds; /* measured by the client that set the marks */
        MetricSet metrics;   /* of the node */
        UsageSet usage;      /* of the job itself */
} PhaseView;

/*
 * Late end: the end of a job that perfd has not observed
 *
 * A job can end while perfd is down. Its numbers then end at the last sample before, which is known to be in the
 * job, and its duration is sampled, a lower bound. An end that the client reports later has the time of the end and
 * the resources of its process.
 */

/* Returns true if the end of the job is unknown. */
bool job_end_is_unknown(const MetricSet *metrics);

/* The job as stored or kept so far. */
typedef struct LateEnd {
        uint64_t begin_realtime_ms, end_realtime_ms;
        uint32_t n_node_cpus;
        MetricSet *metrics; /* borrowed, like the usage */
        UsageSet *usage;
} LateEnd;

/*
 * Adds a reported end. now_ms: present time, since the epoch. If the end of the job is unknown, sets its time,
 * limited to the time after the last sample, the duration, and the metrics of the job per time. A job without usage,
 * or whose last counters are missing, has the CPU time of its process. An end that perfd has observed is unchanged.
 */
void job_settle_late_end(LateEnd *late, const JobEnd *end, uint64_t now_ms);
