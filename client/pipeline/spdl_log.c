/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/spdl_log.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/parse.h"

#define LINE_MAX_BYTES 2047U
#define QUEUE_SUFFIX   "_queue"

/* Seconds by which the totals must exceed the intervals: times are rounded to 0.1 s. */
#define ROUNDING_S 0.1

/* Lines of one stage. A line of a kind, tasks or queue, replaces that of `last`, which is added to `before` first. */
typedef struct LogStage {
        PipelineStage before, last;
} LogStage;

typedef struct LogStages {
        LogStage *items; /* owned */
        size_t n;
} LogStages;

static void stages_deinit(LogStages *stages) {
        free(stages->items);
}

/* --- one line ------------------------------------------------------------------------------------- */

/* Reads the number after the next occurrence of a text. Returns false if there is none, or it is negative. */
static bool read_number(const char **p, const char *text, double *ret) {
        const char *begin = strstr(*p, text);
        char number[32];
        size_t n;

        if (!begin)
                return false;
        begin += strlen(text);
        begin += strspn(begin, " ");
        n = strspn(begin, "0123456789.");
        if (n == 0 || n >= sizeof(number))
                return false;
        memcpy(number, begin, n);
        number[n] = '\0';
        *p = begin + n;
        return parse_double(number, ret) == 0;
}

/* Reads a time such as "  27.4 [ ms]" after the next occurrence of a text. *ret: in seconds. */
static bool read_time(const char **p, const char *text, double *ret) {
        static const struct {
                const char *name;
                double factor;
        } units[] = { { "us]", 1e-6 }, { "ms]", 1e-3 }, { "sec]", 1 } };
        const char *unit;

        if (!read_number(p, text, ret))
                return false;
        unit = *p + strspn(*p, " [");
        for (size_t i = 0; i < N_ELEMENTS(units); i++)
                if (strncmp(unit, units[i].name, strlen(units[i].name)) == 0) {
                        *ret *= units[i].factor;
                        return true;
                }
        return false;
}

/* Finds the stage in the brackets before a text, which may have brackets itself. Returns its length, or 0. */
static size_t find_label(const char *line, const char *text, const char **ret) {
        const char *end = text;
        unsigned depth = 0;

        while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
        if (end == line || end[-1] != ']')
                return 0;
        for (const char *p = end; p-- > line;) {
                depth += *p == ']';
                depth -= *p == '[';
                *ret = p + 1;
                if (depth == 0)
                        return (size_t)(end - p) - 2;
        }
        return 0;
}

static bool read_tasks(const char *p, PipelineStage *stage) {
        double n, n_failures, mean_s;

        if (!read_number(&p, "Completed ", &n) || !read_number(&p, "tasks (", &n_failures) || !read_time(&p, "task time:", &mean_s) ||
            n_failures > n)
                return false;
        pipeline_stage_add_tasks(stage, 0, n, n_failures, mean_s);
        return true;
}

static bool read_queue(const char *p, PipelineStage *stage, const SpdlSettings *settings) {
        double n, elapsed_s, put_s, get_s, ready_pct = NAN;

        if (!read_number(&p, "Processed ", &n) || !read_time(&p, "items in", &elapsed_s) || !read_time(&p, "put:", &put_s) ||
            !read_time(&p, "get (by next stage):", &get_s))
                return false;
        /* perfd writes nan if the producer did not measure the occupancy */
        if (!strstr(p, "Occupancy rate: nan%") && (!read_number(&p, "Occupancy rate:", &ready_pct) || ready_pct > 100))
                return false;
        pipeline_stage_add_queue(stage, elapsed_s, n, put_s, get_s, n > 0 || settings->counts_open_periods ? ready_pct / 100 : NAN);
        return true;
}

/* --- lines of a stage ----------------------------------------------------------------------------- */

static int find_stage(LogStages *stages, const PipelineStage *next, LogStage **ret) {
        PipelineStage none = *next;

        for (size_t i = 0; i < stages->n; i++)
                if (pipeline_stage_compare(&stages->items[i].last, next) == 0) {
                        *ret = &stages->items[i];
                        return 0;
                }
        if (ARRAY_EXTEND(stages->items, stages->n) < 0)
                return -ENOMEM;
        *ret = &stages->items[stages->n++];
        none.tasks = (StageTasks){};
        none.queue = (StageQueue){};
        **ret = (LogStage){ .before = none, .last = none };
        return 0;
}

