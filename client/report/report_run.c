/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report_run.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/indicator.h"
#include "util/array.h"
#include "value/value_parse.h"

/* --- missing nodes --------------------------------------------------------------------------------- */

#define NODE_NAME_MAX 256U
#define EXPANDED_MAX (1U << 20)
#define NAMES_SHOWN 8U

/* Appends the names that an element without a comma outside of brackets stands for, each behind `before`. */
static bool expand_element(const char *before, const char *rest, size_t n, Buffer *ret) {
        const char *open = memchr(rest, '[', n), *close = open ? memchr(open, ']', (size_t)(rest + n - open)) : NULL;
        char name[NODE_NAME_MAX];

        if (!open) {
                buffer_printf(ret, "%s%.*s\n", before, (int)n, rest);
                return ret->n <= EXPANDED_MAX;
        }
        for (const char *p = open; close && *p != ']';) {
                char *end;
                unsigned long first = strtoul(p + 1, &end, 10), last = first;
                int width = (int)(end - p - 1);

                if (*end == '-')
                        last = strtoul(end + 1, &end, 10);
                if (width == 0 || (*end != ',' && *end != ']'))
                        return false;
                for (unsigned long i = first; i <= last; i++) {
                        int n_name = snprintf(name, sizeof(name), "%s%.*s%0*lu", before, (int)(open - rest), rest,
                                              width, i);

                        if (n_name < 0 || n_name >= (int)sizeof(name) ||
                            !expand_element(name, close + 1, (size_t)(rest + n - close - 1), ret))
                                return false;
                }
                p = end;
        }
        return close;
}

bool report_run_expand_missing(const char *list, Buffer *ret) {
        while (*list) {
                size_t n = 0;

                for (bool is_within = false; list[n] && (is_within || list[n] != ','); n++)
                        is_within = list[n] == '[' || (is_within && list[n] != ']');
                if (n > 0 && !expand_element("", list, n, ret))
                        return false;
                list += n + (list[n] == ',');
        }
        return buffer_error(ret) == 0;
}

static bool is_reported(const ReportRun *run, const char *name) {
        for (size_t i = 0; i < run->n_reports; i++)
                if (strcmp(answer_text(value_get(run->reports[i].job, "labels"), "slurm_node"), name) == 0 ||
                    strcmp(run->reports[i].hostname, name) == 0)
                        return true;
        return false;
}

void report_run_write_missing(const ReportRun *run, Buffer *ret) {
        const Value *job = run->reports[0].job;
        const char *list = answer_text(value_get(job, "labels"), "nodelist");
        scoped(buffer_deinit) Buffer names = {};
        size_t n = 0;

        if (!*list)
                list = answer_text(value_get(job, "slurm"), "nodelist");
        if (!report_run_expand_missing(list, &names) || names.n == 0)
                return;
        for (char *rest = names.text, *name; (name = strsep(&rest, "\n")) && *name;) {
                if (is_reported(run, name))
                        continue;
                if (n++ < NAMES_SHOWN)
                        buffer_printf(ret, "%s%s", ret->n > 0 ? ", " : "", name);
        }
        if (n > NAMES_SHOWN)
                buffer_printf(ret, " and %zu more", n - NAMES_SHOWN);
}

/* --- report run -------------------------------------------------------------------------------------- */

/*
 * Ranks without a common id or name belong to one run only if their times overlap, with this tolerance for clock
 * differences.
 */
#define APART_MS_MAX 60000U

void report_run_deinit(ReportRun *run) {
        for (size_t i = 0; i < run->n_arenas; i++)
                arena_deinit(&run->arenas[i]);
        free(run->arenas);
        free(run->reports);
        free(run->hosts);
        *run = (ReportRun){};
}

__attribute__((format(printf, 2, 3))) static int refuse(ReportRun *run, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(run->error, sizeof(run->error), format, args);
        va_end(args);
        return RUN_INVALID;
}

/* --- reading -------------------------------------------------------------------------------------- */

static const char expected[] = "expected the output of 'perfctl report --json JOB'";

