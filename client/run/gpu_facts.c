/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/gpu_facts.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/run/cpu_facts.h"
#include "util/file.h"
#include "util/scan.h"

#define SMALL_FILE_BYTES 16384U

typedef struct Gpus {
        GpuFacts *items;
        size_t n;
} Gpus;

/* The one with this address, or a new one; NULL when there are too many. */
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

/* Value of the line that begins with the key, "Model: \t Tesla T4" or "DRIVER=amdgpu". */
static void take_line(const char *text, const char *key, char *ret, size_t n_ret) {
        for (const char *p = text; *p; p = scan_line_end(p))
                if (strncmp(p, key, strlen(key)) == 0) {
                        cpu_facts_copy(ret, n_ret, p + strlen(key), strcspn(p, "\n") - strlen(key));
                        return;
                }
}

/* --- /sys/class/drm ------------------------------------------------------------------------------- */

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
        scoped(freep) char *uevent = NULL, *memory = NULL, *product = NULL;
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
        if (file_read_at(drm_fd, path, SMALL_FILE_BYTES, &memory, NULL) == 0)
                (void)scan_u64(memory, &gpu->memory_bytes);
        (void)snprintf(path, sizeof(path), "%s/device/product_name", card);
        if (file_read_at(drm_fd, path, SMALL_FILE_BYTES, &product, NULL) == 0)
                cpu_facts_copy(gpu->model, sizeof(gpu->model), product, strlen(product));
}

/* card0, but not card0-DP-1 */
static int is_card(const char *name) {
        return strncmp(name, "card", 4) == 0 && name[4] && name[strspn(name + 4, "0123456789") + 4] == '\0';
}

static void read_cards(int root_fd, Gpus *gpus) {
        scoped(closedirp) DIR *dir = file_open_list(root_fd, "sys/class/drm");
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (is_card(entry->d_name))
                        read_card(dirfd(dir), entry->d_name, gpus);
}

/* --- /proc/driver/nvidia -------------------------------------------------------------------------- */

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
        scoped(freep) char *text = NULL;
        char path[64];

        (void)snprintf(path, sizeof(path), "sys/module/%s/version", gpu->driver);
        if (gpu->driver[0] && !strchr(gpu->driver, '/') && file_read_at(root_fd, path, SMALL_FILE_BYTES, &text, NULL) == 0)
                cpu_facts_copy(gpu->driver_version, sizeof(gpu->driver_version), text, strlen(text));
}

static int compare(const void *a, const void *b) {
        return strcmp(((const GpuFacts *)a)->pci_address, ((const GpuFacts *)b)->pci_address);
}

size_t gpu_facts_read(int root_fd, GpuFacts ret[static GPUS_MAX]) {
        Gpus gpus = { .items = ret };

        read_cards(root_fd, &gpus);
        read_nvidia(root_fd, &gpus);
        for (size_t i = 0; i < gpus.n; i++)
                read_driver_version(root_fd, &ret[i]);
        qsort(ret, gpus.n, sizeof(*ret), compare);
        return gpus.n;
}
