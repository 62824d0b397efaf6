/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a stream of requests
 *
 * Memory errors are the sanitizers' business; asserted is what the rest of the daemon builds on: what is accepted
 * keeps the promises of request/request.h, and what is refused has a reason that a strict decoder can read.
 */

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/codec/codec.h"
#include "util/utf8.h"

#define FRAME_MAX_BYTES 16384U
#define STRING_MAX 4096U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text) {
        assert(utf8_is_valid(text, strlen(text)));
}

static void check_value(const Value *value, unsigned depth) {
        assert(depth <= VALUE_DEPTH_MAX + 1);

        switch (value->type) {
        case VALUE_NULL:
        case VALUE_BOOL:
        case VALUE_INT:
        case VALUE_UINT:
                return;
        case VALUE_DOUBLE:
                assert(isfinite(value->number));
                return;
        case VALUE_STRING:
                assert(strlen(value->string) <= STRING_MAX);
                check_text(value->string);
                return;
        case VALUE_LIST:
                for (size_t i = 0; i < value->n_items; i++)
                        check_value(&value->items[i], depth + 1);
                return;
        case VALUE_OBJECT:
                for (size_t i = 0; i < value->n_members; i++) {
                        assert(value->members[i].key[0] != '\0');
                        check_text(value->members[i].key);
                        check_value(&value->members[i].value, depth + 1);
                }
                return;
        }
        abort(); /* no type of ours */
}

/* A text that is kept is the one that the writer would write. */
static void check_document(const Value *document, JsonText text) {
        Buffer written = {};
        Json json = { .out = &written };

        check_value(document, 1);
        value_write_json(document, &json);
        assert(buffer_error(&written) == 0);
        assert(!text.text || (written.n == text.n && memcmp(written.text, text.text, text.n) == 0));
        buffer_deinit(&written);
}

static void check_submission(const Submission *item) {
        assert(item->job[0] == '\0' || indicator_name_is_valid(item->job, JOB_ID_MAX - 1));
        assert(indicator_name_is_valid(item->indicator.name, NAME_MAX_BYTES));
        assert(!item->indicator.component || strlen(item->indicator.component) <= COMPONENT_MAX_BYTES);
        assert(isfinite(item->indicator.overall_score));
        assert(item->exit_status >= 0 && item->exit_status <= 255);
        assert(item->has_batch || item->batch_index == 0);
        if (item->run)
                check_document(item->run, item->run_text);
        if (item->indicator.document)
                check_document(item->indicator.document, item->document_text);
        if (!submission_has_failed(item))
                assert(item->indicator.component && item->indicator.parameters &&
                       item->indicator.result->n_members > 0);
}

static void check_model(const IndicatorModel *model) {
        assert(indicator_name_is_valid(model->name, NAME_MAX_BYTES));
        assert(model->n_properties > 0 && model->n_properties <= MODEL_PROPERTIES_MAX);
        check_value(model->document, 1);
        for (size_t i = 0; i < model->n_properties; i++)
                assert(indicator_model_find(model, model->properties[i].name, model->properties[i].is_result) ==
                       &model->properties[i]);
}

static void check_line(const char *text, size_t n_max) {
        assert(strlen(text) <= n_max && utf8_is_line(text));
}

static void check_job_begin(const Request *request) {
        const JobInfo *info = request->job_begin.info;

        assert(indicator_name_is_valid(info->id, JOB_ID_MAX - 1));
        assert(info->uid == request->peer.uid || (request->peer.is_admin && info->uid != UINT32_MAX));
        assert(info->gid == request->peer.gid);
        assert(info->rank >= -1 && info->pid >= 0 && request->job_begin.member_pid >= 0);
        assert(info->node >= -1 && (info->n_nodes == 0 || info->node < (int64_t)info->n_nodes));
        assert(info->n_ranks == 0 || info->rank < (int64_t)info->n_ranks);
        assert(info->isolation < ISOLATION_FOUND && !info->cgroup);
        assert(request->job_begin.member_pid > 0 ||
               (!request->job_begin.is_fresh && info->isolation != ISOLATION_CGROUP));
        check_line(info->name, JOB_TEXT_MAX - 1);
        check_text(info->command);
        check_line(info->user, sizeof(info->user) - 1);
        assert(info->n_labels <= JOB_LABELS_MAX);
        for (size_t i = 0; i < info->n_labels; i++) {
                assert(indicator_name_is_valid(info->labels[i].key, sizeof(info->labels[i].key) - 1));
                check_line(info->labels[i].value, JOB_TEXT_MAX - 1);
        }
}

