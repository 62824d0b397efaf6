/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/run/compare_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/api/api_query.h"
#include "client/commands/run/run_job.h"
#include "client/run/child.h"
#include "util/clock.h"
#include "util/error_text.h"

#define FAILURES_MAX 3U /* in a row */
#define ROUNDS_PER_PAIR 2U /* at most so many rounds for each pair that is asked for: the others are left out */
#define GRACE_NS (2 * NS_PER_S) /* from SIGTERM to SIGKILL */
#define JOB_TIMEOUT_NS NS_PER_S

typedef struct CompareRun {
        const CommandLine *line;
        const CompareOptions *options;
        char *const *const *commands;
        PairedRuns *runs;
        CompareFacts *facts;
        RunMeasured *measured; /* shared with the process of the run */
        uint8_t batches[2][RESULT_ID_BYTES];
        size_t n_failures[2];  /* in a row */
        sigset_t signals;
        ChildSignals inherited;
        int signal;            /* that ends the comparison; 0: none */
        int root_fd;
        bool has_run;          /* facts->has_perfd is known */
} CompareRun;

static void compare_run_deinit(CompareRun *run) {
        if (run->measured)
                (void)munmap(run->measured, sizeof(*run->measured));
        closep(&run->root_fd);
}

/* --- a process ------------------------------------------------------------------------------------ */

/* A run, or the command of --prepare. */
typedef struct RunPlan {
        bool is_preparation;
        ComparisonSide side;
        RunOfBatch place;
        char job[JOB_ID_TEXT_MAX];
} RunPlan;

static int run_side_job(const CompareRun *run, const RunPlan *plan) {
        char compare[RESULT_ID_TEXT_MAX + 16];
        RunOptions options = {
                .job = { .id = plan->job,
                         .labels = { .items = { compare, plan->side == COMPARISON_B ? "side=B" : "side=A" }, .n = 2 } },
                .batch = { .repeat = 1, .place = &plan->place, .measured = run->measured },
                .isolation = "scope", .collect = "auto", .quiet = true,
        };

        (void)snprintf(compare, sizeof(compare), "compare=%s", run->facts->batches[0]);
        return run_job(run->line, &options, run->commands[plan->side == COMPARISON_B]);
}

/* Runs in the new process. */
__attribute__((noreturn))
static void become(const CompareRun *run, const RunPlan *plan, pid_t parent) {
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
                _exit(125);
        for (int i = 0; i < 3; i++)
                (void)dup2(null_fd, i);
        child_signals_restore(&run->inherited);
        if (!plan->is_preparation)
                _exit(run_side_job(run, plan));
        (void)execl("/bin/sh", "sh", "-c", run->options->prepare, NULL);
        _exit(127);
}

