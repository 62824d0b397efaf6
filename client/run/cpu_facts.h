/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CPU facts: what the processors of a machine are
 *
 * From /proc/cpuinfo, which each architecture writes in its own way, and from /sys/devices/system/cpu where that is there.
 * What is not said is not known, and never guessed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FACT_TEXT_MAX 128U
#define CPU_FLAGS_MAX 1024U

typedef struct CpuFacts {
        char model[FACT_TEXT_MAX], vendor[FACT_TEXT_MAX];
        int family, model_number, stepping; /* -1: not known */
        unsigned sockets, cores, threads;   /* that are online; 0: not known */
        char flags[CPU_FLAGS_MAX];          /* those that matter, as the kernel orders them, a blank between two */
        uint64_t l1d_bytes, l1i_bytes, l2_bytes, l3_bytes; /* of one cache; 0: not known */
        int smt;           /* 0 off, 1 on, -1 not known */
        char governor[32]; /* "mixed" where CPUs differ, "" not known */
} CpuFacts;

void cpu_facts_init(CpuFacts *facts);
void cpu_facts_read(int root_fd, CpuFacts *ret);

/* From the text of /proc/cpuinfo. Fills in what it says, and leaves the rest alone. */
void cpuinfo_parse(const char *text, CpuFacts *ret);
/* The one in n bytes is an instruction set that measurements depend on. */
bool cpu_flag_matters(const char *flag, size_t n);

/* As much of n bytes as fits, without blanks at either end; nothing of what is no UTF-8 or has control characters. */
void fact_copy(char *ret, size_t n_ret, const char *text, size_t n);
