/* SPDX-License-Identifier: Apache-2.0 */
#include "client/facts/cpu_facts.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/parse.h"
#include "util/scan.h"
#include "util/utf8.h"

#define CPUINFO_BYTES_MAX (8U * 1024U * 1024U)
#define SMALL_FILE_BYTES 16384U
#define CPU_LIST_BYTES_MAX 65536U
#define CPUS_MAX 8192U
#define CPUS "sys/devices/system/cpu/"

void cpu_facts_copy(char *ret, size_t n_ret, const char *text, size_t n) {
        char copy[512];

        while (n > 0 && strchr(" \t\n", text[n - 1]))
                n--;
        while (n > 0 && strchr(" \t\n", *text))
                text++, n--;
        if (n >= sizeof(copy))
                return;

        memcpy(copy, text, n);
        copy[n] = '\0';
        if (strlen(copy) == n && utf8_is_line(copy))
                utf8_copy(ret, n_ret, copy);
}

bool cpu_facts_read_word(int root_fd, const char *path, char *ret, size_t n_ret) {
        scoped(freep) char *text = NULL;

        ret[0] = '\0';
        if (file_read_at(root_fd, path, SMALL_FILE_BYTES, &text, NULL) < 0)
                return false;

        cpu_facts_copy(ret, n_ret, text, strlen(text));
        return ret[0] != '\0';
}

bool cpu_facts_read_number(int root_fd, const char *path, uint64_t *ret) {
        char word[32];

        return cpu_facts_read_word(root_fd, path, word, sizeof(word)) && scan_u64(word, ret);
}

/* --- /proc/cpuinfo -------------------------------------------------------------------------------- */

static bool flag_matters(const char *flag, size_t n) {
        static const char *const flags[] = { "sse4_1", "sse4_2", "avx", "avx2", "avx_vnni", "fma", "f16c", "bmi1", "bmi2", "popcnt", "aes",
                                             "vaes", "sha_ni", "asimd", "asimdhp", "asimddp", "sve", "sve2", "sme", "bf16", "i8mm",
                                             "atomics" };
        static const char *const beginnings[] = { "avx512", "amx" };

        for (size_t i = 0; i < N_ELEMENTS(flags); i++)
                if (strlen(flags[i]) == n && memcmp(flag, flags[i], n) == 0)
                        return true;
        for (size_t i = 0; i < N_ELEMENTS(beginnings); i++)
                if (n >= strlen(beginnings[i]) && memcmp(flag, beginnings[i], strlen(beginnings[i])) == 0)
                        return true;
        return false;
}

void cpu_facts_add_flag(CpuFacts *facts, const char *flag, size_t n) {
        size_t n_before = strlen(facts->flags);

        if (flag_matters(flag, n) && n_before + n + 2 <= sizeof(facts->flags))
                (void)sprintf(facts->flags + n_before, "%s%.*s", n_before > 0 ? " " : "", (int)n, flag);
}

static void take_flags(const char *p, const char *end, CpuFacts *facts) {
        facts->flags[0] = '\0';
        for (size_t n; p < end; p += n + 1) {
                n = strcspn(p, " \t\n");
                cpu_facts_add_flag(facts, p, n);
        }
}

typedef struct CpuName {
        long number;
        const char *name;
} CpuName;

static const char *find_name(const CpuName *list, size_t n, long number) {
        for (size_t i = 0; i < n; i++)
                if (list[i].number == number)
                        return list[i].name;
        return NULL;
}

/* "CPU implementer", of Arm's Main ID Register. */
static void take_implementer(long number, CpuFacts *facts) {
        static const CpuName names[] = {
                { 0x41, "ARM" },      { 0x42, "Broadcom" }, { 0x43, "Cavium" },   { 0x46, "Fujitsu" }, { 0x48, "HiSilicon" },
                { 0x4e, "NVIDIA" },   { 0x50, "APM" },      { 0x51, "Qualcomm" }, { 0x61, "Apple" },   { 0x6d, "Microsoft" },
                { 0xc0, "Ampere" },
        };
        const char *name = find_name(names, N_ELEMENTS(names), number);

        if (name)
                (void)snprintf(facts->vendor, sizeof(facts->vendor), "%s", name);
        else
                (void)snprintf(facts->vendor, sizeof(facts->vendor), "implementer 0x%lx", number);
}

