/* SPDX-License-Identifier: Apache-2.0 */
/* tests: lib/pipeline/pipeline_verdict.c lib/pipeline/pipeline_set.c lib/pipeline/pipeline_doubt.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_report.h"
#include "pipeline/pipeline_verdict.h"
#include "text/text.h"
#include "util/scoped.h"

/* Sums of a minute: tasks and their time, items, put and get time of the queue. Without tasks, the stage has none. */
typedef struct Minute {
        const char *label;
        double n_tasks, time_s, n_items, put_s, get_s, n_failures;
} Minute;

static void fill(PipelineSet *set, const Minute *minutes, size_t n) {
        pipeline_set_init(set);
        set->stages = calloc(n, sizeof(*set->stages));
        assert_non_null(set->stages);
        for (set->n = 0; set->n < n; set->n++) {
                const Minute *from = &minutes[set->n];
                PipelineStage *stage = &set->stages[set->n];
                const PipelineSums tasks = { .elapsed_s = 60, .n = from->n_tasks, .n_failures = from->n_failures,
                                             .time_s = from->time_s },
                        queue = { .elapsed_s = 60, .n = from->n_items, .time_s = from->put_s, .get_s = from->get_s };

                assert_true(pipeline_stage_parse(stage, from->label, strlen(from->label)));
                if (from->n_tasks > 0)
                        pipeline_report_set_stage(stage, PIPELINE_TASKS, &tasks, 1);
                pipeline_report_set_stage(stage, PIPELINE_QUEUE, &queue, 1);
        }
}

/* Writes the verdict about the first pipeline. */
static void judge(const PipelineSet *set, unsigned n_threads, Buffer *text) {
        Json json = { .out = text };
        PipelineVerdict verdict;
        size_t at = 0;

        buffer_clear(text);
        assert_true(pipeline_verdict_next(set, n_threads, &at, &verdict));
        json_object_begin(&json);
        pipeline_verdict_put(&verdict, &json);
        json_object_end(&json);
        assert_int_equal(buffer_error(text), 0);
}

static void says(const Buffer *text, const char *words) {
        if (!strstr(text->text, words))
                fail_msg("%s does not say %s", text->text, words);
}

static const Minute busy[] = {
        { "0:0:src", 0, 0, 2400, 58, 1, 0 },
        { "0:1:decode[4]", 2400, 239, 2400, 0, 30, 0 },
};

static void a_busy_stage_is_named_with_advice(void **state) {
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        fill(&set, busy, 2);
        judge(&set, 0, &text);
        says(&text, "{\"pipeline\":0,\"limit\":\"stage\",\"stage\":\"decode\",\"direction\":\"more concurrency\","
                    "\"confidence\":\"medium\",\"next_stage\":null,\"wait_share\":0.5,");
        says(&text, "\"headline\":\"The training loop waited for data 50.0 % of the time (30 s, 12.5 ms per item).\"");
        says(&text, "\"sentence\":\"decode is the limit: its 4 workers are busy 100 % of the time.\"");
        says(&text, "\"advice\":\"Try a concurrency of 8, and fewer if it does not help; the training loop limits "
                    "next.\"");
        says(&text, "\"first_batch_seconds\":null");
        says(&text, "\"stages\":[{\"order\":0,\"name\":\"src\",\"declared_concurrency\":null,"
                    "\"mean_time_seconds\":null");

        /* The label of a job, and its start. */
        set.job.n_gpus = 8;
        set.job.first_batch_s = 700;
        set.job.first_wait_s = 100;
        set.job.throttled = 0.05;
        set.job.io_stalled = 0.3;
        judge(&set, 0, &text);
        says(&text, "(4 GPU-minutes, 12.5 ms per item). The first batch came 11.7 min after the start of the job, "
                    "which is long; the loop waited 1.67 min for it.");
        says(&text, "busy 100 % of the time. All active tasks of the job waited for storage at once 30 % of the "
                    "time.\"");
        assert_null(strstr(text.text, "throttled"));

        /* The start of the job is not known, or later: the statistics are those of an earlier run. */
        set.job.first_batch_s = NAN;
        judge(&set, 0, &text);
        says(&text, "12.5 ms per item). It waited 1.67 min for the first batch, which is not counted.\"");
}

