/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as what the client reads from elsewhere
 *
 * A command's output, a spool file, a reply of perfd's, an answer to show or to export, and times of batches.
 * Asserted is that nothing found is more than the documents' rules allow, that a spool file that is accepted says
 * the same when written again, that no byte that controls a terminal gets into a report, and that what is exported
 * is JSON.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/api/metric_list.h"
#include "client/import/latencies.h"
#include "client/deliver/spool.h"
#include "client/report/perf_report.h"
#include "client/report/report.h"
#include "client/run/capture.h"
#include "client/wire/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_output(const uint8_t *data, size_t size) {
        scoped(capture_deinit) Capture capture = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *documents[CAPTURE_DOCUMENTS_MAX];
        CaptureLoss loss;
        size_t n;

        capture_add(&capture, data, size);
        if (arena_init(&arena, value_parse_arena_size(capture.text.n)) < 0)
                abort();

        assert(capture_find(&capture, &arena, documents, &n, &loss) == 0);
        for (size_t i = 0; i < n; i++)
                assert(value_get(documents[i], "@result"));
}

static void try_spool_file(const uint8_t *data, size_t size) {
        scoped(buffer_deinit) Buffer first = {}, second = {};
        scoped(arena_deinit) Arena arena = {}, again = {};
        Batch batch;

        if (arena_init(&arena, spool_batch_arena_size(size)) < 0)
                abort();
        if (spool_parse_batch((const char *)data, size, &arena, &batch) != 0)
                return;

        assert(spool_format_batch(&batch, &first) == 0);
        if (arena_init(&again, spool_batch_arena_size(first.n)) < 0)
                abort();
        assert(spool_parse_batch(first.text, first.n, &again, &batch) == 0);
        assert(spool_format_batch(&batch, &second) == 0);
        assert(strcmp(first.text, second.text) == 0);
}

static void try_reply(const uint8_t *data, size_t size) {
        Frame frame;
        Reply reply;

        if (frame_read(data, size, size, &frame, NULL) != 0 || protocol_decode_reply(&frame, &reply) != 0)
                return;
        assert((unsigned)reply.status < N_STATUSES);
        assert(strnlen(reply.job, sizeof(reply.job)) < sizeof(reply.job));
        assert(strnlen(reply.phase, sizeof(reply.phase)) < sizeof(reply.phase));
}

static void assert_json(const Buffer *text) {
        scoped(arena_deinit) Arena arena = {};
        ValueReader reader;
        ValueError error;
        const Value *document;

        if (arena_init(&arena, value_parse_arena_size(text->n)) < 0)
                abort();
        value_parse_begin(&reader, text->text, text->n);
        assert(value_parse_next(&reader, &arena, &document, &error) == 0);
        assert(value_parse_next(&reader, &arena, &document, &error) == VALUE_END);
}

static void try_export(const Value *answer) {
        scoped(metric_list_names_deinit) MetricListNames names = {};
        scoped(buffer_deinit) Buffer list = {}, report = {};
        scoped(perf_report_deinit) PerfReport perf = {};

        assert(metric_list_write(&answer, 1, &(MetricListStyle){ .prefix = "a/", .is_compat = answer->n_members % 2 },
                                 &list, &names) == 0);
        assert_json(&list);

        if (perf_report_add_samples(&perf, "answer", answer) != 0 &&
            perf_report_add_totals(&perf, "answer", answer) != 0)
                return;
        if (perf_report_join(&perf, false) == 0)
                perf_report_write(&perf, &report);
        assert_json(&report);
}

/* The arena is large enough for whatever is made. */
static void try_latencies(const uint8_t *data, size_t size) {
        scoped(arena_deinit) Arena arena = {};
        const char *text = (const char *)data;
        const Value *document, *indicator;
        Complaint complaint;
        ValueReader reader;
        ValueError error;
        unsigned line;

        if (arena_init(&arena, value_parse_arena_size(size) + latencies_arena_size(size)) < 0)
                abort();
        if (latencies_are_lines(text, size)) {
                assert(latencies_from_lines(text, size, 0, &arena, &indicator, &complaint, &line) >= 0);
                return;
        }

        value_parse_begin(&reader, text, size);
        while (value_parse_next(&reader, &arena, &document, &error) == 0)
                assert(latencies_from_value(document, 0, &arena, &indicator, &complaint) >= 0);
}

static void try_answer(const uint8_t *data, size_t size) {
        scoped(buffer_deinit) Buffer out = {};
        scoped(arena_deinit) Arena arena = {};
        Screen screen = { .out = &out, .width = 80 };
        ReportResults results = { .n = 1 };
        ValueReader reader;
        ValueError error;
        const Value *answer;

        if (arena_init(&arena, value_parse_arena_size(size)) < 0)
                abort();
        value_parse_begin(&reader, (const char *)data, size);
        if (value_parse_next(&reader, &arena, &answer, &error) != 0)
                return;

        try_export(answer);
        report_results_format(answer, &results.items[0]);
        report_write_job(&screen, answer, answer, &results);
        for (size_t i = 0; i < out.n; i++)
                assert((unsigned char)out.text[i] >= 0x20 || out.text[i] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        try_output(data, size);
        try_spool_file(data, size);
        try_reply(data, size);
        try_answer(data, size);
        try_latencies(data, size);
        return 0;
}
