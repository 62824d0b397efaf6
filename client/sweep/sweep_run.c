/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/screen.h"
#include "client/run/child.h"
#include "client/sweep/sweep_specification.h"
#include "client/wire/id.h"
#include "job/job.h"
#include "text/text.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/utf8.h"

/* --- the command of a point ----------------------------------------------------------------------- */

typedef struct SweepCommand {
        char **words; /* the list and each word are owned; NULL follows the last word */
        size_t n, n_allocated;
        bool failed;          /* there was no memory for a word */
        char job[JOB_ID_MAX]; /* "" without perfd */
        Buffer parameters;    /* settings that are parameters of the results, as JSON; owned */
        const char *omitted_label; /* a setting that cannot be a label, borrowed from the plan; NULL: none */
} SweepCommand;

static void sweep_command_deinit(SweepCommand *command) {
        for (size_t i = 0; i < command->n; i++)
                free(command->words[i]);
        free(command->words);
        buffer_deinit(&command->parameters);
        *command = (SweepCommand){};
}

/* Takes the word; NULL: no memory for one. A failure is reported at the end. */
static void add(SweepCommand *command, char *word) {
        if (!word || ARRAY_RESERVE(command->words, command->n_allocated, command->n + 2) < 0) {
                free(word);
                command->failed = true;
                return;
        }

        command->words[command->n++] = word;
        command->words[command->n] = NULL;
}

static void add_pair(SweepCommand *command, const char *option, const char *value) {
        if (!value)
                return;
        add(command, strdup(option));
        add(command, strdup(value));
}

/* --- the job -------------------------------------------------------------------------------------- */

#define NAME_IN_ID_MAX 60U

/* Makes an id such as "NAME-007-j01kb8z6m3qx7v2p4". Each start has another id, since a job that has ended does not
 * start again. */
static int make_job(const SweepPlan *plan, size_t number, char ret[static JOB_ID_MAX]) {
        char unique[JOB_ID_TEXT_MAX], name[NAME_IN_ID_MAX + 1];
        int r = id_make_job(clock_realtime_ns() / NS_PER_MS, unique);

        if (r < 0)
                return r;
        utf8_copy(name, sizeof(name), plan->name);
        for (char *p = name; *p; p++)
                if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", *p))
                        *p = '_';
        (void)snprintf(ret, JOB_ID_MAX, "%s-%03zu-%s", name, number, unique);
        return 0;
}

static bool fits_label(const char *text) {
        return strlen(text) < JOB_TEXT_MAX && utf8_is_line(text);
}

static void add_label(SweepCommand *command, const char *key, const char *text) {
        Buffer word = {};

        buffer_printf(&word, "%s=%s", key, text);
        add(command, strdup("--label"));
        add(command, buffer_take(&word));
}

/* Returns true if another label has the key. A label has no @; a setting whose name is the same without its @ comes
 * first. */
static bool is_taken(const SweepBlock *block, size_t i, const char *key) {
        if (strcmp(key, "sweep") == 0)
                return true;
        for (size_t k = 0; k < block->n; k++)
                if (k != i && strcmp(block->settings[k].key, key) == 0)
                        return true;
        return false;
}

static void add_labels(SweepCommand *command, const SweepPlan *plan, const SweepPoint *point) {
        const SweepBlock *block = &plan->blocks[point->block];
        size_t n = 1;

        add_label(command, "sweep", plan->name);
        for (size_t i = 0; i < block->n; i++) {
                const char *key = block->settings[i].key, *text = sweep_plan_text(plan, point, i);

                key += *key == '@';
                if (n == JOB_LABELS_MAX || !fits_label(text) || is_taken(block, i, key)) {
                        command->omitted_label = block->settings[i].key;
                        continue;
                }
                add_label(command, key, text);
                n++;
        }
}