static void the_gain_of_tasks_that_compute_is_promised(void **state) {
        static const struct {
                double given, of_others;
                const char *advice;
        } cases[] = {
                { 16, 0, "from 4 to 8; the training loop limits next, at 2 times the throughput." },
                { 12, 0, "from 4 to 8; the training loop limits next." },
                { 6, 0, "from 4 to 6; the CPUs of the job limit next." },
                { 16, 11, "from 4 to 5; the CPUs of the job limit next." },
        };
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        fill(&set, busy, 2);
        set.process.tasks_cpus = set.job.cpus_used = 4;
        set.process.lock_waited = 0;
        set.job.cpus_of_node = 16;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                set.job.cpus_given = cases[i].given;
                set.job.cpus_of_others = cases[i].of_others;
                judge(&set, 0, &text);
                says(&text, "\"confidence\":\"high\"");
                says(&text, cases[i].advice);
        }
}

static void a_slow_item_holds_back_an_output_in_order(void **state) {
        static const Minute minutes[] = { { "0:0:src", 0, 0, 6000, 0, 1, 0 },
                                          { "0:1:decode[4]", 6000, 80, 6000, 0, 40, 0 } };
        static const char *const others[] = { "{}", "{\"in_order\": [\"0:2:collate\"]}",
                                              "{\"in_order\": [\"decode\", 1, \"0:64:x\"]}", "{\"in_order\": 1}",
                                              "{\"pipeline\": 1, \"in_order\": [\"1:1:decode[4]\"]}" };
        static const char in_order[] = "{\"in_order\": [\"0:1:decode[4]\"]}";
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        fill(&set, minutes, 2);
        for (size_t i = 0; i < N_ELEMENTS(others); i++) {
                assert_int_equal(pipeline_set_read_description(&set, (JsonText){ others[i], strlen(others[i]) }), 0);
                judge(&set, 0, &text);
                says(&text, "\"limit\":\"unknown\"");
        }
        assert_int_equal(pipeline_set_read_description(&set, (JsonText){ in_order, strlen(in_order) }), 0);
        judge(&set, 0, &text);
        says(&text, "\"limit\":\"stage\",\"stage\":\"decode\",\"direction\":\"output order\","
                    "\"confidence\":\"medium\"");
        says(&text, "its workers are busy only 33 % of the time although items wait");
}

/* 4 workers of decode are busy, and a task takes 99.6 ms. */
static void tasks_that_wait_for_each_other_need_fewer_workers(void **state) {
        static const struct {
                const char *what, *times;
                unsigned enough; /* 0: more workers may help */
        } cases[] = {
                { "a lock", "[0.025, 0.05, 0.075, 0.1]", 2 },
                { "a lock that each waiting task makes slower", "[0.01, 0.03, 0.06, 0.1]", 2 },
                { "two connections", "[0.025, 0.025, 0.05, 0.05, 0.075, 0.075, 0.1, 0.1]", 3 },
                { "storage that two readers use best", "[0.01, 0.01, 0.02, 0.03, 0.043, 0.058, 0.075, 0.1]", 3 },
                { "nothing", "[0.1, 0.1, 0.101, 0.099]", 0 },
                { "little of the time", "[0.08, 0.085, 0.09, 0.1]", 0 },
                { "what is done once", "[0.2, 0.4, 0.6, 0.8]", 0 },
                { "a lock that is not given in order", "[0.025, 0.075, 0.05, 0.1]", 2 },
                { "nothing, by chance in order", "[0.05, 0.1, 0.15, 0.2]", 0 },
                { "nothing", "[0.09, 0.02, 0.04, 0.1]", 0 },
                { "few tasks", "[0.05, 0.1]", 0 },
                { "impossible times", "[-1, 0.05, 0.075, 0.1]", 0 },
                { "a time that is nearly none", "[5e-324, 0.05, 0.075, 0.1]", 0 },
                { "other types", "[0.025, 0.05, 0.075, \"0.1\"]", 0 },
        };
        char description[200], words[100];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(pipeline_set_deinit) PipelineSet set = {};
                scoped(buffer_deinit) Buffer text = {};

                fill(&set, busy, 2);
                (void)snprintf(description, sizeof(description),
                               "{\"first_tasks\":{\"0:1:decode[4]\":%s,\"decode\":[1,2,3,4],\"0:2:x\":3}}",
                               cases[i].times);
                assert_int_equal(pipeline_set_read_description(&set, json_text(description, strlen(description))), 0);
                judge(&set, 0, &text);
                (void)snprintf(words, sizeof(words),
                               cases[i].enough > 0 ? "More do not help. Try a concurrency of %u, and find"
                                                   : "Try a concurrency of 8, and fewer if it does not help",
                               cases[i].enough);
                says(&text, words);
                if (cases[i].enough > 0)
                        says(&text, "\"direction\":\"less concurrency\",\"confidence\":\"medium\"");
        }
}

