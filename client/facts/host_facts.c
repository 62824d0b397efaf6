/* SPDX-License-Identifier: Apache-2.0 */
#include "client/facts/host_facts.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/facts/script.h"
#include "util/file.h"
#include "util/parse.h"
#include "util/scan.h"
#include "util/utf8.h"

#define SMALL_FILE_BYTES 65536U
#define CPUINFO_BYTES_MAX (8U * 1024U * 1024U)
#define CPU_LIST_BYTES_MAX 65536U
#define CPUS_MAX 8192U
#define CPUS "sys/devices/system/cpu/"

void host_facts_copy(char *ret, size_t n_ret, const char *text, size_t n) {
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

/* Reads the text of a small file, as copied by host_facts_copy(). False when there is none. */
static bool read_word(int root_fd, const char *path, char *ret, size_t n_ret) {
        scoped(freep) char *text = NULL;

        ret[0] = '\0';
        if (file_read_at(root_fd, path, SMALL_FILE_BYTES, &text, NULL) < 0)
                return false;

        host_facts_copy(ret, n_ret, text, strlen(text));
        return ret[0] != '\0';
}

static bool read_number(int root_fd, const char *path, uint64_t *ret) {
        char word[32];

        return read_word(root_fd, path, word, sizeof(word)) && scan_u64(word, ret);
}

/* --- /proc/cpuinfo -------------------------------------------------------------------------------- */

static bool flag_matters(const char *flag, size_t n) {
        static const char *const flags[] = { "sse4_1", "sse4_2", "avx",     "avx2",    "avx_vnni", "fma",
                                             "f16c",   "bmi1",   "bmi2",    "popcnt",  "aes",      "vaes",
                                             "sha_ni", "asimd",  "asimdhp", "asimddp", "sve",      "sve2",
                                             "sme",    "bf16",   "i8mm",    "atomics" };
        static const char *const beginnings[] = { "avx512", "amx" };

        for (size_t i = 0; i < N_ELEMENTS(flags); i++)
                if (strlen(flags[i]) == n && memcmp(flag, flags[i], n) == 0)
                        return true;
        for (size_t i = 0; i < N_ELEMENTS(beginnings); i++)
                if (n >= strlen(beginnings[i]) && memcmp(flag, beginnings[i], strlen(beginnings[i])) == 0)
                        return true;
        return false;
}

void host_facts_add_flag(CpuFacts *facts, const char *flag, size_t n) {
        size_t n_before = strlen(facts->flags);

        if (flag_matters(flag, n) && n_before + n + 2 <= sizeof(facts->flags))
                (void)sprintf(facts->flags + n_before, "%s%.*s", n_before > 0 ? " " : "", (int)n, flag);
}

static void take_flags(const char *p, const char *end, CpuFacts *facts) {
        facts->flags[0] = '\0';
        for (size_t n; p < end; p += n + 1) {
                n = strcspn(p, " \t\n");
                host_facts_add_flag(facts, p, n);
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
                { 0x41, "ARM" },       { 0x42, "Broadcom" },  { 0x43, "Cavium" }, { 0x46, "Fujitsu" },
                { 0x48, "HiSilicon" }, { 0x4e, "NVIDIA" },    { 0x50, "APM" },    { 0x51, "Qualcomm" },
                { 0x61, "Apple" },     { 0x6d, "Microsoft" }, { 0xc0, "Ampere" },
        };
        const char *name = find_name(names, N_ELEMENTS(names), number);

        if (name)
                (void)snprintf(facts->vendor, sizeof(facts->vendor), "%s", name);
        else
                (void)snprintf(facts->vendor, sizeof(facts->vendor), "implementer 0x%lx", number);
}

/* "CPU part", of Arm's own cores and a few others that machines for computing have. */
static void take_part(long number, CpuFacts *facts) {
        static const struct {
                const char *vendor;
                long number;
                const char *name;
        } names[] = {
                { "ARM", 0xd03, "Cortex-A53" },    { "ARM", 0xd07, "Cortex-A57" },   { "ARM", 0xd08, "Cortex-A72" },
                { "ARM", 0xd0b, "Cortex-A76" },    { "ARM", 0xd0c, "Neoverse-N1" },  { "ARM", 0xd40, "Neoverse-V1" },
                { "ARM", 0xd49, "Neoverse-N2" },   { "ARM", 0xd4f, "Neoverse-V2" },  { "ARM", 0xd84, "Neoverse-V3" },
                { "ARM", 0xd8e, "Neoverse-N3" },   { "Cavium", 0x0af, "ThunderX2" }, { "Fujitsu", 0x001, "A64FX" },
                { "Ampere", 0xac3, "Ampere-1" },   { "Ampere", 0xac4, "Ampere-1a" }, { "NVIDIA", 0x010, "Olympus" },
                { "HiSilicon", 0xd01, "TaiShan-v110" },
        };
        const char *name = NULL;

        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                if (names[i].number == number && strcmp(names[i].vendor, facts->vendor) == 0)
                        name = names[i].name;
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
                host_facts_copy(facts->model, sizeof(facts->model), value, n_value);
        else if (is_key(key, n, "vendor_id"))
                host_facts_copy(facts->vendor, sizeof(facts->vendor), value, n_value);
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

void host_facts_parse_cpuinfo(const char *text, CpuFacts *ret) {
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
        return file_read_at(root_fd, path, CPU_LIST_BYTES_MAX, &text, NULL) == 0 && scan_u64(text, &first) &&
               first == cpu;
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
 * A CPU that is offline is in no list. Lists can be long: where one thread of each core is offline, every other
 * number has its own comma. *ret_first: the first CPU that is online.
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
                return strcmp(type, "Data") == 0          ? &facts->l1d_bytes
                       : strcmp(type, "Instruction") == 0 ? &facts->l1i_bytes
                                                          : NULL;
        return level == 2 ? &facts->l2_bytes : level == 3 ? &facts->l3_bytes : NULL;
}

static void read_caches(int root_fd, unsigned cpu, CpuFacts *facts) {
        for (unsigned i = 0; i < 16; i++) {
                char path[128], type[32], size[32];
                uint64_t level, *bytes;

                (void)snprintf(path, sizeof(path), CPUS "cpu%u/cache/index%u/level", cpu, i);
                if (!read_number(root_fd, path, &level))
                        return;
                (void)snprintf(path, sizeof(path), CPUS "cpu%u/cache/index%u/type", cpu, i);
                (void)read_word(root_fd, path, type, sizeof(type));
                (void)snprintf(path, sizeof(path), CPUS "cpu%u/cache/index%u/size", cpu, i);
                bytes = cache_of(facts, level, type);
                if (bytes && read_word(root_fd, path, size, sizeof(size)))
                        (void)parse_size(size, bytes);
        }
}

static void read_governor(int root_fd, CpuFacts *facts) {
        scoped(closedirp) DIR *dir = file_open_list(root_fd, CPUS "cpufreq");
        char governor[32], path[300];
        struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
                (void)snprintf(path, sizeof(path), "%s/scaling_governor", entry->d_name);
                if (strncmp(entry->d_name, "policy", 6) != 0 ||
                    !read_word(dirfd(dir), path, governor, sizeof(governor)))
                        continue;
                if (facts->governor[0] && strcmp(facts->governor, governor) != 0)
                        (void)strcpy(governor, "mixed");
                (void)strcpy(facts->governor, governor);
        }
}

void host_facts_init_cpu(CpuFacts *facts) {
        *facts = (CpuFacts){ .family = -1, .model_number = -1, .stepping = -1, .smt = -1 };
}

static void read_cpu(int root_fd, CpuFacts *ret) {
        scoped(freep) char *text = NULL;
        unsigned first;
        uint64_t smt;

        host_facts_init_cpu(ret);
        if (file_read_at(root_fd, "proc/cpuinfo", CPUINFO_BYTES_MAX, &text, NULL) == 0)
                host_facts_parse_cpuinfo(text, ret);
        read_topology(root_fd, ret, &first);
        read_caches(root_fd, first, ret);
        read_governor(root_fd, ret);
        if (read_number(root_fd, CPUS "smt/active", &smt))
                ret->smt = smt != 0;
}

/* --- memory and system -------------------------------------------------------------------------------------- */

/* Copies the value of the last line that begins with the key: "Model: \t Tesla T4", NAME="Debian", quoted as for a
 * shell or not. */
static void take_line(const char *text, const char *key, char *ret, size_t n_ret) {
        for (const char *p = text; *p; p = scan_line_end(p)) {
                const char *value = p + strlen(key);
                size_t n;

                if (strncmp(p, key, strlen(key)) != 0)
                        continue;
                n = strcspn(value, "\n");
                if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0])
                        value++, n -= 2;
                host_facts_copy(ret, n_ret, value, n);
        }
}