/* Waits until the process has ended, and ends it after the timeout or a signal. Returns its exit status. */
static int await(CompareRun *run, pid_t pid, bool *ret_is_late) {
        uint64_t limit_ns = run->options->timeout_ns > 0 ? clock_boottime_ns() + run->options->timeout_ns : UINT64_MAX;
        int next = SIGTERM, status;

        *ret_is_late = false;
        while (waitpid(pid, &status, WNOHANG) == 0) {
                uint64_t now_ns = clock_boottime_ns(), rest_ns = limit_ns > now_ns ? limit_ns - now_ns : 0;
                struct timespec rest = { (time_t)(rest_ns / NS_PER_S), (long)(rest_ns % NS_PER_S) };
                int signal = limit_ns == UINT64_MAX ? sigwaitinfo(&run->signals, NULL) :
                                                      sigtimedwait(&run->signals, NULL, &rest);

                if (signal == SIGCHLD || (signal < 0 && errno != EAGAIN))
                        continue;
                if (signal > 0)
                        run->signal = signal;
                *ret_is_late |= signal < 0 && next == SIGTERM;
                (void)kill(-pid, next);
                next = SIGKILL;
                limit_ns = clock_boottime_ns() + GRACE_NS;
        }
        if (next == SIGKILL)
                (void)kill(-pid, SIGKILL); /* processes that the command left */
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Returns the exit status, or a negative errno. */
static int execute(CompareRun *run, const RunPlan *plan, bool *ret_is_late) {
        pid_t parent = getpid(), pid;

        memset(run->measured, 0, sizeof(*run->measured));
        pid = fork();
        if (pid == 0)
                become(run, plan, parent);
        if (pid < 0)
                return -errno;
        (void)setpgid(pid, pid); /* both call this, since either may run first */
        return await(run, pid, ret_is_late);
}

/* --- a run ---------------------------------------------------------------------------------------- */

/* The numbers of a run that succeeded. */
typedef struct RunNumbers {
        bool is_there;
        double resources[N_COMPARISON_RESOURCES];
        RunMeasured measured;
} RunNumbers;

/* Takes what the job used where perfd knows it. Numbers of the other source are never mixed in. */
static void take_resources(CompareRun *run, const char *job_id, double ret[static N_COMPARISON_RESOURCES],
                           double *ret_throttled_s) {
        scoped(api_query_deinit) ApiQuery query = {};
        const JobRusage *rusage = &run->measured->rusage;
        const Value *job = NULL;
        AnswerMetric metric;
        char path[64];

        (void)snprintf(path, sizeof(path), "/api/v1/jobs/%s", job_id);
        if (run->measured->has_job)
                job = api_query_peek(&query, &run->line->global, path, JOB_TIMEOUT_NS);
        if (!run->has_run)
                run->facts->has_perfd = job != NULL;
        run->has_run = true;
        ret[COMPARISON_WALL_TIME] = run->measured->wall_seconds;
        ret[COMPARISON_CPU_TIME] = rusage->ru_utime + rusage->ru_stime;
        ret[COMPARISON_MEMORY] = (double)rusage->ru_maxrss * 1024;
        ret[COMPARISON_JOB_MEMORY] = NAN;
        ret[COMPARISON_READ] = (double)rusage->ru_inblock * 512;
        ret[COMPARISON_WRITTEN] = (double)rusage->ru_oublock * 512;
        for (ComparisonResource i = 0; i < N_COMPARISON_RESOURCES && run->facts->has_perfd; i++) {
                const char *key = comparison_resources[i].job_key;

                if (key && (!job || answer_metric(job, key, &metric)))
                        ret[i] = job ? metric.value : NAN;
        }
        *ret_throttled_s = answer_metric(job, "job_cpu_throttled_seconds", &metric) ? metric.value : 0;
}

/* Counts a failure, and stops the comparison if the command fails again and again or cannot be run. */
static void count_failure(CompareRun *run, ComparisonSide side, bool is_late, int status) {
        const RunMeasured *measured = run->measured;
        size_t *n = &run->n_failures[side == COMPARISON_B];
        char *stop = run->facts->stop, name = side == COMPARISON_B ? 'B' : 'A';
        const size_t n_stop = sizeof(run->facts->stop);

        *n += 1;
        if (measured->exec_error)
                (void)snprintf(stop, n_stop, "%c cannot be run: %s", name, error_text(measured->exec_error));
        else if (*n == FAILURES_MAX && is_late)
                (void)snprintf(stop, n_stop, "%c did not end within --timeout, %u times in a row", name, FAILURES_MAX);
        else if (*n == FAILURES_MAX)
                (void)snprintf(stop, n_stop, "%c failed %u times in a row, the last time with status %d%s%.150s", name,
                               FAILURES_MAX, status, *measured->last_words ? ": " : "", measured->last_words);
}

/* Sets ret->is_there if the run succeeded. 0 or a negative errno. */
static int run_side(CompareRun *run, ComparisonSide side, size_t round, NodeNoise *shares, RunNumbers *ret) {
        bool is_warmup = round < run->options->warmup, is_late = false;
        RunPlan plan = { .side = side, .place = { .index = round - run->options->warmup,
                                                  .is_stored = !is_warmup && side <= COMPARISON_B } };
        int r = id_make_job(clock_realtime_ns() / NS_PER_MS, plan.job);
        NodeNoise begin, end;
        double throttled_s;

        memcpy(plan.place.batch, run->batches[side == COMPARISON_B], RESULT_ID_BYTES);
        if (r == 0 && run->options->prepare)
                r = execute(run, &(RunPlan){ .is_preparation = true }, &is_late);
        if (r > 0)
                (void)snprintf(run->facts->stop, sizeof(run->facts->stop),
                               "the command of --prepare failed with status %d", r);
        if (r != 0)
                return r < 0 ? r : 0;

        begin = comparison_read_noise(run->root_fd);
        r = execute(run, &plan, &is_late);
        end = comparison_read_noise(run->root_fd);
        if (r < 0 || run->signal > 0)
                return r < 0 ? r : 0;
        ret->is_there = r == 0 && !is_late && run->measured->is_there;
        ret->measured = *run->measured;
        run->facts->n_timed_out += is_late && !is_warmup;
        run->facts->n_failed += !ret->is_there && !is_late && !is_warmup;
        if (!ret->is_there) {
                count_failure(run, side, is_late, r);
                return 0;
        }
        run->n_failures[side == COMPARISON_B] = 0;
        take_resources(run, plan.job, ret->resources, &throttled_s);
        comparison_add_noise_run(shares, &begin, &end, ret->measured.wall_seconds, throttled_s, &run->facts->noise);
        return 0;
}

/* --- a pair --------------------------------------------------------------------------------------- */

static void keep_pair(PairedRuns *runs, const RunNumbers *numbers, size_t n_sides) {
        for (ComparisonSide side = 0; side < n_sides; side++) {
                const RunMeasured *measured = &numbers[side].measured;

                comparison_put_resources(runs, runs->n_pairs, side, numbers[side].resources);
                for (size_t i = 0; i < measured->n_numbers; i++)
                        comparison_put(runs, runs->n_pairs, side, measured->numbers[i].name, NULL,
                                       measured->numbers[i].value);
        }
        runs->n_pairs++;
}

/* Shuffles the sides (R. Durstenfeld, 1964), and runs them until one fails. 0 or a negative errno. */
static int run_pair(CompareRun *run, size_t round) {
        ComparisonSide sides[] = { COMPARISON_A, COMPARISON_B, COMPARISON_A_AGAIN };
        size_t n_sides = run->options->floor ? N_COMPARISON_SIDES : 2, n = 0;
        RunNumbers numbers[N_COMPARISON_SIDES] = {};
        NodeNoise shares = {};
        uint64_t coins[N_COMPARISON_SIDES];

        if (getrandom(coins, sizeof(coins), 0) != sizeof(coins))
                return -EIO;
        for (size_t i = n_sides - 1; i > 0; i--) {
                ComparisonSide kept = sides[i], *other = &sides[coins[i] % (i + 1)];

                sides[i] = *other;
                *other = kept;
        }
        for (bool goes_on = true; goes_on && n < n_sides; n++) {
                int r = run_side(run, sides[n], round, &shares, &numbers[sides[n]]);

                if (r < 0)
                        return r;
                goes_on = numbers[sides[n]].is_there;
        }
        if (round < run->options->warmup || !numbers[sides[n - 1]].is_there)
                return 0;
        if (comparison_add_noise_pair(&run->facts->noise, &shares))
                run->facts->n_disturbed++;
        else
                keep_pair(run->runs, numbers, n_sides);
        return 0;
}

/* --- all pairs ------------------------------------------------------------------------------------ */

/* Judges the pairs so far, and shows the verdict on a terminal. Returns an exit status. */
static int look(const CompareRun *run, ComparisonRow *ret) {
        const ComparisonSeries *decisive = comparison_find(run->runs, run->options->objective);
        scoped(buffer_deinit) Buffer text = {};

        if (!decisive)
                return EXIT_USAGE;
        *ret = comparison_judge(run->runs, decisive, COMPARISON_B, run->facts->within);
        compare_report_put_sentence(ret, &text);
        if (isatty(STDERR_FILENO) == 1)
                (void)fprintf(stderr, "\r\033[K%s", ret->verdict == PAIRED_UNKNOWN ? text.text ?: "" : "");
        return EXIT_DONE;
}

/* Returns an exit status. */
static int run_pairs(CompareRun *run) {
        const CompareOptions *options = run->options;
        size_t n_rounds = options->warmup + ROUNDS_PER_PAIR * options->pairs, n_judged = 0;
        ComparisonRow row = {};

        for (size_t round = 0; round < n_rounds && run->runs->n_pairs < options->pairs && row.verdict == PAIRED_UNKNOWN;
             round++) {
                int r = run_pair(run, round);

                if (r < 0)
                        return command_fail(r);
                if (run->signal > 0 || run->facts->stop[0])
                        break;
                r = run->runs->n_pairs > n_judged ? look(run, &row) : EXIT_DONE;
                if (r != EXIT_DONE)
                        return r;
                n_judged = run->runs->n_pairs;
        }
        return run->signal > 0 ? 128 + run->signal : run->facts->stop[0] ? EXIT_FAILED : EXIT_DONE;
}

static int prepare(CompareRun *run) {
        static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
        int r = 0;

        run->measured = mmap(NULL, sizeof(*run->measured), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (run->measured == MAP_FAILED) {
                run->measured = NULL;
                return -errno;
        }
        run->root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; i < 2 && r == 0; i++) {
                r = id_make_result(clock_realtime_ns() / NS_PER_MS, run->batches[i]);
                id_format_result(run->batches[i], run->facts->batches[i]);
        }
        return r == 0 ? child_signals_take(signals, N_ELEMENTS(signals), &run->signals, &run->inherited) : r;
}

int compare_runs(const CommandLine *line, const CompareOptions *options, char *const *const commands[static 2],
                 PairedRuns *runs, CompareFacts *facts) {
        scoped(compare_run_deinit) CompareRun run = { .line = line, .options = options, .commands = commands,
                                                      .runs = runs, .facts = facts, .root_fd = -1 };
        int r = prepare(&run);

        if (r < 0)
                return command_fail(r);
        r = run_pairs(&run);
        if (!facts->has_perfd)
                facts->batches[0][0] = facts->batches[1][0] = '\0';
        return r;
}
