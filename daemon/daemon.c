/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-daemon.h>

#include "config_reader.h"
#include "config_watch.h"
#include "db.h"
#include "rooms.h"
#include "schedule.h"
#include "util/clock.h"
#include "util/file.h"

/* Time for which a start waits for a directory service. Later attempts to find unknown names have twice the interval
 * of the attempt before, up to the maximum. */
#define NAMES_NS (5 * NS_PER_S)
#define NAMES_INTERVAL_MAX_NS (64 * NS_PER_S)
/* Maximum time that a shutdown waits for requests in progress. */
#define DRAIN_NS (5 * NS_PER_S)

/* Origin of the reading of the configuration that is in progress. */
typedef struct ReloadOrder {
        bool is_retry;   /* nobody: unknown names may be found now */
        bool is_request; /* a user, whose ticket waits; otherwise the service manager */
        uint32_t uid;
        Ticket ticket;
        bool is_repeated; /* the service manager asked again meanwhile */
} ReloadOrder;

typedef struct Daemon {
        const Options *options;
        sd_event *event;
        sd_event_source *tick, *cpu_tick, *drain;
        Rooms rooms;
        Sockets sockets;
        ConfigWatch watch;
        ConfigReader reader;
        ReloadOrder order;
        uint64_t names_interval_ns, names_deadline_ns; /* of the next attempt to find unknown names */
        bool is_draining;
        uint64_t cpu_interval_ns;  /* of the readings of the CPUs; 0: the timer is off */
        uint64_t tick_deadline_us; /* time of the next tick */
        uint64_t checkpoint_us;    /* time of the next checkpoint */
        LogUserLimits reload_limits;
} Daemon;

/* --- event handlers --------------------------------------------------------------------------- */

static void notify_status(const Daemon *daemon) {
        const Rooms *rooms = &daemon->rooms;

        (void)sd_notifyf(
                0, "STATUS=%zu jobs running, %lu indicators stored since start%s%s%s", rooms->jobs.jobs.n,
                (unsigned long)rooms->indicators.tally.stats.n_stored,
                rooms->stored.is_writable ? "" : "; the store cannot be written",
                rooms->http_port.error[0] ? "; the HTTP port cannot be opened" : "",
                !rooms->self.stats.config_reload_ok  ? "; the configuration files have errors and are not in force"
                : rooms->self.stats.config_edited[0] ? "; the configuration files were edited and are not in force"
                                                     : "");
}

/* Looks for unknown names of users and groups again. */
static void retry_names(Daemon *daemon) {
        uint64_t now_ns = clock_boottime_ns();

        if (!daemon->rooms.self.stats.config_unknown[0] || now_ns < daemon->names_deadline_ns)
                return;
        daemon->names_interval_ns *= daemon->names_interval_ns < NAMES_INTERVAL_MAX_NS ? 2 : 1;
        daemon->names_deadline_ns = now_ns + daemon->names_interval_ns;
        if (config_reader_start(&daemon->reader, daemon->options, true) == 0)
                daemon->order = (ReloadOrder){ .is_retry = true };
}

/* Returns the times of the wall clock at which something is due. */
static ScheduleGrid grid_of(const Daemon *daemon, uint64_t interval_ns) {
        return (ScheduleGrid){ interval_ns / NS_PER_US, daemon->rooms.config.node.offset_ns / NS_PER_US };
}

/* Sets the time of the next reading of the CPUs; none if the samples are as frequent. A late reading delays the next:
 * the windows need not have the same length. */
static int set_cpu_tick(Daemon *daemon) {
        uint64_t interval_ns = daemon->cpu_interval_ns = node_cpu_interval_ns(&daemon->rooms.node);
        int r;

        if (interval_ns == 0)
                return sd_event_source_set_enabled(daemon->cpu_tick, SD_EVENT_OFF);
        r = sd_event_source_set_time(daemon->cpu_tick, schedule_next(grid_of(daemon, interval_ns), schedule_now()));
        return r < 0 ? r : sd_event_source_set_enabled(daemon->cpu_tick, SD_EVENT_ONESHOT);
}