static void read_memory(int root_fd, HostFacts *facts) {
        scoped(freep) char *text = NULL;
        char total[32] = "";
        uint64_t kib;

        if (file_read_at(root_fd, "proc/meminfo", SMALL_FILE_BYTES, &text, NULL) < 0)
                return;
        take_line(text, "MemTotal:", total, sizeof(total));
        if (scan_u64(total, &kib))
                facts->memory_bytes = kib * 1024;
}

/* Returns true for node0 and card0, but not for card0-DP-1. */
static bool is_numbered(const char *name, const char *kind) {
        size_t n = strlen(kind);

        return strncmp(name, kind, n) == 0 && name[n] && name[n + strspn(name + n, "0123456789")] == '\0';
}

static void count_numa_nodes(int root_fd, HostFacts *facts) {
        scoped(closedirp) DIR *dir = file_open_list(root_fd, "sys/devices/system/node");
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                facts->n_numa_nodes += is_numbered(entry->d_name, "node");
}

/* Parses the text of os-release(5). */
static void parse_os_release(const char *text, HostFacts *ret) {
        take_line(text, "ID=", ret->os_id, sizeof(ret->os_id));
        take_line(text, "VERSION_ID=", ret->os_version, sizeof(ret->os_version));
        take_line(text, "NAME=", ret->os_name, sizeof(ret->os_name));
}