/* Returns a description of the error in a document, or NULL. */
static const char *find_fault(const Value *document) {
        const Value *metrics = value_get(document, "metrics"), *reports = value_get(document, "reports");
        const char *id = answer_text(document, "id");

        if (document->type != VALUE_OBJECT)
                return "not an object";
        if (reports && reports->type == VALUE_LIST)
                return "already merged";
        if (!indicator_name_is_valid(id, JOB_ID_MAX - 1))
                return "'id' is missing or not a job id";
        if (job_state_find(answer_text(document, "state")) < 0)
                return "'state' is missing or not running, finished or interrupted";
        if (answer_time(document, "begin_ms") == 0)
                return "'begin_ms' is missing or not a time";
        if (!metrics || metrics->type != VALUE_LIST)
                return "'metrics' is missing or not a list";
        return NULL;
}

static int64_t index_get(const Value *document, const char *key) {
        int64_t v;

        return value_get_int(document, key, &v) && v >= 0 ? v : -1;
}

static RankReport make_report(const Value *job, const Value *node) {
        const Value *on = value_get(job, "on");

        on = on && on->type == VALUE_OBJECT ? on : node;
        return (RankReport){
                .job = job,
                .on = on,
                .id = answer_text(job, "id"),
                .hostname = answer_text(on, "hostname"),
                .rank = index_get(job, "rank"),
                .node = index_get(job, "node_index"),
                .begin_ms = answer_time(job, "begin_ms"),
                .end_ms = answer_time(job, "end_ms"),
                .counts = true,
        };
}

static int add_report(ReportRun *run, const char *file, unsigned line, const Value *document) {
        const char *fault = find_fault(document), *message = answer_text(value_get(document, "error"), "message");
        RankReport *report;
        int r;

        if (fault && *message)
                return refuse(run, "%s:%u: error message of perfd instead of a report: %.200s", file, line, message);
        if (fault)
                return refuse(run, "%s:%u: %s; %s", file, line, fault, expected);

        r = ARRAY_EXTEND(run->reports, run->n_reports);
        if (r < 0)
                return r;

        report = &run->reports[run->n_reports++];
        *report = make_report(document, NULL);
        report->file = file;
        report->line = line;
        return 0;
}

static int add_document(ReportRun *run, const char *file, unsigned line, const Value *document) {
        int r = 0;

        if (document->type != VALUE_LIST)
                return add_report(run, file, line, document);

        for (size_t i = 0; i < document->n_items && r == 0; i++)
                r = add_report(run, file, line, &document->items[i]);
        return r;
}

static int add_arena(ReportRun *run, size_t n_bytes, Arena **ret) {
        int r;

        r = ARRAY_EXTEND(run->arenas, run->n_arenas);
        if (r == 0)
                r = arena_init(&run->arenas[run->n_arenas], value_parse_arena_size(n_bytes));
        if (r < 0)
                return r;

        *ret = &run->arenas[run->n_arenas++];
        return 0;
}

int report_run_add(ReportRun *run, const char *file, const char *text, size_t n) {
        size_t n_before = run->n_reports;
        const Value *document;
        ValueReader reader;
        ValueError error;
        Arena *arena;
        int r;

        r = add_arena(run, n, &arena);
        if (r < 0)
                return r;

        value_parse_begin(&reader, text, n);
        while ((r = value_parse_next(&reader, arena, &document, &error)) == 0) {
                r = add_document(run, file, reader.begin_line, document);
                if (r != 0)
                        return r;
        }

        if (r == VALUE_MALFORMED)
                return refuse(run, "%s:%u:%u: %s", file, error.line, error.column, error.text);
        if (r == VALUE_END && run->n_reports == n_before)
                return refuse(run, "%s:1: no report; %s", file, expected);
        return r == VALUE_NO_ROOM ? -ENOMEM : 0;
}

/* --- one rank ------------------------------------------------------------------------------------- */

uint64_t report_run_rank_end_ms(const RankReport *report) {
        uint64_t end_ms = report->end_ms ?: answer_time(report->on, "time_ms");

        return end_ms > report->begin_ms ? end_ms : report->begin_ms;
}