static void add_run(SweepCommand *command, const SweepPlan *plan, const SweepPoint *point,
                    const SweepRecorder *recorder) {
        add_pair(command, recorder->program, "run");
        add_pair(command, "--job", command->job);
        add_pair(command, "--name", plan->name);
        add_pair(command, "--socket", recorder->socket);
        add_pair(command, "--spool", recorder->spool);
        add_pair(command, "--component", recorder->component);
        add_pair(command, "--component-version", recorder->component_version);
        add_labels(command, plan, point);
}

/* Fields of a specification are facts of the run. */
static void put_parameters(SweepCommand *command, const SweepPlan *plan, const SweepPoint *point) {
        Json json = { .out = &command->parameters };
        Member all[SWEEP_SETTINGS_MAX];
        Value settings = sweep_plan_settings(plan, point, all);

        if (plan->specification)
                return;
        json_object_begin(&json);
        for (size_t i = 0; i < settings.n_members; i++)
                if (all[i].key[0] != '@')
                        value_put_json(&all[i].value, all[i].key, &json);
        json_object_end(&json);
        command->failed |= buffer_error(&command->parameters) < 0;
}

/* --- the command ---------------------------------------------------------------------------------- */

/* The templates are valid, since they were filled when the plan was read. */
static void add_filled(SweepCommand *command, const char *const *words, size_t n, Bindings *bindings) {
        PlaceholderError error;

        for (size_t i = 0; i < n; i++) {
                Buffer word = {};
                int r = placeholder_fill(words[i], bindings, &word, &error);

                assert(r == 0);
                add(command, buffer_take(&word));
        }
}

/* The directory of a point has its specification. */
static void add_specification(SweepCommand *command, const SweepPlan *plan, const char *directory) {
        Buffer path = {};

        buffer_printf(&path, "%s/" SWEEP_FILE_SPECIFICATION, directory);
        add(command, strdup("--spec"));
        add(command, buffer_take(&path));
        add_pair(command, "--script", plan->specification_script);
}

static void add_script(SweepCommand *command, const char *script, Bindings *bindings) {
        PlaceholderError error;
        Buffer filled = {};
        int r = placeholder_fill_script(script, bindings, &filled, &error);

        assert(r <= 0);
        command->failed |= r < 0;
        add_pair(command, "sh", "-c");
        add(command, buffer_take(&filled));
}

/*
 * The argument vector of a point: `perfctl run` with the point's job and labels, and the command. *ret must own
 * nothing.
 * number: of the point, from 1. recorder: NULL: the point is not a job. 0 or a negative errno.
 */
static int sweep_command_make(SweepCommand *ret, const SweepPlan *plan, const SweepPoint *point, size_t number,
                              const char *directory, const SweepRecorder *recorder) {
        scoped(sweep_command_deinit) SweepCommand command = {};
        Binding all[SWEEP_SETTINGS_MAX + 1];
        Bindings bindings;
        int r = recorder ? make_job(plan, number, command.job) : 0;

        if (r < 0)
                return r;
        sweep_plan_bind(plan, point, directory, all, &bindings);
        if (recorder)
                add_run(&command, plan, point, recorder);
        else if (plan->specification)
                add_pair(&command, "perfctl", "run");
        if (plan->specification)
                add_specification(&command, plan, directory);
        else if (recorder)
                add(&command, strdup("--"));
        if (plan->script)
                add_script(&command, plan->script, &bindings);
        else
                add_filled(&command, plan->words, plan->n_words, &bindings);
        put_parameters(&command, plan, point);
        if (command.failed)
                return -ENOMEM;

        *ret = command;
        command = (SweepCommand){};
        return 0;
}

int sweep_run_put_command(const SweepOrder *order, size_t i, const char *directory, Buffer *out) {
        scoped(sweep_command_deinit) SweepCommand command = {};
        int r = sweep_command_make(&command, order->plan, &order->plan->points[i], i + 1, directory, NULL);

        for (size_t k = 0; r == 0 && k < command.n; k++) {
                if (k > 0)
                        buffer_putc(out, ' ');
                text_put_word(out, command.words[k]);
        }
        return r == 0 ? buffer_error(out) : r;
}

/* --- the state ------------------------------------------------------------------------------------ */

