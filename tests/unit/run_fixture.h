/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Generated reports of ranks, and the run that merges them. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/api/api_query.h"
#include "client/report/report.h"
#include "value/value_parse.h"

typedef struct Fixture {
        ReportRun run;
        Buffer out;
        Screen screen;
        Buffer json;
        Arena arena; /* memory of `json` after parsing */
} Fixture;

static inline int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        f->screen = (Screen){ .out = &f->out, .width = 80 };
        return arena_init(&f->arena, 8 * 1024 * 1024);
}

static inline int tear_down(void **state) {
        Fixture *f = *state;

        report_run_deinit(&f->run);
        buffer_deinit(&f->out);
        buffer_deinit(&f->json);
        arena_deinit(&f->arena);
        free(f);
        return 0;
}

/* A rank; members that are not set have the value of a single rank's report. */
typedef struct Rank {
        const char *id, *host, *more, *name, *command, *state, *cgroup;
        int rank;   /* -1: none */
        int ranks;  /* 0: unknown */
        int status; /* -1: none */
        int uid, node;
        double cpus_used, cpus_given, memory_mib, node_read_mib;
        uint64_t begin_ms, end_ms; /* end 0: running */
} Rank;

static inline Rank a_rank(int rank, const char *id, const char *host) {
        return (Rank){ .id = id,
                       .host = host,
                       .rank = rank,
                       .ranks = 4,
                       .name = "train",
                       .command = "./solver",
                       .state = "finished",
                       .cgroup = id,
                       .uid = 1000,
                       .node = -1,
                       .cpus_used = 1,
                       .cpus_given = 2,
                       .memory_mib = 100,
                       .node_read_mib = 10,
                       .begin_ms = 1700000000000,
                       .end_ms = 1700000010000 };
}

static inline void put_metric(Buffer *out, const char *scope, const char *key, double value, const char *unit,
                              int step) {
        buffer_printf(out, ",{\"key\":\"%s\",\"value\":%.6f,\"unit\":\"%s\",\"quality\":\"exact\",", key, value, unit);
        buffer_printf(out, "\"scope\":\"%s\",\"step\":%d}", scope, step);
}

static inline void put_text(Buffer *out, const char *key, const char *text) {
        buffer_printf(out, text ? ",\"%s\":\"%s\"" : ",\"%s\":null", key, text);
}

static inline void put_rank(Buffer *out, const Rank *rank) {
        double seconds = (double)((rank->end_ms ?: 1700000005000) - rank->begin_ms) / 1e3;

        buffer_printf(out, "{\"id\":\"%s\",\"name\":\"%s\",\"state\":\"%s\"", rank->id, rank->name, rank->state);
        buffer_printf(out, ",\"command\":\"%s\",\"user\":\"alice\",\"uid\":%d", rank->command, rank->uid);
        buffer_printf(out, ",\"begin_ms\":%ju", (uintmax_t)rank->begin_ms);
        if (rank->end_ms > 0)
                buffer_printf(out, ",\"end_ms\":%ju", (uintmax_t)rank->end_ms);
        if (rank->rank >= 0)
                buffer_printf(out, ",\"rank\":%d", rank->rank);
        if (rank->ranks > 0)
                buffer_printf(out, ",\"ranks\":%d", rank->ranks);
        if (rank->node >= 0)
                buffer_printf(out, ",\"node_index\":%d", rank->node);
        if (rank->status >= 0)
                buffer_printf(out, ",\"exit\":{\"status\":%d,\"signal\":%d}", rank->status,
                              rank->status > 128 ? rank->status - 128 : 0);
        put_text(out, "cgroup", rank->cgroup);
        if (rank->host)
                buffer_printf(out,
                              ",\"on\":{\"hostname\":\"%s\",\"cpus\":4,\"memory_bytes\":1073741824,\"time_ms\":"
                              "1700000005000}",
                              rank->host);
        buffer_puts(out, ",\"metrics\":[{}");
        put_metric(out, "node", "duration_seconds", seconds, "s", rank->rank);
        put_metric(out, "node", "total_disk_io_read_mb", rank->node_read_mib, "MiB", rank->rank);
        put_metric(out, "node", "node_cpu_hours", 4 * seconds / 3600, "h", rank->rank);
        put_metric(out, "node", "max_t_mem_percent", 10 + rank->rank, "%", rank->rank);
        if (rank->cgroup) {
                put_metric(out, "job", "job_cpus_given", rank->cpus_given, "cpus", rank->rank);
                put_metric(out, "job", "job_cpus_used", rank->cpus_used, "cpus", rank->rank);
                put_metric(out, "job", "job_cpu_seconds", rank->cpus_used * seconds, "s", rank->rank);
                put_metric(out, "job", "job_cpu_unused_seconds", (rank->cpus_given - rank->cpus_used) * seconds, "s",
                           rank->rank);
                put_metric(out, "job", "job_memory_peak_bytes", rank->memory_mib * 1048576, "bytes", rank->rank);
                put_metric(out, "job", "job_psi_io_some_seconds", seconds * rank->rank / 10, "s", rank->rank);
        }
        buffer_printf(out, "]%s}\n", rank->more ? rank->more : "");
}

static inline int add(Fixture *f, const char *file, const Rank *rank) {
        scoped(buffer_deinit) Buffer text = {};

        put_rank(&text, rank);
        return report_run_add(&f->run, file, text.text, text.n);
}

/* Adds each report as a separate file: "0.json", … */
static inline int join(Fixture *f, const Rank *ranks, size_t n) {
        static const char *const files[] = { "0.json", "1.json", "2.json", "3.json", "4.json" };

        for (size_t i = 0; i < n; i++)
                assert_int_equal(add(f, files[i], &ranks[i]), 0);
        return report_run_join(&f->run);
}

static inline void assert_says(const char *text, const char *words) {
        if (!text || !strstr(text, words))
                fail_msg("'%s' is not in\n%s", words, text ? text : "nothing");
}

static inline const char *screen_of(Fixture *f, bool is_whole) {
        buffer_clear(&f->out);
        report_write(&f->screen, &f->run, NULL, is_whole);
        assert_int_equal(buffer_error(&f->out), 0);
        return f->out.text;
}

static inline const Value *json_of(Fixture *f) {
        ValueReader reader;
        ValueError error;
        const Value *value;
        Json json = { .out = &f->json };

        report_run_write_json(&f->run, &json);
        value_parse_begin(&reader, f->json.text, f->json.n);
        if (value_parse_next(&reader, &f->arena, &value, &error) != 0)
                fail_msg("%u:%u: %s", error.line, error.column, error.text);
        return value;
}

static inline const Value *find_item(const Value *list, const char *key) {
        for (size_t i = 0; i < list->n_items; i++)
                if (strcmp(answer_text(&list->items[i], "key"), key) == 0)
                        return &list->items[i];
        fail_msg("there is no %s", key);
        return NULL;
}

static inline void assert_total(const Value *json, const char *key, double value, const char *of) {
        const Value *total = find_item(value_get(json, "total"), key);

        assert_true(fabs(answer_number_or_zero(total, "value") - value) < 1e-6);
        assert_string_equal(answer_text(total, "of"), of);
}

/* Makes four ranks on two hosts, two on each. */
static inline void make_four(Rank ranks[static 4]) {
        static const char *const ids[] = { "train-17.0", "train-17.1", "train-17.2", "train-17.3" };

        for (int i = 0; i < 4; i++)
                ranks[i] = a_rank(i, ids[i], i < 2 ? "n1" : "n2");
}
