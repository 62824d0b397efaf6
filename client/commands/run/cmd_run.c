/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"
#include "client/commands/run/run_job.h"
#include "client/format/format.h"
#include "client/results/summary.h"
#include "client/run/spec.h"
#include "client/stack/stack_source.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/utf8.h"

#define REPEAT_MAX 100000
#define VARIABLE_NAME_BYTES_MAX 256U

/* A variable that is named twice is recorded once. */
static int parse_variable(const Option *option, const char *value, void *place,
                          char ret_error[static OPTION_ERROR_MAX]) {
        const OptionTexts *names = place;

        if (!value[0] || strchr(value, '=') || strlen(value) > VARIABLE_NAME_BYTES_MAX || !utf8_is_line(value))
                return option_refuse(option, value, "the name of a variable", ret_error);
        for (size_t i = 0; i < names->n; i++)
                if (strcmp(names->items[i], value) == 0)
                        return 0;

        return option_add_text(option, value, place, ret_error);
}

/* --- a specification of Amun ------------------------------------------------------------------------ */

#define WORK "work"
#define SCRIPT "script"
#define SPECIFICATION "specification.json"

typedef struct SpecRun {
        const CommandLine *line;
        const RunOptions *options;
        Buffer text, script_text; /* of the files of --spec and --script */
        Arena arena;
        const Value *value; /* the document of --spec */
        Spec spec;
        char scratch[PATH_MAX], script[PATH_MAX + sizeof(SCRIPT) + 1];
        char socket[PATH_MAX], spool[PATH_MAX], stack[PATH_MAX], limits[64];
        int here_fd; /* where we were started */
} SpecRun;

static void spec_run_deinit(SpecRun *run) {
        spec_deinit(&run->spec);
        arena_deinit(&run->arena);
        buffer_deinit(&run->text);
        buffer_deinit(&run->script_text);
        closep(&run->here_fd);
}

/* --- the file ------------------------------------------------------------------------------------- */

static int print_failure(const char *what, int error) {
        message_print("%s: %s", what, error_text(-error));
        return EXIT_FAILED;
}

static int parse(SpecRun *run, const char *file) {
        SpecError error;
        int r;

        r = arena_init(&run->arena, input_arena_size(run->text.n));
        if (r == 0)
                r = input_parse(&run->text, file, &run->arena, &run->value);
        if (r == 0) {
                r = spec_read(run->value, run->options->spec.script ? run->script_text.text : NULL, &run->spec, &error);
                if (r == SPEC_WRONG)
                        message_print("%s: %s", file, error.text);
        }
        if (r < 0)
                return print_failure(file, r);
        return r == 0 ? EXIT_DONE : EXIT_USAGE;
}

/* Reads the file of --script, if it is given. Returns an exit status. */
static int read_script(SpecRun *run) {
        Buffer *text = &run->script_text;
        int r;

        if (!run->options->spec.script)
                return EXIT_DONE;
        r = input_read(run->options->spec.script, text);
        if (r != EXIT_DONE)
                return r;
        if (text->n > 0 && !memchr(text->text, '\0', text->n))
                return EXIT_DONE;

        message_print("%s is not a script: it %s", input_name(run->options->spec.script),
                      text->n > 0 ? "contains NUL bytes" : "is empty");
        return EXIT_USAGE;
}

static int read_spec(SpecRun *run) {
        const char *file = input_name(run->options->spec.file);
        int r;

        r = read_script(run);
        if (r == EXIT_DONE)
                r = input_read(run->options->spec.file, &run->text);
        if (r == EXIT_DONE)
                r = parse(run, file);
        if (r == EXIT_DONE && run->spec.ignored_keys.n > 0)
                message_print("%s: ignoring parts that build images or install packages: %s", file,
                              run->spec.ignored_keys.text);
        return r;
}

