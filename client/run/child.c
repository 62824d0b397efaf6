/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/child.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "client/cli/message.h"
#include "util/array.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/parse.h"
#include "util/scoped.h"

/* --- descendants ----------------------------------------------------------------------------------- */

typedef struct DescendantEntry {
        pid_t pid, parent;
        char state;
        uint64_t user_ticks, system_ticks;
} DescendantEntry;

typedef struct DescendantTable {
        DescendantEntry *items; /* owned; by pid */
        size_t n, n_allocated;
} DescendantTable;

static void table_deinit(DescendantTable *table) {
        free(table->items);
}

/* The name of a process may contain any character, brackets included. */
static bool stat_parse(const char *text, DescendantEntry *ret) {
        const char *bracket = strrchr(text, ')');
        uint64_t user, system, waited_user, waited_system;

        if (!bracket ||
            sscanf(bracket, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                   &ret->state, &ret->parent, &user, &system, &waited_user, &waited_system) != 6)
                return false;

        ret->user_ticks = user + waited_user;
        ret->system_ticks = system + waited_system;
        return true;
}

/* Ignores a process that has ended meanwhile. */
static int table_add(DescendantTable *table, int proc_fd, const char *name) {
        scoped(freep) char *text = NULL;
        char path[64];
        DescendantEntry entry = {};
        uint64_t pid;

        if (parse_u64(name, &pid) != 0 || pid > INT32_MAX)
                return 0;
        snprintf(path, sizeof(path), "%" PRIu64 "/stat", pid);
        if (file_read_at(proc_fd, path, 4096, &text, NULL) != 0 || !stat_parse(text, &entry))
                return 0;

        if (ARRAY_RESERVE(table->items, table->n_allocated, table->n + 1) < 0)
                return -ENOMEM;

        entry.pid = (pid_t)pid;
        table->items[table->n++] = entry;
        return 0;
}

static int by_pid(const void *a, const void *b) {
        const DescendantEntry *left = a, *right = b;

        return left->pid < right->pid ? -1 : left->pid > right->pid;
}

/* Follows the parents up to `root`. The entries were read one after the other, and may therefore contain a cycle. */
static bool is_below(const DescendantTable *table, const DescendantEntry *entry, pid_t root, pid_t except) {
        for (size_t i = 0; i < table->n && entry && entry->pid != except; i++) {
                if (entry->parent == root)
                        return true;
                entry = bsearch(&(DescendantEntry){ .pid = entry->parent }, table->items, table->n,
                                sizeof(*table->items), by_pid);
        }
        return false;
}

int child_read_descendants(int proc_fd, pid_t root, pid_t except, Descendants *ret) {
        scoped(table_deinit) DescendantTable table = {};
        scoped(closedirp) DIR *dir = file_open_list(proc_fd, ".");
        Descendants all = {};
        struct dirent *entry;
        int r;

        if (!dir)
                return -errno;

        while ((entry = readdir(dir))) {
                r = table_add(&table, proc_fd, entry->d_name);
                if (r < 0)
                        return r;
        }
        if (table.n > 0)
                qsort(table.items, table.n, sizeof(*table.items), by_pid);

        for (size_t i = 0; i < table.n; i++) {
                if (!is_below(&table, &table.items[i], root, except))
                        continue;
                all.n_living += !strchr("ZX", table.items[i].state);
                all.user_ticks += table.items[i].user_ticks;
                all.system_ticks += table.items[i].system_ticks;
        }

        *ret = all;
        return 0;
}

/* --- child ------------------------------------------------------------------------------------------- */

#define CHUNK_BYTES 65536U
#define STATUS_MAX 8192U /* bytes of /proc/PID/status */

static const int passed_signals[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                      SIGUSR2, SIGALRM, SIGCONT, SIGTSTP, SIGWINCH };

/* Pipe from the command to one of our own descriptors. */
typedef struct Stream {
        int to_fd;
        int pipe_fd;      /* -1: the command uses our descriptor directly, or the stream has ended */
        bool is_fifo;     /* our descriptor is a pipe */
        Capture *capture; /* at most one of capture and tail is set */
        OutputTail *tail;
} Stream;