static int on_cpu_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        Daemon *daemon = userdata;
        int r;

        (void)source;
        (void)usec;
        r = node_sample_cpus(&daemon->rooms.node);
        return r < 0 ? r : set_cpu_tick(daemon);
}

static void begin_checkpoints(Daemon *daemon) {
        daemon->checkpoint_us = schedule_next(
                grid_of(daemon, daemon->rooms.config.jobs.checkpoint_interval_ns), schedule_now());
}

/* A checkpoint is made at a tick, where perfd runs in any case: at the one that is nearest to the time. */
static int checkpoint_if_due(Daemon *daemon) {
        uint64_t tolerance_us = daemon->rooms.config.node.interval_ns / NS_PER_US / 2;
        int r;

        if (clock_boottime_ns() / NS_PER_US + tolerance_us < daemon->checkpoint_us)
                return 0;
        r = rooms_checkpoint(&daemon->rooms, false);
        if (r < 0)
                return r;
        begin_checkpoints(daemon);
        notify_status(daemon);
        return 0;
}

/* Sets the time of the next tick, and moves the next reading of the CPUs, which may be due at the same moment. */
static int set_tick(Daemon *daemon, uint64_t planned_us) {
        const ScheduleGrid grid = grid_of(daemon, daemon->rooms.config.node.interval_ns);
        int r;

        daemon->tick_deadline_us = schedule_align(grid, planned_us, schedule_now());
        r = sd_event_source_set_time(daemon->tick, daemon->tick_deadline_us);
        if (r >= 0)
                r = sd_event_source_set_enabled(daemon->tick, SD_EVENT_ONESHOT);
        return r < 0 ? r : set_cpu_tick(daemon);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        Daemon *daemon = userdata;
        Rooms *rooms = &daemon->rooms;
        bool was_portless;
        uint64_t next_us;
        int r;

        (void)source;
        (void)usec;
        self_note_edited(&rooms->self, config_watch_get(&daemon->watch));
        retry_names(daemon);
        next_us = self_count_tick(&rooms->self, daemon->tick_deadline_us, clock_boottime_ns() / NS_PER_US,
                                  rooms->config.node.interval_ns / NS_PER_US);
        was_portless = rooms->http_port.error[0];
        r = rooms_tick(rooms);
        if (r >= 0)
                r = checkpoint_if_due(daemon);
        if (r < 0)
                return r;
        if (was_portless != (rooms->http_port.error[0] != '\0'))
                notify_status(daemon);
        return set_tick(daemon, next_us);
}

static int on_store(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Daemon *daemon = userdata;

        (void)source;
        (void)fd;
        (void)revents;
        return rooms_take_completions(&daemon->rooms);
}

/* Called after each iteration of the loop: handles the requests that have arrived, which may change the interval of
 * the CPUs. */
static int on_turn(sd_event_source *source, void *userdata) {
        Daemon *daemon = userdata;
        int r;

        (void)source;
        r = rooms_take_requests(&daemon->rooms);
        if (r >= 0 && node_cpu_interval_ns(&daemon->rooms.node) != daemon->cpu_interval_ns)
                r = set_cpu_tick(daemon);
        if (r < 0)
                return r;

        if (daemon->is_draining && ingest_is_idle(daemon->rooms.ingest))
                return sd_event_exit(daemon->event, 0);
        return 0;
}

static int on_drain_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        Daemon *daemon = userdata;

        (void)source;
        (void)usec;
        log_warning("Stopping with unanswered requests after %u s; their clients will send them again.",
                    (unsigned)(DRAIN_NS / NS_PER_S));
        return sd_event_exit(daemon->event, 0);
}

