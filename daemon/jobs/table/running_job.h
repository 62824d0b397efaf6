/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job: a job that runs, or whose end is queued for the store
 */

#include <stdint.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "jobs/table/steps.h"
#include "measure/usage.h"
#include "node/recording.h"
#include "sample/cgroup/cgroup.h"
#include "shares/shares.h"
#include "snapshot/snapshot.h"
#include "snapshot/sample_log.h"
#include "snapshot/window.h"

typedef enum JobStage {
        JOB_BEGINNING, /* the begin is queued for the store, or about to be */
        JOB_ACTIVE,    /* the begin is stored */
        JOB_ENDING,    /* the end is queued for the store, or will be with the last reading of the GPUs */
} JobStage;

/* State and metrics of a job at its end. Computed when no process runs in the job any more; the end may be reported
 * later. */
typedef struct JobFinal {
        JobState state;
        uint64_t realtime_ms;
        uint64_t boottime_ns;
        JobResult result;
        PhaseView *phase; /* owned; the last phase; NULL: the job was never marked */
        uint64_t gpus_due_ns; /* the reading of its GPUs after this time is waited for; 0: none */
        bool is_put_due;      /* then the end is put, at stage ENDING, and the ticket answered */
        Ticket ticket;
        Buffer samples;   /* export_samples_write(); empty: no sample was kept */
} JobFinal;

/* The user who began a job, and the charge for the job. */
typedef struct JobOrigin {
        uint32_t uid;
        bool is_admin; /* an administrator began the job, or perfd detected it */
        Charge charge;
} JobOrigin;

/* The process that stands for a job; its pid is in the job's description. */
typedef struct JobProcess {
        sd_event_source *source; /* owned; watches the process; NULL: no process is watched */
        bool is_gone;            /* the process has ended */
} JobProcess;

/* The cgroup that is a job's own; its name is in the job's description. */
typedef struct JobGroup {
        Cgroup *cgroup;          /* owned; NULL: the job has no cgroup, or its cgroup was removed */
        /* cgroup_id() of the current cgroup, else of the last; 0: the job never had a cgroup */
        uint64_t id;
        sd_event_source *events; /* owned; watches whether the cgroup is empty */
        Usage *usage;            /* owned; NULL: the job never had a cgroup */
        Steps *steps;            /* owned; NULL: the job never had steps */
        /* number of readings that still look for steps: hierarchies of v1 get those one after the other */
        uint8_t n_searches;
        /* named by an administrator or detected: every process in the cgroup belongs to the job */
        bool is_vouched;
        bool is_empty;           /* no process is in the cgroup, or the cgroup was removed */
        bool is_usage_cut;       /* the cgroup was removed before its last counters were read */
} JobGroup;

typedef struct Job Job;

/* Places of a job in the lists of Jobs. */
typedef struct JobLinks {
        LIST_ENTRY(Job) in_bucket, in_group_bucket;
        Job *previous, *next; /* sorted by begin */
} JobLinks;

/* Readings of the CPUs between two samples that the job's client asked for. */
typedef struct JobReadings {
        uint64_t interval_ns; /* 0: none */
        bool is_granted;      /* an administrator asked: the readings go on when a job of another user begins */
} JobReadings;

/* Rows that the next tick puts again. */
typedef struct JobDue {
        bool is_begin;    /* the store had no room for the begin of a detected job */
        bool is_user;     /* the name of the owner is not known yet */
        bool is_identity; /* the cgroup or the owner changed after the begin and is not stored yet */
} JobDue;

struct Job {
        JobLinks links;
        JobDescription info;
        JobOrigin origin;
        JobStage stage;
        JobReadings readings;
        uint64_t begin_realtime_ms;
        SharedTotals *begin; /* totals of the node at the begin; owned reference */
        WindowPeaks peaks;   /* since the begin */
        Recording recording;
        SampleSpan samples;
        JobProcess process;
        JobGroup group;
        JobGpus gpus;
        Phase *phase;      /* owned; the current phase; NULL: the job was never marked */
        uint32_t n_phases; /* phases begun so far; 0: the job was never marked */
        uint32_t checkpoint_round; /* last checkpoint round that stored the job's progress */
        bool is_announced;      /* a client began the job and may report its end; false: perfd detected the job */
        JobDue due;
        const char *default_note; /* stored if nobody reports how the job ended; static string */
        JobFinal *final;          /* owned; NULL while a process runs in the job */
};

/* Frees the job and stops its watches. */
Job *running_job_free(Job *job);

/* Sets the job's note. Out of memory: the job keeps its former note. */
void running_job_set_note(Job *job, const char *text);
/* Drops the final numbers, because a process runs in the job again. */
void running_job_drop_final(Job *job);
