/* SPDX-License-Identifier: Apache-2.0 */
#include "client/doctor/checks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "util/error_text.h"
#include "util/file.h"
#include "util/parse.h"
#include "util/scan.h"
#include "util/utf8.h"

/* the mount table of a node with many containers is long */
#define TEXT_BYTES_MAX ((size_t)4 << 20)

/* --- a check -------------------------------------------------------------------------------------- */

const char *check_state_name(CheckState state) {
        static const char *const names[N_CHECK_STATES] = {
                [CHECK_OK] = "ok",
                [CHECK_LIMITED] = "limited",
                [CHECK_FAILED] = "failed",
        };

        return names[state];
}

Check *checks_add(Checks *checks, const char *name) {
        Check *check = &checks->items[checks->n < CHECKS_MAX ? checks->n++ : CHECKS_MAX - 1];

        *check = (Check){ .name = name };
        return check;
}

void check_detail(Check *check, const char *format, ...) {
        va_list args;

        va_start(args, format);
        vsnprintf(check->detail, sizeof(check->detail), format, args);
        va_end(args);
}

void check_problem(Check *check, CheckState state, const char *effect, const char *fix, ...) {
        va_list args;

        check->state = state;
        utf8_copy(check->effect, sizeof(check->effect), effect);
        va_start(args, fix);
        vsnprintf(check->fix, sizeof(check->fix), fix, args);
        va_end(args);
}

size_t checks_count(const Checks *checks, CheckState state) {
        size_t n = 0;

        for (size_t i = 0; i < checks->n; i++)
                n += checks->items[i].state == state;

        return n;
}

CheckState checks_worst(const Checks *checks) {
        CheckState worst = CHECK_OK;

        for (size_t i = 0; i < checks->n; i++)
                if (checks->items[i].state > worst)
                        worst = checks->items[i].state;

        return worst;
}

/* --- files ---------------------------------------------------------------------------------------- */

