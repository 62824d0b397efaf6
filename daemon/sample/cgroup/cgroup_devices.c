/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/cgroup/cgroup_devices.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "sample/kernel_text.h"
#include "util/array.h"
#include "util/file.h"
#include "util/scan.h"
#include "util/scoped.h"

#define DEVICES_MAX 1024
#define DEPTH_MAX 8
#define NUMBER_TEXT_MAX 48

void cgroup_devices_init(CgroupDevices *devices, int root_fd) {
        *devices = (CgroupDevices){
                .block_fd = openat(root_fd, "sys/dev/block", O_PATH | O_DIRECTORY | O_CLOEXEC),
        };
}

void cgroup_devices_deinit(CgroupDevices *devices) {
        closep(&devices->block_fd);
        free(devices->items);
        *devices = (CgroupDevices){ .block_fd = -1 };
}

/* --- device properties in sysfs ----------------------------------------------------------------- */

/* Parses "8:0". */
static bool read_number(int dir_fd, const char *path, uint64_t *ret_major, uint64_t *ret_minor) {
        scoped(closep) int fd = -1;
        char text[NUMBER_TEXT_MAX];
        const char *p;
        ssize_t n;

        fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
        n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
        if (n <= 0)
                return false;
        text[n] = '\0';

        p = scan_u64(text, ret_major);
        return p && *p == ':' && scan_u64(p + 1, ret_minor);
}

/* Adds a device below. I/O of a partition is counted for its disk, whose directory is the parent directory. */
static void add_lower(CgroupDevice *device, int lower_fd) {
        bool is_partition = faccessat(lower_fd, "partition", F_OK, 0) == 0;
        uint64_t major, minor;

        if (device->n_lower == CGROUP_DEVICE_LOWER_MAX)
                return;
        if (!read_number(lower_fd, is_partition ? "../dev" : "dev", &major, &minor))
                return;

        device->lower[device->n_lower].major = major;
        device->lower[device->n_lower].minor = minor;
        device->n_lower++;
}

/* Follows slaves/ recursively; its entries are links to the directories of devices. */
static void add_lowers(CgroupDevice *device, int dir_fd, unsigned depth) {
        scoped(closedirp) DIR *list = depth < DEPTH_MAX ? file_open_list(dir_fd, "slaves") : NULL;
        const struct dirent *entry;

        while (list && (entry = readdir(list))) {
                scoped(closep) int lower_fd = -1;

                if (entry->d_name[0] == '.')
                        continue;
                lower_fd = openat(dirfd(list), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (lower_fd < 0)
                        continue;
                add_lower(device, lower_fd);
                add_lowers(device, lower_fd, depth + 1);
        }
}

static bool is_name_of_disk(int block_fd, const char *number) {
        static const char *const others[] = { "loop", "ram", "zram" };
        char target[256];
        const char *name;
        ssize_t n;

        n = readlinkat(block_fd, number, target, sizeof(target) - 1);
        if (n < 0)
                return true;
        target[n] = '\0';

        name = strrchr(target, '/');
        for (size_t i = 0; name && i < N_ELEMENTS(others); i++)
                if (strncmp(name + 1, others[i], strlen(others[i])) == 0)
                        return false;
        return true;
}

static void classify(CgroupDevice *device, int block_fd, uint64_t now_ns) {
        scoped(closep) int dir_fd = -1;
        char number[NUMBER_TEXT_MAX];

        device->checked_ns = now_ns;
        device->is_disk = true;
        device->n_lower = 0;
        if (block_fd < 0)
                return;

        (void)snprintf(number, sizeof(number), "%llu:%llu", (unsigned long long)device->major,
                       (unsigned long long)device->minor);
        device->is_disk = is_name_of_disk(block_fd, number);
        dir_fd = openat(block_fd, number, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd >= 0)
                add_lowers(device, dir_fd, 0);
}

/* --- known devices ------------------------------------------------------------------------------ */

static int find(CgroupDevices *devices, const CgroupIo *io, uint64_t now_ns, const CgroupDevice **ret) {
        CgroupDevice *device = NULL;
        int r;

        for (size_t i = 0; i < devices->n && !device; i++)
                if (devices->items[i].major == io->major && devices->items[i].minor == io->minor)
                        device = &devices->items[i];

        if (!device) {
                devices->n = devices->n < DEVICES_MAX ? devices->n : 0;
                r = ARRAY_RESERVE(devices->items, devices->n_allocated, devices->n + 1);
                if (r < 0)
                        return r;
                device = &devices->items[devices->n++];
                *device = (CgroupDevice){ .major = io->major, .minor = io->minor };
                classify(device, devices->block_fd, now_ns);
        } else if (now_ns - device->checked_ns >= CGROUP_DEVICE_RECHECK_NS)
                classify(device, devices->block_fd, now_ns);

        *ret = device;
        return 0;
}

/* --- sums --------------------------------------------------------------------------------------- */

static bool counts_anything(const CgroupIo *io) {
        return (io->read_bytes | io->write_bytes | io->reads | io->writes) != 0;
}

static bool is_lower(const CgroupDevice *device, const CgroupIo *io) {
        for (size_t i = 0; i < device->n_lower; i++)
                if (device->lower[i].major == io->major && device->lower[i].minor == io->minor)
                        return true;
        return false;
}

static bool is_counted_below(const CgroupDevice *device, CgroupFile file, const char *text) {
        CgroupIo io;
        int r;

        while (device->n_lower > 0 && (r = cgroup_parse_next_io(file, &text, &io)) != CGROUP_TEXT_END)
                if (r == 0 && is_lower(device, &io) && counts_anything(&io))
                        return true;
        return false;
}

static void add_sum(CgroupFile file, const CgroupIo *sum, CgroupSample *ret) {
        if (file != CGROUP_FILE_V1_IO_COUNTS) {
                ret->read_bytes = sum->read_bytes;
                ret->write_bytes = sum->write_bytes;
        }
        if (file != CGROUP_FILE_V1_IO_BYTES) {
                ret->reads = sum->reads;
                ret->writes = sum->writes;
        }
        ret->have |= 1U << CGROUP_IO;
}

int cgroup_devices_sum(CgroupDevices *devices, CgroupFile file, const char *text, CgroupSample *ret) {
        const char *p = text;
        CgroupIo sum = {}, io;
        size_t n_valid = 0, n_skipped = 0;
        int r;

        while ((r = cgroup_parse_next_io(file, &p, &io)) != CGROUP_TEXT_END) {
                const CgroupDevice *device;

                *(r == 0 ? &n_valid : &n_skipped) += 1;
                if (r != 0 || !counts_anything(&io))
                        continue;
                r = find(devices, &io, ret->boottime_ns, &device);
                if (r < 0)
                        return r;
                if (!device->is_disk || is_counted_below(device, file, text))
                        continue;

                sum.read_bytes += io.read_bytes;
                sum.write_bytes += io.write_bytes;
                sum.reads += io.reads;
                sum.writes += io.writes;
        }
        devices->n_skipped += n_skipped;
        if (n_valid == 0 && n_skipped > 0)
                return TEXT_MALFORMED;

        add_sum(file, &sum, ret);
        return 0;
}
