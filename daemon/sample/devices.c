/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/devices.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "sample/kernel_text.h"
#include "util/array.h"
#include "util/file.h"
#include "util/scan.h"

#define PATH_MAX_SYSFS 96

void device_list_deinit(DeviceList *list) {
        free(list->items);
        *list = (DeviceList){};
}

int device_list_take(DeviceList *list, size_t i, const char *name, size_t n_name, bool is_new, DeviceListEntry **ret) {
        DeviceListEntry *device;

        if (!is_new && i >= list->n)
                return DEVICE_LIST_OTHER;
        if (is_new && ARRAY_RESERVE(list->items, list->n_allocated, i + 1) < 0)
                return -ENOMEM;

        device = &list->items[i];
        if (is_new) {
                *device = (DeviceListEntry){ .n_name = n_name };
                memcpy(device->name, name, n_name);
                list->n = i + 1;
        } else if (device->n_name != n_name || memcmp(device->name, name, n_name) != 0)
                return DEVICE_LIST_OTHER;

        *ret = device;
        return 0;
}

bool device_has(int dir_fd, const char *name, const char *leaf) {
        char path[PATH_MAX_SYSFS];
        struct stat st;

        snprintf(path, sizeof(path), "%s/%s", name, leaf);
        return fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool device_has_entries(int dir_fd, const char *name, const char *leaf) {
        scoped(closedirp) DIR *list = NULL;
        char path[PATH_MAX_SYSFS];
        const struct dirent *entry;
        bool found = false;

        snprintf(path, sizeof(path), "%s/%s", name, leaf);
        list = file_open_list(dir_fd, path);

        /* no entry of sysfs starts with a dot, except "." and ".." */
        while (list && !found && (entry = readdir(list)))
                found = entry->d_name[0] != '.';
        return found;
}

uint64_t device_number(int dir_fd, const char *name, const char *leaf) {
        scoped(closep) int fd = -1;
        char path[PATH_MAX_SYSFS];
        char text[32];
        uint64_t v;
        ssize_t n;

        snprintf(path, sizeof(path), "%s/%s", name, leaf);
        fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return 0;

        n = read(fd, text, sizeof(text) - 1);
        if (n <= 0)
                return 0;
        text[n] = '\0';
        return scan_u64(text, &v) ? v : 0;
}