double report_run_rank_seconds(const RankReport *report) {
        AnswerMetric duration;

        if (answer_metric(report->job, "duration_seconds", &duration) && duration.value >= 0)
                return duration.value;

        return (double)(report_run_rank_end_ms(report) - report->begin_ms) / 1e3;
}

bool report_run_rank_is_running(const RankReport *report) {
        return strcmp(answer_text(report->job, "state"), "running") == 0;
}

bool report_run_rank_is_good(const RankReport *report) {
        const Value *exit = value_get(report->job, "exit");
        const char *slurm = answer_text(value_get(report->job, "slurm"), "state");
        int64_t status, signal = 0;

        if (*slurm)
                return strcmp(slurm, "COMPLETED") == 0 || strcmp(slurm, "REQUEUED") == 0;
        (void)value_get_int(exit, "signal", &signal);
        if (value_get_int(exit, "status", &status))
                return status == 0 && signal == 0;

        return strcmp(answer_text(report->job, "state"), "interrupted") != 0;
}

bool report_run_end_is_unknown(const ReportRun *run) {
        int64_t status;

        for (size_t i = 0; i < run->n_reports; i++)
                if (strcmp(answer_text(run->reports[i].job, "state"), "finished") != 0 ||
                    value_get_int(value_get(run->reports[i].job, "exit"), "status", &status))
                        return false;
        return true;
}

/* --- same run ------------------------------------------------------------------------------------- */

/* Returns the length of an id without its suffix ".RANK" or a suffix with another separator. */
static size_t base_length(const RankReport *report) {
        char rank[24];
        size_t n = strlen(report->id), n_rank;

        snprintf(rank, sizeof(rank), "%" PRId64, report->rank);
        n_rank = strlen(rank);
        if (report->rank < 0 || n <= n_rank + 1 || strcmp(report->id + n - n_rank, rank) != 0)
                return n;

        n -= n_rank;
        while (n > 1 && report->id[n - 1] == '0') /* leading zeros, as in "train-0003" */
                n--;
        return strchr(".:_-", report->id[n - 1]) && n > 1 ? n - 1 : strlen(report->id);
}

static bool has_same_id(const RankReport *a, const RankReport *b) {
        size_t n = base_length(a);

        return n == base_length(b) && memcmp(a->id, b->id, n) == 0;
}

/* Returns true if properties other than the ids show that both belong to one run. */
static bool has_same_properties(const RankReport *a, const RankReport *b) {
        const char *name_a = answer_text(a->job, "name"), *name_b = answer_text(b->job, "name");
        const char *command_a = answer_text(a->job, "command"), *command_b = answer_text(b->job, "command");
        int64_t n_ranks_a = index_get(a->job, "ranks"), n_ranks_b = index_get(b->job, "ranks");

        if (index_get(a->job, "uid") != index_get(b->job, "uid"))
                return false;
        if (*name_a && *name_b)
                return strcmp(name_a, name_b) == 0;

        return (*command_a && strcmp(command_a, command_b) == 0) ||
               (n_ranks_a > 1 && n_ranks_a == n_ranks_b && a->rank >= 0 && b->rank >= 0);
}

/* Two machines may have the same host name, but not the same node index in a run. */
static bool has_same_host(const RankReport *a, const RankReport *b) {
        if (a->node >= 0 && b->node >= 0 && a->node != b->node)
                return false;
        return *a->hostname || *b->hostname ? strcmp(a->hostname, b->hostname) == 0
                                            : a->node >= 0 && a->node == b->node;
}

static int by_id(const void *a, const void *b) {
        const RankReport *left = a, *right = b;

        return strcmp(left->id, right->id) ?: strcmp(left->hostname, right->hostname) ?:
               COMPARE((uint64_t)left->node, (uint64_t)right->node) ?:
               COMPARE(report_run_rank_end_ms(left), report_run_rank_end_ms(right));
}

static int by_rank(const void *a, const void *b) {
        const RankReport *left = a, *right = b;

        /* As an unsigned number, -1 (no rank) is last. */
        return COMPARE((uint64_t)left->rank, (uint64_t)right->rank) ?: strcmp(left->hostname, right->hostname) ?:
               COMPARE(left->begin_ms, right->begin_ms);
}

