#include "client/spec_run.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "client/child.h"
#include "client/command.h"
#include "client/document.h"
#include "client/input.h"
#include "client/say.h"
#include "client/spec.h"
#include "util/file.h"
#include "util/utf8.h"

#define WORDS_MAX 64U /* of ours, besides labels and variables */
#define WORK "work"
#define SCRIPT "script"

typedef struct SpecRun {
        const Options *options;
        Buffer text;
        Arena arena; /* the tree, and the words */
        Spec spec;
        char program[PATH_MAX], scratch[PATH_MAX];
        int here_fd; /* where we were started */
} SpecRun;

static void spec_run_deinit(SpecRun *run) {
        spec_deinit(&run->spec);
        arena_deinit(&run->arena);
        buffer_deinit(&run->text);
        closep(&run->here_fd);
}

/* --- the file ------------------------------------------------------------------------------------- */

static int tell(const char *what, int error) {
        say("%s: %s", what, strerrordesc_np(-error));
        return EXIT_FAILED;
}

static int parse(SpecRun *run, const char *file) {
        SpecError error;
        const Value *value;
        int r;

        r = arena_init(&run->arena, document_arena_size(run->text.n) + 4 * run->text.n + (1U << 20));
        if (r == 0)
                r = document_parse(&run->text, file, &run->arena, &value);
        if (r == 0) {
                r = spec_read(value, &run->spec, &error);
                if (r == SPEC_WRONG)
                        say("%s: %s", file, error.text);
        }
        if (r < 0)
                return tell(file, r);
        return r == 0 ? EXIT_DONE : EXIT_USAGE;
}

