#include "client/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/say.h"
#include "client/surroundings.h"
#include "model/quantity.h"
#include "util/file.h"

/* The kernel takes a quota of a millisecond and more. */
#define PERIOD_US 100000.0
#define CPUS_MIN 0.01
#define CPUS_MAX 1e6
#define MEMORY_MIN (UINT64_C(1) << 20)

static bool parse_one(const char *text, Limits *ret) {
        if (strncmp(text, "cpu=", 4) == 0)
                return ret->cpus == 0 && quantity_parse(text + 4, &ret->cpus) == 0 && ret->cpus >= CPUS_MIN && ret->cpus <= CPUS_MAX;
        if (strncmp(text, "memory=", 7) == 0)
                return ret->memory_bytes == 0 && quantity_parse_bytes(text + 7, &ret->memory_bytes) == 0 && ret->memory_bytes >= MEMORY_MIN;
        return false;
}

bool limits_parse(const char *text, Limits *ret) {
        scoped(freep) char *copy = strdup(text);
        Limits limits = {};
        char *rest = copy, *one;

        if (!copy)
                return false;
        while ((one = strsep(&rest, ",")))
                if (!parse_one(one, &limits))
                        return false;

        *ret = limits;
        return true;
}

static int write_file(int group_fd, const char *file, const char *text) {
        scoped(closep) int fd = openat(group_fd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

        return fd < 0 ? -errno : file_write_all(fd, text, strlen(text));
}

int limits_write(const Limits *limits, int group_fd, const char **ret_file) {
        char text[64];
        int r = 0;

        if (limits->cpus > 0) {
                (void)snprintf(text, sizeof(text), "%.0f %.0f\n", limits->cpus * PERIOD_US, PERIOD_US);
                r = write_file(group_fd, "cpu.max", text);
                if (r < 0)
                        *ret_file = "cpu.max";
        }
        if (limits->memory_bytes > 0) {
                int k;

                (void)snprintf(text, sizeof(text), "%" PRIu64 "\n", limits->memory_bytes);
                k = write_file(group_fd, "memory.max", text);
                if (k < 0 && r == 0) {
                        *ret_file = "memory.max";
                        r = k;
                }
        }
        return r;
}

static int write_to_own(const Limits *limits, const char **ret_file) {
        scoped(closep) int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
        Surroundings surroundings;
        int r;

        if (root_fd < 0)
                return -errno;
        r = surroundings_read(&surroundings, root_fd, geteuid());
        if (r < 0)
                return r;
        if (!surroundings.directory[0])
                return -ENOENT;
        fd = openat(root_fd, surroundings.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : limits_write(limits, fd, ret_file);
}

void limits_apply(const Limits *limits, Enclosure kind) {
        const char *file = "its control group";
        int r;

        if (limits->cpus == 0 && limits->memory_bytes == 0)
                return;
        if (kind != ENCLOSURE_SCOPE && kind != ENCLOSURE_CGROUP) {
                say("Running without limits: the command has no control group of its own here");
                return;
        }

        r = write_to_own(limits, &file);
        if (r == -ENOENT)
                say("Running without all of its limits: %s is not there, its controller is not enabled for this group", file);
        else if (r < 0)
                say("Running without all of its limits: %s: %s", file, strerrordesc_np(-r));
}