static int daemon_drain(Daemon *daemon) {
        int r;

        if (daemon->is_draining)
                return 0;

        log_info("Shutting down: finishing requests in progress.");
        (void)sd_notify(0, "STOPPING=1");
        /* the last checkpoint includes the time since the last tick */
        r = rooms_tick(&daemon->rooms);
        if (r < 0)
                return r;

        daemon->is_draining = true;
        http_set_ready(daemon->rooms.http, false);
        ingest_drain(daemon->rooms.ingest);

        r = sd_event_add_time_relative(daemon->event, &daemon->drain, CLOCK_BOOTTIME, DRAIN_NS / NS_PER_US, 0,
                                       on_drain_timeout, daemon);
        return r < 0 ? r : rooms_checkpoint(&daemon->rooms, true);
}

static int on_end_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        (void)source;
        (void)info;
        return daemon_drain(userdata);
}

static void say_unknown(const char *names) {
        if (names[0])
                log_warning("Unknown users or groups, which have no rights and are looked for each minute: %s.", names);
}

/* "FILE:LINE: text" */
static void describe_error(const ConfigError *error, Buffer *ret) {
        buffer_puts(ret, error->file);
        if (error->line > 0)
                buffer_printf(ret, ":%u", error->line);
        buffer_printf(ret, "%s%s", error->file[0] ? ": " : "", error->text);
}

/* A restart does not give them an effect either: the unit of the sockets has other values. */
static void note_ignored(Daemon *daemon, const Config *config) {
        scoped(buffer_deinit) Buffer settings = {};

        if (!daemon->sockets.submit_path[0])
                config_list_ignored(config, &daemon->sockets.bound, &settings);
        if (self_note_ignored(&daemon->rooms.self, settings.text ?: "") && settings.n > 0)
                log_warning("These settings have no effect, because systemd opens the sockets: %s. Set them with "
                            "ListenStream= and SocketMode= of perfd.socket (systemctl edit perfd.socket), then run "
                            "systemctl restart perfd.socket perfd.service.",
                            settings.text);
}

/* Restarts the timers now, not after their old intervals, which may be long. */
static void restart_timers(Daemon *daemon, const Config *before) {
        const Config *config = &daemon->rooms.config;
        bool is_moved = config->node.offset_ns != before->node.offset_ns;

        if (config->node.interval_ns != before->node.interval_ns || is_moved)
                (void)set_tick(daemon, (clock_boottime_ns() + config->node.interval_ns) / NS_PER_US);
        if (config->jobs.checkpoint_interval_ns != before->jobs.checkpoint_interval_ns || is_moved)
                begin_checkpoints(daemon);
}

/* Applies all settings that were read and do not wait for a restart, or none. 0, or < 0 or CONFIG_INVALID with the
 * error. */
static int apply_reading(Daemon *daemon, ConfigReading *reading, Buffer *ret_restart, ConfigError *ret_error) {
        const Config before = daemon->rooms.config;
        const Config *fresh = &reading->config;
        char error[ROOMS_ERROR_MAX];
        Config next = before;
        int r = reading->r;

        *ret_error = reading->error;
        if (r < 0)
                (void)snprintf(ret_error->text, sizeof(ret_error->text), "%s", strerror(-r));
        if (r != 0)
                return r;

        config_apply(&next, fresh, !daemon->sockets.submit_path[0], ret_restart);
        r = rooms_configure(&daemon->rooms, &next, &reading->models, error);
        if (r < 0) {
                *ret_error = (ConfigError){};
                (void)snprintf(ret_error->text, sizeof(ret_error->text), "%s", error);
                return r;
        }
        restart_timers(daemon, &before);
        note_ignored(daemon, fresh);
        daemon->rooms.config.files = fresh->files;
        config_watch_set(&daemon->watch, &fresh->files);
        self_note_edited(&daemon->rooms.self, "");
        self_note_unknown(&daemon->rooms.self, reading->lookup.unknown);
        return 0;
}

static void log_reload(Daemon *daemon, const uint32_t *uid, LogLevel level, const char *what, const char *more) {
        if (uid)
                log_for_user(&daemon->reload_limits, *uid, level, NULL, "%s%s", what, more ?: "");
        else
                log_struct(level, NULL, "%s%s", what, more ?: "");
}

