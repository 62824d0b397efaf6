/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Host facts: what a measurement was made on
 *
 * Read from /proc, /sys and /etc of a root directory, so that captured trees are read as this machine is. No process is started.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/run/cpu_facts.h"
#include "client/run/gpu_facts.h"
#include "client/run/object_builder.h"

typedef struct HostFacts {
        char hostname[FACT_TEXT_MAX];
        CpuFacts cpu;
        uint64_t memory_bytes; /* 0: not known */
        unsigned n_numa_nodes;
        GpuFacts gpus[GPUS_MAX];
        size_t n_gpus;
        char os_id[FACT_TEXT_MAX], os_version[FACT_TEXT_MAX], os_name[FACT_TEXT_MAX]; /* "": not known */
        char kernel[FACT_TEXT_MAX];
} HostFacts;

void host_facts_init(HostFacts *facts);
void host_facts_read(int root_fd, HostFacts *ret);

/* Parses the text of os-release(5). */
void host_facts_parse_os_release(const char *text, HostFacts *ret);

#define PROGRAM_VERSION_MAX 16U
/*
 * "3.11" of python3, where it is a link to a python3.11, or of python3.11 itself. Without a slash in it, the one counts that is
 * found first in `path`, as in $PATH. False where no name says it: no program is started to be asked.
 */
bool host_facts_program_version(const char *path, const char *program, char ret[static PROGRAM_VERSION_MAX]);

/* Adds the members host, os and kernel of a run. */
void host_facts_put(const HostFacts *facts, ObjectBuilder *run);
#define HOST_FACTS_ARENA_BYTES 32768U /* that they take at most */
