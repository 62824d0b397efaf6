/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/job_info.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/run/visible_gpus.h"
#include "client/wire/id.h"
#include "client/wire/own_job.h"
#include "text/text.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/scoped.h"
#include "util/utf8.h"

/* --- launcher -------------------------------------------------------------------------------------- */

#define NAMES_MAX 3U
#define NUMBER_MAX ((uint64_t)INT32_MAX)

/* The first variable that is set wins: a step has a part of its job's resources. */
typedef struct Launcher {
        const char *rank;
        const char *n_ranks[NAMES_MAX];
        const char *n_local_ranks; /* on this node */
        const char *node;
        const char *n_nodes[NAMES_MAX];
} Launcher;

/* Outermost first. */
enum {
        SLURM,
        PMI,
        PMIX,
        OPEN_MPI,
};

static const Launcher launchers[] = {
        [SLURM] = {
                .rank = "SLURM_PROCID",
                .n_ranks = { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS" },
                .node = "SLURM_NODEID",
                .n_nodes = { "SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES" },
        },
        [PMI] = { .rank = "PMI_RANK", .n_ranks = { "PMI_SIZE" }, .n_local_ranks = "MPI_LOCALNRANKS" },
        [PMIX] = { .rank = "PMIX_RANK" },
        [OPEN_MPI] = {
                .rank = "OMPI_COMM_WORLD_RANK",
                .n_ranks = { "OMPI_COMM_WORLD_SIZE" },
                .n_local_ranks = "OMPI_COMM_WORLD_LOCAL_SIZE",
        },
};

static void ignore(Launch *launch, const char *name) {
        if (launch->n_ignored < LAUNCH_IGNORED_MAX)
                launch->ignored[launch->n_ignored++] = name;
}

/* Returns a variable's number, or -1 if the variable is not set or not a number from `min` to `max`. */
static int64_t read_number(Launch *launch, const char *name, uint64_t min, uint64_t max) {
        const char *text = name ? getenv(name) : NULL;
        uint64_t n;

        if (!text)
                return -1;
        if (parse_u64(text, &n) == 0 && n >= min && n <= max)
                return (int64_t)n;

        ignore(launch, name);
        return -1;
}

/* Returns the first number set; *ret_name is the variable's name. */
static int64_t read_first(Launch *launch, const char *const names[static NAMES_MAX], const char **ret_name) {
        for (size_t i = 0; i < NAMES_MAX && names[i]; i++) {
                *ret_name = names[i];
                if (getenv(names[i]))
                        return read_number(launch, names[i], 1, NUMBER_MAX);
        }

        return -1;
}

/*
 * Finds the launcher. A process inside a Slurm step inherits the variables of the step, but another launcher with
 * other rank numbers may have started the process. If both agree, Slurm is used, since its variables tell more.
 */
static int find_launcher(Launch *launch) {
        int64_t rank, slurm = read_number(launch, launchers[SLURM].rank, 0, INT64_MAX);

        for (int i = (int)N_ELEMENTS(launchers) - 1; i > SLURM; i--) {
                rank = read_number(launch, launchers[i].rank, 0, INT64_MAX);
                if (rank < 0)
                        continue;
                launch->rank = rank;
                return rank == slurm ? SLURM : i;
        }

        launch->rank = slurm;
        return slurm >= 0 ? SLURM : -1;
}

static void find_ranks(Launch *launch, const Launcher *launcher) {
        const char *name;
        int64_t n = read_first(launch, launcher->n_ranks, &name);

        if (n > launch->rank)
                launch->n_ranks = (uint32_t)n;
        else if (n > 0)
                ignore(launch, name);
}

static void find_nodes(Launch *launch, const Launcher *launcher) {
        int64_t node = read_number(launch, launcher->node, 0, NUMBER_MAX - 1), n, n_local;
        const char *name;

        n = read_first(launch, launcher->n_nodes, &name);
        if (n > 0 && node >= n) {
                ignore(launch, launcher->node);
                ignore(launch, name);
                return;
        }

        launch->node = (int32_t)node;
        launch->n_nodes = n > 0 ? (uint32_t)n : 0;

        /* Other launchers do not number nodes, but if all ranks are local there is only one node. */
        n_local = read_number(launch, launcher->n_local_ranks, 1, NUMBER_MAX);
        if (n_local > 0 && (uint32_t)n_local == launch->n_ranks) {
                launch->node = 0;
                launch->n_nodes = 1;
        }
}

/* Step numbers from here on are not steps of tasks, but batch scripts, shells and the like, in which runs follow
 * each other. */
#define SLURM_SPECIAL_STEP UINT64_C(0xfffffff0)

static void find_job(Launch *launch) {
        static const char *const jobs[] = { "SLURM_JOB_ID", "SLURM_JOBID" }, *const steps[] = { "SLURM_STEP_ID",
                                                                                                "SLURM_STEPID" };
        int64_t job, step;

        job = read_number(launch, getenv(jobs[0]) ? jobs[0] : jobs[1], 1, INT64_MAX);
        step = read_number(launch, getenv(steps[0]) ? steps[0] : steps[1], 0, UINT32_MAX);
        if (job > 0 && step >= 0 && (uint64_t)step < SLURM_SPECIAL_STEP)
                snprintf(launch->job, sizeof(launch->job), "%jd.%jd.%jd", (intmax_t)job, (intmax_t)step,
                         (intmax_t)launch->rank);
}

void job_info_find_launcher(Launch *ret) {
        int i;

        *ret = (Launch){ .rank = -1, .node = -1 };
        i = find_launcher(ret);
        if (i < 0)
                return;

        find_ranks(ret, &launchers[i]);
        find_nodes(ret, &launchers[i]);
        if (i == SLURM)
                find_job(ret);
}

/* --- job info ---------------------------------------------------------------------------------------- */

/* Limits of perfd: the kernel counts CPU time in ticks of 10 ms. */
#define SAMPLE_MIN_NS (50 * NS_PER_MS)
#define SAMPLE_MAX_NS NS_PER_S

static int parse_interval(const Option *option, const char *value, void *place,
                          char ret_error[static OPTION_ERROR_MAX]) {
        uint64_t ns;

        if (parse_duration_ns(value, &ns) != 0 || ns < SAMPLE_MIN_NS || ns > SAMPLE_MAX_NS)
                return option_refuse(option, value, "a time from 50ms to 1s", ret_error);

        *(uint64_t *)place = ns - ns % NS_PER_MS;
        return 0;
}

static int parse_gpus(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        char words[JOB_GPUS_TEXT_MAX] = "";

        if (visible_gpus_parse(value, "", words) < strlen(value) || !*words)
                return option_refuse(option, value, "numbers or UUIDs with commas between, such as 0,1", ret_error);
        *(const char **)place = value;
        return 0;
}

const Option job_options[] = {
        OPTION_ROW_NAME(JobOptions, name),
        OPTION_ROW_LABEL(JobOptions, labels),
        { "gpus", 0, "LIST", "GPUs that the job has, as in CUDA_VISIBLE_DEVICES", .parse = parse_gpus,
          .offset = OPTION_PLACE(JobOptions, gpus, const char *) },
        { "interval", 0, "TIME", "Time between updates or readings, such as 100ms", .parse = parse_interval,
          .offset = OPTION_PLACE(JobOptions, interval_ns, uint64_t) },
        OPTION_INCLUDE(JobOptions, place, PlaceOptions, place_options),
        {},
};

void job_info_format_command(char *const *words, char ret[static JOB_COMMAND_MAX]) {
        scoped(buffer_deinit) Buffer typed = {}, valid = {};

        for (size_t i = 0; words[i] && typed.n < JOB_COMMAND_MAX; i++) {
                if (i > 0)
                        buffer_putc(&typed, ' ');
                text_put_word(&typed, words[i]);
        }
        if (typed.n > 0)
                text_put_valid(&valid, typed.text, typed.n);

        ret[0] = '\0';
        if (buffer_error(&valid) < 0 || valid.n == 0)
                return;
        utf8_copy_ellipsis(ret, JOB_COMMAND_MAX, valid.text);
}

/* Labels by which jobs of Slurm are found, from its variables. A job within another has none, except its step. */
static const struct {
        const char *key, *variable;
        bool is_of_step;
} slurm_labels[] = {
        { "array_job_id", "SLURM_ARRAY_JOB_ID", false },
        { "array_task_id", "SLURM_ARRAY_TASK_ID", false },
        { "het_job_id", "SLURM_HET_JOB_ID", false },
        { "het_job_offset", "SLURM_HET_JOB_OFFSET", false },
        { "slurm_job", "SLURM_JOB_ID", true },
        { "step", "SLURM_STEP_ID", true },
};

static void add_label(JobInfo *info, const char *key, size_t n_key, const char *value) {
        JobLabel *label = &info->labels[info->n_labels];

        assert(n_key < sizeof(label->key));
        memcpy(label->key, key, n_key);
        utf8_copy(label->value, sizeof(label->value), value);
        info->n_labels++;
}

static bool has_label(const JobInfo *info, const char *key) {
        for (size_t i = 0; i < info->n_labels; i++)
                if (strcmp(info->labels[i].key, key) == 0)
                        return true;
        return false;
}

static void add_slurm_labels(JobInfo *info, bool has_step) {
        char id[JOB_ID_MAX];
        bool is_within = own_job(id)[0];

        for (size_t i = 0; i < N_ELEMENTS(slurm_labels) && info->n_labels < JOB_LABELS_MAX; i++) {
                const char *value = getenv(slurm_labels[i].variable);
                bool is_wanted = slurm_labels[i].is_of_step ? has_step : !is_within;

                if (value && *value && value[strspn(value, "0123456789")] == '\0' && is_wanted &&
                    !has_label(info, slurm_labels[i].key))
                        add_label(info, slurm_labels[i].key, strlen(slurm_labels[i].key), value);
        }
}

/* Labels were checked when they were parsed: each fits. */
static int fill_labels(JobInfo *info, const OptionTexts *labels, bool has_step) {
        info->labels = calloc(labels->n + N_ELEMENTS(slurm_labels), sizeof(*info->labels));
        if (!info->labels)
                return -ENOMEM;

        for (size_t i = 0; i < labels->n; i++) {
                const char *equals = strchr(labels->items[i], '=');

                assert(equals);
                add_label(info, labels->items[i], (size_t)(equals - labels->items[i]), equals + 1);
        }
        add_slurm_labels(info, has_step);
        return 0;
}

static void fill_place(JobInfo *info, const PlaceOptions *place, const Launch *launch) {
        info->rank = place->rank.is_given ? (int64_t)place->rank.value : launch->rank;
        info->n_ranks = place->n_ranks > 0 ? (uint32_t)place->n_ranks : launch->n_ranks;
        info->node = place->node.is_given ? (int32_t)place->node.value : launch->node;
        info->n_nodes = place->n_nodes > 0 ? (uint32_t)place->n_nodes : launch->n_nodes;

        /* Only the options were checked against each other. */
        if (info->n_ranks > 0 && info->rank >= (int64_t)info->n_ranks) {
                info->rank = place->rank.is_given ? info->rank : -1;
                info->n_ranks = (uint32_t)place->n_ranks;
        }
        if (info->n_nodes > 0 && info->node >= (int64_t)info->n_nodes) {
                info->node = place->node.is_given ? info->node : -1;
                info->n_nodes = (uint32_t)place->n_nodes;
        }
}

static int fill_gpus(JobInfo *info, const char *given) {
        char words[JOB_GPUS_TEXT_MAX] = "";

        if (given)
                (void)visible_gpus_parse(given, "", words);
        else
                visible_gpus_find(words);
        info->gpus = *words ? strdup(words) : NULL;
        return *words && !info->gpus ? -ENOMEM : 0;
}

static int fill_id(JobInfo *info, const char *given) {
        char id[JOB_ID_TEXT_MAX];
        int r;

        if (given) {
                utf8_copy(info->id, sizeof(info->id), given);
                return 0;
        }

        r = id_make_job(clock_realtime_ns() / NS_PER_MS, id);
        if (r == 0)
                memcpy(info->id, id, sizeof(id));
        return r;
}

int job_info_fill(JobInfo *info, const JobOptions *options, const Launch *launch, char *const *command) {
        int r;

        assert(options->pid <= INT32_MAX);
        *info = (JobInfo){ .pid = (int32_t)options->pid };
        r = fill_id(info, options->id ? options->id : launch->job[0] ? launch->job : NULL);
        if (r < 0)
                return r;

        fill_place(info, &options->place, launch);
        utf8_copy(info->name, sizeof(info->name), options->name ? options->name : "");
        if (command)
                job_info_format_command(command, info->command);
        info->uid = options->uid.is_given ? (uint32_t)options->uid.value : geteuid();
        r = fill_gpus(info, options->gpus);
        if (r < 0)
                return r;
        return fill_labels(info, &options->labels, launch->job[0]);
}