/* Begins to read the configuration files again. 0, CONFIG_READER_BUSY, or a negative errno. */
static int begin_reload(Daemon *daemon, const ReloadOrder *order) {
        int r;

        if (daemon->reader.reading)
                return CONFIG_READER_BUSY;
        (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lu", (unsigned long)(clock_monotonic_ns() / NS_PER_US));
        r = config_reader_start(&daemon->reader, daemon->options, false);
        if (r == 0)
                daemon->order = *order;
        else
                (void)sd_notify(0, "READY=1");
        return r;
}

/* Applies a configuration that was read. 0, or as apply_reading(). */
static int end_reload(Daemon *daemon, ConfigReading *reading, const uint32_t *uid, ConfigError *ret_error) {
        scoped(buffer_deinit) Buffer restart = {}, error = {};
        Rooms *rooms = &daemon->rooms;
        int r;

        r = apply_reading(daemon, reading, &restart, ret_error);
        if (r != 0) {
                describe_error(ret_error, &error);
                log_reload(daemon, uid, LOG_LEVEL_ERR,
                           "Configuration not reloaded, keeping the previous one: ", error.text);
        } else if (restart.n > 0)
                log_reload(daemon, uid, LOG_LEVEL_WARNING,
                           "Configuration reloaded; these settings take effect after a restart: ", restart.text);
        else
                log_reload(daemon, uid, LOG_LEVEL_INFO, "Configuration reloaded.", NULL);

        self_count_reload(&rooms->self, r == 0 ? "" : error.text ?: strerror(ENOMEM), restart.text ?: "");
        rooms_publish(rooms);
        (void)sd_notify(0, "READY=1");
        notify_status(daemon);
        return r;
}

static int on_reload_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Daemon *daemon = userdata;
        int r;

        (void)source;
        (void)info;
        r = begin_reload(daemon, &(ReloadOrder){});
        daemon->order.is_repeated |= r == CONFIG_READER_BUSY;
        if (r < 0)
                log_err("Cannot reload the configuration: %s", strerror(-r));
        return 0;
}

/* Names that were not found at the start are members now; edited files wait for a reload. */
static void end_retry(Daemon *daemon, ConfigReading *reading) {
        const Config *config = &daemon->rooms.config;
        scoped(buffer_deinit) Buffer restart = {};
        ConfigError error;

        if (reading->r != 0 || strcmp(reading->lookup.unknown, daemon->rooms.self.stats.config_unknown) == 0 ||
            !config_files_are_same(&reading->config.files, &config->files))
                return;
        if (apply_reading(daemon, reading, &restart, &error) != 0)
                return;
        say_unknown(reading->lookup.unknown);
        if (!reading->lookup.unknown[0])
                log_info("All users and groups of the configuration are known now.");
        rooms_publish(&daemon->rooms);
}

static void answer_reload(Daemon *daemon, Ticket ticket, int r, const ConfigError *error) {
        const SelfStats *stats = &daemon->rooms.self.stats;
        char place[COMPLAINT_PATH_MAX] = "", text[COMPLAINT_TEXT_MAX];
        Answer answer = {};

        if (r != 0) {
                if (error->file[0])
                        (void)snprintf(place, sizeof(place), error->line > 0 ? "%.180s:%u" : "%.180s", error->file,
                                       error->line);
                (void)desk_answer(&answer, STATUS_INVALID, place, error->text);
        } else {
                (void)snprintf(text, sizeof(text), "these settings take effect after a restart: %.240s",
                               stats->config_restart);
                (void)desk_answer(&answer, STATUS_OK, "",
                                  stats->config_restart[0] ? text : daemon->rooms.http_port.error);
        }
        ingest_answer(daemon->rooms.ingest, ticket, &answer);
        ingest_flush(daemon->rooms.ingest);
}

