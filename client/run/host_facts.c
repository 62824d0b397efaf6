/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/host_facts.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/scan.h"

#define SMALL_FILE_BYTES 65536U

/* --- reading -------------------------------------------------------------------------------------- */

static void read_line(int root_fd, const char *path, char ret[static FACT_TEXT_MAX]) {
        scoped(freep) char *text = NULL;

        if (file_read_at(root_fd, path, SMALL_FILE_BYTES, &text, NULL) == 0)
                cpu_facts_copy(ret, FACT_TEXT_MAX, text, strcspn(text, "\n"));
}

static void read_memory(int root_fd, HostFacts *facts) {
        scoped(freep) char *text = NULL;
        uint64_t kib;

        if (file_read_at(root_fd, "proc/meminfo", SMALL_FILE_BYTES, &text, NULL) < 0)
                return;
        for (const char *p = text; *p; p = scan_line_end(p))
                if (strncmp(p, "MemTotal:", 9) == 0 && scan_u64(p + 9, &kib))
                        facts->memory_bytes = kib * 1024;
}

static void count_numa_nodes(int root_fd, HostFacts *facts) {
        scoped(closedirp) DIR *dir = file_open_list(root_fd, "sys/devices/system/node");
        struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
                const char *name = entry->d_name;

                facts->n_numa_nodes += strncmp(name, "node", 4) == 0 && name[4] && name[4 + strspn(name + 4, "0123456789")] == '\0';
        }
}

/* Values are words of a shell: quoted or not. What is escaped in them is nothing that names and versions have. */
static void take_os_value(const char *value, size_t n, char ret[static FACT_TEXT_MAX]) {
        if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0])
                value++, n -= 2;
        cpu_facts_copy(ret, FACT_TEXT_MAX, value, n);
}

void host_facts_parse_os_release(const char *text, HostFacts *ret) {
        for (const char *p = text; *p; p = scan_line_end(p)) {
                size_t n = strcspn(p, "\n");

                if (n > 3 && strncmp(p, "ID=", 3) == 0)
                        take_os_value(p + 3, n - 3, ret->os_id);
                else if (n > 11 && strncmp(p, "VERSION_ID=", 11) == 0)
                        take_os_value(p + 11, n - 11, ret->os_version);
                else if (n > 5 && strncmp(p, "NAME=", 5) == 0)
                        take_os_value(p + 5, n - 5, ret->os_name);
        }
}

static void read_os(int root_fd, HostFacts *facts) {
        scoped(freep) char *text = NULL;

        if (file_read_at(root_fd, "etc/os-release", SMALL_FILE_BYTES, &text, NULL) == 0 ||
            file_read_at(root_fd, "usr/lib/os-release", SMALL_FILE_BYTES, &text, NULL) == 0)
                host_facts_parse_os_release(text, facts);
}

void host_facts_init(HostFacts *facts) {
        *facts = (HostFacts){};
        cpu_facts_init(&facts->cpu);
}

void host_facts_read(int root_fd, HostFacts *ret) {
        host_facts_init(ret);
        read_line(root_fd, "proc/sys/kernel/hostname", ret->hostname);
        read_line(root_fd, "proc/sys/kernel/osrelease", ret->kernel);
        cpu_facts_read(root_fd, &ret->cpu);
        read_memory(root_fd, ret);
        count_numa_nodes(root_fd, ret);
        ret->n_gpus = gpu_facts_read(root_fd, ret->gpus);
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

/* "python3" itself says less than it seems to: which 3 is not known. */
static bool version_of_file(const char *file, char ret[static PROGRAM_VERSION_MAX]) {
        const char *name = strrchr(file, '/');
        char real[PATH_MAX], version[PROGRAM_VERSION_MAX];

        name = name ? name + 1 : file;
        if (!realpath(file, real) || !version_of_name(strrchr(real, '/') + 1, version))
                return false;
        if (strcmp(strrchr(real, '/') + 1, name) == 0 && !strchr(version, '.'))
                return false;

        (void)strcpy(ret, version);
        return true;
}

bool host_facts_program_version(const char *path, const char *program, char ret[static PROGRAM_VERSION_MAX]) {
        if (strchr(program, '/'))
                return version_of_file(program, ret);

        for (const char *p = path; *p; p += strcspn(p, ":"), p += *p == ':') {
                char file[PATH_MAX];
                int n = (int)strcspn(p, ":");

                if (n == 0 || snprintf(file, sizeof(file), "%.*s/%s", n, p, program) >= (int)sizeof(file) || access(file, X_OK) < 0)
                        continue;
                return version_of_file(file, ret);
        }

        return false;
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
