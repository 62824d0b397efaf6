/* SPDX-License-Identifier: Apache-2.0 */
#include "client/doctor/checks.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>

#include "client/api/answer.h"
#include "client/deliver/spool.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/scan.h"

/* --- permissions of the user ---------------------------------------------------------------------- */

void checks_live_add_socket(Checks *checks, const char *name, const char *path) {
        Check *check = checks_add(checks, name);
        struct stat st;

        if (stat(path, &st) < 0) {
                check_detail(check, "%s: %s", path, error_text(errno));
                check_problem(check, CHECK_FAILED, "all requests through this socket fail",
                            "systemctl enable --now perfd.socket perfd.service, or pass the path with --%s; "
                            "in a container: mount /run/perfd of the host there", name);
                return;
        }
        if (!S_ISSOCK(st.st_mode)) {
                check_detail(check, "%s is not a socket", path);
                check_problem(check, CHECK_FAILED, "all requests through this socket fail",
                            "remove it, and systemctl restart perfd.socket");
                return;
        }

        check_detail(check, "%s, mode %04o of uid %u", path, st.st_mode & 07777, st.st_uid);
        if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
                return;
        check_problem(check, CHECK_FAILED, "all requests of this user fail: the socket is not writable",
                    "a drop-in for perfd.socket with [Socket] SocketMode=0666");
}

void checks_live_add_clock(Checks *checks) {
        Check *check = checks_add(checks, "clock");
        struct timex timex = {};
        int r = adjtimex(&timex);

        if (r < 0) {
                check_detail(check, "cannot be read: %s", error_text(errno));
                return;
        }
        if (r != TIME_ERROR && !(timex.status & STA_UNSYNC)) {
                check_detail(check, "synchronised, within %.0f ms", (double)timex.maxerror / 1e3);
                return;
        }

        check_detail(check, "not synchronised");
        check_problem(check, CHECK_LIMITED, "times are not comparable with those of other nodes; durations are exact",
                    "timedatectl set-ntp true, or run chronyd");
}

/* Returns true if the directory is writable, or can be created. */
static bool can_write_below(const char *directory) {
        char path[PATH_MAX];
        const char *parent = path;

        snprintf(path, sizeof(path), "%s", directory);
        while (faccessat(AT_FDCWD, parent, F_OK, AT_EACCESS) < 0 && errno == ENOENT)
                parent = dirname(path);

        return faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) == 0;
}

void checks_live_add_spool(Checks *checks, const char *directory) {
        Check *check = checks_add(checks, "spool");
        struct dirent **entries;
        size_t n = 0;
        int r;

        if (!directory || !can_write_below(directory)) {
                check_detail(check, "%s", directory ? directory : "this user has no home directory");
                check_problem(check, CHECK_FAILED, "results are lost while perfd is unavailable",
                            "make it writable for this user, or use --spool");
                return;
        }

        r = spool_list(directory, &entries, &n);
        if (r == 0)
                spool_entries_free(entries, n);
        if (r < 0) {
                check_detail(check, "%s: %s", directory, error_text(-r));
                check_problem(check, CHECK_FAILED, "results that may be kept there cannot be sent",
                              "make it readable for this user");
                return;
        }

        check_detail(check, "%zu files waiting in %s", n, directory);
        if (n == 0)
                return;
        check_problem(check, n < SPOOL_FILES_MAX ? CHECK_LIMITED : CHECK_FAILED,
                      n < SPOOL_FILES_MAX ? "these results are not stored until they are sent"
                                          : "the spool is full: new results are lost",
                      "perfctl flush");
}

/* --- answers of perfd ----------------------------------------------------------------------------- */

bool checks_live_find_metric(const char *metrics, const char *name, double *ret) {
        size_t n = strlen(name);

        for (const char *line = metrics; *line; line = scan_line_end(line)) {
                char *end;
                double v;

                if (strncmp(line, name, n) != 0 || line[n] != ' ')
                        continue;
                v = strtod(line + n, &end);
                if (end == line + n)
                        continue;
                *ret = v;
                return true;
        }

        return false;
}