static void read_os(int root_fd, HostFacts *facts) {
        scoped(freep) char *text = NULL;

        if (file_read_at(root_fd, "etc/os-release", SMALL_FILE_BYTES, &text, NULL) == 0 ||
            file_read_at(root_fd, "usr/lib/os-release", SMALL_FILE_BYTES, &text, NULL) == 0)
                parse_os_release(text, facts);
}

/* --- GPUs: /sys/class/drm ------------------------------------------------------------------------- */

typedef struct Gpus {
        GpuFacts *items;
        size_t n;
} Gpus;

/* Returns the GPU with this address, or a new GPU; NULL when there are too many. */
static GpuFacts *find_or_add(Gpus *gpus, const char *address) {
        GpuFacts *gpu;

        for (size_t i = 0; i < gpus->n; i++)
                if (strcmp(gpus->items[i].pci_address, address) == 0)
                        return &gpus->items[i];
        if (gpus->n == GPUS_MAX)
                return NULL;

        gpu = &gpus->items[gpus->n++];
        *gpu = (GpuFacts){};
        (void)snprintf(gpu->pci_address, sizeof(gpu->pci_address), "%s", address);
        return gpu;
}

/* "10de:1db1" of PCI_ID=10DE:1DB1 */
static void take_pci_id(const char *uevent, GpuFacts *gpu) {
        static const struct {
                const char *id, *name;
        } vendors[] = { { "10de:", "nvidia" },
                        { "1002:", "amd" },
                        { "8086:", "intel" },
                        { "1a03:", "aspeed" },
                        { "102b:", "matrox" } };

        take_line(uevent, "PCI_ID=", gpu->pci_id, sizeof(gpu->pci_id));
        for (char *p = gpu->pci_id; *p; p++)
                *p = (char)tolower((unsigned char)*p);
        for (size_t i = 0; i < N_ELEMENTS(vendors); i++)
                if (strncmp(gpu->pci_id, vendors[i].id, 5) == 0)
                        (void)strcpy(gpu->vendor, vendors[i].name);
}

static void read_card(int drm_fd, const char *card, Gpus *gpus) {
        scoped(freep) char *uevent = NULL;
        char path[300], address[16] = "";
        GpuFacts *gpu;

        (void)snprintf(path, sizeof(path), "%s/device/uevent", card);
        if (file_read_at(drm_fd, path, SMALL_FILE_BYTES, &uevent, NULL) < 0)
                return;
        take_line(uevent, "PCI_SLOT_NAME=", address, sizeof(address));
        gpu = address[0] ? find_or_add(gpus, address) : NULL;
        if (!gpu)
                return;

        take_line(uevent, "DRIVER=", gpu->driver, sizeof(gpu->driver));
        take_pci_id(uevent, gpu);
        (void)snprintf(path, sizeof(path), "%s/device/mem_info_vram_total", card);
        (void)read_number(drm_fd, path, &gpu->memory_bytes);
        (void)snprintf(path, sizeof(path), "%s/device/product_name", card);
        (void)read_word(drm_fd, path, gpu->model, sizeof(gpu->model));
}