static int by_begin(const void *a, const void *b) {
        const RankReport *left = a, *right = b;

        return COMPARE(left->begin_ms, right->begin_ms);
}

static int refuse_pair(ReportRun *run, const RankReport *a, const RankReport *b, const char *why) {
        return refuse(run, "%s:%u: job '%s' on %s belongs to another run than job '%s' on %s in %s:%u: %s", b->file,
                      b->line, b->id, *b->hostname ? b->hostname : "?", a->id, *a->hostname ? a->hostname : "?",
                      a->file, a->line, why);
}

/* Drops all but the latest report of each job. */
static int drop_duplicates(ReportRun *run) {
        size_t n = 0;

        qsort(run->reports, run->n_reports, sizeof(*run->reports), by_id);
        for (size_t i = 0; i < run->n_reports; i++) {
                RankReport *report = &run->reports[i], *last = n > 0 ? &run->reports[n - 1] : NULL;

                if (!last || strcmp(last->id, report->id) != 0 || !has_same_host(last, report)) {
                        run->reports[n++] = *report;
                        continue;
                }
                if (last->begin_ms != report->begin_ms)
                        return refuse_pair(run, last, report, "same id and host, but another begin time");
                *last = *report;
                run->n_duplicates++;
        }

        run->n_reports = n;
        return 0;
}

/* Reads the number of ranks or nodes that the launcher reported. */
static int read_total(ReportRun *run, const RankReport *first, const RankReport *report, const char *key,
                      uint32_t *total) {
        int64_t n = index_get(report->job, key);

        if (n <= 0 || n > UINT32_MAX)
                return 0;
        if (*total > 0 && *total != n)
                return refuse(run, "%s:%u: is of a run of %" PRId64 " %s, %s:%u of one of %" PRIu32, report->file,
                              report->line, n, key, first->file, first->line, *total);

        *total = (uint32_t)n;
        return 0;
}

static int read_totals(ReportRun *run) {
        int r = 0;

        for (size_t i = 0; i < run->n_reports && r == 0; i++) {
                const RankReport *report = &run->reports[i];

                r = read_total(run, &run->reports[0], report, "ranks", &run->n_ranks);
                if (r == 0)
                        r = read_total(run, &run->reports[0], report, "nodes", &run->n_nodes);
        }
        return r;
}

/* The reports are sorted by rank. */
static int check_ranks(ReportRun *run) {
        for (size_t i = 0; i < run->n_reports; i++) {
                const RankReport *report = &run->reports[i], *last = i > 0 ? report - 1 : NULL;

                if (run->n_ranks > 0 && report->rank >= run->n_ranks)
                        return refuse(run,
                                      "%s:%u: has rank %" PRId64 " of a run of %" PRIu32 " ranks, which count from 0",
                                      report->file, report->line, report->rank, run->n_ranks);
                if (last && report->rank >= 0 && report->rank == last->rank)
                        return refuse_pair(run, last, report, "same rank");
        }
        return 0;
}

static int check_times(ReportRun *run) {
        uint64_t end_ms = 0;

        qsort(run->reports, run->n_reports, sizeof(*run->reports), by_begin);
        for (size_t i = 0; i < run->n_reports; i++) {
                const RankReport *report = &run->reports[i];
                uint64_t report_end_ms = report_run_rank_end_ms(report);

                if (i > 0 && report->begin_ms > end_ms + APART_MS_MAX)
                        return refuse_pair(run, report - 1, report,
                                           "it began more than a minute after the other had ended, and their ids "
                                           "differ");
                end_ms = report_end_ms > end_ms ? report_end_ms : end_ms;
        }
        return 0;
}

static int check_same_run(ReportRun *run) {
        const RankReport *first = &run->reports[0];
        bool is_one = true;

        for (size_t i = 1; i < run->n_reports; i++) {
                if (has_same_id(first, &run->reports[i]))
                        continue;
                if (!has_same_properties(first, &run->reports[i]))
                        return refuse_pair(run, first, &run->reports[i],
                                           "neither ids (apart from the rank at the end) nor names and commands agree");
                is_one = false;
        }

        return is_one ? 0 : check_times(run);
}