static void tasks_that_may_wait_for_each_other_are_not_sure_to_need_more_workers(void **state) {
        static const char *const texts[] = { "{\"first_tasks\":{\"0:1:decode[4]\":[0.04,0.06,0.08,0.1]}}",
                                             "{\"first_tasks\":{\"0:1:decode[4]\":[0.05,0.1,0.15,0.2]}}" };
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer verdict = {};

        (void)state;
        fill(&set, busy, 2);
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                assert_int_equal(pipeline_set_read_description(&set, json_text(texts[i], strlen(texts[i]))), 0);
                judge(&set, 0, &verdict);
                says(&verdict, "\"direction\":\"more concurrency\",\"confidence\":\"low\"");
        }
}

static void statistics_that_contradict_each_other_are_named(void **state) {
        static const struct {
                Minute minutes[3]; /* without a label: only two */
                bool is_grave;
                const char *words;
        } cases[] = {
                { { { "0:0:src", 0, 0, 2400, 58, 1, 0 }, { "0:1:decode[2]", 6000000, 6e7, 2400, 0, 30, 0 } }, true,
                  "the times of decode add up to 1000000 workers, and it has a concurrency of 2." },
                { { { "0:0:src", 0, 0, 2400, 58, 1, 0 }, { "0:1:decode[4]", 2400, 239, 2400, 400, 30, 0 } }, true,
                  "the times of decode add up to 10.7 workers, and it has a concurrency of 4." },
                { { { "0:0:src", 0, 0, 2400, 58, 1, 0 }, { "0:1:decode[3]", 2400, 239, 2400, 0, 30, 0 } }, false,
                  "the times of decode add up to 4 workers, and it has a concurrency of 3." },
                { { { "0:0:src", 0, 0, 2400, 58, 1, 0 }, { "0:1:decode", 6000000, 6e7, 2400, 0, 30, 0 } }, true,
                  "the times of decode add up to 1000000 workers, and it has a concurrency of 65536 at most." },
                { { { "0:0:src", 0, 0, 2400, 58, 1, 0 }, { "0:1:decode[4]", 2400, 239, 2400, 0, 3000, 0 } }, true,
                  "the training loop waited 50 min for items within 1 min." },
                { { { "0:0:src", 0, 0, 2400, 58, 1, 0 }, { "0:1:decode[4]", 24000, 239, 2400, 0, 30, 0 } }, false,
                  "decode ran 24000 tasks, and src gave it 2400 items." },
                { { { "0:0:src", 0, 0, 2400, 58, 1, 0 }, { "0:1:a[4]", 2400, 239, 2400, 0, 30, 0 },
                    { "0:1:b[4]", 2400, 20, 2400, 0, 30, 0 } }, false, "a and b have the same position, 1." },
                /* Tasks that fail at once do not last as long as the others. */
                { { { "0:0:src", 0, 0, 2400, 58, 1, 0 }, { "0:1:decode[4]", 2400, 100, 100, 0, 30, 2300 } }, false,
                  NULL },
        };
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(pipeline_set_deinit) PipelineSet set = {};

                fill(&set, cases[i].minutes, cases[i].minutes[2].label ? 3 : 2);
                judge(&set, 0, &text);
                if (!cases[i].words) {
                        says(&text, "\"concurrency\":4,\"is_inferred\":false");
                        assert_null(strstr(text.text, "contradict"));
                        continue;
                }
                says(&text, cases[i].words);
                says(&text, cases[i].is_grave ? "The limit is not known, as the statistics contradict each other: "
                                              : ". The statistics contradict each other: ");
                says(&text, cases[i].is_grave ? "\"limit\":\"unknown\",\"stage\":null,\"direction\":\"none\","
                                                "\"confidence\":\"none\"" : "\"confidence\":\"low\"");
                assert_true(!cases[i].is_grave || strstr(text.text, "\"advice\":null"));
        }
}

/* SPDL counts a task for each item that a generator makes; an ordered stage holds the outcome of two tasks more than
 * it has workers; a stage that divides the items has a queue for each path. */
