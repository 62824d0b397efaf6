/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline job: the usage of a job and its node while a data pipeline ran
 *
 * All numbers are means over the whole job. A number that is not known is NAN, and counts for nothing.
 */

#include "pipeline/pipeline_diagnosis.h"

typedef struct PipelineJob {
        double cpus_used, cpus_given; /* by and to the job */
        double cpus_of_node;
        double cpus_of_others;        /* used on the node by processes outside the job */
        double cpu_waited;            /* share of the time in which a task of the job waited for a CPU */
        double io_stalled;            /* share of the time in which all tasks of the job that were not idle waited for I/O */
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
PipelineJob pipeline_job_unknown(void);

/*
 * Joins the diagnosis of the stages of one pipeline with the job: other processes on a full node, the CPUs and their limit, or a lock may
 * be what limits tasks that seem busy. A step of the consumer is taken to use one CPU, so that only what is certainly the pipeline's
 * counts.
 */
void pipeline_job_join(const PipelineJob *job, PipelineDiagnosis *diagnosis, const PipelineStage *stages, size_t n);