/* --- hosts ---------------------------------------------------------------------------------------- */

static RunHost *find_host(ReportRun *run, const RankReport *report) {
        for (size_t i = 0; i < run->n_hosts; i++)
                if (has_same_host(&(RankReport){ .hostname = run->hosts[i].name, .node = run->hosts[i].node }, report))
                        return &run->hosts[i];

        run->hosts[run->n_hosts] = (RunHost){ .name = report->hostname, .node = report->node };
        return &run->hosts[run->n_hosts++];
}

static void host_add_report(RunHost *host, const RankReport *report) {
        uint64_t end_ms = report_run_rank_end_ms(report);

        if (!host->record || report_run_rank_seconds(report) > report_run_rank_seconds(host->record))
                host->record = report;
        if (host->node < 0)
                host->node = report->node;
        if (host->n_reports == 0 || report->begin_ms < host->begin_ms)
                host->begin_ms = report->begin_ms;
        if (end_ms > host->end_ms)
                host->end_ms = end_ms;
        host->n_reports++;
}

static int find_hosts(ReportRun *run) {
        run->hosts = calloc(run->n_reports, sizeof(*run->hosts));
        if (!run->hosts)
                return -ENOMEM;

        for (size_t i = 0; i < run->n_reports; i++) {
                RankReport *report = &run->reports[i];
                RunHost *host;

                report->host = SIZE_MAX;
                if (!*report->hostname && report->node < 0 && run->n_reports > 1)
                        continue;
                host = find_host(run, report);
                host_add_report(host, report);
                report->host = (size_t)(host - run->hosts);
        }
        return 0;
}

/*
 * Reports of the same cgroup, such as of two steps of one job, contain the same metrics; only the first is counted.
 */
static bool is_first_of_group(const ReportRun *run, const RankReport *report) {
        const char *cgroup = answer_text(report->job, "cgroup");

        if (!*cgroup || report->host == SIZE_MAX)
                return true;

        for (const RankReport *other = run->reports; other < report; other++)
                if (other->host == report->host && strcmp(answer_text(other->job, "cgroup"), cgroup) == 0)
                        return false;
        return true;
}

void report_run_of_job(ReportRun *run, RankReport *report, RunHost *host, const Value *job, const Value *node) {
        *report = make_report(job, node);
        *host = (RunHost){ .name = report->hostname, .node = report->node };
        host_add_report(host, report);
        *run = (ReportRun){ .reports = report, .n_reports = 1, .hosts = host, .n_hosts = 1 };
}

const Value *report_run_step(const ReportRun *run, size_t i) {
        return answer_find(value_get(run->reports[i].job, "steps"), "name", run->step);
}

int report_run_join(ReportRun *run) {
        int r;

        assert(run->n_reports > 0);

        r = drop_duplicates(run);
        if (r == 0)
                r = read_totals(run);
        if (r == 0)
                r = check_same_run(run);
        if (r != 0)
                return r;

        qsort(run->reports, run->n_reports, sizeof(*run->reports), by_rank);
        r = check_ranks(run);
        if (r == 0)
                r = find_hosts(run);
        if (r != 0)
                return r;

        for (size_t i = 0; i < run->n_reports; i++)
                run->reports[i].counts = is_first_of_group(run, &run->reports[i]);
        return 0;
}

/* --- whole run ------------------------------------------------------------------------------------ */

void report_run_id(const ReportRun *run, Buffer *ret) {
        const RankReport *first = &run->reports[0];

        for (size_t i = 1; i < run->n_reports; i++)
                if (!has_same_id(first, &run->reports[i]))
                        return;
        buffer_put(ret, first->id, run->n_reports > 1 ? base_length(first) : strlen(first->id));
}

const char *report_run_text(const ReportRun *run, const char *key) {
        const char *text = answer_text(run->reports[0].job, key);

        for (size_t i = 1; i < run->n_reports; i++)
                if (strcmp(answer_text(run->reports[i].job, key), text) != 0)
                        return "";
        return text;
}