/* "CPU part", of Arm's own cores and a few others that machines for computing have. */
static void take_part(long number, CpuFacts *facts) {
        static const CpuName names[] = {
                { 0xd03, "Cortex-A53" },  { 0xd07, "Cortex-A57" },  { 0xd08, "Cortex-A72" },  { 0xd0b, "Cortex-A76" },
                { 0xd0c, "Neoverse-N1" }, { 0xd40, "Neoverse-V1" }, { 0xd49, "Neoverse-N2" }, { 0xd4f, "Neoverse-V2" },
                { 0xd84, "Neoverse-V3" }, { 0xd8e, "Neoverse-N3" },
        };
        const char *name = strcmp(facts->vendor, "ARM") == 0 ? find_name(names, N_ELEMENTS(names), number) : NULL;

        facts->model_number = (int)number;
        if (facts->model[0] == '\0' && name)
                (void)snprintf(facts->model, sizeof(facts->model), "%s", name);
        else if (facts->model[0] == '\0')
                (void)snprintf(facts->model, sizeof(facts->model), "%.60s part 0x%03lx", facts->vendor, number);
}

#define PACKAGES_MAX 1024

/* Numbers of packages have gaps, in virtual machines for example. */
typedef struct Counts {
        unsigned n_threads, n_packages;
        bool packages[PACKAGES_MAX];
        long cores_per_package;
} Counts;

static bool is_key(const char *key, size_t n, const char *name) {
        return strlen(name) == n && memcmp(key, name, n) == 0;
}

static long to_number(const char *value) {
        char *end;
        long v = strtol(value, &end, 0);

        return end == value || v < 0 || v > INT_MAX ? -1 : v;
}

static void take_package(long number, Counts *counts) {
        if (number < 0 || number >= PACKAGES_MAX || counts->packages[number])
                return;
        counts->packages[number] = true;
        counts->n_packages++;
}

/* The facts are equal for all CPUs of a machine: the first is used, and big cores come after little ones. */
static void take_text_line(const char *key, size_t n, const char *value, const char *end, CpuFacts *facts) {
        size_t n_value = (size_t)(end - value);

        if (is_key(key, n, "model name") || is_key(key, n, "cpu"))
                cpu_facts_copy(facts->model, sizeof(facts->model), value, n_value);
        else if (is_key(key, n, "vendor_id"))
                cpu_facts_copy(facts->vendor, sizeof(facts->vendor), value, n_value);
        else if (is_key(key, n, "flags") || is_key(key, n, "Features"))
                take_flags(value, end, facts);
}

static void take_number_line(const char *key, size_t n, const char *value, CpuFacts *facts, Counts *counts) {
        long v = to_number(value);

        if (is_key(key, n, "cpu family"))
                facts->family = (int)v;
        else if (is_key(key, n, "model"))
                facts->model_number = (int)v;
        else if (is_key(key, n, "stepping") || is_key(key, n, "CPU revision"))
                facts->stepping = (int)v;
        else if (is_key(key, n, "CPU implementer") && v >= 0)
                take_implementer(v, facts);
        else if (is_key(key, n, "CPU part") && v >= 0)
                take_part(v, facts);
        else if (is_key(key, n, "cpu cores"))
                counts->cores_per_package = v;
}

void cpu_facts_parse_cpuinfo(const char *text, CpuFacts *ret) {
        Counts counts = { .cores_per_package = -1 };

        for (const char *p = text; *p; p = scan_line_end(p)) {
                const char *end = p + strcspn(p, "\n"), *colon = memchr(p, ':', (size_t)(end - p));
                size_t n = colon ? (size_t)(colon - p) : 0;

                while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t'))
                        n--;
                if (n == 0)
                        continue;
                if (is_key(p, n, "processor"))
                        counts.n_threads++;
                if (is_key(p, n, "physical id"))
                        take_package(to_number(scan_blanks(colon + 1)), &counts);
                if (counts.n_threads > 1)
                        continue;
                take_text_line(p, n, scan_blanks(colon + 1), end, ret);
                take_number_line(p, n, scan_blanks(colon + 1), ret, &counts);
        }

        if (counts.n_threads > 0)
                ret->threads = counts.n_threads;
        if (counts.n_packages > 0)
                ret->sockets = counts.n_packages;
        if (counts.n_packages > 0 && counts.cores_per_package > 0)
                ret->cores = ret->sockets * (unsigned)counts.cores_per_package;
}

/* --- /sys ----------------------------------------------------------------------------------------- */

/* Each core, or socket, is counted at its first CPU: the list begins with it. */
static bool is_first_of(int root_fd, unsigned cpu, const char *list) {
        scoped(freep) char *text = NULL;
        char path[128];
        uint64_t first;

        (void)snprintf(path, sizeof(path), CPUS "cpu%u/topology/%s", cpu, list);
        return file_read_at(root_fd, path, CPU_LIST_BYTES_MAX, &text, NULL) == 0 && scan_u64(text, &first) && first == cpu;
}