static void check_store(Checks *checks, const Value *store) {
        double size = answer_number_or_zero(store, "size_bytes"),
               limit = answer_number_or_zero(store, "size_limit_bytes");
        char size_text[TEXT_MAX], limit_text[TEXT_MAX];
        Check *check = checks_add(checks, "store");

        text_mib(size / 1048576, size_text);
        text_mib(limit / 1048576, limit_text);
        if (!answer_flag(store, "writable")) {
                check_detail(check, "not writable: %s", answer_text(store, "error"));
                check_problem(check, CHECK_FAILED, "new samples, jobs and results are lost",
                            "free space on its file system, or set directory= in [store] of perfd.conf; perfd retries "
                            "automatically");
                return;
        }

        check_detail(check, "writable, %s of %s used", size_text, limit_text);
        if (limit > 0 && size >= 0.9 * limit) {
                check_problem(check, CHECK_LIMITED,
                              "the oldest samples, jobs and results are deleted when the limit is reached",
                              "increase max_size= in [store] of perfd.conf, or shorten the retention times");
        }
}

/* A failing disk may damage other pages as well. */
static void check_damage(Checks *checks, const Value *store) {
        const char *sync_error = answer_text(store, "sync_error");
        Check *check;

        if (answer_number_or_zero(store, "damaged_files") > 0) {
                check = checks_add(checks, "damage");
                check_detail(check, "%s", answer_text(store, answer_flag(store, "salvaging") ? "damage" : "salvage"));
                check_problem(check, CHECK_LIMITED, "rows on damaged pages are lost",
                            "check the disk and the memory of the node; then restart perfd, and remove the damaged "
                            "file");
        }
        if (*sync_error) {
                check = checks_add(checks, "sync");
                check_detail(check, "the database file cannot be written: %s", sync_error);
                check_problem(check, CHECK_FAILED, "results are refused when the write-ahead log has reached its limit",
                            "free space on its file system, or repair the disk; perfd retries automatically");
        }
}

/* `http` is absent from the answer of an older perfd. */
static void check_http_port(Checks *checks, const Value *http) {
        const char *error = answer_text(http, "error"), *address = answer_text(http, "address");
        Check *check;

        if (!http)
                return;
        check = checks_add(checks, "http-port");
        check_detail(check, "%s", *error ? error : *address ? address : "off");
        if (*error)
                check_problem(check, CHECK_FAILED,
                              "no web pages and no scrapes over TCP; jobs, sampling and perfctl do not need the port",
                              "free the port, which perfd tries again at each sample; or change listen= in [http] of "
                              "perfd.conf, then systemctl reload perfd");
}

/* Absent as well. */
static void check_configuration(Checks *checks, const Value *configuration) {
        const char *error = answer_text(configuration, "error"), *restart = answer_text(configuration, "restart");
        const char *edited = answer_text(configuration, "edited"), *ignored = answer_text(configuration, "ignored");
        const char *unknown = answer_text(configuration, "unknown_names");
        Check *check;

        if (!configuration)
                return;
        check = checks_add(checks, "configuration");
        if (*error) {
                check_detail(check, "%s", error);
                check_problem(check, CHECK_FAILED,
                              "the previous settings are still active, and the next start will fail",
                              "correct the files, then systemctl reload perfd");
        } else if (*edited) {
                check_detail(check, "%s was edited and not reloaded", edited);
                check_problem(check, CHECK_LIMITED, "the previous settings are active until a reload or a restart",
                            "perfd --check-config, then systemctl reload perfd");
        } else if (*unknown) {
                check_detail(check, "unknown users or groups: %s", unknown);
                check_problem(check, CHECK_LIMITED, "they have no rights until an attempt finds them, each minute",
                              "getent passwd USER, getent group GROUP: check the directory service or the names");
        } else if (*restart) {
                check_detail(check, "settings wait for a restart: %s", restart);
                check_problem(check, CHECK_LIMITED, "the previous values of these settings are still active",
                              "systemctl restart perfd");
        } else if (*ignored) {
                check_detail(check, "settings without effect: %s", ignored);
                check_problem(check, CHECK_LIMITED,
                              "systemd opens the sockets, with the paths and the mode of perfd.socket",
                              "systemctl edit perfd.socket: set ListenStream= and SocketMode=, then systemctl restart "
                              "perfd.socket perfd.service; and remove the settings from perfd.conf");
        } else
                check_detail(check, "the files are in force");
}

static void check_durability(Checks *checks, const Value *store) {
        Check *check;

        if (!answer_flag(store, "volatile"))
                return;
        check = checks_add(checks, "durability");
        check_detail(check, "the store is volatile");
        check_problem(check, CHECK_LIMITED, "jobs and results are lost at the next boot",
                    "set volatile=no in [store] of perfd.conf, on a node with a disk");
}

#define ENERGY_SOURCE "energy"

