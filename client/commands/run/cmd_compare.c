/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/api/api_query.h"
#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/run/run_job.h"
#include "client/compare/compare_report.h"
#include "client/compare/compare_stored.h"
#include "client/run/child.h"
#include "client/run/job_info.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/parse.h"

/* --- runs: two commands in pairs, each run as a job, until the numbers suffice for a verdict ----------- */

/*
 * A coin decides the order in each pair. Each run is a process of its own with a new process group, without input and
 * with its output read for indicators, so that all runs begin alike: perfctl's CPU affinity, limits, environment and
 * directory are those of all of them.
 */

typedef struct CompareOptions {
        uint64_t pairs, warmup, timeout_ns; /* timeout_ns 0: none */
        const char *prepare, *objective, *direction, *fail_on;
        const char *runs; /* of A, stored; those of B are the argument. NULL: the arguments are commands */
        double within;    /* ratio */
        bool floor, json;
} CompareOptions;

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
        char *stop = run->facts->stop;
        NodeNoise begin, end;
        double throttled_s;

        memcpy(plan.place.batch, run->batches[side == COMPARISON_B], RESULT_ID_BYTES);
        if (r == 0 && run->options->prepare)
                r = execute(run, &(RunPlan){ .is_preparation = true }, &is_late);
        if (is_late)
                (void)snprintf(stop, sizeof(run->facts->stop), "the command of --prepare did not end within --timeout");
        else if (r > 0)
                (void)snprintf(stop, sizeof(run->facts->stop), "the command of --prepare failed with status %d", r);
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
        run->facts->n_left[side == COMPARISON_B] += run->measured->n_left > 0;
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
        NodeNoise shares[2] = {};
        uint64_t coins[N_COMPARISON_SIDES];

        if (getrandom(coins, sizeof(coins), 0) != sizeof(coins))
                return -EIO;
        for (size_t i = n_sides - 1; i > 0; i--) {
                ComparisonSide kept = sides[i], *other = &sides[coins[i] % (i + 1)];

                sides[i] = *other;
                *other = kept;
        }
        for (bool goes_on = true; goes_on && n < n_sides; n++) {
                int r = run_side(run, sides[n], round, &shares[sides[n] == COMPARISON_B], &numbers[sides[n]]);

                if (r < 0)
                        return r;
                goes_on = numbers[sides[n]].is_there;
        }
        if (round < run->options->warmup || !numbers[sides[n - 1]].is_there)
                return 0;
        if (comparison_add_noise_pair(&run->facts->noise, shares))
                run->facts->n_disturbed++;
        else
                keep_pair(run->runs, numbers, n_sides);
        return 0;
}

/* --- all pairs ------------------------------------------------------------------------------------ */

/* Shows on a terminal what is known so far; NULL: nothing, since nothing runs any more. */
static void show_progress(const ComparisonRow *row) {
        scoped(buffer_deinit) Buffer text = {}, line = {};
        Screen screen;

        if (isatty(STDERR_FILENO) == 0)
                return;
        screen_init(&screen, &line, STDERR_FILENO, true);
        if (row && row->n > 0)
                compare_report_put_sentence(row, &text);
        (void)screen_text_cut(&screen, text.text ?: row ? "running the first pair" : "", screen.width - 1);
        (void)fprintf(stderr, "\r\033[K%s", line.text ?: "");
}