/* Moves what the last line said to the sums, if the next line of this kind is there. */
static void add_last(LogStage *stage, const PipelineStage *next) {
        PipelineStage *last = &stage->last, moved = *last;

        if (next->tasks.is_known) {
                moved.queue = (StageQueue){};
                last->tasks = next->tasks;
        } else {
                moved.tasks = (StageTasks){};
                last->queue = next->queue;
        }
        pipeline_stage_merge(&stage->before, &moved);
}

/* The totals of a run have more items than its intervals together, and last longer. */
static bool is_total(const LogStage *stage) {
        const StageQueue *before = &stage->before.queue, *last = &stage->last.queue;

        return before->is_known && last->elapsed_s > before->elapsed_s + ROUNDING_S && last->n_gets >= before->n_gets;
}

static int take_line(SpdlExport *export, LogStages *stages, const char *name, const char *line, const SpdlSettings *settings) {
        const char *tasks = strstr(line, "Completed "), *queue = strstr(line, "Processed "), *label;
        size_t n_label = find_label(line, tasks ?: queue ?: line, &label), n_suffix = strlen(QUEUE_SUFFIX);
        PipelineStage next;
        LogStage *stage;
        int r;

        if (n_label == 0)
                return 0;
        if (!tasks && n_label > n_suffix && strncmp(label + n_label - n_suffix, QUEUE_SUFFIX, n_suffix) == 0)
                n_label -= n_suffix;
        if (!pipeline_stage_parse(&next, label, n_label))
                return 0;
        if (!(tasks ? read_tasks(tasks, &next) : read_queue(queue, &next, settings))) {
                export->n_left_out++;
                return 0;
        }
        r = find_stage(stages, &next, &stage);
        if (r < 0)
                return r;
        if (stages->n > PIPELINE_STAGES_MAX)
                return spdl_export_refuse(export, "%s: more than %u stages", name, PIPELINE_STAGES_MAX);
        add_last(stage, &next);
        return 0;
}

/* --- the text ------------------------------------------------------------------------------------- */

static int take_lines(SpdlExport *export, LogStages *stages, const char *name, const Buffer *text, const SpdlSettings *settings) {
        char line[LINE_MAX_BYTES + 1];
        int r = 0;

        for (size_t begin = 0, end; r == 0 && begin < text->n; begin = end + 1) {
                const char *newline = memchr(text->text + begin, '\n', text->n - begin);

                end = newline ? (size_t)(newline - text->text) : text->n;
                if (end - begin > LINE_MAX_BYTES)
                        continue;
                memcpy(line, text->text + begin, end - begin);
                line[end - begin] = '\0';
                r = take_line(export, stages, name, line, settings);
        }
        return r;
}

static int finish(SpdlExport *export, const char *name, const LogStages *stages) {
        if (stages->n == 0)
                return spdl_export_refuse(export, "%s: neither a JSON object nor a log of SPDL with lines such as '[0:1:decode] Completed "
                                          "5 tasks (0 failed)'", name);
        export->stages = calloc(stages->n, sizeof(*export->stages));
        if (!export->stages)
                return -ENOMEM;
        for (size_t i = 0; i < stages->n; i++) {
                const LogStage *stage = &stages->items[i];

                export->stages[i] = is_total(stage) ? stage->last : stage->before;
                if (!is_total(stage))
                        pipeline_stage_merge(&export->stages[i], &stage->last);
        }
        export->n = stages->n;
        qsort(export->stages, export->n, sizeof(*export->stages), pipeline_stage_compare);
        return 0;
}

int spdl_log_read(SpdlExport *export, const char *name, const Buffer *text, const SpdlSettings *settings) {
        scoped(stages_deinit) LogStages stages = {};
        int r;

        *export = (SpdlExport){};
        r = take_lines(export, &stages, name, text, settings);
        return r == 0 ? finish(export, name, &stages) : r;
}