static void read_cards(int root_fd, Gpus *gpus) {
        scoped(closedirp) DIR *dir = file_open_list(root_fd, "sys/class/drm");
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (is_numbered(entry->d_name, "card"))
                        read_card(dirfd(dir), entry->d_name, gpus);
}

/* --- GPUs: /proc/driver/nvidia -------------------------------------------------------------------- */

static void read_nvidia(int root_fd, Gpus *gpus) {
        scoped(closedirp) DIR *dir = file_open_list(root_fd, "proc/driver/nvidia/gpus");
        struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
                scoped(freep) char *text = NULL;
                char path[300];
                GpuFacts *gpu;

                (void)snprintf(path, sizeof(path), "%s/information", entry->d_name);
                if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(gpu->pci_address) ||
                    file_read_at(dirfd(dir), path, SMALL_FILE_BYTES, &text, NULL) < 0)
                        continue;
                gpu = find_or_add(gpus, entry->d_name);
                if (!gpu)
                        return;
                take_line(text, "Model:", gpu->model, sizeof(gpu->model));
                (void)strcpy(gpu->vendor, "nvidia");
                if (!gpu->driver[0])
                        (void)strcpy(gpu->driver, "nvidia");
        }
}

/* Drivers that belong to the kernel have no version. */
static void read_driver_version(int root_fd, GpuFacts *gpu) {
        char path[64];

        (void)snprintf(path, sizeof(path), "sys/module/%s/version", gpu->driver);
        if (gpu->driver[0] && !strchr(gpu->driver, '/'))
                (void)read_word(root_fd, path, gpu->driver_version, sizeof(gpu->driver_version));
}

static int compare_gpus(const void *a, const void *b) {
        return strcmp(((const GpuFacts *)a)->pci_address, ((const GpuFacts *)b)->pci_address);
}

static size_t read_gpus(int root_fd, GpuFacts ret[static GPUS_MAX]) {
        Gpus gpus = { .items = ret };

        read_cards(root_fd, &gpus);
        read_nvidia(root_fd, &gpus);
        for (size_t i = 0; i < gpus.n; i++)
                read_driver_version(root_fd, &ret[i]);
        qsort(ret, gpus.n, sizeof(*ret), compare_gpus);
        return gpus.n;
}

/* --- all ------------------------------------------------------------------------------------------ */

void host_facts_init(HostFacts *facts) {
        *facts = (HostFacts){};
        host_facts_init_cpu(&facts->cpu);
}

void host_facts_read(int root_fd, HostFacts *ret) {
        host_facts_init(ret);
        (void)read_word(root_fd, "proc/sys/kernel/hostname", ret->hostname, sizeof(ret->hostname));
        (void)read_word(root_fd, "proc/sys/kernel/osrelease", ret->kernel, sizeof(ret->kernel));
        read_cpu(root_fd, &ret->cpu);
        read_memory(root_fd, ret);
        count_numa_nodes(root_fd, ret);
        ret->n_gpus = read_gpus(root_fd, ret->gpus);
        read_os(root_fd, ret);
}

/* --- versions ------------------------------------------------------------------------------------- */

/* Finds the end of a name such as x86_64-linux-gnu-gcc-12. */
static bool version_of_name(const char *name, char ret[static PROGRAM_VERSION_MAX]) {
        size_t n = strlen(name), first = n;

        while (first > 0 && strchr("0123456789.", name[first - 1]))
                first--;
        while (first < n && name[first] == '.')
                first++;
        if (first == n || first == 0 || n - first >= PROGRAM_VERSION_MAX)
                return false;

        (void)strcpy(ret, name + first);
        return true;
}