static void what_spdl_counts_is_no_contradiction(void **state) {
        static const struct {
                const char *description;
                Minute minutes[3];
        } cases[] = {
                { "{}", { { "0:0:src", 0, 0, 600, 58, 1, 0 }, { "0:1:disaggregate", 4800, 10, 4800, 48, 1, 0 },
                          { "0:2:decode[2]", 4800, 119, 4800, 0, 30, 0 } } },
                { "{\"in_order\":[\"0:2:decode[4]\"]}",
                  { { "0:0:src", 0, 0, 2400, 58, 1, 0 }, { "0:1:list[1]", 2400, 10, 2400, 48, 1, 0 },
                    { "0:2:decode[4]", 2400, 350, 2400, 0, 30, 0 } } },
                { "{}", { { "0:1:path_variants_path0", 0, 0, 2400, 58, 1, 0 },
                          { "0:1:path_variants_path1", 0, 0, 2400, 58, 1, 0 },
                          { "0:2:decode[4]", 2400, 239, 2400, 0, 30, 0 } } },
        };
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(pipeline_set_deinit) PipelineSet set = {};
                const char *description = cases[i].description;

                fill(&set, cases[i].minutes, 3);
                assert_int_equal(pipeline_set_read_description(&set, json_text(description, strlen(description))), 0);
                judge(&set, 0, &text);
                says(&text, "\"limit\":\"stage\",\"stage\":\"decode\"");
                assert_null(strstr(text.text, "contradict"));
        }
}

static void a_process_with_more_cpus_than_the_node_is_no_evidence(void **state) {
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        fill(&set, busy, 2);
        set.process.tasks_cpus = 500;
        set.job.cpus_of_node = 16;
        judge(&set, 0, &text);
        says(&text, "contradict each other: the process used 500 CPUs, and the node has 16.");
}

static void intervals_without_length_have_no_rate(void **state) {
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        fill(&set, busy, 2);
        set.stages[1].queue.elapsed_s = 0;
        judge(&set, 0, &text);
        says(&text, "The wait of the training loop is not known: the intervals of the last queue have no length.");
        says(&text, "\"items_per_second\":null,\"normalized_items_per_second\":null");
}

static void limits_without_advice_have_none(void **state) {
        static const Minute fast[] = { { "0:0:src", 0, 0, 600, 30, 0, 0 },
                                       { "0:1:decode[4]", 600, 60, 600, 0, 0.1, 0 } };
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        fill(&set, fast, 2);
        judge(&set, 0, &text);
        says(&text, "\"limit\":\"consumer\",\"stage\":null");
        says(&text, "\"sentence\":\"The pipeline keeps up with the training loop, which is the limit.\","
                    "\"advice\":null");
}

static void a_full_pool_is_the_limit(void **state) {
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        fill(&set, busy, 2);
        judge(&set, 3, &text); /* threads that a user names */
        says(&text, "\"limit\":\"pool\"");
        says(&text, "\"sentence\":\"The pool of 3 threads is the limit: 4.0 tasks run or wait for a thread, so more "
                    "concurrency for a stage does not help.\",\"advice\":\"Try 6 threads, and fewer if it does not "
                    "help.\"");
}

static int describe(PipelineSet *set, const char *text) {
        return pipeline_set_read_description(set, json_text(text, strlen(text)));
}

static void the_description_tells_of_pools_locks_and_workers(void **state) {
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        fill(&set, busy, 2);
        assert_int_equal(describe(&set, "{\"threads\":16,\"pools\":[{\"threads\":2,\"stages\":[\"decode\"],"
                                        "\"waiting\":0.97}]}"),
                         0);
        judge(&set, 0, &text);
        says(&text, "The executor of decode with 2 workers is the limit: a task waited for a thread 97 % of the time");
        says(&text, "\"advice\":\"Try 4 workers, and fewer if it does not help.\"");

        set.process.n_pools = 0;
        assert_int_equal(describe(&set, "{\"process\":{\"seconds\":100,\"cpu_seconds\":99,\"lock_wait\":0.83}}"), 0);
        judge(&set, 0, &text);
        says(&text, "a thread waited for it 83 % of the time, and the process used 0.99 CPUs.\"");
        says(&text, "\"advice\":\"Lower the concurrency of decode, or move its task to processes.\"");

        assert_int_equal(describe(&set, "{\"workers\":{\"0:1:decode[4]\":"
                                        "[[100,10],[100,10.5],[25,10],[100,9.8]]}}"),
                         0);
        judge(&set, 0, &text);
        says(&text, "\"direction\":\"faster task\",\"confidence\":\"medium\"");
        says(&text, "Worker 2 of decode is the limit: its tasks take 400 ms, the median of 4 workers is 10");
}

