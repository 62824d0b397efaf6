/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/diskstats.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "sample/kernel_text.h"
#include "util/array.h"
#include "util/scan.h"

/* The counters use this unit, whatever the sector size of the device. */
#define SECTOR_BYTES 512U

/* The first eleven columns; discards (4.18) and flushes (5.5) follow. Before 2.6.25, partitions had four columns. */
enum {
        COLUMN_READS,
        COLUMN_READS_MERGED,
        COLUMN_SECTORS_READ,
        COLUMN_READ_MS,
        COLUMN_WRITES,
        COLUMN_WRITES_MERGED,
        COLUMN_SECTORS_WRITTEN,
        COLUMN_WRITE_MS,
        COLUMN_IN_FLIGHT,
        COLUMN_IO_MS,
        COLUMN_WEIGHTED_MS,
        N_COLUMNS,
};

/* --- parsing ------------------------------------------------------------------------------------ */

/* Parses "  8       0 sda". Returns the end of the name, or NULL. */
static const char *scan_name(const char *p, uint64_t *ret_id, const char **ret_name, size_t *ret_n) {
        uint64_t major, minor;
        size_t n;

        p = scan_u64(p, &major);
        p = p ? scan_u64(p, &minor) : NULL;
        if (!p || major > UINT32_MAX || minor > UINT32_MAX)
                return NULL;
        *ret_id = major << 32 | minor;

        p = scan_blanks(p);
        n = strcspn(p, " \t\n");
        if (n == 0 || n >= DEVICE_NAME_MAX)
                return NULL;

        *ret_name = p;
        *ret_n = n;
        return p + n;
}

/* Returns the start of the next line, or NULL. */
static const char *scan_counters(const char *p, SampleDisk *disk, bool *ret_idle) {
        uint64_t column[N_COLUMNS];
        uint64_t any = 0;

        for (size_t i = 0; i < N_COLUMNS; i++) {
                p = scan_u64(p, &column[i]);
                if (!p)
                        return NULL;
                any |= column[i];
        }
        if ((*p != ' ' && *p != '\n') || column[COLUMN_SECTORS_READ] > UINT64_MAX / SECTOR_BYTES ||
            column[COLUMN_SECTORS_WRITTEN] > UINT64_MAX / SECTOR_BYTES)
                return NULL;

        disk->read_bytes = column[COLUMN_SECTORS_READ] * SECTOR_BYTES;
        disk->write_bytes = column[COLUMN_SECTORS_WRITTEN] * SECTOR_BYTES;
        disk->reads = column[COLUMN_READS];
        disk->writes = column[COLUMN_WRITES];
        disk->io_ms = column[COLUMN_IO_MS];
        *ret_idle = any == 0;
        return kernel_text_next_line(p);
}

/*
 * Adds a device to the sample unless it is hidden or has nothing to show. Returns the start of the next line, or
 * NULL.
 */
static const char *scan_disk(const char *p, DeviceListEntry *device, uint64_t id, Sample *sample) {
        SampleDisk *disk = &sample->disks[sample->n_disks];
        bool idle;

        p = scan_counters(p, disk, &idle);
        if (!p || (device->without_medium && idle)) {
                device->was_idle = true;
                return p;
        }

        disk->id = id;
        disk->began_idle = device->was_idle;

        memcpy(disk->name, device->name, sizeof(disk->name));
        disk->class = device->class.disk;
        sample->n_disks++;
        return p;
}

/* --- classification by sysfs -------------------------------------------------------------------- */

static bool is_under_virtual(int block_fd, const char *name) {
        char target[256];
        ssize_t n;

        /* EINVAL: not a link, but the directory itself, in some kernels and captured trees */
        n = readlinkat(block_fd, name, target, sizeof(target) - 1);
        if (n < 0)
                return true;
        target[n] = '\0';
        return strstr(target, "/devices/virtual/") || strncmp(target, "devices/virtual/", 16) == 0;
}

