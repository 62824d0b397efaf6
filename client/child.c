#include "client/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "client/descendants.h"
#include "client/say.h"
#include "model/job.h"
#include "util/file.h"
#include "util/scoped.h"

#define CHUNK_BYTES 65536U

static const int passed_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGTSTP, SIGWINCH };

/* What the command must find as we found it. */
typedef struct Inherited {
        sigset_t mask;
        struct sigaction child;
} Inherited;

typedef struct Child {
        Inherited inherited;
        pid_t pid;
        int signal_fd;
        int pipe_fd; /* its standard output; -1 when that is ours, or finished */
        bool is_fifo; /* our standard output is a pipe itself */
        bool has_ended;
        bool is_alone;       /* nobody is left of what it started */
        bool is_told_to_end; /* while only output, or what it left behind, is waited for */
        const ChildPlan *plan;
        Capture *capture;
        ChildEnd *end;
} Child;

/* The signals stay blocked: what is still to be done takes little time, and it is not to be cut short. */
static void child_deinit(Child *child) {
        closep(&child->signal_fd);
        closep(&child->pipe_fd);
}

/* --- signals -------------------------------------------------------------------------------------- */

static bool is_ignored(int signal) {
        struct sigaction action;

        return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/*
 * Signals arrive on a descriptor. An ignored one (nohup) stays ignored: blocked, it would be queued. SIGPIPE is
 * blocked so that a reader of ours that goes away is an error of write(). SIGCHLD is set to its default: when it is
 * ignored, nobody can be waited for.
 */
static int take_signals(Child *child) {
        const struct sigaction action = { .sa_handler = SIG_DFL };
        sigset_t mask;

        sigemptyset(&mask);
        sigaddset(&mask, SIGCHLD);
        for (size_t i = 0; i < N_ELEMENTS(passed_signals); i++)
                if (!is_ignored(passed_signals[i]))
                        sigaddset(&mask, passed_signals[i]);

        child->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
        if (child->signal_fd < 0)
                return -errno;

        sigaddset(&mask, SIGPIPE);
        if (sigaction(SIGCHLD, &action, &child->inherited.child) < 0 || sigprocmask(SIG_BLOCK, &mask, &child->inherited.mask) < 0)
                return -errno;
        return 0;
}

static void add_time(struct timeval *to, struct timeval more) {
        timeradd(to, &more, to);
}

static void add_rusage(struct rusage *to, const struct rusage *more) {
        long maxrss = to->ru_maxrss > more->ru_maxrss ? to->ru_maxrss : more->ru_maxrss;

        add_time(&to->ru_utime, more->ru_utime);
        add_time(&to->ru_stime, more->ru_stime);
#define X(field) to->field += more->field;
        RUSAGE_FIELDS(X)
#undef X
        to->ru_maxrss = maxrss;
}

static void reap_one(Child *child, pid_t pid, int status, const struct rusage *rusage) {
        ChildEnd *end = child->end;

        if (child->plan->adds_up || pid == child->pid)
                add_rusage(&end->rusage, rusage);
        if (pid != child->pid)
                return;

        child->has_ended = true;
        end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        end->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* What the command has not waited for became ours before it ended: it is reaped together with it. */
static void reap(Child *child) {
        struct rusage rusage;
        int status;
        pid_t pid;

        while ((pid = wait4(child->plan->adopts ? -1 : child->pid, &status, WNOHANG, &rusage)) > 0)
                reap_one(child, pid, status, &rusage);
        child->is_alone = pid < 0 && errno == ECHILD;
}

/* By the same signal, since the kernel lets it stop nobody whom no shell could continue. */
static void stop_as_well(void) {
        sigset_t mask;

        sigemptyset(&mask);
        sigaddset(&mask, SIGTSTP);
        (void)raise(SIGTSTP);
        (void)sigprocmask(SIG_UNBLOCK, &mask, NULL); /* here it stops */
        (void)sigprocmask(SIG_BLOCK, &mask, NULL);
}

static void pass_on(Child *child, const struct signalfd_siginfo *info) {
        int signal = (int)info->ssi_signo;

        if (signal == SIGCHLD)
                return;

        if (child->has_ended) {
                child->is_told_to_end |= signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
                return;
        }

        /* The terminal's go to the whole foreground, where the command is. */
        if (info->ssi_code != SI_KERNEL)
                (void)kill(child->pid, signal);
        if (signal == SIGTSTP)
                stop_as_well();
}

static void take_signal_events(Child *child) {
        struct signalfd_siginfo info;

        while (read(child->signal_fd, &info, sizeof(info)) == sizeof(info))
                pass_on(child, &info);
        reap(child);
}

/* --- start ---------------------------------------------------------------------------------------- */

/* In the command's process, up to its exec. */
__attribute__((noreturn))
static void become(const Inherited *inherited, char *const *command, int output_fd, int status_fd) {
        int error;

        if (output_fd >= 0)
                (void)dup2(output_fd, STDOUT_FILENO);
        (void)sigaction(SIGCHLD, &inherited->child, NULL);
        (void)sigprocmask(SIG_SETMASK, &inherited->mask, NULL);

        (void)execvp(command[0], command);
        error = errno;
        (void)file_write_all(status_fd, &error, sizeof(error));
        _exit(127);
}

/* errno of the exec, 0 when it went well: then the other end of the pipe is closed by it. */
static int read_exec_error(int fd) {
        int error = 0;
        ssize_t k;

        do
                k = read(fd, &error, sizeof(error));
        while (k < 0 && errno == EINTR);

        return k == sizeof(error) ? error : 0;
}

static int spawn(Child *child, char *const *command) {
        scoped(closep) int output_fd = -1, status_in = -1, status_out = -1;
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        status_in = fds[0];
        status_out = fds[1];

        if (child->capture) {
                if (pipe2(fds, O_CLOEXEC) < 0)
                        return -errno;
                child->pipe_fd = fds[0];
                output_fd = fds[1];
                if (fcntl(child->pipe_fd, F_SETFL, O_NONBLOCK) < 0)
                        return -errno;
        }

        child->pid = fork();
        if (child->pid < 0)
                return -errno;
        if (child->pid == 0)
                become(&child->inherited, command, output_fd, status_out);

        closep(&status_out); /* else the pipe never ends */
        status_out = -1;
        child->end->exec_error = read_exec_error(status_in);
        return 0;
}

/* --- output --------------------------------------------------------------------------------------- */

/* error: why nothing can be written any more; then the command shall not be able to either. 0: it has all been. */
static void stop_reading(Child *child, int error) {
        if (error && error != EPIPE) {
                say("Cannot write to standard output: %s", strerrordesc_np(error));
                child->end->output_error = error;
        }

        closep(&child->pipe_fd);
        child->pipe_fd = -1;
}

static void wait_for_room(void) {
        (void)poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, -1);
}

/* Takes in what the capture still wants; the bytes are known to be there. */
static void read_into_capture(Child *child, size_t n) {
        char chunk[CHUNK_BYTES];
        ssize_t k = read(child->pipe_fd, chunk, n < sizeof(chunk) ? n : sizeof(chunk));

        if (k > 0)
                capture_add(child->capture, chunk, (size_t)k);
}

/* From pipe to pipe the pages themselves move, and nothing blocks however slow the reader is. */
static ssize_t move_on(Child *child) {
        ssize_t k;

        if (child->capture->is_too_long)
                return splice(child->pipe_fd, NULL, STDOUT_FILENO, NULL, 16 * CHUNK_BYTES, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

        k = tee(child->pipe_fd, STDOUT_FILENO, CHUNK_BYTES, SPLICE_F_NONBLOCK);
        if (k > 0)
                read_into_capture(child, (size_t)k);
        return k;
}

static ssize_t copy_on(Child *child) {
        char chunk[CHUNK_BYTES];
        ssize_t n = read(child->pipe_fd, chunk, sizeof(chunk)), at = 0;

        if (n <= 0)
                return n;

        while (at < n) {
                ssize_t k = write(STDOUT_FILENO, chunk + at, (size_t)(n - at));

                if (k >= 0)
                        at += k;
                else if (errno == EAGAIN)
                        wait_for_room(); /* somebody else made it non-blocking */
                else if (errno != EINTR)
                        return -1;
        }

        capture_add(child->capture, chunk, (size_t)n);
        return n;
}

typedef enum Pumped {
        PUMPED_SOME,
        PUMPED_EMPTY,  /* nothing to write on now */
        PUMPED_FULL,   /* no room to write it to */
        PUMPED_CLOSED, /* nothing will come any more */
} Pumped;

static Pumped pump(Child *child) {
        struct pollfd pollfd = { .fd = child->pipe_fd, .events = POLLIN };
        ssize_t k;

        if (child->pipe_fd < 0)
                return PUMPED_CLOSED;
        if (poll(&pollfd, 1, 0) <= 0)
                return PUMPED_EMPTY;

        k = child->is_fifo ? move_on(child) : copy_on(child);
        if (k > 0)
                return PUMPED_SOME;
        if (k < 0 && errno == EINTR)
                return PUMPED_EMPTY;
        if (k < 0 && errno == EAGAIN) /* and it was not for want of something to read */
                return child->is_fifo ? PUMPED_FULL : PUMPED_EMPTY;

        stop_reading(child, k < 0 ? errno : 0);
        return PUMPED_CLOSED;
}

/* --- the loop ------------------------------------------------------------------------------------- */

static void wait_for_events(Child *child, Pumped pumped) {
        struct pollfd pollfds[] = {
                { .fd = child->signal_fd, .events = POLLIN },
                { .fd = pumped == PUMPED_FULL ? -1 : child->pipe_fd, .events = POLLIN },
                /* its reader may go away at any time, and the command is to notice as if it wrote there itself */
                { .fd = child->pipe_fd >= 0 && child->is_fifo ? STDOUT_FILENO : -1, .events = pumped == PUMPED_FULL ? POLLOUT : 0 },
        };

        if (poll(pollfds, N_ELEMENTS(pollfds), pumped == PUMPED_SOME ? 0 : -1) < 0)
                return;

        if (pollfds[2].revents & POLLERR)
                stop_reading(child, EPIPE);
        if (pollfds[0].revents)
                take_signal_events(child);
}

static bool is_over(const Child *child) {
        return child->has_ended && (!child->plan->waits || child->is_alone || child->is_told_to_end);
}

static void run_until_ended(Child *child) {
        for (;;) {
                bool had_ended = is_over(child); /* before: then all it wrote is in the pipe */
                Pumped pumped = pump(child);

                if (had_ended && (pumped == PUMPED_EMPTY || pumped == PUMPED_CLOSED || child->is_told_to_end))
                        return;

                wait_for_events(child, pumped);
        }
}

/* What outlives the command keeps its standard output: a process of its own goes on writing. */
static void leave_pump_behind(Child *child) {
        Pumped pumped;
        pid_t pid = fork();

        if (pid != 0) {
                child->end->pump_pid = pid > 0 ? pid : 0;
                return;
        }

        (void)sigprocmask(SIG_SETMASK, &child->inherited.mask, NULL);
        (void)dup2(child->pipe_fd, STDIN_FILENO);
        (void)close_range(3, ~0U, 0);
        child->pipe_fd = STDIN_FILENO;
        child->signal_fd = -1;
        child->capture->is_too_long = true; /* nobody asks for it any more */

        while ((pumped = pump(child)) != PUMPED_CLOSED)
                wait_for_events(child, pumped);
        _exit(0);
}

/* --- what goes on --------------------------------------------------------------------------------- */

static struct timeval ticks_to_time(uint64_t ticks, uint64_t per_s) {
        return (struct timeval){ .tv_sec = (time_t)(ticks / per_s), .tv_usec = (suseconds_t)(ticks % per_s * 1000000 / per_s) };
}

/* Of it, wait4() tells nothing yet. */
static void add_living(Child *child) {
        scoped(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct rusage *rusage = &child->end->rusage;
        uint64_t per_s = (uint64_t)sysconf(_SC_CLK_TCK);
        Descendants living;

        if (child->is_alone || proc_fd < 0 || descendants_read(proc_fd, getpid(), 0, &living) < 0)
                return;

        add_time(&rusage->ru_utime, ticks_to_time(living.user_ticks, per_s));
        add_time(&rusage->ru_stime, ticks_to_time(living.system_ticks, per_s));
}

size_t child_count_left(const ChildEnd *end) {
        scoped(closep) int proc_fd = -1;
        Descendants living;
        siginfo_t info;

        /* In most cases there is nobody, and nothing to read. */
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
                return 0;

        proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (proc_fd < 0 || descendants_read(proc_fd, getpid(), end->pump_pid, &living) < 0)
                return 0;
        return living.n_living;
}

int child_run(char *const *command, const ChildPlan *plan, ChildEnd *ret) {
        scoped(child_deinit) Child child = { .signal_fd = -1, .pipe_fd = -1, .plan = plan, .capture = plan->capture, .end = ret };
        struct stat st;
        int r;

        *ret = (ChildEnd){};
        child.is_fifo = fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode);

        r = take_signals(&child);
        if (plan->adopts)
                (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        if (r == 0)
                r = spawn(&child, command);
        if (r < 0)
                return r;

        run_until_ended(&child);
        if (plan->adds_up)
                add_living(&child);
        if (child.pipe_fd >= 0 && !child.is_told_to_end)
                leave_pump_behind(&child);
        if (ret->exec_error)
                ret->status = ret->exec_error == ENOENT ? 127 : 126;
        else if (ret->output_error && ret->status == 0)
                ret->status = 1; /* what most commands would have said, had they written there themselves */
        return 0;
}