/* What PyTorch's DataLoader needs is said in its words. */
static void loaders_are_told_apart(void **state) {
        static const struct {
                const char *name, *label;
                double busy, waited_s, n; /* workers, of a minute; wait for n batches */
                const char *loader, *verdict, *sentence, *advice;
        } cases[] = {
                { "workers that sleep", "0:0:load[2]", 1.96, 40, 2000, "\"cpus\":0.04,\"waiting_for_cpu\":0.4",
                  "\"limit\":\"stage\",\"stage\":\"load\","
                  "\"direction\":\"more concurrency\",\"confidence\":\"medium\"",
                  "its 2 workers are busy 98 % of the time", "Try num_workers=4, and fewer if it does not help; the" },
                { "workers that wait for a CPU", "0:0:load[2]", 1.96, 40, 2000, "\"cpus\":0.8,\"waiting_for_cpu\":1.1",
                  "\"limit\":\"host\"", "The host is the limit", "Run the job on another host" },
                { "no worker", "0:0:load", 0.33, 20, 2000, "\"cpus\":1,\"waiting_for_cpu\":0",
                  "\"limit\":\"stage\",\"stage\":\"load\","
                  "\"direction\":\"more concurrency\",\"confidence\":\"medium\"",
                  "The training loop loads its batches itself", "Try num_workers=2" },
                { "starts of epochs", "0:0:load[4]", 0.8, 30, 2000,
                  "\"start_seconds\":20",
                  "\"limit\":\"start\",\"stage\":null,"
                  "\"direction\":\"keep workers\",\"confidence\":\"medium\"",
                  "the loop waited 20 s for it", "persistent_workers=True" },
                { "a few starts", "0:0:load[4]", 3.9, 30, 2000, "\"start_seconds\":2",
                  "\"limit\":\"stage\"", "its 4 workers are busy 98 %", "Try num_workers=8" },
                { "a slow batch", "0:0:load[4]", 1.5, 20, 2000, "\"cpus\":0,\"waiting_for_cpu\":0",
                  "\"limit\":\"handover\",\"stage\":\"sink\","
                  "\"direction\":\"larger buffer\",\"confidence\":\"low\"",
                  "the workers are busy only 38 % of the time", "raise prefetch_factor" },
                { "batches in memory", "0:0:load[2]", 0.05, 40, 40000, "\"cpus\":1,\"waiting_for_cpu\":0",
                  "\"limit\":\"handover\",\"stage\":\"load\","
                  "\"direction\":\"less concurrency\",\"confidence\":\"medium\"",
                  "the loop waits for batches, and the workers", "than to load it: try num_workers=0" },
                { "workers that use all CPUs", "0:0:load[8]", 7.8, 40, 2000, "\"cpus\":7.7,\"waiting_for_cpu\":0.1",
                  "\"limit\":\"cpu\",\"stage\":\"load\",\"direction\":\"more cpus\"",
                  "The CPUs that the job may use, 8,",
                  "Give it more, or make the task of load cheaper" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                const Minute minutes[] = { { cases[i].label, cases[i].n, 60 * cases[i].busy, 0, 0, 0, 0 },
                                           { "0:1:sink", 0, 0, cases[i].n, 0, cases[i].waited_s, 0 } };
                scoped(pipeline_set_deinit) PipelineSet set = {};
                scoped(buffer_deinit) Buffer text = {}, description = {};

                buffer_printf(&description, "{\"producer\":\"torch 2.15\",\"process\":{\"seconds\":60,"
                                            "\"lock_wait\":0.9,\"cpu_seconds\":60},"
                                            "\"loaders\":{\"9:0:load\":1,\"%s\":{%s}}}",
                              cases[i].label, cases[i].loader);
                fill(&set, minutes, 2);
                set.stages[0].queue = (StageQueue){};
                assert_int_equal(describe(&set, description.text), 0);
                set.job.cpus_of_node = set.job.cpus_given = 8;
                set.job.cpus_used = i + 1 == N_ELEMENTS(cases) ? 7.9 : 1.9;
                set.job.cpus_of_others = 8 - set.job.cpus_used;
                judge(&set, 0, &text);
                says(&text, cases[i].verdict);
                says(&text, cases[i].sentence);
                says(&text, cases[i].advice);
        }
}

/* A producer may send anything. */
static void what_makes_no_sense_in_a_description_is_not_known(void **state) {
        static const char *const texts[] = {
                "", "[]", "7", "{", "{\"pools\":3,\"process\":[],\"workers\":\"x\",\"pipeline\":-1,\"threads\":1e300}",
                "{\"pools\":[3,{\"threads\":\"2\",\"stages\":[7],\"waiting\":\"x\"}],\"process\":{\"seconds\":0}}",
                "{\"loaders\":{\"none\":{},\"0:1:decode[4]\":[{\"cpus\":1}]}}", "{\"loaders\":[1]}",
                "{\"workers\":{\"none\":[[1,2]],\"0:1:decode[4]\":[[1],[0,0],3,[\"a\",\"b\"]]},\"pipeline\":1e300}",
        };
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                scoped(pipeline_set_deinit) PipelineSet set = {};

                fill(&set, busy, 2);
                assert_int_equal(describe(&set, texts[i]), 0);
                judge(&set, 0, &text);
                says(&text, "\"limit\":\"stage\",\"stage\":\"decode\"");
        }
}