/* --- the directory -------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

static void remove_scratch(SpecRun *run) {
        if (!run->scratch[0])
                return;
        if (run->options->spec.keep)
                message_print("kept the directory of the run: %s", run->scratch);
        else if (nftw(run->scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
                message_print("cannot remove %s: %s", run->scratch, error_text(errno));
        run->scratch[0] = '\0';
}

static int write_file(const char *path, const char *text, unsigned mode) {
        scoped(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

        return fd < 0 ? -errno : file_write_all(fd, text, strlen(text));
}

/* Writes the files. All directories on the path were created by us, and no other user may enter. */
static int write_files(const SpecRun *run) {
        for (size_t i = 0; i < run->spec.n_files; i++) {
                char path[PATH_MAX];
                int n = snprintf(path, sizeof(path), "%s/" WORK "/%s", run->scratch, run->spec.files[i].name), r;

                if (n < 0 || (size_t)n >= sizeof(path))
                        return -ENAMETOOLONG;
                r = file_make_parents(path, 0700);
                if (r == 0)
                        r = write_file(path, run->spec.files[i].text, 0700);
                if (r < 0) {
                        message_print("cannot write files[%zu], %s: %s", i, run->spec.files[i].name,
                                      error_text(-r));
                        return r;
                }
        }
        return 0;
}

/* Writes the specification for the script, which may install the packages that it names. Returns 0 or a negative
 * errno. */
static int write_specification(const SpecRun *run) {
        scoped(buffer_deinit) Buffer text = {};
        char path[PATH_MAX + sizeof(SPECIFICATION) + 1];
        int r;

        value_write_json(run->value, &(Json){ .out = &text });
        (void)snprintf(path, sizeof(path), "%s/" SPECIFICATION, run->scratch);
        r = buffer_error(&text);
        if (r == 0)
                r = write_file(path, text.text, 0600);
        return r == 0 && setenv("PERFD_SPECIFICATION", path, 1) < 0 ? -errno : r;
}