static void check_mark(const Request *request) {
        assert(request->mark.job[0] == '\0' || indicator_name_is_valid(request->mark.job, JOB_ID_MAX - 1));
        check_line(request->mark.name, PHASE_NAME_MAX - 1);
        assert(isfinite(request->mark.wall_seconds) && request->mark.wall_seconds >= 0);
}

static void check_sums(const PipelineSums *sums) {
        const double values[] = { sums->elapsed_s, sums->n,       sums->n_failures, sums->time_s,
                                  sums->get_s,     sums->ready_s, sums->judged_s };

        for (size_t i = 0; i < N_ELEMENTS(values); i++)
                assert(isfinite(values[i]) && values[i] >= 0);
        assert(sums->n_failures <= sums->n && sums->ready_s <= sums->judged_s && sums->judged_s <= sums->elapsed_s);
}

static void check_pipeline_report(const PipelineReport *report) {
        PipelineStage stage;

        check_line(report->producer, PIPELINE_PRODUCER_MAX);
        assert(report->n_intervals <= PIPELINE_REPORT_INTERVALS_MAX && report->n_events <= PIPELINE_REPORT_EVENTS_MAX);
        for (size_t i = 0; i < report->n_intervals; i++) {
                assert(pipeline_stage_parse(&stage, report->intervals[i].stage, strlen(report->intervals[i].stage)));
                check_sums(&report->intervals[i].sums);
        }
        for (size_t i = 0; i < report->n_events; i++)
                check_line(report->events[i].name, PIPELINE_EVENT_NAME_MAX);
}

static void check_request(const Request *request) {
        assert(request->peer.uid == 1000);

        switch (request->kind) {
        case REQUEST_HELLO:
                check_text(request->hello.client);
                return;
        case REQUEST_JOB_BEGIN:
                check_job_begin(request);
                return;
        case REQUEST_JOB_END:
                assert(indicator_name_is_valid(request->job_end.job, JOB_ID_MAX - 1));
                assert(request->job_end.end.exit_status >= 0 && request->job_end.end.exit_status <= 255);
                return;
        case REQUEST_SUBMIT:
                assert(request->submit.n_items > 0);
                for (size_t i = 0; i < request->submit.n_items; i++)
                        check_submission(&request->submit.items[i]);
                return;
        case REQUEST_MARK:
                check_mark(request);
                return;
        case REQUEST_REGISTER:
                assert(request->register_model.n_models > 0);
                for (size_t i = 0; i < request->register_model.n_models; i++)
                        check_model(&request->register_model.models[i]);
                return;
        case REQUEST_PIPELINE_REPORT:
                check_pipeline_report(request->pipeline_report);
                return;
        case REQUEST_RELOAD:
                return;
        case REQUEST_FORGET:
                assert(request->forget.before_ms <= INT64_MAX);
                return;
        case REQUEST_UNREGISTER:
                check_line(request->unregister_model.name, NAME_MAX_BYTES);
                check_line(request->unregister_model.component ?: "", COMPONENT_MAX_BYTES);
                return;
        case N_REQUEST_KINDS:
                break;
        }
        abort(); /* no kind of ours */
}

static void check_refusal(const Decoded *decoded) {
        uint8_t reply[CODEC_REPLY_MAX];
        Frame frame;
        size_t n;

        assert(decoded->refusal.status != STATUS_OK && decoded->refusal.complaint.text[0] != '\0');
        assert(decoded->refusal.job[0] == '\0');
        n = codec_encode_answer(decoded->sequence, &decoded->refusal, reply);
        assert(n <= sizeof(reply));
        assert(frame_read(reply, n, sizeof(reply), &frame, NULL) == 0 && frame.n_consumed == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const Peer peer = { .uid = 1000, .gid = 1000, .pid = 1, .pidfd = -1, .is_admin = size % 2 == 1 };
        Arena arena = {};
        Frame frame;

        if (arena_init(&arena, FRAME_MAX_BYTES * CODEC_ARENA_FACTOR) < 0)
                return 0;

        while (frame_read(data, size, FRAME_MAX_BYTES, &frame, NULL) == 0) {
                Decoded decoded;
                int r = codec_decode(&arena, &frame, &peer, (DocumentLimits){ STRING_MAX, KEYS_MAX }, &decoded);

                assert(r == 0 || r == CODEC_REFUSED || r == CODEC_GARBAGE);
                if (r == 0)
                        check_request(&decoded.request);
                else if (r == CODEC_REFUSED)
                        check_refusal(&decoded);

                data += frame.n_consumed;
                size -= frame.n_consumed;
        }

        arena_deinit(&arena);
        return 0;
}