static int on_reading(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Daemon *daemon = userdata;
        scoped(config_reader_freep) ConfigReading *reading = config_reader_take(&daemon->reader);
        const ReloadOrder order = daemon->order;
        ConfigError error;
        int r;

        (void)source, (void)fd, (void)revents;
        daemon->order = (ReloadOrder){};
        if (order.is_retry)
                end_retry(daemon, reading);
        else {
                r = end_reload(daemon, reading, order.is_request ? &order.uid : NULL, &error);
                if (order.is_request)
                        answer_reload(daemon, order.ticket, r, &error);
        }
        return order.is_repeated ? on_reload_signal(NULL, NULL, daemon) : 0;
}

/* The user of perfd may send the signal as well. */
static int on_reload_request(void *userdata, const Request *request, Ticket ticket, Answer *ret) {
        Daemon *daemon = userdata;
        int r;

        if (!request->peer.is_admin && request->peer.uid != geteuid())
                return desk_answer(ret, STATUS_DENIED, "",
                                   "permission denied: reload needs root, the user of perfd or a member of "
                                   "admin_group in [socket] of perfd.conf");
        r = begin_reload(daemon,
                         &(ReloadOrder){ .is_request = true, .uid = request->peer.uid, .ticket = ticket });
        if (r == 0)
                return DESK_PENDING;
        return desk_answer(ret, STATUS_UNAVAILABLE, "",
                           r == CONFIG_READER_BUSY ? "the configuration is being read, and a directory service that "
                                                     "resolves names may not answer: try again"
                                                   : strerror(-r));
}

static const Kind daemon_kinds[] = {
        { REQUEST_RELOAD, "reload", on_reload_request, NULL, NULL },
};

/* --- setup ------------------------------------------------------------------------------------ */

static int add_timers(Daemon *daemon) {
        int r;

        r = sd_event_add_time(daemon->event, &daemon->tick, CLOCK_BOOTTIME, 0, 1, on_tick, daemon);
        if (r >= 0)
                r = sd_event_source_set_priority(daemon->tick, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0)
                r = sd_event_source_set_exit_on_failure(daemon->tick, true);
        if (r >= 0)
                r = sd_event_add_time(daemon->event, &daemon->cpu_tick, CLOCK_BOOTTIME, 0, NS_PER_MS / NS_PER_US,
                                      on_cpu_tick, daemon);
        if (r >= 0)
                r = sd_event_source_set_exit_on_failure(daemon->cpu_tick, true);
        if (r < 0)
                return r;

        begin_checkpoints(daemon);
        return set_tick(daemon, (clock_boottime_ns() + daemon->rooms.config.node.interval_ns) / NS_PER_US);
}

/*
 * Transfers ownership of a source to the loop. A failing handler ends the loop; sd-event's default is to disable the
 * source.
 */
static void give_to_loop(sd_event_source *source) {
        (void)sd_event_source_set_floating(source, true);
        (void)sd_event_source_set_exit_on_failure(source, true);
        sd_event_source_unref(source);
}

static int add_signal(Daemon *daemon, int number, sd_event_signal_handler_t on_signal) {
        sd_event_source *source;
        int r;

        r = sd_event_add_signal(daemon->event, &source, number, on_signal, daemon);
        if (r >= 0)
                give_to_loop(source);
        return r;
}

static int add_events(Daemon *daemon) {
        sd_event_source *source;
        int r;

        r = sd_event_add_io(daemon->event, &source, store_fd(daemon->rooms.store), EPOLLIN, on_store, daemon);
        if (r < 0)
                return r;
        give_to_loop(source);

        r = sd_event_add_io(daemon->event, &source, daemon->reader.fd, EPOLLIN, on_reading, daemon);
        if (r < 0)
                return r;
        give_to_loop(source);

        r = sd_event_add_post(daemon->event, &source, on_turn, daemon);
        if (r < 0)
                return r;
        give_to_loop(source);

        r = add_signal(daemon, SIGTERM, on_end_signal);
        if (r >= 0)
                r = add_signal(daemon, SIGINT, on_end_signal);
        if (r >= 0)
                r = add_signal(daemon, SIGHUP, on_reload_signal);
        return r < 0 ? r : add_timers(daemon);
}

