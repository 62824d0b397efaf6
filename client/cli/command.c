/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/command.h"

#include <stdio.h>
#include <string.h>

#include "util/nearest.h"
#include "util/scoped.h"

#define MANY (-1)
/* Where in a parallel run. */
#define OPTIONS_PLACE (OPTION(RANK) | OPTION(RANKS) | OPTION(NODE) | OPTION(NODES))

const CommandInfo command_info[N_COMMANDS] = {
        [COMMAND_RUN] = {
                .name = "run",
                .synopsis = "[OPTION]… {[--] COMMAND [ARGUMENT]… | --spec FILE}",
                .summary = "Run a command as a job",
                .help = "The command keeps its input, output and terminal, gets $PERFD_JOB, and perfctl\n"
                        "ends as it did. perfd being down, slow or full never fails, delays or ends it.\n"
                        "Unless standard output is a terminal, indicators that the command prints there\n"
                        "are submitted for the job, with the record of the run. --repeat runs it several\n"
                        "times, as a batch.\n",
                .examples = {
                        "perfctl run -- python3 train.py --epochs 3",
                        "perfctl run --name resnet50 --label batch=256 -- ./train.sh > train.log",
                        "srun perfctl run -- ./solver",
                        "perfctl run --repeat 20 --warmup 2 -- python3 matmul.py",
                },
                .options = OPTION(JOB) | OPTION(NAME) | OPTION(LABEL) | OPTIONS_PLACE | OPTION(ENCLOSURE) | OPTION(WAIT) |
                           OPTION(INDICATOR) | OPTION(COMPONENT) | OPTION(REPEAT) | OPTION(WARMUP) | OPTION(ENV) |
                           OPTION(SPOOL) | OPTION(VERBOSE) | OPTION(SPEC) | OPTION(KEEP) | OPTION(LIMITS),
                .n_arguments_min = 1,
                .n_arguments_max = MANY,
                .instead = OPTION(SPEC),
        },
        [COMMAND_SUBMIT] = {
                .name = "submit",
                .synopsis = "[OPTION]… [FILE]…",
                .summary = "Submit indicators: JSON documents that a script printed",
                .help = "Reads the files, or standard input for - and for none. A file may hold several\n"
                        "documents, one after the other. All are checked before the first is sent. What\n"
                        "perfd cannot take within the timeout is kept in the spool, and sent by the next\n"
                        "submit or flush. With --latencies a file holds the seconds that each batch of a\n"
                        "model took, on lines or as {\"time_per_batch\": [...], \"batch_length\": 8}, and its\n"
                        "percentiles are submitted.\n",
                .examples = {
                        "./matmul.py | perfctl submit",
                        "perfctl submit --job train-17 result.json",
                        "perfctl submit --timeout 30 results/*.json",
                        "perfctl submit --latencies --batch-length 8 seconds.txt",
                },
                .options = OPTION(JOB) | OPTION(NAME) | OPTION(COMPONENT) | OPTION(TIMEOUT) | OPTION(SPOOL) | OPTION(LATENCIES) |
                           OPTION(BATCH_LENGTH) | OPTION(JSON),
                .n_arguments_min = 0,
                .n_arguments_max = MANY,
        },
        [COMMAND_REPORT] = {
                .name = "report",
                .synopsis = "[OPTION]… {JOB | --all-nodes FILE…}",
                .summary = "Show on one screen how a job went",
                .help = "What ran, where and how it ended; what it was given and what it used; its phases,\n"
                        "what the node did meanwhile, and advice. A number marked with ~ comes from\n"
                        "samples; the others are exact. With --all-nodes, which takes files or - instead\n"
                        "of a job, the reports of all nodes and ranks of a run are shown as one.\n",
                .examples = {
                        "perfctl report train-17",
                        "perfctl report --json train-17 > $(hostname).json",
                        "perfctl report --all-nodes *.json",
                },
                .options = OPTION(ALL_NODES) | OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
                .many = OPTION(ALL_NODES),
        },
        [COMMAND_METRICS] = {
                .name = "metrics",
                .synopsis = "[OPTION]…",
                .summary = "List all numbers of the node or of a job",
                .help = "One line each: name, value, unit, and whether it is exact or sampled.\n",
                .examples = {
                        "perfctl metrics",
                        "perfctl metrics --job train-17 | grep cpu",
                        "perfctl metrics --json",
                        "perfctl metrics --job train-17 --mlflow --prefix node3/",
                },
                .options = OPTION(JOB) | OPTION(MLFLOW) | OPTION(NAMES) | OPTION(PREFIX) | OPTION(COMPAT) | OPTION(JSON),
        },
        [COMMAND_WATCH] = {
                .name = "watch",
                .synopsis = "[OPTION]…",
                .summary = "Watch the node's numbers change",
                .help = "Redraws on a terminal, else prints one line for each update. Ctrl-C ends it.\n",
                .examples = { "perfctl watch", "perfctl watch --interval 5 --count 12 > minute.txt" },
                .options = OPTION(INTERVAL) | OPTION(COUNT) | OPTION(JSON),
        },
        [COMMAND_SWEEP] = {
                .name = "sweep",
                .synopsis = "[OPTION]… FILE",
                .summary = "Run a command with all combinations of settings",
                .help = "FILE, YAML or JSON, has the command with {setting} in it, settings with one value\n"
                        "or a list each, extra combinations and those to exclude. Each point is a job with\n"
                        "its settings as labels, and a directory with settings.yaml, stdout, stderr and at\n"
                        "its end exit_code. What is recorded there is not run again: after Ctrl-C the same\n"
                        "command goes on.\n",
                .examples = {
                        "perfctl sweep --dry-run matmul.yaml",
                        "perfctl sweep --output results matmul.yaml",
                        "perfctl sweep --launcher 'srun -N1 -w {node}' --nodes n1,n2 matmul.yaml",
                },
                .options = OPTION(DIRECTORY) | OPTION(DRY_RUN) | OPTION(KEEP_GOING) | OPTION(RETRY_FAILED) | OPTION(JOBS) |
                           OPTION(LAUNCHER) | OPTION(NODE_LIST) | OPTION(NO_PERFD) | OPTION(NAME) | OPTION(SPOOL),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
        [COMMAND_JOB_LIST] = {
                .name = "job list",
                .synopsis = "[OPTION]…",
                .summary = "List jobs, the newest first",
                .help = "",
                .examples = { "perfctl job list", "perfctl job list --state running", "perfctl job list --limit 3 --json" },
                .options = OPTION(STATE) | OPTION(LIMIT) | OPTION(JSON),
        },
        [COMMAND_JOB_SHOW] = {
                .name = "job show",
                .synopsis = "[OPTION]… JOB",
                .summary = "Show what is known of a job besides its numbers",
                .help = "",
                .examples = { "perfctl job show train-17" },
                .options = OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
        [COMMAND_JOB_BEGIN] = {
                .name = "job begin",
                .synopsis = "[OPTION]… JOB",
                .summary = "Begin a job, as from a scheduler's prolog",
                .help = "Beginning a running job of one's own again changes nothing and is no error. With\n"
                        "--pid the job counts as interrupted when that process ends before `job end`.\n",
                .examples = { "perfctl job begin --name train --pid $$ train-17" },
                .options = OPTION(NAME) | OPTION(LABEL) | OPTIONS_PLACE | OPTION(PID) | OPTION(UID) | OPTION(TIMEOUT) |
                           OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
        [COMMAND_JOB_END] = {
                .name = "job end",
                .synopsis = "[OPTION]… JOB",
                .summary = "End a job, as from a scheduler's epilog",
                .help = "Ending a job that has ended changes nothing and is no error.\n",
                .examples = { "perfctl job end --exit-status $? train-17" },
                .options = OPTION(EXIT_STATUS) | OPTION(TIMEOUT) | OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
        [COMMAND_STATUS] = {
                .name = "status",
                .synopsis = "[OPTION]…",
                .summary = "Tell whether perfd is there and well",
                .help = "Asks both sockets. Ends with 3 when perfd cannot be reached, and with 1 when it\n"
                        "is not well.\n",
                .examples = { "perfctl status", "perfctl status --timeout 1 --json" },
                .options = OPTION(TIMEOUT) | OPTION(JSON) | OPTION(SPOOL),
        },
        [COMMAND_DOCTOR] = {
                .name = "doctor",
                .synopsis = "[OPTION]…",
                .summary = "Tell what perfd lacks here, and how to turn it on",
                .help = "Looks at the kernel, the installation and perfd itself, which need not run. Ends\n"
                        "with 0 when nothing is in trouble, though something may be missing, with 1 when\n"
                        "something is, and with 3 when perfd cannot be reached.\n",
                .examples = { "perfctl doctor", "perfctl doctor --json", "perfctl doctor --root /mnt/node17" },
                .options = OPTION(ROOT) | OPTION(TIMEOUT) | OPTION(JSON) | OPTION(SPOOL),
        },
        [COMMAND_MARK] = {
                .name = "mark",
                .synopsis = "[OPTION]… NAME",
                .summary = "Begin a phase of the job one is in, and end the last",
                .help = "Each phase has the numbers that the job has. The job is --job, else $PERFD_JOB,\n"
                        "else the one whose control group this is. It takes 0.2 seconds at most, and says\n"
                        "nothing when all is well.\n",
                .examples = { "perfctl mark load", "perfctl mark --job train-17 train || true" },
                .options = OPTION(JOB) | OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
        [COMMAND_TIME] = {
                .name = "time",
                .synopsis = "[OPTION]… NAME -- COMMAND [ARGUMENT]…",
                .summary = "Run a command as a phase of the job one is in",
                .help = "Marks NAME, runs the command, and marks the phase that was before again, with\n"
                        "the seconds the command took. perfctl ends as the command did; perfd being\n"
                        "down, slow or without such a job delays it by at most 0.2 seconds at either end.\n",
                .examples = { "perfctl time load -- ./load.sh data/", "perfctl time --job train-17 evaluate -- python3 eval.py" },
                .options = OPTION(JOB),
                .n_arguments_min = 2,
                .n_arguments_max = MANY,
        },
        [COMMAND_EXPORT_PERF_REPORT] = {
                .name = "export perf-report",
                .synopsis = "[OPTION]… JOB",
                .summary = "Write a job's samples as perf.py wrote them",
                .help = "The JSON artifact of lightgbm-benchmark: for the job's rank a list of samples\n"
                        "with twelve fields each, from the job's timeline. Counters begin at 0 with the\n"
                        "job, or with --compat when the machine was booted, as upstream's did.\n",
                .examples = { "perfctl export perf-report train-17 > perf_report.json",
                              "perfctl export perf-report --compat --output perf_report.json train-17" },
                .options = OPTION(COMPAT) | OPTION(OUTPUT),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
        [COMMAND_INDICATOR_REGISTER] = {
                .name = "indicator register",
                .synopsis = "[OPTION]… FILE…",
                .summary = "Tell perfd what an indicator's parameters and results are",
                .help = "Each file, or standard input for -, declares one model as perfd-indicators(5) says.\n"
                        "It takes the place of the one of the same name and component.\n",
                .examples = { "perfctl indicator register membw.yaml", "./describe.py | perfctl indicator register -" },
                .options = OPTION(TIMEOUT),
                .n_arguments_min = 1,
                .n_arguments_max = MANY,
        },
        [COMMAND_INDICATOR_UNREGISTER] = {
                .name = "indicator unregister",
                .synopsis = "[OPTION]… NAME [COMPONENT]",
                .summary = "Forget a model that was registered",
                .help = "Without a component it is the model that names none. Results stay; a model of that\n"
                        "name in a file, if there is one, holds for them again.\n",
                .examples = { "perfctl indicator unregister MemBw", "perfctl indicator unregister MemBw 'plain C'" },
                .options = OPTION(TIMEOUT),
                .n_arguments_min = 1,
                .n_arguments_max = 2,
        },
        [COMMAND_INDICATOR_MODELS] = {
                .name = "indicator models",
                .synopsis = "[OPTION]…",
                .summary = "List the models of indicators that perfd knows",
                .help = "",
                .examples = { "perfctl indicator models", "perfctl indicator models --json" },
                .options = OPTION(JSON),
        },
        [COMMAND_INDICATOR_SCHEMA] = {
                .name = "indicator schema",
                .synopsis = "[OPTION]… [FILE]…",
                .summary = "Print models of indicators as a schema: JSON, RDF or SQL",
                .help = "Of all models perfd knows, or without asking it of those in the files. json has all\n"
                        "members in their long form, rdf is a schema of Dgraph's, sql a table for each model.\n",
                .examples = { "perfctl indicator schema", "perfctl indicator schema --format sql | sqlite3 results.db",
                              "perfctl indicator schema --format rdf membw.yaml" },
                .options = OPTION(FORMAT),
                .n_arguments_min = 0,
                .n_arguments_max = MANY,
        },
        [COMMAND_FLUSH] = {
                .name = "flush",
                .synopsis = "[OPTION]…",
                .summary = "Send what is kept in the spool",
                .help = "What perfd refuses for good is moved to rejected/ in the spool, with the reason.\n",
                .examples = { "perfctl flush", "perfctl flush --timeout 60" },
                .options = OPTION(TIMEOUT) | OPTION(SPOOL) | OPTION(JSON),
        },
        [COMMAND_IMPORT_INSPECTION] = {
                .name = "import inspection",
                .synopsis = "[OPTION]… DIRECTORY…",
                .summary = "Import Amun's directories of results, each as a batch",
                .help = "Reads build/specification and results/N/result of each. Runs that failed are\n"
                        "kept with how they ended and what they said. Importing again changes nothing.\n"
                        "Ends with 1 when a file had to be skipped, which is said with its place.\n",
                .examples = {
                        "perfctl import inspection inspection-matmul-fd697eb4",
                        "perfctl import inspection --json zoo/inspection-*",
                },
                .options = OPTION(NAME) | OPTION(COMPONENT) | OPTION(TIMEOUT) | OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = MANY,
        },
        [COMMAND_INDICATOR_LIST] = {
                .name = "indicator list",
                .synopsis = "[OPTION]…",
                .summary = "List indicators of which there are results",
                .help = "",
                .examples = { "perfctl indicator list" },
                .options = OPTION(JSON),
        },
        [COMMAND_INDICATOR_SHOW] = {
                .name = "indicator show",
                .synopsis = "[OPTION]… NAME",
                .summary = "Show what there is of an indicator, and its latest result",
                .help = "",
                .examples = { "perfctl indicator show PiMatmul" },
                .options = OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
        [COMMAND_INDICATOR_QUERY] = {
                .name = "indicator query",
                .synopsis = "[OPTION]… NAME",
                .summary = "Sum up results of an indicator, by what they have in common",
                .help = "Statistics are n mean median sd standard_error min max q1 q3 iqr cov covm skew and\n"
                        "p0 to p100, of a result or of overall_score. Runs that failed are counted apart.\n"
                        "A KEY is a parameter, component, version or hardware.\n",
                .examples = {
                        "perfctl indicator query PiMatmul -w matrix_size=512 -g component -s median:rate",
                        "perfctl indicator query PiMatmul --since 30d --stat median:rate,p95:elapsed",
                        "perfctl indicator query PiMatmul -g dtype -s mean:rate,sd:rate -f csv > rates.csv",
                },
                .options = OPTION(WHERE) | OPTION(GROUP_BY) | OPTION(STAT) | OPTION(SINCE) | OPTION(UNTIL) | OPTION(FORMAT) |
                           OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
        [COMMAND_INDICATOR_RANK] = {
                .name = "indicator rank",
                .synopsis = "[OPTION]… NAME",
                .summary = "Tell which alternative is better, and what is noise",
                .help = "Orders by the median, with an interval of it. Alternatives that cannot be told\n"
                        "apart share a rank, marked with =. There is one ranking for each set of parameters\n"
                        "and each hardware: nothing is compared across them unless --across says so.\n",
                .examples = {
                        "perfctl indicator rank PiMatmul --objective rate --direction higher",
                        "perfctl indicator rank PiMatmul --by version -o elapsed --direction lower",
                },
                .options = OPTION(WHERE) | OPTION(BY) | OPTION(OBJECTIVE) | OPTION(DIRECTION) | OPTION(CONFIDENCE) | OPTION(ACROSS) |
                           OPTION(SINCE) | OPTION(UNTIL) | OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
        [COMMAND_INDICATOR_BATCH] = {
                .name = "indicator batch",
                .synopsis = "[OPTION]… ID",
                .summary = "Sum up the runs of a batch",
                .help = "Statistics of each result and of what the runs used. Runs that failed are listed.\n",
                .examples = { "perfctl indicator batch 0123456789abcdef0123456789abcdef" },
                .options = OPTION(JSON),
                .n_arguments_min = 1,
                .n_arguments_max = 1,
        },
};

/* A group and its commands are two words. */
static int match(const char *name, char *const *words, int n_words) {
        const char *space = strchr(name, ' ');
        size_t n = space ? (size_t)(space - name) : strlen(name);

        if (n_words < 1 || strlen(words[0]) != n || strncmp(words[0], name, n) != 0)
                return 0;
        if (!space)
                return 1;

        return n_words >= 2 && strcmp(words[1], space + 1) == 0 ? 2 : 0;
}

static const char *find_nearest(char *const *words, int n_words) {
        const char *names[N_COMMANDS];
        char both[80];

        for (unsigned id = 0; id < N_COMMANDS; id++)
                names[id] = command_info[id].name;

        if (n_words >= 2) {
                const char *nearest;

                snprintf(both, sizeof(both), "%.30s %.30s", words[0], words[1]);
                nearest = words_nearest(both, names, N_COMMANDS);
                if (nearest && strchr(nearest, ' '))
                        return nearest;
        }

        return words_nearest(words[0], names, N_COMMANDS);
}

int command_find(char *const *words, int n_words, int *ret_n_words, const char **ret_nearest) {
        for (unsigned id = 0; id < N_COMMANDS; id++) {
                int n = match(command_info[id].name, words, n_words);

                if (n == 0)
                        continue;
                *ret_n_words = n;
                return (int)id;
        }

        *ret_nearest = n_words > 0 ? find_nearest(words, n_words) : NULL;
        return -1;
}

static void write_options(Screen *screen, OptionSet options) {
        for (unsigned id = 0; id < N_OPTIONS; id++) {
                const OptionInfo *info = &option_info[id];
                char letter[] = { '-', info->letter, ',', ' ', '\0' }, text[80];

                if (!(options & OPTION_BIT(id)))
                        continue;
                (void)snprintf(text, sizeof(text), "  %s--%s %s", info->letter ? letter : "    ", info->name, info->argument ?: "");
                screen_pad(screen, screen_text(screen, text), 28);
                buffer_printf(screen->out, " %s\n", info->help);
        }
}

void command_write_overview(Screen *screen) {
        screen_heading(screen, "Examples");
        buffer_puts(screen->out,
                    "  perfctl run -- python3 train.py     run a command as a job\n"
                    "  perfctl report JOB                  see how it went\n"
                    "  ./matmul.py | perfctl submit        keep what a benchmark printed\n"
                    "  perfctl watch                       see what the node does now\n");

        screen_heading(screen, "Commands");
        for (unsigned id = 0; id < N_COMMANDS; id++)
                buffer_printf(screen->out, "  %-18s %s\n", command_info[id].name, command_info[id].summary);

        screen_heading(screen, "Options");
        write_options(screen, OPTIONS_GLOBAL | OPTION(VERSION));
        buffer_puts(screen->out,
                    "\n`perfctl COMMAND --help` has a command's options and examples, perfctl(1) the rest.\n"
                    "Exit status: 0 done, 1 failed, 2 wrong usage, 3 perfd cannot be reached.\n");
}

void command_write_group(Screen *screen, const char *word) {
        size_t n = strlen(word);

        screen_heading(screen, "Commands");
        for (unsigned id = 0; id < N_COMMANDS; id++)
                if (strncmp(command_info[id].name, word, n) == 0 && command_info[id].name[n] == ' ')
                        buffer_printf(screen->out, "  %-18s %s\n", command_info[id].name, command_info[id].summary);
        buffer_puts(screen->out, "\n`perfctl COMMAND --help` has a command's options and examples.\n");
}

void command_write_help(Screen *screen, CommandId id) {
        const CommandInfo *info = &command_info[id];

        buffer_printf(screen->out, "%s\n\n", info->summary);
        buffer_printf(screen->out, "  perfctl %s %s\n", info->name, info->synopsis);

        screen_heading(screen, "Examples");
        for (size_t i = 0; i < COMMAND_EXAMPLES_MAX && info->examples[i]; i++)
                buffer_printf(screen->out, "  %s\n", info->examples[i]);

        if (info->help[0])
                buffer_printf(screen->out, "\n%s", info->help);

        screen_heading(screen, "Options");
        write_options(screen, info->options);
        write_options(screen, OPTIONS_GLOBAL);
}
