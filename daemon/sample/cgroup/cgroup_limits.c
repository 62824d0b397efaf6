/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/cgroup/cgroup_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sample/cgroup/cgroup_parse.h"
#include "util/scoped.h"

/* the longest texts are CPU lists */
#define LIMIT_TEXT_MAX 4096
/* maximum number of levels above that are read; longer paths are possible */
#define ABOVE_MAX 64
#define UP "../"

void cgroup_limits_init(CgroupLimits *limits) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                limits->directories[h].fd = -1;
}

void cgroup_limits_deinit(CgroupLimits *limits) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                closep(&limits->directories[h].fd);
        cgroup_limits_init(limits);
}

bool cgroup_limits_are_in(Hierarchy hierarchy) {
        return hierarchy == HIERARCHY_V2 || hierarchy == HIERARCHY_CPU || hierarchy == HIERARCHY_CPUSET ||
               hierarchy == HIERARCHY_MEMORY;
}

void cgroup_limits_add(CgroupLimits *limits, Hierarchy hierarchy, int fd, unsigned n_above) {
        limits->directories[hierarchy].fd = fd;
        limits->directories[hierarchy].n_above = n_above < ABOVE_MAX ? n_above : ABOVE_MAX;
}

/* Reads a file of the group n_up levels above. Returns false if the file is missing or malformed. */
static bool read_file(int dir_fd, unsigned n_up, CgroupFile file, const char *name, CgroupSample *ret) {
        char path[ABOVE_MAX * (sizeof(UP) - 1) + 32], text[LIMIT_TEXT_MAX];
        scoped(closep) int fd = -1;
        size_t n_path = 0;
        ssize_t n;

        for (unsigned i = 0; i < n_up; i++, n_path += sizeof(UP) - 1)
                memcpy(path + n_path, UP, sizeof(UP) - 1);
        memcpy(path + n_path, name, strlen(name) + 1);

        fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return false;

        do
                n = read(fd, text, sizeof(text) - 1);
        while (n < 0 && errno == EINTR);
        if (n < 0 || (size_t)n == sizeof(text) - 1)
                return false;
        text[n] = '\0';
        return cgroup_parse_file(file, text, ret) == 0;
}

/* --- CPU ---------------------------------------------------------------------------------------- */

static bool is_less_cpu(const CgroupSample *a, const CgroupSample *b) {
        if (a->quota_us == CGROUP_NO_LIMIT || b->quota_us == CGROUP_NO_LIMIT)
                return a->quota_us < b->quota_us;
        return (double)a->quota_us / (double)a->period_us < (double)b->quota_us / (double)b->period_us;
}

static bool read_cpu(int dir_fd, unsigned n_up, Hierarchy hierarchy, CgroupSample *ret) {
        if (hierarchy == HIERARCHY_V2)
                return read_file(dir_fd, n_up, CGROUP_FILE_CPU_MAX, "cpu.max", ret);
        return read_file(dir_fd, n_up, CGROUP_FILE_V1_QUOTA, "cpu.cfs_quota_us", ret) &&
               read_file(dir_fd, n_up, CGROUP_FILE_V1_PERIOD, "cpu.cfs_period_us", ret) && ret->period_us > 0;
}

static void find_cpu(int dir_fd, unsigned n_above, Hierarchy hierarchy, CgroupSample *ret) {
        bool has_any = false;

        for (unsigned n_up = 0; n_up <= n_above; n_up++) {
                CgroupSample level = {};

                if (!read_cpu(dir_fd, n_up, hierarchy, &level) || (has_any && !is_less_cpu(&level, ret)))
                        continue;
                ret->quota_us = level.quota_us;
                ret->period_us = level.period_us;
                ret->have |= 1U << CGROUP_CPU_LIMIT;
                has_any = true;
        }
}

/* --- memory ------------------------------------------------------------------------------------- */

static bool read_memory(int dir_fd, unsigned n_up, Hierarchy hierarchy, CgroupSample *ret) {
        if (hierarchy == HIERARCHY_V2)
                return read_file(dir_fd, n_up, CGROUP_FILE_MEMORY_MAX, "memory.max", ret);
        return read_file(dir_fd, n_up, CGROUP_FILE_V1_MEMORY_LIMIT, "memory.limit_in_bytes", ret);
}

static void find_memory(int dir_fd, unsigned n_above, Hierarchy hierarchy, CgroupSample *ret) {
        bool has_any = false;

        for (unsigned n_up = 0; n_up <= n_above; n_up++) {
                CgroupSample level = {};

                if (!read_memory(dir_fd, n_up, hierarchy, &level) ||
                    (has_any && level.memory_limit_bytes >= ret->memory_limit_bytes))
                        continue;
                ret->memory_limit_bytes = level.memory_limit_bytes;
                ret->have |= 1U << CGROUP_MEMORY_LIMIT;
                has_any = true;
        }
}

/* --- CPU sets ----------------------------------------------------------------------------------- */

/* Since 4.2, v1 has a file with the effective CPUs; older kernels have only the configured CPUs. */
static void find_cpuset(int dir_fd, unsigned n_above, Hierarchy hierarchy, CgroupSample *ret) {
        CgroupSample level = {};
        bool has = false;

        /* without the controller, the nearest group above that has the file determines the CPUs */
        for (unsigned n_up = 0; n_up <= n_above && !has; n_up++)
                has = hierarchy == HIERARCHY_V2
                              ? read_file(dir_fd, n_up, CGROUP_FILE_CPUSET, "cpuset.cpus.effective", &level)
                              : read_file(dir_fd, n_up, CGROUP_FILE_V1_CPUSET, "cpuset.effective_cpus", &level) ||
                                        read_file(dir_fd, n_up, CGROUP_FILE_V1_CPUSET, "cpuset.cpus", &level);
        if (!has)
                return;
        ret->n_cpus = level.n_cpus;
        ret->have |= 1U << CGROUP_CPUSET;
}

void cgroup_limits_read(const CgroupLimits *limits, CgroupSample *ret) {
        ret->have &= ~CGROUP_LIMIT_PARTS;
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++) {
                int fd = limits->directories[h].fd;
                unsigned n_above = limits->directories[h].n_above;

                if (fd < 0)
                        continue;
                if (h == HIERARCHY_V2 || h == HIERARCHY_CPU)
                        find_cpu(fd, n_above, h, ret);
                if (h == HIERARCHY_V2 || h == HIERARCHY_CPUSET)
                        find_cpuset(fd, n_above, h, ret);
                if (h == HIERARCHY_V2 || h == HIERARCHY_MEMORY)
                        find_memory(fd, n_above, h, ret);
        }
}