static void check_energy(Checks *checks, const Value *sources) {
        const Value *source = answer_find(sources, "name", ENERGY_SOURCE);
        const char *error = answer_text(source, "error");
        Check *check = checks_add(checks, "energy");

        if (!source) {
                check_detail(check, "no meter: a virtual machine, or the module intel_rapl_msr is not loaded");
                return;
        }
        if (answer_flag(source, "up")) {
                check_detail(check, "processors and memory have meters (RAPL)");
                return;
        }
        check_detail(check, "%s", error);
        check_problem(check, CHECK_LIMITED, "no energy of the node and of jobs", "%s",
                      strstr(error, error_text(EACCES))
                              ? "install 60-perfd.rules of perfd's package; then udevadm control --reload && udevadm "
                                "trigger --action=change --subsystem-match=powercap"
                              : "look for the reason in the kernel's log: journalctl -k --grep=rapl");
}

#define GPU_SOURCE "gpu"

static void check_gpus(Checks *checks, const Value *sources, const Value *gpus) {
        const Value *source = answer_find(sources, "name", GPU_SOURCE);
        const char *error = answer_text(source, "error");
        scoped(buffer_deinit) Buffer wrong = {};
        Check *check;

        if (!source)
                return;
        check = checks_add(checks, "gpus");
        for (size_t i = 0; i < answer_length(gpus); i++)
                if (strcmp(answer_text(&gpus->items[i], "state"), "ok") != 0)
                        buffer_printf(&wrong, "%sGPU %s: %s", wrong.n > 0 ? "; " : "",
                                      answer_text(&gpus->items[i], "gpu"), answer_text(&gpus->items[i], "state"));
        if (!answer_flag(source, "up") || *error) { /* GPUs of another maker may be there */
                check_detail(check, "%s", error);
                check_problem(check, CHECK_FAILED, "no numbers of GPUs, neither of the node nor of jobs",
                              strstr(error, "amdgpu") ? "look for amdgpu in journalctl -k"
                                                      : "systemctl status perfd-gpu, and perfd-gpu(8)");
        } else if (wrong.n > 0) {
                check_detail(check, "%s", wrong.text);
                check_problem(check, CHECK_FAILED, "programs that use it fail",
                              "look for NVRM in journalctl -k, and reset the GPU or restart the node");
        } else
                check_detail(check, "%zu are read", answer_length(gpus));
}

#define SYMBOL_ERRORS_MIN 10.0 /* per hour: fewer are within what the specification of InfiniBand allows a link */
#define LINK_DOWNS_MIN 2.0     /* drivers count the first initialization */

/* Writes what is wrong with a port. A port that never sent anything may have no cable. */
static void put_port(Buffer *out, const Value *port) {
        double hours = (double)clock_boottime_ns() / (3600 * (double)NS_PER_S), active = 1;
        double n_symbol_errors = answer_number_or_zero(port, "fabric_symbol_errors");
        double n_downs = answer_number_or_zero(port, "fabric_link_downs");
        const char *before = out->n > 0 ? "; " : "", *name = answer_text(port, "port");

        if (value_get(port, "fabric_active"))
                active = answer_number_or_zero(port, "fabric_active");
        if (active == 0 && (answer_number_or_zero(port, "fabric_sent_packets") > 0 ||
                            answer_number_or_zero(port, "fabric_sent_bytes") > 0))
                buffer_printf(out, "%s%s is %s, and was in use", before, name, answer_text(port, "state"));
        else if (n_symbol_errors >= SYMBOL_ERRORS_MIN && n_symbol_errors >= SYMBOL_ERRORS_MIN * hours)
                buffer_printf(out, "%s%s: %.0f symbol errors, %.0f per hour since boot", before, name, n_symbol_errors,
                              n_symbol_errors / (hours > 1 ? hours : 1));
        else if (n_downs >= LINK_DOWNS_MIN)
                buffer_printf(out, "%s%s went down %.0f times since boot", before, name, n_downs);
}

static void check_fabric(Checks *checks, const Value *ports) {
        scoped(buffer_deinit) Buffer wrong = {};
        double n_active = 0;
        Check *check;

        if (answer_length(ports) == 0)
                return;
        check = checks_add(checks, "fabric");
        for (size_t i = 0; i < answer_length(ports); i++) {
                n_active += answer_number_or_zero(&ports->items[i], "fabric_active");
                put_port(&wrong, &ports->items[i]);
        }
        check_detail(check, "%.0f of %zu ports active%s%s", n_active, answer_length(ports), wrong.n > 0 ? "; " : "",
                     wrong.text ?: "");
        if (wrong.n > 0)
                check_problem(check, CHECK_LIMITED, "jobs over several nodes may be slow or fail",
                              "check the cable, the transceiver and the port of the switch: ibstat, perfquery -x, "
                              "dmesg");
}

