/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Diagnosis: the part of a data pipeline that limits the throughput, and a remedy
 *
 * Evidence is the time of workers only: the stage whose workers neither wait for items nor for room is the limit.
 * The readiness of different queues is not compared.
 */

#include <stdint.h>

#include "pipeline/pipeline_stage.h"

/*
 * How the workers of a stage spend their time. A worker gets an item from the queue before its stage, runs a task,
 * and puts the outcome into the queue of its stage. So the times of tasks, gets and puts of all workers add up to
 * the number of workers times the elapsed time. If the sum is larger than the declared concurrency allows, more
 * workers were there than declared.
 */
typedef struct StageAccounting {
        double workers;               /* sum of the times of tasks, gets and puts, per second */
        unsigned concurrency;         /* declared, or inferred from `workers`; at least 1 */
        bool is_inferred;             /* not declared, or declared too low */
        double busy, starved, blocked; /* shares of the workers' time: in tasks, in get, in put; NAN if unknown */
} StageAccounting;

/*
 * input: the stage whose queue the workers take items from; NULL: none. Failed tasks are taken to last as long as
 * the others. Returns
 * false if the stage has no tasks, or no elapsed time.
 */
bool pipeline_diagnosis_account(const PipelineStage *stage, const PipelineStage *input, StageAccounting *ret);

typedef enum PipelineLimit {
        PIPELINE_LIMIT_UNKNOWN,  /* the statistics do not show it */
        PIPELINE_LIMIT_CONSUMER, /* the training loop: the pipeline keeps up with it */
        PIPELINE_LIMIT_SOURCE,   /* the first stage waits for the source */
        PIPELINE_LIMIT_STAGE,    /* the workers of a stage are busy */
        PIPELINE_LIMIT_POOL,     /* tasks of all stages fill the threads that they share */
        PIPELINE_LIMIT_CPU,      /* tasks use the CPUs that the job has, and more tasks run than there are CPUs */
        PIPELINE_LIMIT_LOCK,     /* many tasks run, but together they use one CPU, as with a lock of the interpreter */
        /* the consumer waits although the last stage is blocked on put: items wait in between */
        PIPELINE_LIMIT_HANDOVER,
        PIPELINE_LIMIT_START,    /* of the workers in each epoch, for which the consumer waits */
        PIPELINE_LIMIT_HOST,     /* other processes on the node use CPUs that the tasks of the job wait for */
        N_PIPELINE_LIMITS,
} PipelineLimit;

typedef enum PipelineDirection {
        PIPELINE_DIRECTION_NONE,
        PIPELINE_DIRECTION_MORE_CONCURRENCY,
        PIPELINE_DIRECTION_LESS_CONCURRENCY,
        PIPELINE_DIRECTION_FASTER_TASK, /* the stage cannot have more than one worker */
        PIPELINE_DIRECTION_FASTER_SOURCE,
        PIPELINE_DIRECTION_MORE_THREADS,
        PIPELINE_DIRECTION_LARGER_BUFFER,
        PIPELINE_DIRECTION_KEEP_WORKERS, /* between the epochs */
        PIPELINE_DIRECTION_OUTPUT_ORDER, /* the order in which tasks complete, instead of that of the input */
        PIPELINE_DIRECTION_MORE_CPUS,  /* a higher limit of the job */
        PIPELINE_DIRECTION_OTHER_HOST, /* or less other work on this one */
        N_PIPELINE_DIRECTIONS,
} PipelineDirection;

typedef enum PipelineConfidence {
        PIPELINE_CONFIDENCE_NONE,
        PIPELINE_CONFIDENCE_LOW,
        PIPELINE_CONFIDENCE_MEDIUM,
        PIPELINE_CONFIDENCE_HIGH,
        N_PIPELINE_CONFIDENCES,
} PipelineConfidence;

/* Names as in JSON, for example "stage", "more concurrency", "high". */
extern const char *const pipeline_limit_names[N_PIPELINE_LIMITS];
extern const char *const pipeline_direction_names[N_PIPELINE_DIRECTIONS];
extern const char *const pipeline_confidence_names[N_PIPELINE_CONFIDENCES];