/* Iterates over the CPUs of "0-3,8"; *cpu and *last begin as equals. */
static bool next_cpu(const char **p, uint64_t *cpu, uint64_t *last) {
        if (*cpu < *last) {
                (*cpu)++;
                return true;
        }

        if (**p == ',')
                (*p)++;
        *p = scan_u64(*p, cpu);
        if (!*p)
                return false;

        *last = *cpu;
        if (**p == '-')
                *p = scan_u64(*p + 1, last);
        return *p != NULL;
}

/*
 * A CPU that is offline is in no list. Lists can be long: where one thread of each core is offline, every other number has
 * its own comma. *ret_first: the first CPU that is online.
 */
static void read_topology(int root_fd, CpuFacts *facts, unsigned *ret_first) {
        unsigned n_sockets = 0, n_cores = 0, n_threads = 0;
        uint64_t cpu = 0, last = 0; /* equal: the list is read on */
        scoped(freep) char *online = NULL;
        const char *p;

        *ret_first = 0;
        if (file_read_at(root_fd, CPUS "online", CPU_LIST_BYTES_MAX, &online, NULL) < 0)
                return;

        p = online;
        while (next_cpu(&p, &cpu, &last) && cpu < CPUS_MAX) {
                if (n_threads++ == 0)
                        *ret_first = (unsigned)cpu;
                n_cores += is_first_of(root_fd, (unsigned)cpu, "thread_siblings_list");
                n_sockets += is_first_of(root_fd, (unsigned)cpu, "core_siblings_list");
        }

        if (n_threads > 0)
                facts->threads = n_threads;
        if (n_cores > 0)
                facts->cores = n_cores;
        if (n_sockets > 0)
                facts->sockets = n_sockets;
}

static uint64_t *cache_of(CpuFacts *facts, uint64_t level, const char *type) {
        if (level == 1)
                return strcmp(type, "Data") == 0 ? &facts->l1d_bytes : strcmp(type, "Instruction") == 0 ? &facts->l1i_bytes : NULL;
        return level == 2 ? &facts->l2_bytes : level == 3 ? &facts->l3_bytes : NULL;
}

static void read_caches(int root_fd, unsigned cpu, CpuFacts *facts) {
        for (unsigned i = 0; i < 16; i++) {
                char path[128], type[32], size[32];
                uint64_t level, *bytes;

                (void)snprintf(path, sizeof(path), CPUS "cpu%u/cache/index%u/level", cpu, i);
                if (!cpu_facts_read_number(root_fd, path, &level))
                        return;
                (void)snprintf(path, sizeof(path), CPUS "cpu%u/cache/index%u/type", cpu, i);
                (void)cpu_facts_read_word(root_fd, path, type, sizeof(type));
                (void)snprintf(path, sizeof(path), CPUS "cpu%u/cache/index%u/size", cpu, i);
                bytes = cache_of(facts, level, type);
                if (bytes && cpu_facts_read_word(root_fd, path, size, sizeof(size)))
                        (void)parse_size(size, bytes);
        }
}

static void read_governor(int root_fd, CpuFacts *facts) {
        scoped(closedirp) DIR *dir = file_open_list(root_fd, CPUS "cpufreq");
        char governor[32], path[300];
        struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
                (void)snprintf(path, sizeof(path), "%s/scaling_governor", entry->d_name);
                if (strncmp(entry->d_name, "policy", 6) != 0 || !cpu_facts_read_word(dirfd(dir), path, governor, sizeof(governor)))
                        continue;
                if (facts->governor[0] && strcmp(facts->governor, governor) != 0)
                        (void)strcpy(governor, "mixed");
                (void)strcpy(facts->governor, governor);
        }
}

void cpu_facts_init(CpuFacts *facts) {
        *facts = (CpuFacts){ .family = -1, .model_number = -1, .stepping = -1, .smt = -1 };
}

void cpu_facts_read(int root_fd, CpuFacts *ret) {
        scoped(freep) char *text = NULL;
        unsigned first;
        uint64_t smt;

        cpu_facts_init(ret);
        if (file_read_at(root_fd, "proc/cpuinfo", CPUINFO_BYTES_MAX, &text, NULL) == 0)
                cpu_facts_parse_cpuinfo(text, ret);
        read_topology(root_fd, ret, &first);
        read_caches(root_fd, first, ret);
        read_governor(root_fd, ret);
        if (cpu_facts_read_number(root_fd, CPUS "smt/active", &smt))
                ret->smt = smt != 0;
}
