/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/processes/group_ledger.h"
#include "util/clock.h"

typedef struct JobGroupsOptions {
        uint64_t interval_ns, count; /* count 0: until the job ends */
        bool pss, watch, json;
} JobGroupsOptions;

static const Option options_table[] = {
        { "pss", 0, NULL, "Also read the proportional and the private memory, which takes longer",
          OPTION_FLAG(JobGroupsOptions, pss) },
        OPTION_ROW_WATCH(JobGroupsOptions, watch),
        OPTION_ROW_INTERVAL(JobGroupsOptions, interval_ns),
        OPTION_ROW_COUNT(JobGroupsOptions, count),
        OPTION_ROW_JSON(JobGroupsOptions, json),
        {},
};

typedef struct GroupWatch {
        const JobGroupsOptions *options;
        char job[JOB_ID_MAX];
        char cgroup[4096];
        int cgroup_fd, proc_fd;
        CgroupMembers members;
        GroupLedger ledger;
        uint64_t read_ns, interval_ns; /* time of the reading, and since the one before; 0: the first */
        bool is_repeated;
        bool is_over;                  /* the control group was removed */
} GroupWatch;

static void group_watch_deinit(GroupWatch *watch) {
        group_ledger_deinit(&watch->ledger);
        cgroup_members_deinit(&watch->members);
        closep(&watch->cgroup_fd);
        closep(&watch->proc_fd);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static int io_error(const LedgerGroup *group) {
        return group->io_error ?: group->lost_error;
}

/* Processes that have ended, and for which no process has waited, do not count. */
static bool has_no_process(const LedgerGroup *group) {
        return group->n_processes == 0;
}

/* NAN before the second reading. */
static double find_cpus(const GroupWatch *watch, const LedgerGroup *group) {
        double ticks = (double)(group->total[USAGE_CPU] - group->last[USAGE_CPU]);

        return watch->interval_ns > 0 ? ticks / (double)sysconf(_SC_CLK_TCK) * (double)NS_PER_S / (double)watch->interval_ns : (double)NAN;
}

static double cpu_seconds(const LedgerGroup *group) {
        return (double)group->total[USAGE_CPU] / (double)sysconf(_SC_CLK_TCK);
}

static void put_bytes(Json *json, const char *key, bool is_known, uint64_t bytes) {
        json_put_int_or_null(json, key, is_known, (int64_t)bytes);
}

static void put_error(Json *json, const char *key, int error) {
        json_put_string(json, key, error == 0 || error == ENODATA ? NULL : strerrordesc_np(error));
}

static void put_group(const GroupWatch *watch, const LedgerGroup *group, Json *json) {
        double cpus = find_cpus(watch, group);

        json_object_begin(json);
        json_put_int_or_null(json, "group", group->id != LEDGER_GROUP_SUM, group->id);
        json_put_string(json, "name", group->name[0] ? group->name : NULL);
        json_put_bool(json, "leader_running", group->has_leader);
        json_put_bool(json, "ended", has_no_process(group));
        json_put_int_or_null(json, "rank", group->rank.rank >= 0 && !group->has_ranks, group->rank.rank);
        json_put_int_or_null(json, "local_rank", group->rank.local_rank >= 0 && !group->has_ranks, group->rank.local_rank);
        json_put_bool(json, "ranks_differ", group->has_ranks);
        json_put_uint(json, "processes", group->n_processes);
        json_put_double(json, "cpu_seconds", cpu_seconds(group));
        json_put_double_or_null(json, "cpus", !isnan(cpus), cpus);
        json_put_uint(json, "rss_bytes", group->rss_bytes);
        put_bytes(json, "pss_bytes", group->pages_error == 0 && watch->options->pss, group->pss_bytes);
        put_bytes(json, "private_bytes", group->pages_error == 0 && watch->options->pss, group->private_bytes);
        put_error(json, "memory_error", group->pages_error);
        put_bytes(json, "disk_read_bytes", io_error(group) == 0, group->total[USAGE_READ]);
        put_bytes(json, "disk_written_bytes", io_error(group) == 0, group->total[USAGE_WRITTEN]);
        put_error(json, "disk_error", io_error(group));
        json_object_end(json);
}

static void write_json(const GroupWatch *watch, Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_string(&json, "job", watch->job);
        json_put_string(&json, "cgroup", watch->cgroup);
        json_put_uint(&json, "time_ms", clock_realtime_ns() / NS_PER_MS);
        json_put_double_or_null(&json, "interval_s", watch->interval_ns > 0, (double)watch->interval_ns / (double)NS_PER_S);
        json_put_uint(&json, "hidden_processes", watch->ledger.n_hidden);
        json_put_array_begin(&json, "groups");
        for (size_t i = 0; i < watch->ledger.n_groups; i++)
                put_group(watch, watch->ledger.groups[i], &json);
        json_array_end(&json);
        json_object_end(&json);
        buffer_putc(out, '\n');
}

/* --- text ----------------------------------------------------------------------------------------- */

static void put_size(Grid *grid, bool is_known, uint64_t bytes) {
        char text[TEXT_MAX];

        text_mib((double)bytes / 1048576, text);
        grid_right(grid, is_known ? text : "-");
}

static void put_rank(Grid *grid, const LedgerGroup *group) {
        int64_t rank = group->rank.rank >= 0 ? group->rank.rank : group->rank.local_rank;
        char text[TEXT_MAX] = "-";

        if (rank >= 0)
                snprintf(text, sizeof(text), "%jd", (intmax_t)rank);
        grid_right(grid, group->has_ranks ? "several" : text);
}

static void put_row(const GroupWatch *watch, const LedgerGroup *group, Grid *grid) {
        char id[TEXT_MAX], name[PROCESS_NAME_MAX + 16], time[TEXT_MAX], cpus[TEXT_MAX] = "-";
        double n_cpus = find_cpus(watch, group);

        snprintf(id, sizeof(id), "%d", (int)group->id);
        snprintf(name, sizeof(name), "%s%s", group->name, has_no_process(group) ? " (ended)" : group->has_leader ? "" : " (no leader)");
        text_duration((uint64_t)(cpu_seconds(group) * (double)NS_PER_S), time);
        if (!isnan(n_cpus))
                text_cpus(n_cpus, cpus);

        grid_right(grid, group->id == LEDGER_GROUP_SUM ? "-" : id);
        grid_text(grid, group->id == LEDGER_GROUP_SUM ? "groups that ended earlier" : name);
        if (has_no_process(group))
                grid_style(grid, STYLE_DIM);
        put_rank(grid, group);
        grid_count(grid, group->n_processes);
        grid_right(grid, cpus);
        grid_right(grid, time);
        put_size(grid, !has_no_process(group), group->rss_bytes);
        if (watch->options->pss) {
                put_size(grid, !has_no_process(group) && group->pages_error == 0, group->pss_bytes);
                put_size(grid, !has_no_process(group) && group->pages_error == 0, group->private_bytes);
        }
        put_size(grid, io_error(group) == 0, group->total[USAGE_READ]);
        put_size(grid, io_error(group) == 0, group->total[USAGE_WRITTEN]);
}

static void write_reasons(const GroupWatch *watch, Buffer *out) {
        if (watch->ledger.n_hidden > 0)
                buffer_printf(out, "%ju process%s of other users %s missing, because /proc hides them (hidepid)\n",
                              (uintmax_t)watch->ledger.n_hidden, watch->ledger.n_hidden == 1 ? "" : "es",
                              watch->ledger.n_hidden == 1 ? "is" : "are");
        for (size_t i = 0; i < watch->ledger.n_groups; i++) {
                const LedgerGroup *group = watch->ledger.groups[i];

                if (io_error(group) != 0)
                        buffer_printf(out, "Disk I/O of group %d is unavailable: %s\n", (int)group->id,
                                      strerrordesc_np(io_error(group)));
                if (watch->options->pss && group->pages_error != 0)
                        buffer_printf(out, "PSS and private memory of group %d are unavailable: %s\n", (int)group->id,
                                      strerrordesc_np(group->pages_error));
        }
}

static int write_text(const GroupWatch *watch, Screen *screen) {
        scoped(grid_deinit) Grid grid = {};
        int r;

        if (watch->is_repeated && screen->can_move)
                buffer_puts(screen->out, "\x1b[H\x1b[J");
        else if (watch->interval_ns > 0)
                buffer_putc(screen->out, '\n');
        grid_init_heads(&grid, watch->options->pss ? ">GROUP|PROCESS|>RANK|>PROCS|>CPUS|>CPU TIME|>RSS|>PSS|>PRIVATE|>READ|>WRITTEN"
                                                   : ">GROUP|PROCESS|>RANK|>PROCS|>CPUS|>CPU TIME|>RSS|>READ|>WRITTEN");
        for (size_t i = 0; i < watch->ledger.n_groups; i++)
                put_row(watch, watch->ledger.groups[i], &grid);
        r = grid_write(&grid, screen, true);
        write_reasons(watch, screen->out);
        return r;
}

/* --- readings ------------------------------------------------------------------------------------- */

/* Finds the job's control group. Returns an exit status. */
static int open_watch(GroupWatch *watch, const Value *job) {
        scoped(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        const char *cgroup = answer_text(job, "cgroup");

        snprintf(watch->job, sizeof(watch->job), "%s", answer_text(job, "id"));
        snprintf(watch->cgroup, sizeof(watch->cgroup), "%s", cgroup);
        if (strcmp(answer_text(job, "state"), "running") != 0) {
                message_print("job %s has ended: process groups can be read only while a job runs", watch->job);
                return EXIT_FAILED;
        }
        if (!*cgroup) {
                message_print("job %s has no control group of its own, so its processes cannot be identified; 'perfctl run' and schedulers "
                              "create a control group where they may", watch->job);
                return EXIT_FAILED;
        }

        watch->cgroup_fd = cgroup_members_open(root_fd, cgroup);
        watch->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (watch->cgroup_fd < 0) {
                message_print("the control group %s of job %s cannot be read here: %s", cgroup, watch->job,
                              strerrordesc_np(-watch->cgroup_fd));
                return EXIT_FAILED;
        }
        if (watch->proc_fd < 0)
                return command_fail(-errno);
        watch->ledger.proc_fd = watch->proc_fd;
        watch->ledger.reads_pages = watch->options->pss;
        return EXIT_DONE;
}

/* Takes a reading. Returns 0 or a negative errno. */
static int read_groups(GroupWatch *watch) {
        uint64_t now_ns;
        int r;

        r = cgroup_members_read(watch->cgroup_fd, &watch->members);
        watch->is_over = r == -ENOENT;
        if (r < 0 && r != -ENOENT)
                return r;
        if (watch->is_over)
                watch->members.n = 0;
        now_ns = clock_boottime_ns();
        watch->interval_ns = watch->ledger.n_readings > 0 ? now_ns - watch->read_ns : 0;
        watch->read_ns = now_ns;
        return group_ledger_update(&watch->ledger, &watch->members);
}

static int print_groups(const GroupWatch *watch, const CommandLine *line) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;
        int r = 0;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        if (watch->options->json)
                write_json(watch, &out);
        else
                r = write_text(watch, &screen);
        return r < 0 ? command_fail(r) : output_print(&out);
}

/* Sleeps until the time of the next reading. A reading that takes longer than the interval delays all that follow. */
static void wait_for_next(uint64_t interval_ns, uint64_t *next_ns) {
        uint64_t now_ns = clock_boottime_ns();
        struct timespec at;

        *next_ns = *next_ns + interval_ns > now_ns ? *next_ns + interval_ns : now_ns;
        at = (struct timespec){ .tv_sec = (time_t)(*next_ns / NS_PER_S), .tv_nsec = (long)(*next_ns % NS_PER_S) };
        (void)clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, NULL);
}