RunTimes report_run_times(const ReportRun *run) {
        RunTimes times = { .begin_ms = UINT64_MAX };

        for (size_t i = 0; i < run->n_reports; i++) {
                const RankReport *report = &run->reports[i];
                uint64_t last_ms = report_run_rank_end_ms(report);

                times.begin_ms = report->begin_ms < times.begin_ms ? report->begin_ms : times.begin_ms;
                times.end_ms = report->end_ms > times.end_ms ? report->end_ms : times.end_ms;
                times.last_ms = last_ms > times.last_ms ? last_ms : times.last_ms;
        }
        return times;
}

/* --- lists of ranks ------------------------------------------------------------------------------- */

/* List of ranges, in the format of the kernel's CPU lists. */
typedef struct Ranges {
        Buffer *out;
        int64_t first, last; /* the current range; first -1: none */
} Ranges;

static void ranges_end(Ranges *ranges) {
        if (ranges->first < 0)
                return;

        buffer_printf(ranges->out, "%s%" PRId64, ranges->out->n > 0 ? "," : "", ranges->first);
        if (ranges->last > ranges->first)
                buffer_printf(ranges->out, "-%" PRId64, ranges->last);
        ranges->first = -1;
}

static void ranges_add(Ranges *ranges, int64_t first, int64_t last) {
        if (ranges->first >= 0 && first == ranges->last + 1) {
                ranges->last = last;
                return;
        }

        ranges_end(ranges);
        ranges->first = first;
        ranges->last = last;
}

void report_run_missing_ranks(const ReportRun *run, Buffer *ret) {
        Ranges ranges = { .out = ret, .first = -1 };
        int64_t next = 0;

        if (run->n_ranks == 0 || run->reports[0].rank < 0)
                return;

        for (size_t i = 0; i < run->n_reports && run->reports[i].rank >= 0; i++) {
                if (run->reports[i].rank > next)
                        ranges_add(&ranges, next, run->reports[i].rank - 1);
                next = run->reports[i].rank + 1;
        }
        if (next < run->n_ranks)
                ranges_add(&ranges, next, run->n_ranks - 1);
        ranges_end(&ranges);
}

static bool is_of_kind(const RankReport *report, RankKind kind) {
        switch (kind) {
        case RANKS_FAILED:
                return !report_run_rank_is_good(report);
        case RANKS_RUNNING:
                return report_run_rank_is_running(report);
        case RANKS_ALL:
                return true;
        }
        return false;
}

void report_run_ranks(const ReportRun *run, RankKind kind, Buffer *ret, size_t *ret_n) {
        Ranges ranges = { .out = ret, .first = -1 };
        size_t n = 0;

        for (size_t i = 0; i < run->n_reports; i++) {
                const RankReport *report = &run->reports[i];

                if (!is_of_kind(report, kind))
                        continue;
                n++;
                if (report->rank >= 0)
                        ranges_add(&ranges, report->rank, report->rank);
        }

        ranges_end(&ranges);
        *ret_n = n;
}

/* Returns the text of a rule's advice in a report, or NULL. */
static const char *find_advice(const RankReport *report, const char *rule) {
        const Value *advice = answer_find(value_get(report->job, "advice"), "rule", rule);

        return advice ? answer_text(advice, "text") : NULL;
}

void report_run_advised_ranks(const ReportRun *run, const char *rule, Buffer *ret) {
        Ranges ranges = { .out = ret, .first = -1 };

        for (size_t i = 0; i < run->n_reports; i++)
                if (run->reports[i].rank >= 0 && find_advice(&run->reports[i], rule))
                        ranges_add(&ranges, run->reports[i].rank, run->reports[i].rank);
        ranges_end(&ranges);
}

void report_run_rank_name(const RankReport *report, Buffer *ret) {
        if (report->rank >= 0)
                buffer_printf(ret, "rank %" PRId64, report->rank);
        else
                buffer_puts(ret, *report->hostname ? report->hostname : report->id);
}