typedef struct PipelineDiagnosis {
        PipelineLimit limit;
        PipelineDirection direction;
        PipelineConfidence confidence;
        size_t stage;      /* index of the limiting stage; n if the limit is none */
        size_t next_stage; /* index of the stage that limits next if this one is relieved; n: none known */
        unsigned pool_threads; /* of the pool that is the limit; 0: another limit */
        double pool_waiting;   /* as of that pool, see PipelinePool */
        double wait_share; /* of the elapsed time: the consumer waited in get of the last queue; NAN: unknown */
        /* the consumer waited at most so long: its calls of get were not measured, only that the queue was empty */
        bool is_wait_bound;
        double mean_wait_s; /* per item; NAN: unknown */
        double busy_workers; /* tasks of all stages that ran, or waited for a thread, mean over time */
} PipelineDiagnosis;

/* Threads or processes that run tasks of stages. */
typedef struct PipelinePool {
        unsigned n_threads;
        char stage[PIPELINE_STAGE_NAME_MAX + 1]; /* that has the pool as its own; empty: the stages share it */
        double waiting; /* share of the time in which a task waited for a thread of the pool; NAN: unknown */
} PipelinePool;

#define PIPELINE_POOLS_MAX 8U

/* Measures of the producer in the process of the pipeline, from the first batch on. */
typedef struct PipelineProcess {
        unsigned n_threads; /* of the pool that the stages share; 0: not known */
        PipelinePool pools[PIPELINE_POOLS_MAX];
        size_t n_pools;
        bool knows_pools;   /* no other pools run tasks */
        uint64_t in_order;  /* bit N: the stage at position N gives its items in the order of its input */
        bool is_loader;     /* of PyTorch: the loop runs the tasks if their concurrency is not declared */
        double cpus_used;   /* by the process; NAN: unknown */
        double tasks_cpus;  /* used by the process and its children, of a loader by its tasks; NAN: unknown */
        double waiting_for_cpu; /* these threads, mean over time; NAN: unknown */
        double lock_waited; /* share of the time in which a thread waited for the interpreter's lock; NAN: unknown */
        double lock_held;   /* share of the time in which a thread had it, however shortly; NAN: unknown */
} PipelineProcess;

/* Returns a process of which nothing is known but its pool of threads, 0: neither. */
PipelineProcess pipeline_diagnosis_unknown_process(unsigned n_threads);

/* stages: of one pipeline, in order, the last one's queue feeds the consumer. */
PipelineDiagnosis pipeline_diagnosis_of(const PipelineStage *stages, size_t n, const PipelineProcess *process);

/*
 * Usage of a job and its node while a data pipeline ran. All numbers are means over the whole job. A number that is
 * not known is NAN, and counts for nothing.
 */
typedef struct PipelineJob {
        double cpus_used, cpus_given; /* by and to the job */
        double cpus_of_node;
        double cpus_of_others;        /* used on the node by processes outside the job */
        double cpu_waited;            /* share of the time in which a task of the job waited for a CPU */
        /* share of the time in which all tasks of the job that were not idle waited for I/O */
        double io_stalled;
        double memory_waited;         /* share of the time in which a task of the job waited for memory */
        double throttled;             /* share of the periods in which the CPU limit of the job throttled its tasks */
        double stolen;                /* share of the CPU time of the node that the hypervisor took */
        double first_batch_s;         /* time from the start of the job to the first batch of a training loop ... */
        double first_wait_s;          /* ... of which the loop waited for the batch */
        unsigned n_gpus;              /* 0: not known */
} PipelineJob;

/* Shares from which on a number is worth a sentence. */
#define PIPELINE_JOB_THROTTLED_MIN 0.1
#define PIPELINE_JOB_IO_MIN        0.2
#define PIPELINE_JOB_MEMORY_MIN    0.05
#define PIPELINE_JOB_STOLEN_MIN    0.05

/* Returns a job without known numbers. */
PipelineJob pipeline_diagnosis_unknown_job(void);

/*
 * Joins the diagnosis of the stages of one pipeline with the job: other processes on a full node, the CPUs and their
 * limit, or a lock may be what limits tasks that seem busy. Without a measured wait for the lock, a step of the
 * consumer is taken to use one CPU, so that only what is certainly the pipeline's counts.
 *
 * More workers are sure to help only tasks that compute, do not wait for the lock, and find free CPUs. What tasks of
 * another kind wait for may get slower with each worker.
 */
void pipeline_diagnosis_join_job(const PipelineJob *job, const PipelineProcess *process, PipelineDiagnosis *diagnosis,
                                 const PipelineStage *stages, size_t n);