static void each_pipeline_has_a_verdict(void **state) {
        static const Minute two[] = { { "3:1:a[1]", 600, 59, 600, 0, 30, 0 },
                                      { "7:1:b[1]", 600, 59, 600, 0, 30, 0 } };
        scoped(pipeline_set_deinit) PipelineSet set = {}, empty = {};
        PipelineVerdict verdict;
        size_t at = 0;

        (void)state;
        fill(&set, two, 2);
        assert_true(pipeline_verdict_next(&set, 0, &at, &verdict));
        assert_int_equal(verdict.stages[0].pipeline, 3);
        assert_true(pipeline_verdict_next(&set, 0, &at, &verdict));
        assert_int_equal(verdict.stages[0].pipeline, 7);
        assert_false(pipeline_verdict_next(&set, 0, &at, &verdict));
        at = 0;
        pipeline_set_init(&empty);
        assert_false(pipeline_verdict_next(&empty, 0, &at, &verdict));
}

/* Pipelines of which one waits for a loop that waits for the other, and epochs whose start counts. */
static void a_loop_that_waits_elsewhere_is_not_the_limit(void **state) {
        static const Minute two[] = { { "0:0:src", 0, 0, 600, 30, 0, 0 },
                                      { "0:1:text[4]", 600, 60, 600, 40, 0.1, 0 },
                                      { "1:0:src", 0, 0, 600, 58, 0.1, 0 },
                                      { "1:1:image[2]", 600, 119, 600, 0, 30, 0 } };
        static const Minute two_slow[] = { { "0:0:src", 0, 0, 600, 0, 57, 0 },
                                           { "0:1:text[4]", 600, 3, 600, 0, 5, 0 },
                                           { "1:0:src", 0, 0, 600, 58, 0.1, 0 },
                                           { "1:1:image[2]", 600, 119, 600, 0, 30, 0 } };
        static const Minute epochs[] = { { "0:0:src", 0, 0, 600, 30, 0, 0 },
                                         { "0:1:text[4]", 600, 60, 600, 40, 0.1, 0 },
                                         { "1:0:src", 0, 0, 600, 30, 0, 0 },
                                         { "1:1:text[4]", 600, 60, 600, 40, 0.1, 0 } };
        static const struct {
                const char *name;
                const Minute *minutes;
                double first_wait_s;
                bool is_limit;
        } cases[] = {
                { "the other pipeline is slow", two, NAN, false },
                { "the other pipeline is slow, and this one, too, at times", two_slow, NAN, false },
                { "epochs", epochs, 1, true },
                { "epochs that start slowly", epochs, 10, false },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(pipeline_set_deinit) PipelineSet set = {};
                scoped(buffer_deinit) Buffer text = {};

                fill(&set, cases[i].minutes, 4);
                set.job.first_wait_s = cases[i].first_wait_s;
                judge(&set, 0, &text);
                says(&text, cases[i].is_limit ? "\"confidence\":\"high\"" : "\"confidence\":\"low\"");
                if (cases[i].minutes != two_slow)
                        says(&text, cases[i].is_limit ? "which is the limit."
                                                      : "which waits for another pipeline, or for the first batch of "
                                                        "each.");
        }
}