static bool exists(int root_fd, const char *path) {
        return faccessat(root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

#define BLANKS " \t\n"

typedef struct CheckMount {
        char point[256]; /* with the escapes of the file */
        char type[32];
        char options[512]; /* of the file system, not of the mount */
} CheckMount;

/* Parses a line of mountinfo: "22 27 0:21 / /proc rw,relatime shared:1 - proc proc rw,hidepid=invisible" */
static bool mount_parse(const char *line, CheckMount *ret) {
        const char *newline = strchrnul(line, '\n'), *dash = strstr(line, " - ");

        return dash && dash < newline && sscanf(line, "%*s %*s %*s %*s %255s", ret->point) == 1 &&
               sscanf(dash, " - %31s %*s %511s", ret->type, ret->options) == 2;
}

/* --- the kernel ----------------------------------------------------------------------------------- */

#define KERNEL_MAJOR_MIN 5U
#define KERNEL_MINOR_MIN 4U

static void check_kernel(Checks *checks, int root_fd) {
        scoped(freep) char *release = file_read_text(root_fd, "proc/sys/kernel/osrelease", TEXT_BYTES_MAX);
        unsigned major, minor;
        Check *check;

        if (!release)
                return;

        check = checks_add(checks, "kernel");
        check_detail(check, "Linux %.*s", (int)strcspn(release, "\n"), release);
        if (sscanf(release, "%u.%u", &major, &minor) == 2 &&
            (major > KERNEL_MAJOR_MIN || (major == KERNEL_MAJOR_MIN && minor >= KERNEL_MINOR_MIN)))
                return;

        check_problem(check, CHECK_LIMITED, "an untested kernel; before 5.3, the end of a job's process is only polled",
                      "use Linux %u.%u or later", KERNEL_MAJOR_MIN, KERNEL_MINOR_MIN);
}

/* A kernel with PSI disabled may lack the file, or refuse to open or read it. */
static void check_pressure(Checks *checks, int root_fd) {
        static const char *const paths[] = { "proc/pressure/cpu", "proc/pressure/memory", "proc/pressure/io" };
        scoped(freep) char *command_line = NULL;
        const char *absent = NULL, *fix = "boot with psi=1 on the kernel command line (the kernel needs CONFIG_PSI=y)";
        Check *check = checks_add(checks, "pressure");
        int r = 0;

        for (size_t i = 0; i < N_ELEMENTS(paths) && !absent; i++) {
                scoped(freep) char *text = NULL;

                r = file_read_at(root_fd, paths[i], TEXT_BYTES_MAX, &text, NULL);
                if (r < 0)
                        absent = paths[i];
        }
        if (!absent) {
                check_detail(check, "the kernel reports pressure stall information (PSI)");
                return;
        }

        check_detail(check, "%s: %s", absent, error_text(-r));
        command_line = file_read_text(root_fd, "proc/cmdline", TEXT_BYTES_MAX);
        if (r == -EACCES || r == -EPERM)
                fix = "run perfd outside the container, or allow it to read /proc/pressure";
        else if (command_line && parse_has_word(command_line, "psi=0", BLANKS))
                fix = "remove psi=0 from the kernel command line and boot";
        check_problem(check, CHECK_LIMITED, "no waiting times for CPUs, memory and disks, of the node and of jobs",
                      "%s", fix);
}

/* --- control groups ------------------------------------------------------------------------------- */

#define OWN_NUMBERS "no CPU time, memory, I/O and number of processes of a job, only those of the node"

typedef struct CheckCgroups {
        char v2[256]; /* mount point; "" if not mounted */
        unsigned n_v1; /* number of hierarchies with a controller */
} CheckCgroups;

static void groups_find(const char *mounts, CheckCgroups *ret) {
        CheckMount mount;

        *ret = (CheckCgroups){};
        for (const char *line = mounts; *line; line = scan_line_end(line)) {
                if (!mount_parse(line, &mount))
                        continue;
                if (strcmp(mount.type, "cgroup2") == 0 && !ret->v2[0])
                        memcpy(ret->v2, mount.point, sizeof(ret->v2));
                /* systemd's own hierarchy has a name and no controller */
                if (strcmp(mount.type, "cgroup") == 0 && !strstr(mount.options, "name="))
                        ret->n_v1++;
        }
}

static void check_layout(Checks *checks, const CheckCgroups *groups) {
        Check *check = checks_add(checks, "cgroups");

        if (groups->v2[0] && groups->n_v1 == 0) {
                check_detail(check, "version 2, at %s", groups->v2);
                return;
        }
        if (!groups->v2[0] && groups->n_v1 == 0) {
                check_detail(check, "none mounted");
                check_problem(check, CHECK_LIMITED, OWN_NUMBERS, "mount -t cgroup2 none /sys/fs/cgroup");
                return;
        }

        if (groups->v2[0])
                check_detail(check, "mixed: %u controllers in version 1, version 2 at %s without them", groups->n_v1,
                             groups->v2);
        else
                check_detail(check, "version 1 only, %u controllers", groups->n_v1);
        check_problem(check, CHECK_LIMITED, "no pressure of jobs, and no notification when the last process ends",
                      "boot with systemd.unified_cgroup_hierarchy=1, or without systemd with cgroup_no_v1=all");
}

/*
 * Writes which of the required controllers are missing from a list of words, such as "io, memory"; "" if none is
 * missing.
 */
static void list_absent(const char *words, char *ret, size_t n_ret) {
        static const char *const controllers[] = { "cpu", "io", "memory", "pids" };
        size_t n = 0;

        ret[0] = '\0';
        for (size_t i = 0; i < N_ELEMENTS(controllers); i++)
                if (!parse_has_word(words, controllers[i], BLANKS))
                        n += (size_t)snprintf(ret + n, n_ret - n, "%s%s", n > 0 ? ", " : "", controllers[i]);
}

static void check_controllers(Checks *checks, int root_fd, const CheckCgroups *groups) {
        scoped(freep) char *words = NULL;
        char path[PATH_MAX], absent[64];
        Check *check;

        if (!groups->v2[0] || groups->n_v1 > 0)
                return;
        snprintf(path, sizeof(path), "%s/cgroup.controllers", groups->v2 + 1);
        words = file_read_text(root_fd, path, TEXT_BYTES_MAX);
        if (!words)
                return;

        check = checks_add(checks, "controllers");
        list_absent(words, absent, sizeof(absent));
        if (!absent[0]) {
                check_detail(check, "the kernel has cpu, io, memory and pids");
                return;
        }

        check_detail(check, "the kernel offers no %s", absent);
        check_problem(check, CHECK_LIMITED, "no metrics of jobs from these controllers",
                      "boot %s on the kernel command line",
                      strstr(absent, "memory") ? "with cgroup_enable=memory and without cgroup_disable=memory"
                                               : "without cgroup_disable= and cgroup_no_v1=");
}

#define ACCOUNTING "CPUAccounting=yes IOAccounting=yes MemoryAccounting=yes TasksAccounting=yes"

/* Chooses the fix for missing controllers, which depends on who created the group. */
static void suggest_fix_of_group(Check *check, const char *effect, const char *group) {
        const char *unit = strrchr(group, '/');
        size_t n = strlen(group);

        while (unit && unit > group && !strstr(unit, ".slice") && !strstr(unit, ".service") &&
               !strstr(unit, ".scope")) {
                n = (size_t)(unit - group);
                unit = memrchr(group, '/', n);
        }

        if (strstr(group, "slurm"))
                check_problem(check, CHECK_LIMITED, effect,
                              "set EnableControllers=yes in Slurm's cgroup.conf, and add a drop-in for "
                              "slurmd.service with [Service] Delegate=yes");
        else if (strncmp(group, "/user.slice", strlen("/user.slice")) == 0)
                check_problem(check, CHECK_LIMITED, effect,
                              "add a drop-in for user@.service with [Service] Delegate=cpu io memory pids; or "
                              "run systemctl set-property user.slice " ACCOUNTING);
        else if (unit && unit[1])
                check_problem(check, CHECK_LIMITED, effect, "run systemctl set-property %.*s " ACCOUNTING,
                              (int)(n - (size_t)(unit - group) - 1), unit + 1);
        else
                check_problem(check, CHECK_LIMITED, effect,
                              "start jobs in their own cgroup: systemd-run --scope perfctl run -- COMMAND");
}

/* Jobs started from here use the cgroup of this process, whose files determine what perfd can measure. */
static void check_own_group(Checks *checks, int root_fd, const CheckCgroups *groups) {
        scoped(freep) char *lines = file_read_text(root_fd, "proc/self/cgroup", TEXT_BYTES_MAX), *words = NULL;
        const char *line = lines ? strstr(lines, "0::") : NULL;
        char path[PATH_MAX], group[512] = "", absent[64];
        Check *check;

        if (!groups->v2[0] || groups->n_v1 > 0 || !line || sscanf(line, "0::%511[^\n]", group) != 1)
                return;
        /* Groups outside the cgroup namespace are not visible. */
        snprintf(path, sizeof(path), "%s%s/cgroup.controllers", groups->v2 + 1, group);
        words = strstr(group, "/..") ? NULL : file_read_text(root_fd, path, TEXT_BYTES_MAX);
        if (!words)
                return;

        check = checks_add(checks, "own cgroup");
        if (strcmp(group, "/") == 0) {
                check_detail(check, "processes of this user are in the root group");
                suggest_fix_of_group(check, OWN_NUMBERS, group);
                return;
        }
        list_absent(words, absent, sizeof(absent));
        check_detail(check, "%s has %s%s", group, absent[0] ? "no " : "all controllers", absent);
        if (!absent[0])
                return;
        suggest_fix_of_group(check, "no metrics from these controllers for jobs started here", group);
}

/* --- other mounts --------------------------------------------------------------------------------- */

/* Writes the value of a mount option: "invisible" in "hidepid=invisible"; "" if the option is missing. */
static void find_option(const char *options, const char *name, char *ret, size_t n_ret) {
        size_t n = strlen(name);

        ret[0] = '\0';
        for (const char *p = options; *p; p += strcspn(p, ","), p += *p == ',')
                if (strncmp(p, name, n) == 0 && p[n] == '=')
                        snprintf(ret, n_ret, "%.*s", (int)strcspn(p + n + 1, ","), p + n + 1);
}

static void check_hidden_processes(Checks *checks, const char *mounts) {
        char hidden[32] = "", group[32] = "";
        Check *check = checks_add(checks, "processes");
        CheckMount mount;

        for (const char *line = mounts; *line; line = scan_line_end(line)) {
                if (!mount_parse(line, &mount) || strcmp(mount.type, "proc") != 0 || strcmp(mount.point, "/proc") != 0)
                        continue;
                find_option(mount.options, "hidepid", hidden, sizeof(hidden));
                find_option(mount.options, "gid", group, sizeof(group));
        }

        if (!hidden[0] || strcmp(hidden, "0") == 0 || strcmp(hidden, "off") == 0) {
                check_detail(check, "visible to perfd for all users");
                return;
        }

        if (group[0]) {
                check_detail(check, "/proc is mounted with hidepid=%s,gid=%s: perfd needs that group: "
                                    "SupplementaryGroups= in a drop-in for perfd.service", hidden, group);
                return;
        }
        check_detail(check, "/proc is mounted with hidepid=%s", hidden);
        check_problem(check, CHECK_LIMITED,
                      "processes of other users are invisible: their jobs are recorded without a process, whose end "
                      "is not noticed",
                      "mount /proc with gid=GROUP in addition to hidepid, and add a drop-in for perfd.service with "
                      "[Service] SupplementaryGroups=GROUP");
}

static void check_container(Checks *checks, int root_fd) {
        static const char *const hints[] = { "docker", "kubepods", "containerd", "libpod", "/lxc/", "lxc.payload" };
        scoped(freep) char *group = file_read_text(root_fd, "proc/1/cgroup", TEXT_BYTES_MAX);
        scoped(freep) char *release = file_read_text(root_fd, "proc/sys/kernel/osrelease", TEXT_BYTES_MAX);
        Check *check = checks_add(checks, "machine");
        const char *found = NULL;

        if (exists(root_fd, ".dockerenv"))
                found = "/.dockerenv";
        else if (exists(root_fd, "run/.containerenv"))
                found = "/run/.containerenv";
        else if (exists(root_fd, "run/systemd/container"))
                found = "/run/systemd/container";
        for (size_t i = 0; group && !found && i < N_ELEMENTS(hints); i++)
                if (strstr(group, hints[i]))
                        found = hints[i];

        if (release && strcasestr(release, "microsoft")) {
                check_detail(check, "Windows Subsystem for Linux: %.*s", (int)strcspn(release, "\n"), release);
                check_problem(check, CHECK_LIMITED, "all metrics describe the virtual machine of WSL, not the machine",
                              "run perfd on a Linux machine");
        } else if (found) {
                check_detail(check, "running in a container (%s)", found);
                check_problem(check, CHECK_LIMITED,
                              "CPUs and memory may be of the whole host; file systems, network and processes only of "
                              "the container",
                              "run perfd on the host; perfctl works in the container if /run/perfd is mounted there");
        } else
                check_detail(check, "no container");
}

static void check_open_files(Checks *checks, int root_fd) {
        scoped(freep) char *text = file_read_text(root_fd, "proc/sys/fs/file-nr", TEXT_BYTES_MAX);
        uint64_t n, n_max;
        Check *check;

        if (!text || sscanf(text, "%" SCNu64 " %*u %" SCNu64, &n, &n_max) != 2 || n_max == 0)
                return;

        check = checks_add(checks, "open files");
        if (n_max > (uint64_t)INT64_MAX / 2)
                check_detail(check, "%ju on this machine, without a limit", (uintmax_t)n);
        else
                check_detail(check, "%ju of %ju on this machine", (uintmax_t)n, (uintmax_t)n_max);
        if (n < n_max - n_max / 10)
                return;
        check_problem(check, CHECK_FAILED, "connections and samples fail when no file can be opened",
                      "run sysctl fs.file-max=%ju, and find the process that holds the files", (uintmax_t)n_max * 2);
}

/* --- systemd -------------------------------------------------------------------------------------- */

static bool is_installed(int root_fd, const char *unit) {
        static const char *const folders[] = {
                "etc/systemd/system",
                "usr/local/lib/systemd/system",
                "usr/lib/systemd/system",
                "lib/systemd/system",
        };
        char path[256];

        for (size_t i = 0; i < N_ELEMENTS(folders); i++) {
                snprintf(path, sizeof(path), "%s/%s", folders[i], unit);
                if (exists(root_fd, path))
                        return true;
        }

        return false;
}

static bool is_masked(int root_fd, const char *unit) {
        char path[256], target[16] = "";

        snprintf(path, sizeof(path), "etc/systemd/system/%s", unit);
        return readlinkat(root_fd, path, target, sizeof(target) - 1) > 0 && strcmp(target, "/dev/null") == 0;
}

/* Finds the state that `systemctl is-enabled` shows, without contacting systemd. */
static void check_unit(Checks *checks, int root_fd, const char *unit, const char *target) {
        Check *check = checks_add(checks, unit);
        char path[256];

        snprintf(path, sizeof(path), "etc/systemd/system/%s.wants/%s", target, unit);
        if (!is_installed(root_fd, unit)) {
                check_detail(check, "not installed as a unit");
                check_problem(check, CHECK_LIMITED, "perfd does not start automatically",
                              "install perfd's package, or make install");
        } else if (is_masked(root_fd, unit)) {
                check_detail(check, "masked");
                check_problem(check, CHECK_LIMITED, "perfd cannot be started",
                              "systemctl unmask %s && systemctl enable --now %s", unit, unit);
        } else if (!exists(root_fd, path)) {
                check_detail(check, "installed and disabled");
                check_problem(check, CHECK_LIMITED, "perfd does not start at the next boot",
                              "systemctl enable --now %s", unit);
        } else
                check_detail(check, "enabled");
}

/* --- all checks ----------------------------------------------------------------------------------- */

void checks_add_tree(Checks *checks, int root_fd) {
        scoped(freep) char *mounts = file_read_text(root_fd, "proc/self/mountinfo", TEXT_BYTES_MAX);
        CheckCgroups groups;

        check_kernel(checks, root_fd);
        check_container(checks, root_fd);
        check_pressure(checks, root_fd);
        if (mounts) {
                groups_find(mounts, &groups);
                check_layout(checks, &groups);
                check_controllers(checks, root_fd, &groups);
                check_own_group(checks, root_fd, &groups);
                check_hidden_processes(checks, mounts);
        }
        check_open_files(checks, root_fd);
        if (exists(root_fd, "run/systemd/system")) {
                check_unit(checks, root_fd, "perfd.socket", "sockets.target");
                check_unit(checks, root_fd, "perfd.service", "multi-user.target");
        }
}