/* Returns an exit status. */
static int run_pairs(CompareRun *run) {
        const CompareOptions *options = run->options;
        size_t n_rounds = options->warmup + ROUNDS_PER_PAIR * options->pairs;
        ComparisonRow row = {};

        for (size_t round = 0; round < n_rounds && run->runs->n_pairs < options->pairs && row.verdict == PAIRED_UNKNOWN;
             round++) {
                const ComparisonSeries *decisive;
                int r;

                show_progress(&row);
                r = run_pair(run, round);
                show_progress(NULL);
                if (r < 0)
                        return command_fail(r);
                if (run->signal > 0 || run->facts->stop[0])
                        break;
                decisive = run->runs->n_pairs > 0 ? comparison_find(run->runs, options->objective) : NULL;
                if (decisive)
                        row = comparison_judge(run->runs, decisive, COMPARISON_B, run->facts->within);
                else if (run->runs->n_pairs > 0)
                        return EXIT_USAGE;
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

/*
 * Runs the pairs, and sets what the facts say about them. commands: each ends with NULL. Returns EXIT_DONE; EXIT_FAILED
 * if a command kept failing; or 128 and the signal that interrupted the comparison: the pairs so far are valid. Or
 * another exit status after a message.
 */
static int compare_runs(const CommandLine *line, const CompareOptions *options, char *const *const commands[static 2],
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

/* --- the command ---------------------------------------------------------------------------------- */

#define WARMUP_MAX 1000

static int parse_percent(const Option *option, const char *value, void *place,
                         char ret_error[static OPTION_ERROR_MAX]) {
        double percent;

        if (parse_double(value, &percent) != 0 || !(percent >= 0) || percent >= 100)
                return option_refuse(option, value, "a percentage from 0 to 99.9", ret_error);
        *(double *)place = percent / 100;
        return 0;
}

static const Option options_table[] = {
        { "pairs", 0, "N", "Most pairs of runs", OPTION_COUNT(CompareOptions, pairs, 1, PAIRED_PAIRS_MAX), .initial = "60" },
        { "warmup", 0, "K", "K warm-up runs first, discarded", OPTION_COUNT(CompareOptions, warmup, 0, WARMUP_MAX), .initial = "1" },
        { "prepare", 0, "COMMAND", "Shell command before each run, which is not measured", OPTION_TEXT(CompareOptions, prepare) },
        { "timeout", 't', "TIME", "Maximum time to wait", OPTION_DURATION(CompareOptions, timeout_ns, NS_PER_MS) },
        { "within", 0, "PERCENT", "Largest difference that counts as the same", .parse = parse_percent,
          .offset = OPTION_PLACE(CompareOptions, within, double), .initial = "1" },
        { "objective", 'o', "RESULT", "Result to rank or compare by",
          OPTION_TEXT(CompareOptions, objective), .initial = "wall time" },
        { "floor", 0, NULL, "Run A twice in each pair, and compare A with itself", OPTION_FLAG(CompareOptions, floor) },
        { "runs", 0, "NAME", "Compare stored runs, of which this is the name",
          OPTION_TEXT(CompareOptions, runs), .value = OPTION_VALUE_FILE },
        OPTION_ROW_DIRECTION(OPTION_CHOICE(CompareOptions, direction, "lower", "higher")),
        { "fail-on", 0, "LIST", "Verdicts with exit status 4; no-verdict: 5",
          OPTION_CHOICE(CompareOptions, fail_on, "worse", "no-verdict") },
        OPTION_ROW_JSON(CompareOptions, json),
        {},
};

/* Compares the commands after -- each, or two words for the shell. Replaces the -- between the commands by NULL. */
static int compare_commands(const CommandLine *line, PairedRuns *runs, CompareFacts *facts,
                            char names[2][JOB_COMMAND_MAX]) {
        char sh[] = "sh", dash_c[] = "-c", **words = line->arguments;
        char *shells[2][4] = { { sh, dash_c, words[0] }, { sh, dash_c, words[0] ? words[1] : NULL } };
        char *const *both[] = { shells[0], shells[1] };
        int n = line->n_arguments, i = 0;
        bool is_shell = line->n_before_dashes < 0 && n == 2;

        while (line->n_before_dashes == 0 && i < n && strcmp(words[i], "--") != 0)
                i++;
        if ((!is_shell && (i == 0 || i + 1 >= n)) || !words[0][strspn(words[0], " ")] ||
            !words[i + 1][strspn(words[i + 1], " ")])
                return command_refuse("compare", "%s", "expected two commands: 'A…' 'B…', or -- A… -- B…");
        if (!is_shell) {
                words[i] = NULL;
                both[0] = words;
                both[1] = &words[i + 1];
        }
        for (size_t k = 0; k < 2; k++) {
                job_info_format_command(both[k], names[k]);
                facts->names[k] = is_shell ? words[k] : names[k];
        }
        return compare_runs(line, line->options, both, runs, facts);
}

static int compare_stored(const CommandLine *line, PairedRuns *runs, CompareFacts *facts) {
        const CompareOptions *options = line->options;
        int r = command_check_arguments(line, 1, 1);

        if (r == EXIT_DONE && options->floor)
                return command_refuse("compare", "%s", "--floor runs commands, and --runs does not: use one of them");
        facts->is_stored = true;
        facts->names[COMPARISON_A] = options->runs;
        facts->names[COMPARISON_B] = line->arguments[0];
        for (ComparisonSide side = COMPARISON_A; side <= COMPARISON_B && r == EXIT_DONE; side++)
                r = compare_stored_read(runs, side, facts->names[side], &line->global);
        return r;
}

/* B is worse if it has more of a resource, or less of a number of which more is better. */
static int gate_status(const CompareOptions *options, const ComparisonRow *row) {
        bool is_higher_better = !row->series->unit && options->direction && strcmp(options->direction, "higher") == 0;

        if (options->fail_on && row->verdict == (is_higher_better ? PAIRED_LESS : PAIRED_MORE))
                return EXIT_REGRESSED;
        return options->fail_on && row->verdict == PAIRED_UNKNOWN && strcmp(options->fail_on, "no-verdict") == 0 ?
                       EXIT_NO_VERDICT : EXIT_DONE;
}

/* Prints the report. status: of the runs. Returns it, unless the verdict has one. */
static int conclude(const CommandLine *line, const PairedRuns *runs, const CompareFacts *facts, int status) {
        const CompareOptions *options = line->options;
        const ComparisonSeries *decisive;
        scoped(buffer_deinit) Buffer out = {};
        ComparisonRow row;
        Screen screen;
        int r;

        if (runs->n_pairs == 0) {
                message_print("%s", facts->stop[0] ? facts->stop : "no pair of runs is complete and undisturbed");
                return status == EXIT_DONE ? EXIT_FAILED : status;
        }
        decisive = comparison_find(runs, options->objective);
        if (!decisive)
                return EXIT_USAGE;
        if (options->fail_on && !decisive->unit && !options->direction)
                return command_refuse("compare", "--fail-on: which values of '%s' are better? Use --direction",
                                      decisive->name);
        row = comparison_judge(runs, decisive, COMPARISON_B, facts->within);
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        r = options->json ? compare_report_write_json(runs, &row, facts, &out) :
                            compare_report_write(runs, &row, facts, &screen);
        r = r < 0 ? command_fail(r) : output_print(&out);
        return r != EXIT_DONE ? r : status != EXIT_DONE ? status : gate_status(options, &row);
}

static int compare_run_command(const CommandLine *line) {
        const CompareOptions *options = line->options;
        scoped(freep) PairedRuns *runs = calloc(1, sizeof(*runs));
        CompareFacts facts = { .has_floor = options->floor, .within = options->within };
        char names[2][JOB_COMMAND_MAX];
        int r;

        if (!runs)
                return command_fail(-ENOMEM);
        r = options->runs ? compare_stored(line, runs, &facts) : compare_commands(line, runs, &facts, names);
        return r == EXIT_DONE || (!options->runs && r != EXIT_USAGE) ? conclude(line, runs, &facts, r) : r;
}

const Command cmd_compare = {
        .name = "compare",
        .arguments = "{'A' 'B' | -- A… -- B… | --runs ID ID}",
        .summary = "Compare two commands: which is faster, and by how much",
        .help = "Runs both in pairs, in random order, each run as a job, until the verdict is clear: 'same', 'B is "
                "2.1 % slower (1.6 to 2.7)', or 'unknown' after --pairs. A verdict about two equal commands is "
                "wrong in at most 1 of 100 comparisons, however noisy the machine is. Two quoted words are commands "
                "of the shell. Pairs in which a run failed or the machine was disturbed are left out and counted. "
                "Works without perfd too.",
        .examples = {
                "perfctl compare 'sort -u words' 'sort words | uniq'",
                "perfctl compare -o 'CPU time' --within 2 -- ./old --size 9 -- ./new --size 9",
                "perfctl compare --fail-on worse --prepare 'rm -rf cache' ./release ./candidate",
                "perfctl compare --runs old.json new.json",
        },
        COMMAND_OPTIONS(CompareOptions, options_table),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_PROGRAM,
        .runs_command = true,
        .run = compare_run_command,
};
