/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Host facts: what a measurement was made on
 *
 * Read from /proc, /sys and /etc of a root directory, so that captured trees are read as this machine is. GPUs are
 * the cards in /sys/class/drm that are on a PCI bus, and the cards that the driver of nvidia lists in
 * /proc/driver/nvidia, whether or not they are in the other list. Processors: /proc/cpuinfo, which each architecture
 * writes in its own way, and /sys/devices/system/cpu where available; facts that neither contains are unknown. No
 * process is started, and no library loaded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/facts/object_builder.h"

#define FACT_TEXT_MAX 128U
#define CPU_FLAGS_MAX 1024U

typedef struct CpuFacts {
        char model[FACT_TEXT_MAX], vendor[FACT_TEXT_MAX];
        int family, model_number, stepping; /* -1: not known */
        unsigned sockets, cores, threads;   /* online ones; 0: not known */
        /* flags that matter for measurements, in the order of the kernel, with blanks between */
        char flags[CPU_FLAGS_MAX];
        uint64_t l1d_bytes, l1i_bytes, l2_bytes, l3_bytes; /* of one cache; 0: not known */
        int smt;           /* 0 off, 1 on, -1 not known */
        char governor[32]; /* "mixed" where CPUs differ, "" not known */
} CpuFacts;

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
void host_facts_init_cpu(CpuFacts *facts);
void host_facts_read(int root_fd, HostFacts *ret);

/* Parses the text of /proc/cpuinfo. Facts that it does not contain are left unchanged. */
void host_facts_parse_cpuinfo(const char *text, CpuFacts *ret);
/* Adds the flag of n bytes if it is an instruction set that measurements depend on. */
void host_facts_add_flag(CpuFacts *facts, const char *flag, size_t n);

/* Copies as much of n bytes as fits, without blanks at both ends; copies nothing unless the text is UTF-8 without
 * control characters. */
void host_facts_copy(char *ret, size_t n_ret, const char *text, size_t n);

#define PROGRAM_VERSION_MAX 16U
/*
 * Finds "3.11" for python3 that is a link to a python3.11, or for python3.11 itself. A program without a slash is
 * searched in `path`, as in $PATH. False where no name contains the version: no program is started to print its
 * version.
 */
bool host_facts_program_version(const char *path, const char *program, char ret[static PROGRAM_VERSION_MAX]);

/* Adds the members host, os and kernel of a run. */
void host_facts_put(const HostFacts *facts, ObjectBuilder *run);
#define HOST_FACTS_ARENA_BYTES 32768U /* that they take at most */
