/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cgroup/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/message.h"
#include "client/cgroup/cgroup_context.h"
#include "client/cgroup/quantity.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/parse.h"
#include "util/scan.h"

#define PERIOD_US 100000.0

static bool parse_one(const char *text, RunLimits *ret) {
        const char *equals = strchr(text, '=');
        const char *amount = equals ? equals + 1 : "";
        const Value value = { .type = VALUE_STRING, .string = amount };

        if (strncmp(text, "cpu=", 4) == 0)
                return ret->cpus == 0 && quantity_read(&value, &ret->cpus) && limit_cpus_is_valid(ret->cpus);
        if (strncmp(text, "memory=", 7) == 0)
                return ret->memory_bytes == 0 && parse_size(amount, &ret->memory_bytes) == 0 &&
                       limit_memory_is_valid(ret->memory_bytes);
        return false;
}

/* Names the unit if only the unit of a value is wrong. */
static void complain(const char *one, char ret_error[static LIMITS_ERROR_MAX]) {
        const char *equals = strchr(one, '='), *number = equals ? equals + 1 : "";
        const char *unit = number + strspn(number, "0123456789.");
        bool is_cpu = strncmp(one, "cpu=", 4) == 0;
        const Value value = { .type = VALUE_STRING, .string = number };
        uint64_t bytes;
        double v;

        if (unit > number && *unit && !strpbrk(unit, " =") &&
            (is_cpu ? !quantity_read(&value, &v) : parse_size(number, &bytes) == PARSE_MALFORMED))
                (void)snprintf(ret_error, LIMITS_ERROR_MAX, "%.80s: '%.40s' is not a unit: use %s", one, unit,
                               is_cpu ? "m for thousandths of a CPU, or none" : "K, M, G or T (powers of 1024)");
        else
                (void)snprintf(ret_error, LIMITS_ERROR_MAX, "expects " LIMITS_EXPECTED ", not '%.80s'", one);
}

bool limits_parse(const char *text, RunLimits *ret, char ret_error[static LIMITS_ERROR_MAX]) {
        scoped(freep) char *copy = strdup(text);
        RunLimits limits = {};
        char *rest = copy, *one;

        (void)snprintf(ret_error, LIMITS_ERROR_MAX, "out of memory");
        if (!copy)
                return false;
        while ((one = strsep(&rest, ",")))
                if (!parse_one(one, &limits)) {
                        complain(one, ret_error);
                        return false;
                }

        *ret = limits;
        return true;
}

static int write_file(int group_fd, const char *file, const char *text) {
        scoped(closep) int fd = openat(group_fd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

        return fd < 0 ? -errno : file_write_all(fd, text, strlen(text));
}

static int write_cpus(double cpus, int group_fd) {
        char text[64];

        (void)snprintf(text, sizeof(text), "%.0f %.0f\n", cpus * PERIOD_US, PERIOD_US);
        return write_file(group_fd, "cpu.max", text);
}

/* A kernel without swap, or that does not account for it, has no file for it. */
static int write_memory(uint64_t bytes, int group_fd) {
        char text[64];
        int r;

        (void)snprintf(text, sizeof(text), "%" PRIu64 "\n", bytes);
        r = write_file(group_fd, "memory.max", text);
        if (r == 0)
                (void)write_file(group_fd, "memory.swap.max", "0\n");
        return r;
}

int limits_write(const RunLimits *limits, int group_fd, const char **ret_file) {
        int cpu = limits->cpus > 0 ? write_cpus(limits->cpus, group_fd) : 0;
        int memory = limits->memory_bytes > 0 ? write_memory(limits->memory_bytes, group_fd) : 0;

        if (cpu < 0)
                *ret_file = memory < 0 ? "cpu.max and memory.max" : "cpu.max";
        else if (memory < 0)
                *ret_file = "memory.max";
        return cpu < 0 ? cpu : memory;
}

/* *ret_fd: of the group's directory; caller closes. */
static int open_own(int *ret_fd) {
        scoped(closep) int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CgroupContext context;
        int r;

        if (root_fd < 0)
                return -errno;
        r = cgroup_context_read(&context, root_fd, geteuid());
        if (r < 0)
                return r;
        if (!context.directory[0])
                return -ENOENT;
        *ret_fd = openat(root_fd, context.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return *ret_fd < 0 ? -errno : 0;
}

void limits_apply(const RunLimits *limits, Isolation kind, const char *reason) {
        scoped(closep) int fd = -1;
        const char *file = "its control group";
        int r;

        if (!limits_are_set(limits))
                return;
        if (kind != ISOLATION_SCOPE && kind != ISOLATION_CGROUP) {
                message_print("limits not applied: %s", reason[0] ? reason : "no control group for the job");
                return;
        }

        r = open_own(&fd);
        if (r == 0)
                r = limits_write(limits, fd, &file);
        if (r == -ENOENT)
                message_print("limits not applied: the %.*s controller is not enabled for the job's cgroup",
                              (int)strcspn(file, "."), file);
        else if (r < 0)
                message_print("limits not applied: %s: %s", file, error_text(-r));
}

uint64_t limits_parse_kills(const char *text) {
        uint64_t n;

        for (const char *p = text; *p; p = scan_line_end(p))
                if (strncmp(p, "oom_kill ", 9) == 0 && scan_u64(p + 9, &n))
                        return n;
        return 0;
}

uint64_t limits_count_kills(void) {
        scoped(freep) char *text = NULL;
        scoped(closep) int fd = -1;

        if (open_own(&fd) < 0 || file_read_at(fd, "memory.events", 4096, &text, NULL) < 0)
                return 0;
        return limits_parse_kills(text);
}