static int exit_code_of(int error) {
        return error == -EACCES || error == -EPERM || error == -EROFS ? EXIT_PERMISSION : EXIT_FAILURE;
}

static int open_store(Rooms *rooms) {
        StoreConfig config = rooms->config.store;
        scoped(freep) char *note = NULL;
        int r;

        config_store_directory(&rooms->config, config.directory);
        r = file_make_dirs(config.directory, 0700);
        if (r < 0) {
                log_err("Cannot create the state directory %s: %s; run as root, or choose another with --state",
                        config.directory, strerror(-r));
                return exit_code_of(r);
        }

        r = shares_new(&rooms->shares, &rooms->config.shares);
        if (r < 0) {
                log_err("Cannot open the store: %s", strerror(-r));
                return EXIT_FAILURE;
        }
        config.shares = rooms->shares;
        r = store_open(&rooms->store, &config, &note);
        if (r != 0) {
                log_err("Cannot open the store in %s: %s", config.directory, note ? note : strerror(-r));
                return r == STORE_UNSUPPORTED ? EXIT_NOT_CONFIGURED : r < 0 ? exit_code_of(r) : EXIT_FAILURE;
        }
        if (note)
                log_warning("%s", note);
        return 0;
}

/* Returns the directory of the socket that perfd has made, else the service manager's, else "". */
static void find_runtime_directory(const Sockets *sockets, char ret[static CONFIG_TEXT_MAX]) {
        const char *slash = strrchr(sockets->submit_path, '/'), *directories = getenv("RUNTIME_DIRECTORY");

        if (slash)
                (void)snprintf(ret, CONFIG_TEXT_MAX, "%.*s", (int)(slash - sockets->submit_path), sockets->submit_path);
        else
                (void)snprintf(ret, CONFIG_TEXT_MAX, "%.*s", directories ? (int)strcspn(directories, ":") : 0,
                               directories ?: "");
}

/* Asks the directory service for names that the files of this machine do not have. It may be away at boot, which must
 * not keep perfd from running. */
static void find_names(Daemon *daemon, const char *unknown) {
        scoped(config_reader_freep) ConfigReading *reading = NULL;

        daemon->names_interval_ns = NS_PER_S / 2;
        if (unknown[0] && config_reader_start(&daemon->reader, daemon->options, true) == 0) {
                daemon->order.is_retry = true;
                if (config_reader_wait(&daemon->reader, NAMES_NS))
                        reading = config_reader_take(&daemon->reader);
        }
        if (reading && reading->r == 0) {
                daemon->rooms.config = reading->config;
                unknown = reading->lookup.unknown;
        }
        say_unknown(unknown);
        self_note_unknown(&daemon->rooms.self, unknown);
}

static int daemon_open(Daemon *daemon) {
        const char *path = daemon->options->config_path;
        char error[SOCKETS_ERROR_MAX], directory[CONFIG_TEXT_MAX];
        int r;

        r = sockets_open(&daemon->sockets, &daemon->rooms.config.sockets, error);
        if (r != 0) {
                r = r < 0 ? r : -errno; /* SOCKETS_FAILED sets errno */
                log_err("%s", error[0] ? error : strerror(-r));
                return exit_code_of(r);
        }

        note_ignored(daemon, &daemon->rooms.config);
        r = open_store(&daemon->rooms);
        if (r != 0)
                return r;

        find_runtime_directory(&daemon->sockets, directory);
        r = rooms_open(&daemon->rooms, daemon->event, daemon->options->root, directory, &daemon->sockets,
                       &DESK_ROW(daemon_kinds, daemon));
        if (r >= 0)
                r = add_events(daemon);
        if (r < 0) {
                log_err("Cannot start: %s", strerror(-r));
                return exit_code_of(r);
        }

        config_watch_init(&daemon->watch, path ?: CONFIG_DEFAULT_PATH, !path, &daemon->rooms.config.files);
        return 0;
}