typedef struct SweepCounts {
        size_t n_recorded, n_done, n_failed; /* done: all points that succeeded, recorded ones included */
        size_t n_timed;
        uint64_t timed_ns; /* total time of the points that ended in this run */
} SweepCounts;

typedef struct Sweep {
        const SweepOrder *order;
        size_t i_next_point;
        pid_t pid;  /* of the running point and its group; 0: none */
        char *path; /* of its directory; owned */
        uint64_t begin_ns;
        SweepCounts counts;
        sigset_t signals;
        ChildSignals inherited;
        int signal;       /* first signal to end the sweep; 0: none */
        unsigned n_told;  /* number of such signals */
        bool is_stopping; /* no further point is started */
        bool is_broken;   /* a point could not be started or recorded */
        bool has_warned_of_labels;
        pid_t guard_pid; /* 0: none */
        pid_t *group;    /* of the running point, in memory shared with the guard; 0: none */
        Screen screen; /* standard error */
        Buffer line;
} Sweep;

static void sweep_deinit(Sweep *sweep) {
        if (sweep->guard_pid > 0) {
                (void)kill(sweep->guard_pid, SIGKILL);
                while (waitpid(sweep->guard_pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        if (sweep->group)
                (void)munmap(sweep->group, sizeof(*sweep->group));
        free(sweep->path);
        buffer_deinit(&sweep->line);
}

bool sweep_run_is_recorded(const SweepOrder *order, size_t i) {
        const SweepRecord *record = order->records[i];

        return record && record->is_done && !(order->retries_failed && record->exit_code != 0);
}

/* --- progress ------------------------------------------------------------------------------------- */

/* Estimates the remaining time from the average of finished points, less the elapsed time of the running point. 0:
 * unknown. */
static uint64_t estimate_ns(const Sweep *sweep, size_t n_left, uint64_t for_ns) {
        uint64_t each_ns = sweep->counts.n_timed > 0 ? sweep->counts.timed_ns / sweep->counts.n_timed : 0;

        return each_ns * n_left - (for_ns < each_ns ? for_ns : each_ns);
}

static void put_progress(const Sweep *sweep, Buffer *out) {
        size_t n_points = sweep->order->plan->n_points,
               n_left = n_points - sweep->counts.n_done - sweep->counts.n_failed;
        uint64_t for_ns = sweep->pid > 0 ? clock_boottime_ns() - sweep->begin_ns : 0, left_ns;
        char text[TEXT_MAX];

        buffer_printf(out, "%zu of %zu points: %zu done, %zu failed, %zu left",
                      sweep->counts.n_done + sweep->counts.n_failed, n_points, sweep->counts.n_done,
                      sweep->counts.n_failed, n_left);
        if (n_left == 0 || sweep->is_stopping)
                return;
        left_ns = estimate_ns(sweep, n_left, for_ns);
        text_duration(left_ns > 0 ? left_ns : for_ns, text);
        if (left_ns > 0)
                buffer_printf(out, ", about %s", text);
        else if (for_ns >= NS_PER_S)
                buffer_printf(out, ", %s so far", text);
}

#define HIDE "\r\x1b[K"
#define HIDE_BYTES (sizeof(HIDE) - 1)

/* On a terminal, the progress is one line that is overwritten; a message replaces the line. */
static void hide_progress(const Sweep *sweep) {
        if (sweep->screen.can_move)
                (void)file_write_all(STDERR_FILENO, HIDE, HIDE_BYTES);
}

static void show_progress(Sweep *sweep) {
        if (!sweep->screen.can_move)
                return;
        buffer_clear(&sweep->line);
        buffer_puts(&sweep->line, HIDE);
        put_progress(sweep, &sweep->line);
        if (buffer_error(&sweep->line) < 0)
                return;
        if (sweep->line.n > HIDE_BYTES + sweep->screen.width - 1) /* a line that wraps cannot be overwritten */
                sweep->line.n = HIDE_BYTES + sweep->screen.width - 1;
        (void)file_write_all(STDERR_FILENO, sweep->line.text, sweep->line.n);
}

static void tell_end(Sweep *sweep, int status) {
        const char *name = strrchr(sweep->path, '/') + 1;
        scoped(buffer_deinit) Buffer line = {};
        char took[TEXT_MAX];

        if (status == 0 && sweep->screen.can_move)
                return; /* the progress line shows the same */

        text_duration(clock_boottime_ns() - sweep->begin_ns, took);
        if (status == 0)
                buffer_printf(&line, "%s: done in %s", name, took);
        else
                buffer_printf(&line, "%s: failed with %d after %s, see its " SWEEP_FILE_STDERR, name, status, took);
        if (!sweep->screen.can_move) {
                buffer_puts(&line, "; ");
                put_progress(sweep, &line);
        }
        hide_progress(sweep);
        if (buffer_error(&line) == 0)
                message_print("%s", line.text);
}

/* --- signals -------------------------------------------------------------------------------------- */

static const int end_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

/* Passes on the signal itself the first time, then SIGTERM, then SIGKILL. */
static void pass_on(Sweep *sweep, int signal) {
        int passed = sweep->n_told == 0 ? signal : sweep->n_told == 1 ? SIGTERM : SIGKILL;

        if (sweep->n_told == 0) {
                hide_progress(sweep);
                message_print("interrupted: terminating the running point, to be repeated by the next start");
        }
        sweep->n_told++;
        sweep->signal = sweep->signal ?: signal;
        sweep->is_stopping = true;
        (void)kill(-sweep->pid, passed);
}

/* --- the guard ------------------------------------------------------------------------------------ */

#define GUARD_PATIENCE_NS (5 * NS_PER_S)
#define GUARD_LOOK_NS (20 * NS_PER_MS)

static void end_group(pid_t group) {
        const struct timespec look = { .tv_nsec = (long)GUARD_LOOK_NS };
        uint64_t begin_ns = clock_boottime_ns();

        (void)kill(-group, SIGTERM);
        (void)kill(-group, SIGCONT); /* a stopped process does not end otherwise */
        while (kill(-group, 0) == 0 && clock_boottime_ns() - begin_ns < GUARD_PATIENCE_NS)
                (void)nanosleep(&look, NULL);
        (void)kill(-group, SIGKILL);
}

/* Runs in the guard's process. The kernel sends SIGUSR1 when the sweep has ended. The directory stays locked until
 * the guard ends. */
__attribute__((noreturn))
static void guard(const pid_t *group, int directory_fd, pid_t sweep) {
        sigset_t all, end;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)setsid();
        (void)prctl(PR_SET_NAME, "perfctl-guard");
        sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        for (int i = 0; i < 3; i++)
                (void)dup2(null, i);
        file_close_others(directory_fd, directory_fd);

        sigemptyset(&end);
        sigaddset(&end, SIGUSR1);
        if (prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0 && getppid() == sweep)
                (void)sigwaitinfo(&end, NULL);
        if (*group > 0)
                end_group(*group);
        _exit(0);
}

static int start_guard(Sweep *sweep) {
        pid_t *group = mmap(NULL, sizeof(*group), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
              parent = getpid();

        if (group == MAP_FAILED)
                return -errno;
        sweep->group = group;
        sweep->guard_pid = fork();
        if (sweep->guard_pid == 0)
                guard(group, sweep->order->tree->fd, parent);
        return sweep->guard_pid > 0 ? 0 : -errno;
}

/* --- begin ---------------------------------------------------------------------------------------- */

static void redirect(const char *directory, const char *name, int to) {
        char path[4096];
        int fd, n = snprintf(path, sizeof(path), "%s/%s", directory, name);

        fd = n > 0 && (size_t)n < sizeof(path) ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
        if (fd < 0 || dup2(fd, to) < 0)
                _exit(125);
}

/* Runs in the point's process until exec. The guard reads the group after the sweep has ended: one of the two sees
 * the other. */
__attribute__((noreturn))
static void become(const Sweep *sweep, const char *directory, const SweepCommand *command, pid_t parent) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC), error;

        (void)setpgid(0, 0);
        *sweep->group = getpid();
        if (getppid() != parent)
                _exit(125);
        if (null >= 0)
                (void)dup2(null, STDIN_FILENO);
        redirect(directory, SWEEP_FILE_STDERR, STDERR_FILENO);
        redirect(directory, SWEEP_FILE_STDOUT, STDOUT_FILENO);
        (void)setenv("PERFD_SWEEP_DIRECTORY", directory, 1);
        if (command->parameters.text)
                (void)setenv("PERFD_PARAMETERS", command->parameters.text, 1);
        child_signals_restore(&sweep->inherited);

        (void)execvp(command->words[0], command->words);
        error = errno;
        child_print_exec_error(command->words[0], error);
        _exit(error == ENOENT ? 127 : 126);
}

static int write_job(const char *directory, const char *job) {
        char text[JOB_ID_MAX + 1];

        (void)snprintf(text, sizeof(text), "%s\n", job);
        return job[0] ? sweep_tree_write(directory, SWEEP_FILE_JOB, text, false) : 0;
}

static int write_specification(const SweepPlan *plan, const SweepPoint *point, const char *directory) {
        scoped(buffer_deinit) Buffer text = {};
        SweepUse uses[SWEEP_SETTINGS_MAX];
        Member all[SWEEP_SETTINGS_MAX];
        Value settings;

        if (!plan->specification)
                return 0;
        settings = sweep_plan_settings(plan, point, all);
        if (sweep_specification_write(plan->specification, &settings, &text, uses) < 0)
                return -ENOMEM;
        return sweep_tree_write(directory, SWEEP_FILE_SPECIFICATION, text.text, false);
}

static void warn_of_labels(Sweep *sweep, const SweepCommand *command) {
        if (!command->omitted_label || sweep->has_warned_of_labels)
                return;
        sweep->has_warned_of_labels = true;
        hide_progress(sweep);
        message_print("label '%s' omitted: a job has at most %u labels with different keys, each one line of up to %d "
                      "bytes; " SWEEP_FILE_SETTINGS " has all settings",
                      command->omitted_label, JOB_LABELS_MAX, JOB_TEXT_MAX - 1);
}

static int begin_point(Sweep *sweep, size_t i) {
        const SweepOrder *order = sweep->order;
        scoped(sweep_command_deinit) SweepCommand command = {};
        scoped(freep) char *path = NULL;
        pid_t parent = getpid();
        int r;

        assert(sweep->pid == 0 && !sweep->path && i < order->plan->n_points);
        r = sweep_tree_begin(order->tree, order->plan, &order->plan->points[i], i + 1, order->records[i], &path);
        if (r == 0)
                r = sweep_command_make(&command, order->plan, &order->plan->points[i], i + 1, path, order->recorder);
        if (r == 0)
                r = write_specification(order->plan, &order->plan->points[i], path);
        if (r == 0)
                r = write_job(path, command.job);
        if (r < 0)
                return r;
        warn_of_labels(sweep, &command);

        sweep->pid = fork();
        if (sweep->pid < 0) {
                sweep->pid = 0;
                return -errno;
        }
        if (sweep->pid == 0)
                become(sweep, path, &command, parent);

        (void)setpgid(sweep->pid, sweep->pid); /* parent and child both call this, since either may run first */
        sweep->begin_ns = clock_boottime_ns();
        sweep->path = TAKE(path);
        return 0;
}

/* --- end ------------------------------------------------------------------------------------------ */

static void record_end(Sweep *sweep, int status) {
        int r;

        r = sweep_tree_end(sweep->path, status);
        if (r < 0) {
                hide_progress(sweep);
                message_print("cannot write %s/" SWEEP_FILE_EXIT_CODE ": %s; no further point is started", sweep->path,
                              error_text(-r));
                sweep->is_stopping = sweep->is_broken = true;
                return;
        }

        sweep->counts.n_timed++;
        sweep->counts.timed_ns += clock_boottime_ns() - sweep->begin_ns;
        sweep->counts.n_done += status == 0;
        sweep->counts.n_failed += status != 0;
        if (status != 0 && sweep->order->stops_on_failure)
                sweep->is_stopping = true;
        tell_end(sweep, status);
}

/* An interrupted point is not recorded. */
static void reap(Sweep *sweep) {
        int status;

        if (waitpid(sweep->pid, &status, WNOHANG) <= 0)
                return;
        sweep->pid = *sweep->group = 0;
        if (sweep->n_told == 0)
                record_end(sweep, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
        free(sweep->path);
        sweep->path = NULL;
}

/* --- the loop ------------------------------------------------------------------------------------- */

static int begin_next(Sweep *sweep) {
        while (sweep->i_next_point < sweep->order->plan->n_points &&
               sweep_run_is_recorded(sweep->order, sweep->i_next_point))
                sweep->i_next_point++;
        return sweep->i_next_point < sweep->order->plan->n_points ? begin_point(sweep, sweep->i_next_point++) : 0;
}

/* Waits at most a second on a terminal, since the progress shows times. */
static int wait_for_signal(const Sweep *sweep) {
        return sweep->screen.can_move ? sigtimedwait(&sweep->signals, NULL, &(struct timespec){ .tv_sec = 1 }) :
                                        sigwaitinfo(&sweep->signals, NULL);
}

static void work(Sweep *sweep) {
        for (;;) {
                int r = sweep->pid == 0 && !sweep->is_stopping ? begin_next(sweep) : 0, signal;

                if (r < 0) {
                        hide_progress(sweep);
                        message_print("cannot start point %zu in %s: %s; no further point is started",
                                      sweep->i_next_point, sweep->order->tree->path, error_text(-r));
                        sweep->is_stopping = sweep->is_broken = true;
                }
                show_progress(sweep);
                if (sweep->pid == 0)
                        return;

                signal = wait_for_signal(sweep);
                reap(sweep); /* before a signal is passed on, so that a point that has already ended is recorded */
                if (signal > 0 && signal != SIGCHLD && sweep->pid > 0)
                        pass_on(sweep, signal);
        }
}

static void count_recorded(Sweep *sweep) {
        for (size_t i = 0; i < sweep->order->plan->n_points; i++) {
                if (!sweep_run_is_recorded(sweep->order, i))
                        continue;
                sweep->counts.n_recorded++;
                *(sweep->order->records[i]->exit_code == 0 ? &sweep->counts.n_done : &sweep->counts.n_failed) += 1;
        }
}

static int prepare(Sweep *sweep) {
        count_recorded(sweep);
        return child_signals_take(end_signals, N_ELEMENTS(end_signals), &sweep->signals, &sweep->inherited) ?:
               start_guard(sweep);
}

int sweep_run(const SweepOrder *order) {
        scoped(sweep_deinit) Sweep sweep = { .order = order };
        scoped(buffer_deinit) Buffer progress = {};
        int r;

        screen_init(&sweep.screen, &sweep.line, STDERR_FILENO, order->no_color);
        r = prepare(&sweep);
        if (r < 0) {
                message_print("cannot start: %s", error_text(-r));
                return EXIT_FAILED;
        }
        if (sweep.counts.n_recorded > 0)
                message_print("%zu of %zu points are already recorded in %s%s", sweep.counts.n_recorded,
                              order->plan->n_points, order->tree->path,
                              sweep.counts.n_failed > 0 ? "; use --retry-failed to run failed points again" : "");

        work(&sweep);
        put_progress(&sweep, &progress);
        hide_progress(&sweep);
        if (buffer_error(&progress) == 0)
                message_print("%s in %s%s", progress.text, order->tree->path,
                              sweep.signal ? "; run the same command to continue" : "");
        if (sweep.signal)
                return 128 + sweep.signal;
        return sweep.counts.n_failed > 0 || sweep.is_broken ? EXIT_FAILED : EXIT_DONE;
}