/* Verdict about the second of two pipelines. */
static void the_description_of_a_pipeline_is_of_those_like_it(void **state) {
        static const struct {
                const char *first; /* stage of the pipeline that is described */
                const char *waiting;
                PipelineLimit limit;
                PipelineConfidence confidence;
        } cases[] = {
                { "0:1:decode[4]", "0.1", PIPELINE_LIMIT_STAGE, PIPELINE_CONFIDENCE_MEDIUM },
                { "0:1:decode[4]", "0.9", PIPELINE_LIMIT_POOL, PIPELINE_CONFIDENCE_MEDIUM },
                { "0:1:parse[4]", "0.9", PIPELINE_LIMIT_STAGE, PIPELINE_CONFIDENCE_LOW },
        };
        char description[200];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                const Minute minutes[] = { { "0:0:src", 0, 0, 2400, 58, 1, 0 },
                                           { cases[i].first, 2400, 239, 2400, 0, 30, 0 },
                                           { "1:0:src", 0, 0, 2400, 58, 1, 0 },
                                           { "1:1:decode[4]", 2400, 239, 2400, 0, 30, 0 } };
                scoped(pipeline_set_deinit) PipelineSet set = {};
                PipelineVerdict verdict;
                size_t at = 2;

                fill(&set, minutes, 4);
                (void)snprintf(description, sizeof(description),
                               "{\"pipeline\":0,\"threads\":2,"
                               "\"pools\":[{\"threads\":2,\"shared\":true,\"waiting\":%s}]}",
                               cases[i].waiting);
                assert_int_equal(describe(&set, description), 0);
                assert_true(pipeline_verdict_next(&set, 0, &at, &verdict));
                assert_int_equal(verdict.diagnosis.limit, cases[i].limit);
                assert_int_equal(verdict.diagnosis.confidence, cases[i].confidence);
        }
}

/* The queue before a stage in the list is not its input, and branches work beside each other. */
static void stages_of_a_pipeline_that_divides_are_not_sure(void **state) {
        static const char *const names[] = { "0:0:merge", "0:0:path_variants_merge", "0:0:mergers" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                const Minute minutes[] = { { names[i], 0, 0, 2400, 0, 30, 0 },
                                           { "0:1:src", 0, 0, 2400, 58, 1, 0 },
                                           { "0:2:decode[4]", 2400, 239, 2400, 0, 30, 0 } };
                scoped(pipeline_set_deinit) PipelineSet set = {};
                scoped(buffer_deinit) Buffer text = {};

                fill(&set, minutes, 3);
                judge(&set, 0, &text);
                says(&text, i < 2 ? "\"confidence\":\"low\"" : "\"confidence\":\"medium\"");
        }
}

/* The second run with more workers was slower, but the queues have the times of both. */
static void two_runs_in_one_job_are_told_apart(void **state) {
        static const Minute both[] = { { "0:0:src", 0, 0, 4100, 118, 1, 0 },
                                       { "0:1:decode[16]", 1700, 959, 1700, 0, 0, 0 },
                                       { "0:1:decode[8]", 2400, 479, 2400, 0, 58, 0 } };
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        fill(&set, both, 3);
        judge(&set, 0, &text);
        says(&text, "\"confidence\":\"low\"");
        says(&text, ". The statistics contradict each other: the job ran the pipeline with a "
                    "concurrency of 16 and of 8 for decode: run each as a job of its own, and they are compared.");
}

/* Judges the pipeline with a concurrency of 16, after a run with 8 that had other items per second. */
static void judge_after(double rate_before, double busy_share, Buffer *text) {
        const Minute now[] = { { "0:0:src", 0, 0, 2400, 58, 1, 0 },
                               { "0:1:decode[16]", 2400, 16 * 60 * busy_share, 2400, 0, 30, 0 } },
                     before[] = { { "0:0:src", 0, 0, 2400, 58, 1, 0 },
                                  { "0:1:decode[8]", 2400, 239, 60 * rate_before, 0, 30, 0 } };
        scoped(pipeline_set_deinit) PipelineSet set = {}, earlier = {};
        Json json = { .out = text };
        PipelineVerdict verdict;
        size_t at = 0;

        fill(&set, now, 2);
        fill(&earlier, before, 2);
        buffer_clear(text);
        assert_true(pipeline_verdict_next(&set, 0, &at, &verdict));
        pipeline_verdict_compare(&verdict, &(ComparedRun){ "yesterday", earlier.stages, 2, 0 }, 1);
        json_object_begin(&json);
        pipeline_verdict_put(&verdict, &json);
        json_object_end(&json);
}