static int read_spec(SpecRun *run) {
        const char *file = input_name(run->options->spec);
        int r;

        r = input_read(run->options->spec, &run->text);
        if (r < 0)
                return tell(file, r);
        r = parse(run, file);
        if (r == EXIT_DONE && run->spec.left_aside.n > 0)
                say("%s: perfd builds no images and installs nothing; left aside: %s", file, run->spec.left_aside.text);
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
        if (options_has(run->options, OPTION_KEEP))
                say("The run's directory is kept: %s", run->scratch);
        else if (nftw(run->scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
                say("Cannot remove %s: %s", run->scratch, strerrordesc_np(errno));
        run->scratch[0] = '\0';
}

static int write_file(const char *path, const char *text, unsigned mode) {
        scoped(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

        return fd < 0 ? -errno : file_write_all(fd, text, strlen(text));
}

/* All that is on the way was made by us, and nobody else may enter. */
static int write_files(const SpecRun *run) {
        for (size_t i = 0; i < run->spec.n_files; i++) {
                char path[PATH_MAX], *slash;
                int n = snprintf(path, sizeof(path), "%s/" WORK "/%s", run->scratch, run->spec.files[i].name), r;

                if (n < 0 || (size_t)n >= sizeof(path))
                        return -ENAMETOOLONG;
                slash = strrchr(path, '/');
                *slash = '\0';
                r = file_make_dirs(path, 0700);
                *slash = '/';
                if (r == 0)
                        r = write_file(path, run->spec.files[i].text, 0700);
                if (r < 0) {
                        say("Cannot write files[%zu], %s: %s", i, run->spec.files[i].name, strerrordesc_np(-r));
                        return r;
                }
        }
        return 0;
}

static int make_scratch(SpecRun *run) {
        const char *tmp = getenv("TMPDIR");
        char path[PATH_MAX + 16];
        int n = snprintf(run->scratch, sizeof(run->scratch), "%s/perfd-run-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp"), r;

        if (n < 0 || (size_t)n >= sizeof(run->scratch) || !mkdtemp(run->scratch)) {
                r = tell("Cannot make a directory for the run", n < 0 || (size_t)n >= sizeof(run->scratch) ? -ENAMETOOLONG : -errno);
                run->scratch[0] = '\0';
                return r;
        }

        (void)snprintf(path, sizeof(path), "%s/" WORK, run->scratch);
        r = mkdir(path, 0700) < 0 ? -errno : 0;
        if (r == 0) {
                (void)snprintf(path, sizeof(path), "%s/" SCRIPT, run->scratch);
                r = write_file(path, run->spec.script, 0700);
        }
        if (r < 0)
                return tell(run->scratch, r);
        return write_files(run) < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* --- the words ------------------------------------------------------------------------------------ */

typedef struct Words {
        char **all;
        size_t n;
        Arena *arena;
        bool is_full;
} Words;

static void put(Words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(Words *words, const char *format, ...) {
        scoped(buffer_deinit) Buffer word = {};
        va_list arguments;

        va_start(arguments, format);
        buffer_vprintf(&word, format, arguments);
        va_end(arguments);
        words->all[words->n] = buffer_error(&word) == 0 ? arena_strndup(words->arena, word.text ?: "", word.n) : NULL;
        words->is_full |= !words->all[words->n++];
}

static void put_pair(Words *words, const char *option, const char *value) {
        if (!value)
                return;
        put(words, "%s", option);
        put(words, "%s", value);
}

static void put_number(Words *words, const Options *options, OptionId id, int64_t number) {
        if (!options_has(options, id))
                return;
        put(words, "--%s", option_info[id].name);
        put(words, "%jd", (intmax_t)number);
}

static void put_limits(Words *words, const SpecRun *run) {
        const Limits *limits = &run->spec.limits;

        if (run->options->limits) {
                put_pair(words, "--limits", run->options->limits);
                return;
        }
        if (limits->cpus == 0 && limits->memory_bytes == 0)
                return;
        put(words, "--limits");
        if (limits->cpus == 0)
                put(words, "memory=%ju", (uintmax_t)limits->memory_bytes);
        else if (limits->memory_bytes == 0)
                put(words, "cpu=%.0fm", ceil(limits->cpus * 1000));
        else
                put(words, "cpu=%.0fm,memory=%ju", ceil(limits->cpus * 1000), (uintmax_t)limits->memory_bytes);
}

/* What we were given, handed on. index: of the run in its batch. */
static void put_options(Words *words, const SpecRun *run, int64_t index) {
        static const char *const modes[] = { "auto", "yes", "no" };
        const Options *options = run->options;
        const char *name = options->name;

        if (!name && run->spec.identifier && *run->spec.identifier && strlen(run->spec.identifier) < JOB_TEXT_MAX &&
            utf8_is_line(run->spec.identifier))
                name = run->spec.identifier;
        put_pair(words, "--name", name);
        put_pair(words, "--socket", options->socket);
        put_pair(words, "--spool", options->spool);
        if (options->job && run->spec.batch_size > 1) {
                put(words, "--job");
                put(words, "%.110s.%jd", options->job, (intmax_t)index);
        } else
                put_pair(words, "--job", options->job);
        for (size_t i = 0; i < options->n_labels; i++)
                put_pair(words, "--label", options->labels[i]);
        put_number(words, options, OPTION_RANK, options->rank);
        put_number(words, options, OPTION_RANKS, options->n_ranks);
        put_number(words, options, OPTION_NODE, options->node);
        put_number(words, options, OPTION_NODES, options->n_nodes);
        if (options_has(options, OPTION_INDICATOR))
                put_pair(words, "--indicator", modes[options->indicator]);
        if (options_has(options, OPTION_ENCLOSURE))
                put_pair(words, "--enclosure", enclosure_name(options->enclosure));
        if (options_has(options, OPTION_WAIT))
                put(words, "--wait");
        if (options_has(options, OPTION_VERBOSE))
                put(words, "--verbose");
        put_limits(words, run);
}

/* The words live in the arena, which is used anew by each run. */
static int make_words(SpecRun *run, int64_t index, char *const **ret) {
        size_t n_max = WORDS_MAX + 2 * run->options->n_labels + run->spec.n_variables;
        Words words = { .arena = &run->arena, .all = arena_alloc(&run->arena, n_max * sizeof(char *)) };

        if (!words.all)
                return -ENOMEM;
        put(&words, "%s", run->program);
        put(&words, "run");
        put_options(&words, run, index);
        put(&words, "--");
        if (run->spec.n_variables > 0)
                put(&words, "env");
        for (size_t i = 0; i < run->spec.n_variables; i++)
                put(&words, "%s=%s", run->spec.variables[i].name, run->spec.variables[i].text);
        put(&words, "%s/" SCRIPT, run->scratch);
        if (words.is_full)
                return -ENOMEM;

        *ret = words.all;
        return 0;
}

/* --- the batch ------------------------------------------------------------------------------------ */

static int run_there(SpecRun *run, int64_t index, ChildEnd *ret_end) {
        char path[PATH_MAX + 16];
        char *const *words;
        int r;

        r = make_words(run, index, &words);
        (void)snprintf(path, sizeof(path), "%s/" WORK, run->scratch);
        if (r == 0 && chdir(path) < 0)
                r = -errno;
        if (r == 0)
                r = child_run(words, &(ChildPlan){}, ret_end);
        if (fchdir(run->here_fd) < 0 && r == 0)
                r = -errno;
        return r < 0 ? tell("Cannot run the script", r) : EXIT_DONE;
}

/* One run, and what it left removed before a signal that came meanwhile may end us. */
static void run_once(SpecRun *run, int64_t index, int *ret_status, bool *ret_is_over) {
        size_t n_used = run->arena.n_used;
        ChildEnd end = {};
        sigset_t mask;
        int r;

        (void)sigprocmask(SIG_SETMASK, NULL, &mask);
        r = make_scratch(run);
        if (r == EXIT_DONE)
                r = run_there(run, index, &end);
        remove_scratch(run);
        run->arena.n_used = n_used;

        *ret_status = r == EXIT_DONE ? end.status : r;
        *ret_is_over = r != EXIT_DONE || end.exec_error || end.status > 128;
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
}

static int run_batch(SpecRun *run) {
        int first = 0, n_failed = 0;
        bool is_over = false;
        int64_t i = 0;

        for (; i < run->spec.batch_size && !is_over; i++) {
                int status;

                run_once(run, i, &status, &is_over);
                first = first ?: status;
                n_failed += status != 0;
        }
        if (run->spec.batch_size > 1)
                say("%jd of %jd runs, %d failed", (intmax_t)i, (intmax_t)run->spec.batch_size, n_failed);
        return first;
}

int spec_run(const Options *options) {
        scoped(spec_run_deinit) SpecRun run = { .options = options, .here_fd = -1 };
        ssize_t n = readlink("/proc/self/exe", run.program, sizeof(run.program) - 1);
        int r;

        run.here_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (n < 0 || run.here_fd < 0)
                return tell("Cannot begin", -errno);
        r = read_spec(&run);
        return r == EXIT_DONE ? run_batch(&run) : r;
}
