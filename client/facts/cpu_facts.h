/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CPU facts: model, cores and features of the processors
 *
 * From /proc/cpuinfo, which each architecture writes in its own way, and from /sys/devices/system/cpu where available.
 * Facts that neither contains are unknown.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FACT_TEXT_MAX 128U
#define CPU_FLAGS_MAX 1024U

typedef struct CpuFacts {
        char model[FACT_TEXT_MAX], vendor[FACT_TEXT_MAX];
        int family, model_number, stepping; /* -1: not known */
        unsigned sockets, cores, threads;   /* online ones; 0: not known */
        char flags[CPU_FLAGS_MAX];          /* flags that matter for measurements, in the order of the kernel, with blanks between */
        uint64_t l1d_bytes, l1i_bytes, l2_bytes, l3_bytes; /* of one cache; 0: not known */
        int smt;           /* 0 off, 1 on, -1 not known */
        char governor[32]; /* "mixed" where CPUs differ, "" not known */
} CpuFacts;

void cpu_facts_init(CpuFacts *facts);
void cpu_facts_read(int root_fd, CpuFacts *ret);

/* Parses the text of /proc/cpuinfo. Facts that it does not contain are left unchanged. */
void cpu_facts_parse_cpuinfo(const char *text, CpuFacts *ret);
/* Adds the flag of n bytes if it is an instruction set that measurements depend on. */
void cpu_facts_add_flag(CpuFacts *facts, const char *flag, size_t n);

/* Copies as much of n bytes as fits, without blanks at both ends; copies nothing unless the text is UTF-8 without control characters. */
void cpu_facts_copy(char *ret, size_t n_ret, const char *text, size_t n);
/* Reads the text of a small file, as copied by cpu_facts_copy(), or its number. False when there is none. */
bool cpu_facts_read_word(int dir_fd, const char *path, char *ret, size_t n_ret);
bool cpu_facts_read_number(int dir_fd, const char *path, uint64_t *ret);
