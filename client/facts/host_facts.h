/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Host facts: what a measurement was made on
 *
 * Read from /proc, /sys and /etc of a root directory, so that captured trees are read as this machine is. GPUs are the cards in
 * /sys/class/drm that are on a PCI bus, and the cards that the driver of nvidia lists in /proc/driver/nvidia, whether or not
 * they are in the other list. No process is started, and no library loaded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/facts/cpu_facts.h"
#include "client/facts/object_builder.h"

#define GPUS_MAX 16U

typedef struct GpuFacts {
        char model[128], vendor[16], driver[32]; /* "": not known */
        char driver_version[32]; /* of a driver that is not the kernel's own */
        char pci_id[16];       /* "10de:1db1" */
        char pci_address[16];  /* "0000:3b:00.0" */
        uint64_t memory_bytes; /* 0: not known */
} GpuFacts;

typedef struct HostFacts {
        char hostname[FACT_TEXT_MAX];
        CpuFacts cpu;
        uint64_t memory_bytes; /* 0: not known */
        unsigned n_numa_nodes;
        GpuFacts gpus[GPUS_MAX]; /* in order of their addresses */
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
 * Finds "3.11" for python3 that is a link to a python3.11, or for python3.11 itself. A program without a slash is searched in `path`,
 * as in $PATH. False where no name contains the version: no program is started to print its version.
 */
bool host_facts_program_version(const char *path, const char *program, char ret[static PROGRAM_VERSION_MAX]);

/* Adds the members host, os and kernel of a run. */
void host_facts_put(const HostFacts *facts, ObjectBuilder *run);
#define HOST_FACTS_ARENA_BYTES 32768U /* that they take at most */