static int make_scratch(SpecRun *run) {
        const char *tmp = getenv("TMPDIR");
        char path[PATH_MAX + 16];
        int n = snprintf(run->scratch, sizeof(run->scratch), "%s/perfd-run-XXXXXX",
                         tmp && tmp[0] == '/' ? tmp : "/tmp"),
            r;

        if (n < 0 || (size_t)n >= sizeof(run->scratch) || !mkdtemp(run->scratch)) {
                r = print_failure("cannot create a directory for the run",
                                  n < 0 || (size_t)n >= sizeof(run->scratch) ? -ENAMETOOLONG : -errno);
                run->scratch[0] = '\0';
                return r;
        }

        (void)snprintf(path, sizeof(path), "%s/" WORK, run->scratch);
        (void)snprintf(run->script, sizeof(run->script), "%s/" SCRIPT, run->scratch);
        r = mkdir(path, 0700) < 0 ? -errno : write_file(run->script, run->spec.script, 0700);
        if (r == 0)
                r = write_specification(run);
        if (r < 0)
                return print_failure(run->scratch, r);
        return write_files(run) < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* --- the run -------------------------------------------------------------------------------------- */

/* Makes a path absolute that was given relative to the first working directory, by option or variable. */
static const char *make_absolute(const char *path, const char *variable, char ret[static PATH_MAX]) {
        char here[PATH_MAX];
        int n;

        if (!path)
                path = getenv(variable);
        if (!path || path[0] == '/' || path[0] == '\0' || !getcwd(here, sizeof(here)))
                return path && path[0] ? path : NULL;
        n = snprintf(ret, PATH_MAX, "%s/%s", here, path);
        return n > 0 && n < PATH_MAX ? ret : path;
}

static const char *write_limits(SpecRun *run) {
        const RunLimits *limits = &run->spec.limits;

        if (limits->cpus > 0 && limits->memory_bytes > 0)
                (void)snprintf(run->limits, sizeof(run->limits), "cpu=%.6f,memory=%ju", limits->cpus,
                               (uintmax_t)limits->memory_bytes);
        else if (limits->cpus > 0)
                (void)snprintf(run->limits, sizeof(run->limits), "cpu=%.6f", limits->cpus);
        else if (limits->memory_bytes > 0)
                (void)snprintf(run->limits, sizeof(run->limits), "memory=%ju", (uintmax_t)limits->memory_bytes);
        return run->limits[0] ? run->limits : NULL;
}

/* Returns false if there are too many. */
static bool name_variable(OptionTexts *environment, const char *name) {
        for (size_t i = 0; i < environment->n; i++)
                if (strcmp(environment->items[i], name) == 0)
                        return true;
        if (environment->n == OPTION_TEXTS_MAX)
                return false;

        environment->items[environment->n++] = name;
        return true;
}

static bool is_name(const char *text) {
        return text && *text && strlen(text) < JOB_TEXT_MAX && utf8_is_line(text);
}

/* Turns the specification into options. Options of the command line win. */
static int set_options(SpecRun *run, RunOptions *ret, GlobalOptions *ret_global) {
        size_t n_left_out = 0;

        *ret = *run->options;
        ret->spec.file = NULL;
        ret->specification = run->value;
        ret_global->socket = make_absolute(ret_global->socket, "PERFD_SOCKET", run->socket);
        if (ret->stack && !stack_source_is_list(ret->stack))
                ret->stack = make_absolute(ret->stack, "", run->stack);
        ret->spool = make_absolute(ret->spool, "PERFD_SPOOL", run->spool);
        if (!ret->limits)
                ret->limits = write_limits(run);
        if (!ret->job.name && is_name(run->spec.identifier))
                ret->job.name = run->spec.identifier;
        if (ret->batch.repeat == 0 && run->spec.batch_size > 1)
                ret->batch.repeat = (uint64_t)run->spec.batch_size;
        /* the script's file has no name of its own */
        if (ret->batch.repeat > 0 && !ret->failed.indicator && is_name(run->spec.identifier))
                ret->failed.indicator = run->spec.identifier;

        for (size_t i = 0; i < run->spec.n_variables; i++) {
                if (setenv(run->spec.variables[i].name, run->spec.variables[i].text, 1) < 0)
                        return -errno;
                n_left_out += !name_variable(&ret->environment, run->spec.variables[i].name);
        }
        if (n_left_out > 0)
                message_print("%s: the last %zu variables of environment are set but not recorded: the limit is %u",
                    input_name(run->options->spec.file), n_left_out, OPTION_TEXTS_MAX);
        return 0;
}

static int run_in_scratch(SpecRun *run) {
        char *command[] = { run->script, NULL }, path[PATH_MAX + 16];
        CommandLine line = *run->line;
        RunOptions options;
        int r, status;

        (void)snprintf(path, sizeof(path), "%s/" WORK, run->scratch);
        r = set_options(run, &options, &line.global);
        if (r == 0 && chdir(path) < 0)
                r = -errno;
        if (r < 0)
                return print_failure("cannot run the script", r);

        status = run_job(&line, &options, command);
        if (fchdir(run->here_fd) < 0)
                message_print("cannot return to the working directory: %s", error_text(errno));
        return status;
}

static int run_spec(const CommandLine *line, const RunOptions *options) {
        scoped(spec_run_deinit) SpecRun run = { .line = line, .options = options,
                                                .here_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
        int r;

        if (run.here_fd < 0)
                return print_failure("cannot open the working directory", -errno);
        r = read_spec(&run);
        if (r == EXIT_DONE)
                r = make_scratch(&run);
        if (r == EXIT_DONE)
                r = run_in_scratch(&run);
        remove_scratch(&run);
        return r;
}

/* --- the command ---------------------------------------------------------------------------------- */

/* Loads the format of --from, and completes the options by it. Returns an exit status. */
static int load_format(const CommandLine *line, OutputFormat *format, RunOptions *options) {
        int r;

        if (!options->from)
                return EXIT_DONE;
        if (strcmp(options->collect, "no") == 0)
                return command_refuse(line->command->name,
                                      "--from collects the output, and --collect no does not: use one of them");
        r = format_load(&(FormatOptions){ .from = options->from }, options->failed.indicator, options->failed.component,
                        format);
        options->format = format;
        options->collect = "yes";
        options->failed.indicator = format->indicator;
        return r;
}

static int run_run(const CommandLine *line) {
        const RunOptions *options = line->options;
        scoped(format_deinit) OutputFormat format = {};
        char error[OPTION_ERROR_MAX];
        RunOptions own = *options;
        int r;

        r = command_check_arguments(line, options->spec.file ? 0 : 1, options->spec.file ? 0 : COMMAND_MANY);
        if (r != EXIT_DONE)
                return r;
        if (options->spec.script && !options->spec.file)
                return command_refuse(line->command->name,
                                      "--script is the script of a specification: add --spec, or name the file as "
                                      "the command");
        r = kpi_gate_check_options(&options->kpis, line->command->name);
        if (r != EXIT_DONE)
                return r;
        if (common_options_check_place(&options->job.place, error) != 0)
                return command_refuse(line->command->name, "%s", error);
        r = options->job.id ? api_query_check_job_id(options->job.id) : EXIT_DONE;
        if (r != EXIT_DONE)
                return r;

        r = load_format(line, &format, &own);
        if (r != EXIT_DONE)
                return r;
        return options->spec.file ? run_spec(line, &own) : run_job(line, &own, line->arguments);
}

const Command cmd_run = {
        .name = "run",
        .arguments = "{[--] COMMAND [ARGUMENT]… | --spec FILE [--script FILE]}",
        .summary = "Run a command as a job",
        .help = "The command keeps its input, output and terminal, gets $PERFD_JOB, and perfctl exits as the command "
                "did. A perfd that is down, slow or full does not delay or end the command, or change its exit "
                "status. Unless standard output is a terminal, indicators that the command prints there are "
                "submitted for the job, with a record of the run. --repeat runs the command several times, as a "
                "batch; --output writes its statistics to a file whose name ends in "
                EXPORT_ENDINGS ".",
        .examples = {
                "perfctl run -- python3 train.py --epochs 3",
                "perfctl run --name resnet50 --label batch=256 -- ./train.sh > train.log",
                "srun perfctl run -- ./solver",
                "perfctl run --repeat 20 --warmup 2 -- python3 matmul.py",
        },
        COMMAND_OPTION_ROWS(RunOptions,
                OPTION_ROW_NEW_JOB(RunOptions, job.id),
                OPTION_INCLUDE(RunOptions, job, JobOptions, job_options),
                { "isolation", 0, "KIND", "Isolation level",
                  OPTION_NAME(RunOptions, isolation, job_isolation_choices), .initial = "scope" },
                { "limits", 0, "LIST", "Limits of the job's control group, such as cpu=500m,memory=4Gi", OPTION_TEXT(RunOptions, limits) },
                { "wait", 0, NULL, "Wait for all processes that the command started", OPTION_FLAG(RunOptions, wait) },
                { "collect", 0, "WHEN", "Collect results from the output",
                  OPTION_CHOICE(RunOptions, collect, "auto", "yes", "no"), .initial = "auto" },
                { "from", 0, "FORMAT", "Read the output of another program: a format of formats.d, or a file", OPTION_TEXT(RunOptions, from),
                  .value = OPTION_VALUE_FILE },
                OPTION_INCLUDE(RunOptions, failed, FailedRunOptions, failed_run_options),
                OPTION_ROW_COMPONENT_VERSION(RunOptions, component_version),
                { "repeat", 0, "N", "Run the command N times, as a batch", OPTION_COUNT(RunOptions, batch.repeat, 1, REPEAT_MAX) },
                { "warmup", 0, "K", "K warm-up runs first, discarded", OPTION_COUNT(RunOptions, batch.warmup, 0, REPEAT_MAX) },
                OPTION_ROW_OUTPUT(RunOptions, batch.output, OPTION_VALUE_FILE),
                { "env", 0, "NAME", "Record a variable with the results; may be repeated",
                  OPTION_TEXTS(RunOptions, environment, OPTION_TEXTS_MAX, parse_variable),
                  .value = OPTION_VALUE_VARIABLE },
                { "stack", 0, "WHAT", "Store results with the software stack: pip, conda, dpkg, rpm, module, container, or a lock file",
                  OPTION_TEXT(RunOptions, stack), .value = OPTION_VALUE_FILE },
                { "spec", 0, "FILE", "Run the script of an Amun specification", OPTION_TEXT(RunOptions, spec.file), .value = OPTION_VALUE_FILE },
                { "script", 0, "FILE", "Script to run instead of the one that the specification names", OPTION_TEXT(RunOptions, spec.script),
                  .value = OPTION_VALUE_FILE },
                { "keep", 0, NULL, "Keep the directory made by --spec", OPTION_FLAG(RunOptions, spec.keep) },
                OPTION_ROW_SPOOL(RunOptions, spool),
                { "report", 0, NULL, "Print the report of the job on standard error at the end", OPTION_FLAG(RunOptions, end.report) },
                { "at-end", 0, "COMMAND", "Shell command to run when perfd has stored the end", OPTION_TEXT(RunOptions, end.at_end) },
                { "mlflow", 0, NULL, "The numbers for MLflow, see perfd-mlflow(7)", OPTION_FLAG(RunOptions, end.mlflow) },
                OPTION_INCLUDE(RunOptions, kpis, KpiGateOptions, kpi_gate_options),
                { "quiet", 'q', NULL, "Do not report the id and the end of the job", OPTION_FLAG(RunOptions, quiet) },
                { "verbose", 'v', NULL, "Report each step on standard error", OPTION_FLAG(RunOptions, verbose) }),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_PROGRAM,
        .runs_command = true,
        .stops_early = true,
        .run = run_run,
};