static bool has_ended(ApiQuery *query, const GroupWatch *watch) {
        char path[JOB_ID_MAX + 32];

        if (watch->is_over || watch->members.n > 0)
                return watch->is_over;
        snprintf(path, sizeof(path), "/api/v1/jobs/%s", watch->job);
        return api_query_try(query, path) == EXIT_DONE && strcmp(answer_text(query->answer, "state"), "running") != 0;
}

static int job_groups_run(const CommandLine *line) {
        const JobGroupsOptions *options = line->options;
        scoped(group_watch_deinit) GroupWatch watch = { .options = options, .cgroup_fd = -1, .proc_fd = -1 };
        scoped(api_query_deinit) ApiQuery query = {};
        uint64_t next_ns;
        int r;

        watch.is_repeated = options->watch || options->count > 0;
        r = api_query_open_job(&query, &line->global, line->arguments[0], "");
        if (r == EXIT_DONE)
                r = open_watch(&watch, query.answer);
        if (r != EXIT_DONE)
                return r;

        next_ns = clock_boottime_ns();
        for (uint64_t n = 1;; n++) {
                r = read_groups(&watch);
                if (r < 0)
                        return command_fail(r);
                r = print_groups(&watch, line);
                if (r != EXIT_DONE || n == options->count || !watch.is_repeated || has_ended(&query, &watch))
                        return r;
                wait_for_next(options->interval_ns, &next_ns);
        }
}

const Command cmd_job_groups = {
        .name = "job groups",
        .arguments = "[JOB]",
        .summary = "Show what each process group of a running job uses",
        .help = "Shows the CPU time, memory and disk I/O of each process group, and so of each rank that a launcher starts in a process "
                "group of its own. With --watch, the usage of ended processes stays in the sums. JOB is an id or a name; default: "
                "$PERFD_JOB, else the newest job of this user.",
        .examples = { "perfctl job groups train-17", "perfctl job groups --watch --interval 5",
                      "perfctl job groups --pss --json train-17" },
        COMMAND_OPTIONS(JobGroupsOptions, options_table),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = job_groups_run,
};
