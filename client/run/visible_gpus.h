/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Visible GPUs: those that a job is given by the environment
 *
 * CUDA_VISIBLE_DEVICES and its like have numbers, UUIDs or beginnings of these, of GPUs and of instances (MIG). As
 * CUDA does, a list is read up to the first word that is none of these, such as -1. Numbers in a job of Slurm may count
 * the GPUs of its cgroup only: there, the numbers are those that Slurm itself gives, of the files /dev/nvidiaN.
 */

#include <stddef.h>

#include "job/job.h"

/*
 * Appends the GPUs of a list as words for JobInfo.gpus. before: in front of numbers. At most
 * JOB_GPUS_MAX; further ones are left out. Returns the length of the list that was read: all of it, unless it has a
 * word that is no GPU.
 */
size_t visible_gpus_parse(const char *list, const char *before, char ret[static JOB_GPUS_TEXT_MAX]);

/* Finds the GPUs of this process's environment; "" if there are none, or they cannot be known. */
void visible_gpus_find(char ret[static JOB_GPUS_TEXT_MAX]);