/* The name "python3" does not contain the minor version. */
static bool version_of_file(const char *file, char ret[static PROGRAM_VERSION_MAX]) {
        char real[PATH_MAX], version[PROGRAM_VERSION_MAX];

        if (!realpath(file, real) || !version_of_name(basename(real), version))
                return false;
        if (strcmp(basename(real), basename(file)) == 0 && !strchr(version, '.'))
                return false;

        (void)strcpy(ret, version);
        return true;
}

bool host_facts_program_version(const char *path, const char *program, char ret[static PROGRAM_VERSION_MAX]) {
        char file[PATH_MAX];

        if (strchr(program, '/'))
                return version_of_file(program, ret);
        return script_find_program(program, path, file) && version_of_file(file, ret);
}

/* --- as a part of a run --------------------------------------------------------------------------- */

static void put_known(ObjectBuilder *object, const char *key, int64_t v, int64_t from) {
        if (v >= from)
                object_builder_put_int(object, key, v);
}

static void put_cpu(const CpuFacts *cpu, ObjectBuilder *host) {
        ObjectBuilder object, caches;

        object_builder_init(&caches, host->arena, 4);
        put_known(&caches, "l1d", (int64_t)cpu->l1d_bytes, 1);
        put_known(&caches, "l1i", (int64_t)cpu->l1i_bytes, 1);
        put_known(&caches, "l2", (int64_t)cpu->l2_bytes, 1);
        put_known(&caches, "l3", (int64_t)cpu->l3_bytes, 1);

        object_builder_init(&object, host->arena, 10);
        object_builder_put_text(&object, "model", cpu->model);
        object_builder_put_text(&object, "vendor", cpu->vendor);
        put_known(&object, "family", cpu->family, 0);
        put_known(&object, "model_number", cpu->model_number, 0);
        put_known(&object, "stepping", cpu->stepping, 0);
        put_known(&object, "sockets", cpu->sockets, 1);
        put_known(&object, "cores", cpu->cores, 1);
        put_known(&object, "threads", cpu->threads, 1);
        object_builder_put_words(&object, "flags", cpu->flags);
        object_builder_put_object(&object, "caches", &caches);
        object_builder_put_object(host, "cpu", &object);
}

static void put_gpus(const HostFacts *facts, ObjectBuilder *host) {
        Value *items = arena_alloc(host->arena, facts->n_gpus * sizeof(*items));
        ObjectBuilder object;

        if (facts->n_gpus == 0)
                return;

        for (size_t i = 0; i < facts->n_gpus; i++) {
                const GpuFacts *gpu = &facts->gpus[i];

                object_builder_init(&object, host->arena, 7);
                object_builder_put_text(&object, "model", gpu->model);
                object_builder_put_text(&object, "vendor", gpu->vendor);
                object_builder_put_text(&object, "driver", gpu->driver);
                object_builder_put_text(&object, "driver_version", gpu->driver_version);
                object_builder_put_text(&object, "pci_id", gpu->pci_id);
                object_builder_put_text(&object, "pci_address", gpu->pci_address);
                put_known(&object, "memory_bytes", (int64_t)gpu->memory_bytes, 1);
                host->failed |= !items || object_builder_end(&object, &items[i]) < 0;
        }
        object_builder_put(host, "gpus", &(Value){ .type = VALUE_LIST, .items = items, .n_items = facts->n_gpus });
}

void host_facts_put(const HostFacts *facts, ObjectBuilder *run) {
        ObjectBuilder host, os;

        object_builder_init(&host, run->arena, 7);
        object_builder_put_text(&host, "hostname", facts->hostname);
        put_cpu(&facts->cpu, &host);
        put_known(&host, "memory_bytes", (int64_t)facts->memory_bytes, 1);
        put_known(&host, "numa_nodes", facts->n_numa_nodes, 1);
        if (facts->cpu.smt >= 0)
                object_builder_put_bool(&host, "smt", facts->cpu.smt);
        object_builder_put_text(&host, "governor", facts->cpu.governor);
        put_gpus(facts, &host);
        object_builder_put_object(run, "host", &host);

        object_builder_init(&os, run->arena, 3);
        object_builder_put_text(&os, "id", facts->os_id);
        object_builder_put_text(&os, "version", facts->os_version);
        object_builder_put_text(&os, "name", facts->os_name);
        object_builder_put_object(run, "os", &os);
        object_builder_put_text(run, "kernel", facts->kernel);
}