/* Only root can enter debugfs, where Lustre and CephFS have their statistics, and read those of CephFS. */
static void check_network_filesystems(Checks *checks, const Value *filesystems) {
        const char *error = "", *name = "";
        size_t n_failed = 0;
        Check *check;

        if (answer_length(filesystems) == 0)
                return;
        check = checks_add(checks, "netfs");
        for (size_t i = 0; i < answer_length(filesystems); i++) {
                const char *one = answer_text(&filesystems->items[i], "error");

                if (*one && n_failed++ == 0) {
                        error = one;
                        name = answer_text(&filesystems->items[i], "mountpoint");
                }
        }
        if (n_failed == 0) {
                check_detail(check, "%zu network file systems have statistics", answer_length(filesystems));
                return;
        }
        check_detail(check, "%zu of %zu network file systems have none, %s: %s", n_failed, answer_length(filesystems),
                     name, error);
        check_problem(check, CHECK_LIMITED, "no bytes, operations and times of these file systems", "%s",
                      strstr(error, error_text(EACCES)) && strstr(error, "debug/ceph/")
                              ? "after each mount: chgrp -R perfd /sys/kernel/debug/ceph; chmod -R g+rX "
                                "/sys/kernel/debug/ceph"
                      : strstr(error, error_text(EACCES))
                              ? "add a drop-in for sys-kernel-debug.mount with [Mount] "
                                "Options=nosuid,nodev,noexec,mode=750,gid=perfd, and now: mount -o "
                                "remount,mode=750,gid=perfd /sys/kernel/debug"
                              : "mount debugfs at /sys/kernel/debug; see lctl get_param llite.*.stats");
}

/* A source that the kernel lacks limits perfd; any other read error is a failure. */
static void check_sources(Checks *checks, const Value *sources) {
        Check *check = checks_add(checks, "sources");
        size_t n_detail = 0, n_down = 0;
        bool is_trouble = false, is_silent = false;

        for (size_t i = 0; i < answer_length(sources); i++) {
                const char *error = answer_text(&sources->items[i], "error");

                if (answer_flag(&sources->items[i], "up") ||
                    strcmp(answer_text(&sources->items[i], "name"), ENERGY_SOURCE) == 0 ||
                    strcmp(answer_text(&sources->items[i], "name"), GPU_SOURCE) == 0)
                        continue;
                n_down++;
                is_trouble |= !strstr(error, error_text(ENOENT)) && !strstr(error, error_text(EOPNOTSUPP));
                is_silent |= strstr(error, "has not answered") != NULL;
                if (n_detail < sizeof(check->detail))
                        n_detail += (size_t)snprintf(check->detail + n_detail, sizeof(check->detail) - n_detail, "%s%s",
                                                     n_detail > 0 ? "; " : "",
                                                     *error ? error : answer_text(&sources->items[i], "name"));
        }

        if (n_down == 0) {
                check_detail(check, "all %zu readable", answer_length(sources));
                return;
        }
        check_problem(check, is_trouble ? CHECK_FAILED : CHECK_LIMITED,
                      "no metrics from these files; see perfd-metrics(7)", "%s",
                      is_silent    ? "look for the driver in journalctl -k"
                      : is_trouble ? "check the permissions of perfd: journalctl -u perfd, systemctl cat perfd"
                                   : "use a kernel that provides them; see the check of pressure");
}

#define STALE_MS 10000U