static void what_a_change_did_is_known(void **state) {
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        judge_after(56.4, 0.99, &text);
        says(&text, "\"direction\":\"less concurrency\",\"confidence\":\"medium\"");
        says(&text, "With a concurrency of 16 for decode instead of 8 it is 29.1 % slower than in job yesterday: 40 "
                    "items per second instead of 56.4.\",\"advice\":\"Try a concurrency of 4 for decode.\"");
        judge_after(25, 0.99, &text);
        says(&text, "\"direction\":\"more concurrency\",\"confidence\":\"medium\"");
        says(&text, "it is 60.0 % faster than");
        says(&text, "\"advice\":\"Try a concurrency of 32 for decode, and go back if it does not help.\"");
        judge_after(41, 0.99, &text);
        says(&text, "\"direction\":\"less concurrency\",\"confidence\":\"medium\"");
        says(&text, "it is about as fast as in job yesterday");
        says(&text, "\"advice\":\"Go back to a concurrency of 8 for decode.\"");
        /* It helped, but now something else is the limit. */
        judge_after(25, 0.3, &text);
        says(&text, "\"limit\":\"unknown\",\"stage\":null");
        says(&text, "it is 60.0 % faster than");
        says(&text, "\"advice\":null");
}

/* Lists of 50 files are split, and batches of 8 made of the items: 25 batches are 4 lists. */
static void throughputs_compare_across_batches(void **state) {
        static const Minute batches[] = { { "0:0:src", 0, 0, 240, 58, 1, 0 },
                                          { "0:1:disaggregate", 240, 1, 12000, 0, 1, 0 },
                                          { "0:2:decode[4]", 12000, 239, 12000, 0, 1, 0 },
                                          { "0:3:aggregate(8, drop_last=True)", 12000, 1, 1500, 0, 30, 0 } };
        scoped(pipeline_set_deinit) PipelineSet set = {};
        scoped(buffer_deinit) Buffer text = {};
        const char *at;
        size_t n = 0;

        (void)state;
        fill(&set, batches, 4);
        judge(&set, 0, &text);
        says(&text, "\"items_per_second\":25.0,\"normalized_items_per_second\":4.0,");
        for (at = text.text; (at = strstr(at, "\"normalized_items_per_second\":4.0,")); at++)
                n++;
        assert_int_equal(n, 4);

        /* The shares of a stage are at most its time, whatever was measured. */
        set.stages[2].tasks.success_time_s *= 1.15;
        judge(&set, 0, &text);
        says(&text, "\"busy\":0.99");
}

static void times_have_the_unit_that_fits(void **state) {
        static const struct {
                double s;
                const char *text;
        } cases[] = { { 0, "0 s" }, { 8.799e-7, "880 ns" }, { 0.00001234, "12.3 us" }, { 0.9996e-3, "1 ms" },
                      { 0.0995, "99.5 ms" }, { 0.9996, "1 s" }, { 99.95, "1.67 min" }, { 7200, "2 h" },
                      { 36e6, "10000 h" }, { -1, "-" }, { (double)NAN, "-" } };
        char text[TEXT_MAX];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                text_seconds_brief(cases[i].s, text);
                assert_string_equal(text, cases[i].text);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_busy_stage_is_named_with_advice),
                cmocka_unit_test(the_gain_of_tasks_that_compute_is_promised),
                cmocka_unit_test(a_slow_item_holds_back_an_output_in_order),
                cmocka_unit_test(tasks_that_wait_for_each_other_need_fewer_workers),
                cmocka_unit_test(tasks_that_may_wait_for_each_other_are_not_sure_to_need_more_workers),
                cmocka_unit_test(statistics_that_contradict_each_other_are_named),
                cmocka_unit_test(what_spdl_counts_is_no_contradiction),
                cmocka_unit_test(a_process_with_more_cpus_than_the_node_is_no_evidence),
                cmocka_unit_test(intervals_without_length_have_no_rate),
                cmocka_unit_test(limits_without_advice_have_none),
                cmocka_unit_test(a_full_pool_is_the_limit),
                cmocka_unit_test(the_description_tells_of_pools_locks_and_workers),
                cmocka_unit_test(loaders_are_told_apart),
                cmocka_unit_test(what_makes_no_sense_in_a_description_is_not_known),
                cmocka_unit_test(each_pipeline_has_a_verdict),
                cmocka_unit_test(a_loop_that_waits_elsewhere_is_not_the_limit),
                cmocka_unit_test(the_description_of_a_pipeline_is_of_those_like_it),
                cmocka_unit_test(stages_of_a_pipeline_that_divides_are_not_sure),
                cmocka_unit_test(two_runs_in_one_job_are_told_apart),
                cmocka_unit_test(what_a_change_did_is_known),
                cmocka_unit_test(throughputs_compare_across_batches),
                cmocka_unit_test(times_have_the_unit_that_fits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