typedef struct Child {
        ChildSignals inherited;
        pid_t pid;
        int signal_fd;
        Stream output, error;
        bool has_ended;
        bool is_alone;       /* no process started by the command is left */
        bool lacks_children; /* a process ignored SIGCHLD, so that its children may be missing from the rusage */
        /* a signal arrived after the command ended, while waiting for its output or its processes */
        bool is_told_to_end;
        const ChildPlan *plan;
        Announcement *announcement; /* of the plan; NULL in a process without an announcement */
        ChildEnd *end;
} Child;

/* Leaves the signals blocked: the remaining work is short and must not be interrupted. */
static void child_deinit(Child *child) {
        closep(&child->signal_fd);
        closep(&child->output.pipe_fd);
        closep(&child->error.pipe_fd);
}

/* --- signals -------------------------------------------------------------------------------------- */

static bool is_ignored(int signal) {
        struct sigaction action;

        return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int child_signals_take(const int *signals, size_t n, sigset_t *ret_set, ChildSignals *ret) {
        const struct sigaction action = { .sa_handler = SIG_DFL };

        sigemptyset(ret_set);
        sigaddset(ret_set, SIGCHLD);
        for (size_t i = 0; i < n; i++)
                if (!is_ignored(signals[i]))
                        sigaddset(ret_set, signals[i]);
        return sigaction(SIGCHLD, &action, &ret->child) < 0 || sigprocmask(SIG_BLOCK, ret_set, &ret->mask) < 0 ? -errno
                                                                                                               : 0;
}

void child_signals_restore(const ChildSignals *signals) {
        (void)sigaction(SIGCHLD, &signals->child, NULL);
        (void)sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

/* Signals arrive on a descriptor. SIGPIPE is blocked so that a reader of ours that goes away is an error of write(). */
static int take_signals(Child *child) {
        ChildSignals *common = child->plan->signals;
        sigset_t set;
        int r;

        r = child_signals_take(passed_signals, N_ELEMENTS(passed_signals), &set, &child->inherited);
        if (r < 0)
                return r;
        child->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (child->signal_fd < 0)
                return -errno;
        sigaddset(&set, SIGPIPE);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);

        /* Signals stay blocked after the first run, so that none terminates the process between two runs. */
        if (common && common->is_taken)
                child->inherited = *common;
        child->inherited.is_taken = true;
        if (common)
                *common = child->inherited;
        return 0;
}

void child_add_rusage(JobRusage *to, const JobRusage *more) {
        int64_t maxrss = to->ru_maxrss > more->ru_maxrss ? to->ru_maxrss : more->ru_maxrss;

        to->ru_utime += more->ru_utime;
        to->ru_stime += more->ru_stime;
#define X(field) to->ru_##field += more->ru_##field;
        RUSAGE_COUNTS(X)
#undef X
        to->ru_maxrss = maxrss;
}

/* Converts the result of wait4(2). */
static JobRusage rusage_of(const struct rusage *from) {
        return (JobRusage){
                .ru_utime = (double)from->ru_utime.tv_sec + (double)from->ru_utime.tv_usec / 1e6,
                .ru_stime = (double)from->ru_stime.tv_sec + (double)from->ru_stime.tv_usec / 1e6,
#define X(field) .ru_##field = from->ru_##field,
                RUSAGE_COUNTS(X)
#undef X
        };
}

static void reap_one(Child *child, pid_t pid, int status, const struct rusage *rusage) {
        ChildEnd *end = child->end;
        const JobRusage one = rusage_of(rusage);

        if (child->plan->adds_up || pid == child->pid)
                child_add_rusage(&end->rusage, &one);
        if (pid != child->pid)
                return;

        child->has_ended = true;
        end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        end->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Returns true if a process that has ended, and is not reaped yet, ignored SIGCHLD: the kernel added its children to
 * no rusage. */
static bool has_ignored_children(pid_t pid) {
        scoped(freep) char *text = NULL;
        char path[64];
        const char *mask;

        (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        if (file_read_at(AT_FDCWD, path, STATUS_MAX, &text, NULL) != 0)
                return false;
        mask = strstr(text, "\nSigIgn:");
        return mask && strtoull(mask + 8, NULL, 16) & (1ULL << (SIGCHLD - 1));
}

/* Returns a child that has ended, without reaping it; 0: none; -1 with errno. */
static pid_t find_ended(const Child *child) {
        siginfo_t info = {};

        if (waitid(child->plan->adopts ? P_ALL : P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
                return -1;
        return info.si_pid;
}

/* Children that the command did not wait for became ours before it ended, and are reaped together with it. */
static void reap(Child *child) {
        struct rusage rusage;
        int status;
        pid_t pid;

        while ((pid = find_ended(child)) > 0) {
                child->lacks_children |= child->plan->adds_up && has_ignored_children(pid);
                if (wait4(pid, &status, WNOHANG, &rusage) == pid)
                        reap_one(child, pid, status, &rusage);
        }
        child->is_alone = pid < 0 && errno == ECHILD;
}

/* Stops itself by the same signal: the kernel discards SIGTSTP in an orphaned process group. */
static void stop_self(void) {
        sigset_t mask;

        sigemptyset(&mask);
        sigaddset(&mask, SIGTSTP);
        (void)raise(SIGTSTP);
        (void)sigprocmask(SIG_UNBLOCK, &mask, NULL); /* the process stops here */
        (void)sigprocmask(SIG_BLOCK, &mask, NULL);
}

static void forward_signal(Child *child, const struct signalfd_siginfo *info) {
        int signal = (int)info->ssi_signo;

        if (signal == SIGCHLD)
                return;

        child->end->is_told |= signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
        if (child->has_ended) {
                child->is_told_to_end |= signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
                return;
        }

        /* The terminal sends its signals to the whole foreground process group, which includes the command. */
        if (info->ssi_code != SI_KERNEL)
                (void)kill(child->pid, signal);
        if (signal == SIGTSTP)
                stop_self();
}

static void take_signal_events(Child *child) {
        struct signalfd_siginfo info;

        while (read(child->signal_fd, &info, sizeof(info)) == sizeof(info))
                forward_signal(child, &info);
        reap(child);
}

/* --- start ---------------------------------------------------------------------------------------- */

/* Runs in the command's process until exec. */
__attribute__((noreturn))
static void become(const ChildSignals *inherited, char *const *command, int output_fd, int error_fd, int status_fd) {
        int error;

        if (output_fd >= 0)
                (void)dup2(output_fd, STDOUT_FILENO);
        if (error_fd >= 0)
                (void)dup2(error_fd, STDERR_FILENO);
        child_signals_restore(inherited);

        (void)execvp(command[0], command);
        error = errno;
        (void)file_write_all(status_fd, &error, sizeof(error));
        _exit(127);
}

/* Returns the errno of the exec, or 0 on success: a successful exec closes the other end of the pipe. */
static int read_exec_error(int fd) {
        int error = 0;
        ssize_t k;

        do
                k = read(fd, &error, sizeof(error));
        while (k < 0 && errno == EINTR);

        return k == sizeof(error) ? error : 0;
}

/* Opens a pipe from the command; *ret is the command's end. Does nothing for a stream without capture or tail. */
static int open_pipe(Stream *stream, int *ret) {
        int fds[2];

        if (!stream->capture && !stream->tail)
                return 0;

        assert(stream->pipe_fd < 0);
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;

        stream->pipe_fd = fds[0];
        *ret = fds[1];
        return fcntl(stream->pipe_fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int spawn(Child *child, char *const *command) {
        scoped(closep) int output_fd = -1, error_fd = -1, status_in = -1, status_out = -1;
        int fds[2], r;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        status_in = fds[0];
        status_out = fds[1];

        r = open_pipe(&child->output, &output_fd);
        if (r == 0)
                r = open_pipe(&child->error, &error_fd);
        if (r < 0)
                return r;

        child->pid = fork();
        if (child->pid < 0)
                return -errno;
        if (child->pid == 0)
                become(&child->inherited, command, output_fd, error_fd, status_out);

        closep(&status_out); /* otherwise the pipe never reports the end */
        status_out = -1;
        child->end->exec_error = read_exec_error(status_in);
        return 0;
}

/* --- output --------------------------------------------------------------------------------------- */

/* error: why writing failed; the command's writes then fail as well. 0: everything was written. */
static void stop_reading(Child *child, Stream *stream, int error) {
        if (error && error != EPIPE && stream->to_fd == STDOUT_FILENO) {
                message_print("cannot write to standard output: %s", error_text(error));
                child->end->output_error = error;
        }

        closep(&stream->pipe_fd);
        stream->pipe_fd = -1;
}

static void wait_for_room(int fd) {
        (void)poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
}

static void store_output(Stream *stream, const char *bytes, size_t n) {
        assert(!stream->capture != !stream->tail);
        if (stream->capture)
                capture_add(stream->capture, bytes, n);
        else
                output_tail_add(stream->tail, bytes, n);
}

/* Reads and keeps n bytes that are known to be in the pipe. */
static void read_to_buffer(Stream *stream, size_t n) {
        char chunk[CHUNK_BYTES];
        ssize_t k = read(stream->pipe_fd, chunk, n < sizeof(chunk) ? n : sizeof(chunk));

        if (k > 0)
                store_output(stream, chunk, (size_t)k);
}

/* Moves pages from pipe to pipe, without blocking on a slow reader. */
static ssize_t splice_output(Stream *stream) {
        ssize_t k;

        if (stream->capture && stream->capture->names_result)
                return splice(stream->pipe_fd, NULL, stream->to_fd, NULL, 16 * CHUNK_BYTES,
                              SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

        k = tee(stream->pipe_fd, stream->to_fd, CHUNK_BYTES, SPLICE_F_NONBLOCK);
        if (k > 0)
                read_to_buffer(stream, (size_t)k);
        return k;
}

static ssize_t copy_output(Stream *stream) {
        char chunk[CHUNK_BYTES];
        ssize_t n = read(stream->pipe_fd, chunk, sizeof(chunk)), at = 0;

        if (n <= 0)
                return n;

        while (at < n) {
                ssize_t k = write(stream->to_fd, chunk + at, (size_t)(n - at));

                if (k >= 0)
                        at += k;
                else if (errno == EAGAIN)
                        wait_for_room(stream->to_fd); /* another process made the descriptor non-blocking */
                else if (errno != EINTR)
                        return -1;
        }

        store_output(stream, chunk, (size_t)n);
        return n;
}

typedef enum Pumped {
        PUMPED_SOME,
        PUMPED_EMPTY,  /* nothing to read at present */
        PUMPED_FULL,   /* no space to write */
        PUMPED_CLOSED, /* end of the stream */
} Pumped;

static Pumped pump(Child *child, Stream *stream) {
        struct pollfd pollfd = { .fd = stream->pipe_fd, .events = POLLIN };
        ssize_t k;

        if (stream->pipe_fd < 0)
                return PUMPED_CLOSED;
        if (poll(&pollfd, 1, 0) <= 0)
                return PUMPED_EMPTY;

        k = stream->is_fifo ? splice_output(stream) : copy_output(stream);
        if (k > 0)
                return PUMPED_SOME;
        if (k < 0 && errno == EINTR)
                return PUMPED_EMPTY;
        if (k < 0 && errno == EAGAIN) /* poll() reported readable data, so that a pipe to write to is full */
                return stream->is_fifo ? PUMPED_FULL : PUMPED_EMPTY;

        stop_reading(child, stream, k < 0 ? errno : 0);
        return PUMPED_CLOSED;
}

/* --- the loop ------------------------------------------------------------------------------------- */

static struct pollfd pollfd_from(const Stream *stream, Pumped pumped) {
        return (struct pollfd){ .fd = pumped == PUMPED_FULL ? -1 : stream->pipe_fd, .events = POLLIN };
}

/* When the reader of standard output goes away, the command gets SIGPIPE as if writing there directly. */
static struct pollfd pollfd_to(const Stream *stream, Pumped pumped) {
        return (struct pollfd){ .fd = stream->pipe_fd >= 0 && stream->is_fifo ? stream->to_fd : -1,
                                .events = pumped == PUMPED_FULL ? POLLOUT : 0 };
}

static void wait_for_events(Child *child, Pumped output, Pumped error) {
        bool is_busy = output == PUMPED_SOME || error == PUMPED_SOME;
        struct pollfd pollfds[] = {
                { .fd = child->signal_fd, .events = POLLIN },
                pollfd_from(&child->output, output),
                pollfd_to(&child->output, output),
                pollfd_from(&child->error, error),
                pollfd_to(&child->error, error),
                { .fd = announcement_fd(child->announcement), .events = POLLIN },
        };

        if (poll(pollfds, N_ELEMENTS(pollfds), is_busy ? 0 : announcement_timeout_ms(child->announcement)) < 0)
                return;

        if (pollfds[2].revents & POLLERR)
                stop_reading(child, &child->output, EPIPE);
        if (pollfds[4].revents & POLLERR)
                stop_reading(child, &child->error, EPIPE);
        if (pollfds[0].revents)
                take_signal_events(child);
        announcement_go_on(child->announcement);
}

static bool is_over(const Child *child) {
        return child->has_ended && (!child->plan->waits || child->is_alone || child->is_told_to_end);
}

static bool is_quiet(Pumped pumped) {
        return pumped == PUMPED_EMPTY || pumped == PUMPED_CLOSED;
}

static void run_until_ended(Child *child) {
        for (;;) {
                bool had_ended = is_over(child); /* checked before reading: then all output is already in the pipe */
                Pumped output = pump(child, &child->output), error = pump(child, &child->error);

                if (had_ended && ((is_quiet(output) && is_quiet(error)) || child->is_told_to_end))
                        return;

                wait_for_events(child, output, error);
        }
}

/* Processes that outlive the command keep its standard output and error: a helper process continues to write. */
static void fork_pump(Child *child) {
        Pumped output, error;
        pid_t pid = fork();

        assert(child->has_ended);
        if (pid != 0) {
                child->end->pump_pid = pid > 0 ? pid : 0;
                return;
        }

        (void)sigprocmask(SIG_SETMASK, &child->inherited.mask, NULL);
        (void)close(STDIN_FILENO);
        file_close_others(child->output.pipe_fd, child->error.pipe_fd);
        child->signal_fd = -1;
        child->announcement = NULL;
        if (child->output.capture)
                child->output.capture->is_too_long = true; /* the captured text is no longer needed */

        for (;;) {
                output = pump(child, &child->output);
                error = pump(child, &child->error);
                if (output == PUMPED_CLOSED && error == PUMPED_CLOSED)
                        _exit(0);
                wait_for_events(child, output, error);
        }
}

/* --- remaining processes -------------------------------------------------------------------------- */

/* The command inherits this: the kernel then reports none of its children to wait4(2). */
static bool ignores_children(const struct sigaction *action) {
        return action->sa_handler == SIG_IGN || (action->sa_flags & SA_NOCLDWAIT);
}

/* Adds the CPU time of processes that still run, which wait4(2) does not report. */
static void add_running_processes(Child *child) {
        scoped(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        double per_s = (double)sysconf(_SC_CLK_TCK);
        Descendants living;

        child->end->is_rusage_partial = !child->is_alone || child->lacks_children ||
                                        ignores_children(&child->inherited.child);
        if (child->is_alone || proc_fd < 0 || child_read_descendants(proc_fd, getpid(), 0, &living) < 0)
                return;

        child->end->rusage.ru_utime += (double)living.user_ticks / per_s;
        child->end->rusage.ru_stime += (double)living.system_ticks / per_s;
}

size_t child_count_left(const ChildEnd *end) {
        scoped(closep) int proc_fd = -1;
        Descendants living;
        siginfo_t info;

        /* Usually no process is left, and /proc need not be read. */
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
                return 0;

        proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (proc_fd < 0 || child_read_descendants(proc_fd, getpid(), end->pump_pid, &living) < 0)
                return 0;
        return living.n_living;
}

static Stream stream_to(int fd, Capture *capture, OutputTail *tail) {
        struct stat st;

        return (Stream){
                .to_fd = fd,
                .pipe_fd = -1,
                .is_fifo = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode),
                .capture = capture,
                .tail = tail,
        };
}

int child_run(char *const *command, const ChildPlan *plan, ChildEnd *ret) {
        scoped(child_deinit) Child child = {
                .signal_fd = -1,
                .output = stream_to(STDOUT_FILENO, plan->capture, NULL),
                .error = stream_to(STDERR_FILENO, NULL, plan->error),
                .plan = plan,
                .announcement = plan->announcement,
                .end = ret,
        };
        int r;

        *ret = (ChildEnd){};
        r = take_signals(&child);
        if (plan->adopts)
                (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        if (r == 0)
                r = spawn(&child, command);
        if (r < 0)
                return r;

        run_until_ended(&child);
        if (plan->adds_up)
                add_running_processes(&child);
        if ((child.output.pipe_fd >= 0 || child.error.pipe_fd >= 0) && !child.is_told_to_end)
                fork_pump(&child);
        if (ret->exec_error)
                ret->status = ret->exec_error == ENOENT ? 127 : 126;
        else if (ret->output_error && ret->status == 0)
                ret->status = 1; /* as most commands exit when writing to standard output fails */
        return 0;
}

void child_print_exec_error(const char *file, int error) {
        if (error == ENOENT && !strchr(file, '/'))
                message_print("%s: command not found", file);
        else
                message_print("%s: %s", file, error_text(error));
}