static void notify_ready(Daemon *daemon) {
        const Rooms *rooms = &daemon->rooms;
        const char *address = rooms->http_port.address;
        char directory[CONFIG_TEXT_MAX];

        config_store_directory(&rooms->config, directory);
        http_set_ready(rooms->http, true);
        log_info("perfd " PERFD_VERSION " samples every %lu ms, keeps its store in %s%s, and serves %s%s.",
                 (unsigned long)(rooms->config.node.interval_ns / NS_PER_MS), directory,
                 rooms->config.store.is_volatile ? " (volatile)" : "", address[0] ? "http://" : "its Unix sockets only",
                 address);
        (void)sd_notify(0, "READY=1");
        notify_status(daemon);
}

static int daemon_loop(Daemon *daemon) {
        int r;

        notify_ready(daemon);
        self_trim_memory();
        r = sd_event_loop(daemon->event);
        if (r < 0)
                log_err("The event loop failed; running jobs are resumed after a restart: %s", strerror(-r));
        return r < 0 ? EXIT_FAILURE : 0;
}

/*
 * Blocks the signals that the loop receives through a signalfd. Called before the first thread starts, since threads
 * inherit the mask.
 */
static void block_signals(void) {
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        sigaddset(&set, SIGPIPE);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static void daemon_close(Daemon *daemon) {
        daemon->tick = sd_event_source_disable_unref(daemon->tick);
        daemon->cpu_tick = sd_event_source_disable_unref(daemon->cpu_tick);
        daemon->drain = sd_event_source_disable_unref(daemon->drain);
        /* removes the socket files while perfd still listens: later they may belong to the next instance */
        sockets_close(&daemon->sockets);
        config_watch_deinit(&daemon->watch);
        config_reader_deinit(&daemon->reader);
        rooms_close(&daemon->rooms);
        sd_event_unref(daemon->event);
}

static int daemon_start(Daemon *daemon, const char *unknown) {
        int r;

        r = config_reader_init(&daemon->reader);
        if (r >= 0)
                r = sd_event_new(&daemon->event);
        if (r >= 0)
                r = sd_event_set_watchdog(daemon->event, true);
        if (r < 0) {
                log_err("Cannot create the event loop: %s", strerror(-r));
                return EXIT_FAILURE;
        }

        find_names(daemon, unknown);
        r = daemon_open(daemon);
        return r != 0 ? r : daemon_loop(daemon);
}

/* Checks the indicator models, after the configuration was found valid. */
static int check_models(const Config *config) {
        Models models = {};
        int r;

        r = models_read_files(&models, config->indicators.directory);
        models_log_complaints(&models);
        if (r == 0)
                log_info("Configuration OK; %zu indicator models.", models.files.n);
        if (config->indicators.directory[0] && access(config->indicators.directory, F_OK) < 0 && errno == ENOENT)
                log_info("The directory of indicator models, %s, does not exist.", config->indicators.directory);
        models_deinit(&models);
        return r == 0 ? 0 : EXIT_NOT_CONFIGURED;
}

int daemon_run(const Options *options) {
        Daemon daemon = {
                .options = options,
                .rooms.self.statm_fd = -1,
                .sockets = { .submit_fd = -1, .http_unix_fd = -1 },
        };
        scoped(buffer_deinit) Buffer text = {};
        char directory[CONFIG_TEXT_MAX];
        UserLookup local = { .is_local = true, .is_lenient = true };
        ConfigError error = {};
        int r;

        r = config_reader_read(options, options->check_config ? NULL : &local, &daemon.rooms.config, &error);
        if (r != 0) {
                describe_error(&error, &text);
                log_err("Configuration: %s", text.text ?: "");
                return EXIT_NOT_CONFIGURED;
        }
        if (options->check_config)
                return check_models(&daemon.rooms.config);

        config_store_directory(&daemon.rooms.config, directory);
        if (options->db)
                return db_run(directory, options->db, options->db_files);

        block_signals();
        self_init(&daemon.rooms.self);
        r = daemon_start(&daemon, local.unknown);
        daemon_close(&daemon);
        return r;
}