static void check_sampling(Checks *checks, const Value *node, const char *metrics, uint64_t now_ms) {
        uint64_t time_ms = answer_time(node, "time_ms"), interval_ms = answer_time(node, "interval_ms");
        double n = 0, n_missed = 0, lateness = 0, lateness_max = 0;
        char interval[TEXT_MAX], mean[TEXT_MAX], worst[TEXT_MAX];
        Check *check = checks_add(checks, "sampling");

        if (time_ms > 0 && now_ms > time_ms && now_ms - time_ms > STALE_MS + 3 * interval_ms) {
                text_duration((now_ms - time_ms) * NS_PER_MS, interval);
                check_detail(check, "the latest sample is %s old", interval);
                check_problem(check, CHECK_FAILED, "no current metrics",
                              "check what perfd waits for: journalctl -u perfd");
                return;
        }

        text_duration(interval_ms * NS_PER_MS, interval);
        if (!checks_live_find_metric(metrics, "perfd_samples_total", &n) || n < 1) {
                check_detail(check, "every %s", interval);
                return;
        }
        (void)checks_live_find_metric(metrics, "perfd_samples_missed_total", &n_missed);
        (void)checks_live_find_metric(metrics, "perfd_sample_lateness_seconds_total", &lateness);
        (void)checks_live_find_metric(metrics, "perfd_sample_lateness_max_seconds", &lateness_max);
        text_seconds(lateness / n, mean);
        text_seconds(lateness_max, worst);
        check_detail(check, "every %s; delay %s on average, %s at most; %.0f of %.0f missed", interval, mean, worst,
                     n_missed, n + n_missed);
        if (n_missed <= 0.01 * (n + n_missed))
                return;
        check_problem(check, CHECK_LIMITED, "peaks and threshold times are incomplete; totals are exact",
                    "increase interval= in [sampling] of perfd.conf, or add a drop-in for perfd.service with [Service] "
                    "CPUWeight=1000");
}

static void check_descriptors(Checks *checks, const char *metrics) {
        double n, n_max;
        Check *check;

        if (!checks_live_find_metric(metrics, "process_open_fds", &n) ||
            !checks_live_find_metric(metrics, "process_max_fds", &n_max))
                return;

        check = checks_add(checks, "descriptors");
        check_detail(check, "perfd uses %.0f of %.0f", n, n_max);
        if (n < 0.8 * n_max && n_max >= 1024)
                return;
        check_problem(check, n < 0.95 * n_max ? CHECK_LIMITED : CHECK_FAILED, "further connections are refused",
                    "add a drop-in for perfd.service with [Service] LimitNOFILE=32768 or more");
}

void checks_live_add_models(Checks *checks, const Value *answer) {
        const Value *models = value_get(answer, "models"), *complaints = value_get(answer, "complaints");
        Check *check = checks_add(checks, "models");
        size_t n = answer_length(complaints);
        const char *first = n > 0 && complaints->items[0].type == VALUE_STRING ? complaints->items[0].string : "";

        if (n == 0) {
                check_detail(check, "%zu indicator models", answer_length(models));
                return;
        }

        if (n > 1)
                check_detail(check, "%s; and %zu more", first, n - 1);
        else
                check_detail(check, "%s", first);
        check_problem(check, CHECK_LIMITED, "types, units, directions and indexes of these indicators are unknown",
                    "make it readable for the user perfd, check it with perfd --check-config, then run systemctl "
                    "reload perfd");
}

void checks_live_add_quota(Checks *checks, const Value *answer, uint64_t now_ms) {
        const Value *users = value_get(answer, "users"), *user;
        scoped(buffer_deinit) Buffer all = {}, first = {};
        Check *check = checks_add(checks, "quota");

        for (size_t i = 0; (user = answer_next_refused(users, now_ms, &i));) {
                if (first.n == 0)
                        answer_put_refused_name(user, &first);
                buffer_puts(&all, all.n > 0 ? "; " : "");
                answer_put_refused_user(user, now_ms, &all);
        }
        if (all.n == 0) {
                check_detail(check, "no requests were refused in the last 10 minutes");
                return;
        }

        check_detail(check, "%s", all.text);
        check_problem(check, CHECK_LIMITED,
                      "requests of these users beyond their shares are refused; other users are not affected",
                      "end some of what %s has started ('perfctl quota --all' shows what each user holds); for a "
                      "service that needs more, set weights= in [limits] of perfd.conf",
                      first.text);
}

void checks_live_add_node(Checks *checks, const Value *node, const char *metrics, uint64_t now_ms) {
        check_store(checks, value_get(node, "store"));
        check_damage(checks, value_get(node, "store"));
        check_durability(checks, value_get(node, "store"));
        check_http_port(checks, value_get(node, "http"));
        check_configuration(checks, value_get(node, "configuration"));
        check_sources(checks, value_get(node, "sources"));
        check_energy(checks, value_get(node, "sources"));
        check_gpus(checks, value_get(node, "sources"), value_get(value_get(node, "latest"), "gpus"));
        check_fabric(checks, value_get(value_get(node, "latest"), "fabric_ports"));
        check_network_filesystems(checks, value_get(value_get(node, "latest"), "network_filesystems"));
        check_sampling(checks, node, metrics, now_ms);
        check_descriptors(checks, metrics);
}