static void classify_by_sysfs(DeviceListEntry *device, int block_fd) {
        char name[DEVICE_NAME_MAX];
        struct stat st;

        /* sysfs writes cciss/c0d0 as "cciss!c0d0" */
        for (size_t i = 0; i < sizeof(name); i++)
                name[i] = device->name[i] == '/' ? '!' : device->name[i];

        if (fstatat(block_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            device_number(block_fd, name, "hidden") != 0) {
                device->is_skipped = true;
                return;
        }

        if (device_has_entries(block_fd, name, "slaves"))
                device->class.disk = DISK_VIRTUAL;
        else if (device_has(block_fd, name, "device") || !is_under_virtual(block_fd, name))
                device->class.disk = DISK_PHYSICAL;
        else
                device->class.disk = DISK_VIRTUAL;

        device->without_medium = device->class.disk == DISK_VIRTUAL &&
                                 device_number(block_fd, name, "size") == 0;
}

/* --- classification by name --------------------------------------------------------------------- */

static bool starts_with_any(const char *name, const char *const *prefixes, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
                        return true;
        return false;
}

/*
 * Returns true for sda1, xvda1, and, if the disk's own name ends with a digit, nvme0n1p1, mmcblk0p1, cciss/c0d0p1,
 * md0p1.
 */
static bool is_partition_name(const char *name) {
        static const char *const lettered[] = { "sd", "hd", "vd", "xvd", "dasd" };
        size_t n = strlen(name), n_stem = n;

        while (n_stem > 0 && isdigit((unsigned char)name[n_stem - 1]))
                n_stem--;
        if (n_stem == n || n_stem < 2)
                return false;
        if (name[n_stem - 1] == 'p' && isdigit((unsigned char)name[n_stem - 2]))
                return true;
        return starts_with_any(name, lettered, N_ELEMENTS(lettered));
}

/* Returns true for nvme0c0n1, one of several paths to the namespace nvme0n1. */
static bool is_nvme_path_name(const char *name) {
        const char *p = kernel_text_skip(name, "nvme");
        uint64_t number;

        return p && (p = scan_u64(p, &number)) && *p == 'c';
}

static void classify_by_name(DeviceListEntry *device) {
        static const char *const virtuals[] = {
                "dm-", "md", "loop", "ram", "zram", "nbd", "drbd", "bcache", "zd",
        };

        device->is_skipped = is_partition_name(device->name) || is_nvme_path_name(device->name);
        device->class.disk = starts_with_any(device->name, virtuals, N_ELEMENTS(virtuals)) ? DISK_VIRTUAL
                                                                                            : DISK_PHYSICAL;
        /* the size is unknown here; a virtual device that never did I/O is hidden */
        device->without_medium = device->class.disk == DISK_VIRTUAL;
}

static void classify(DeviceListEntry *device, int block_fd) {
        if (block_fd >= 0)
                classify_by_sysfs(device, block_fd);
        else
                classify_by_name(device);
}

/* --- list --------------------------------------------------------------------------------------- */

/* is_new: rebuild the list. */
static int parse_devices(const char *p, bool is_new, int block_fd, DeviceList *list, Sample *sample,
                         const char **ret_fault) {
        size_t i;

        sample->n_disks = 0;
        for (i = 0; *p; i++) {
                DeviceListEntry *device;
                const char *name;
                uint64_t id;
                size_t n_name;
                int r;

                p = scan_name(p, &id, &name, &n_name);
                if (!p)
                        return kernel_text_malformed("a line without a device", ret_fault);
                r = device_list_take(list, i, name, n_name, is_new, &device);
                if (r != 0)
                        return r;
                if (is_new)
                        classify(device, block_fd);

                r = ARRAY_RESERVE(sample->disks, sample->allocated.n_disks, sample->n_disks + 1);
                if (r < 0)
                        return r;
                p = device->is_skipped ? kernel_text_next_line(p) : scan_disk(p, device, id, sample);
                if (!p)
                        return kernel_text_malformed("a line that is not eleven counters", ret_fault);
        }
        return i == list->n ? 0 : DEVICE_LIST_OTHER;
}

int diskstats_parse(const char *text, int root_fd, DeviceList *list, Sample *sample, const char **ret_fault) {
        int r;

        r = parse_devices(text, false, -1, list, sample, ret_fault);
        if (r == DEVICE_LIST_OTHER) {
                scoped(closep) int block_fd = openat(root_fd, "sys/block", O_PATH | O_DIRECTORY | O_CLOEXEC);

                list->n = 0;
                r = parse_devices(text, true, block_fd, list, sample, ret_fault);
        }
        if (r != 0)
                sample->n_disks = 0;
        return r;
}
