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
#include "util/scan.h"

#define SMALL_FILE_BYTES 65536U

/* --- reading -------------------------------------------------------------------------------------- */

/* Copies the value of the last line that begins with the key: "Model: \t Tesla T4", NAME="Debian", quoted as for a shell or not. */
static void take_line(const char *text, const char *key, char *ret, size_t n_ret) {
        for (const char *p = text; *p; p = scan_line_end(p)) {
                const char *value = p + strlen(key);
                size_t n;

                if (strncmp(p, key, strlen(key)) != 0)
                        continue;
                n = strcspn(value, "\n");
                if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0])
                        value++, n -= 2;
                cpu_facts_copy(ret, n_ret, value, n);
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

void host_facts_parse_os_release(const char *text, HostFacts *ret) {
        take_line(text, "ID=", ret->os_id, sizeof(ret->os_id));
        take_line(text, "VERSION_ID=", ret->os_version, sizeof(ret->os_version));
        take_line(text, "NAME=", ret->os_name, sizeof(ret->os_name));
}

static void read_os(int root_fd, HostFacts *facts) {
        scoped(freep) char *text = NULL;

        if (file_read_at(root_fd, "etc/os-release", SMALL_FILE_BYTES, &text, NULL) == 0 ||
            file_read_at(root_fd, "usr/lib/os-release", SMALL_FILE_BYTES, &text, NULL) == 0)
                host_facts_parse_os_release(text, facts);
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
        } vendors[] = { { "10de:", "nvidia" }, { "1002:", "amd" }, { "8086:", "intel" }, { "1a03:", "aspeed" }, { "102b:", "matrox" } };

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
        (void)cpu_facts_read_number(drm_fd, path, &gpu->memory_bytes);
        (void)snprintf(path, sizeof(path), "%s/device/product_name", card);
        (void)cpu_facts_read_word(drm_fd, path, gpu->model, sizeof(gpu->model));
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
                (void)cpu_facts_read_word(root_fd, path, gpu->driver_version, sizeof(gpu->driver_version));
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
        cpu_facts_init(&facts->cpu);
}

void host_facts_read(int root_fd, HostFacts *ret) {
        host_facts_init(ret);
        (void)cpu_facts_read_word(root_fd, "proc/sys/kernel/hostname", ret->hostname, sizeof(ret->hostname));
        (void)cpu_facts_read_word(root_fd, "proc/sys/kernel/osrelease", ret->kernel, sizeof(ret->kernel));
        cpu_facts_read(root_fd, &ret->cpu);
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
