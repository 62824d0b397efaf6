/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The daemon decodes what the client encodes, and the reverse; the two codecs are independent. */
#include "client/wire/protocol.h"
#include "ingest/codec/codec.h"
#include "util/clock.h"
#include "value/value_parse.h"

#define FRAME_MAX_BYTES 1048576U

typedef struct Fixture {
        Arena arena, documents;
        Buffer bytes;
        Decoded decoded;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        assert_int_equal(arena_init(&f->documents, 16 * 1024 * 1024), 0);
        return arena_init(&f->arena, FRAME_MAX_BYTES * CODEC_ARENA_FACTOR);
}

static int tear_down(void **state) {
        Fixture *f = *state;

        arena_deinit(&f->arena);
        arena_deinit(&f->documents);
        buffer_deinit(&f->bytes);
        free(f);
        return 0;
}

static const Request *decode(Fixture *f, uint64_t sequence) {
        const Peer peer = { .uid = 7, .gid = 8, .pid = 9 };
        Frame frame;

        assert_int_equal(frame_read((const uint8_t *)f->bytes.text, f->bytes.n, FRAME_MAX_BYTES, &frame, NULL), 0);
        assert_int_equal(frame.n_consumed, f->bytes.n);
        assert_int_equal(codec_decode(&f->arena, &frame, &peer, DOCUMENT_LIMITS_DEFAULT, &f->decoded), 0);
        assert_int_equal(f->decoded.sequence, sequence);
        return &f->decoded.request;
}

static Submission make_item(Fixture *f, const char *json) {
        Submission item = { .job = "job-1", .time_ms = 1700000000000, .id = "0123456789abcde" };
        ValueReader reader;
        ValueError error;
        Complaint complaint;
        const Value *document;

        value_parse_begin(&reader, json, strlen(json));
        assert_int_equal(value_parse_next(&reader, &f->documents, &document, &error), 0);
        assert_int_equal(indicator_from_value(document, DOCUMENT_LIMITS_DEFAULT, &item.indicator, &complaint), 0);
        return item;
}

static void assert_same_json(const Value *a, const Value *b) {
        scoped(buffer_deinit) Buffer text_a = {}, text_b = {};
        Json json;

        json = (Json){ .out = &text_a };
        value_write_json(a, &json);
        json = (Json){ .out = &text_b };
        value_write_json(b, &json);
        assert_string_equal(text_a.text, text_b.text);
}

static void a_document_arrives_as_it_was_printed(void **state) {
        Fixture *f = *state;
        Submission item = make_item(f, "{\"name\":\"M\",\"component\":\"c\","
                                       "\"@parameters\":{\"z\":1,\"a\":\"\",\"NEG\":-9223372036854775808},"
                                       "\"@result\":{\"rate\":1.0,\"tiny\":5e-324,\"list\":[],\"none\":null,"
                                       "\"deep\":[[{\"x\":[null,true,false,\"ü\"]}]]},"
                                       "\"extra\":{}}");
        const Request *request;

        item.is_job_inherited = true;
        assert_int_equal(protocol_encode_submit(3, &item, 1, &f->bytes), 0);
        request = decode(f, 3);
        assert_int_equal(request->kind, REQUEST_SUBMIT);
        assert_int_equal(request->submit.n_items, 1);
        assert_true(request->submit.items[0].is_job_inherited);
        assert_memory_equal(request->submit.items[0].id, item.id, RESULT_ID_BYTES);
        assert_string_equal(request->submit.items[0].job, "job-1");
        assert_int_equal(request->submit.items[0].time_ms, 1700000000000);
        assert_same_json(request->submit.items[0].indicator.document, item.indicator.document);
}

static const Value *read_json(Fixture *f, const char *json) {
        ValueReader reader;
        ValueError error;
        const Value *value;

        value_parse_begin(&reader, json, strlen(json));
        assert_int_equal(value_parse_next(&reader, &f->documents, &value, &error), 0);
        return value;
}

static void the_run_record_arrives_with_the_result(void **state) {
        Fixture *f = *state;
        Submission item = make_item(
                f, "{\"name\":\"M\",\"component\":\"c\",\"@parameters\":{},\"@result\":{\"rate\":1.0}}");
        const Submission *got;

        item.has_exit_status = item.has_batch = true;
        memcpy(item.batch, "fedcba9876543210", sizeof(item.batch));
        item.batch_index = UINT32_MAX;
        item.run = read_json(f, "{\"rusage\":{\"ru_utime\":1.5},\"stderr\":\"x\"}");
        assert_int_equal(protocol_encode_submit(3, &item, 1, &f->bytes), 0);
        got = &decode(f, 3)->submit.items[0];
        assert_true(got->has_exit_status);
        assert_int_equal(got->exit_status, 0);
        assert_memory_equal(got->batch, item.batch, sizeof(item.batch));
        assert_int_equal(got->batch_index, UINT32_MAX);
        assert_same_json(got->run, item.run);
}

static void a_failed_run_arrives_without_a_document(void **state) {
        Fixture *f = *state;
        Submission item = { .job = "", .id = "0123456789abcde", .has_exit_status = true, .exit_status = 139,
                            .indicator = { .name = "PiMatmul", .component = "tensorflow", .version = "2.2" } };
        const Submission *got;
        size_t size;

        assert_int_equal(protocol_encode_submit(3, &item, 1, &f->bytes), 0);
        got = &decode(f, 3)->submit.items[0];
        assert_int_equal(got->exit_status, 139);
        assert_string_equal(got->indicator.name, "PiMatmul");
        assert_string_equal(got->indicator.component, "tensorflow");
        assert_string_equal(got->indicator.version, "2.2");
        assert_null(got->indicator.document);
        assert_int_equal(protocol_submission_size(&item, NULL, &size), 0);
        assert_in_range(f->bytes.n, 1, PROTOCOL_SUBMIT_OVERHEAD + size);
}

static void a_model_arrives_as_it_was_declared(void **state) {
        Fixture *f = *state;
        const Value *model = read_json(
                f, "{\"name\":\"M\",\"parameters\":{\"n\":{\"type\":[\"int\",\"str\"],\"index\":\"exact\"}},"
                   "\"results\":{\"rate\":{\"type\":\"float\",\"unit\":\"GFLOP/s\",\"direction\":\"higher\"}}}");

        assert_int_equal(protocol_encode_register(4, &model, 1, &f->bytes), 0);
        assert_int_equal(decode(f, 4)->kind, REQUEST_REGISTER);
        assert_same_json(f->decoded.request.register_model.models[0].document, model);
        assert_int_equal(f->decoded.request.register_model.models[0].properties[0].index, INDEX_EXACT);
}

static void a_reload_arrives(void **state) {
        Fixture *f = *state;

        assert_int_equal(protocol_encode_reload(5, &f->bytes), 0);
        assert_int_equal(decode(f, 5)->kind, REQUEST_RELOAD);
}

static void an_order_to_forget_arrives(void **state) {
        Fixture *f = *state;

        assert_int_equal(protocol_encode_forget(5, 0, 123, true, &f->bytes), 0);
        assert_int_equal(decode(f, 5)->kind, REQUEST_FORGET);
        assert_int_equal(f->decoded.request.forget.uid, 0);
        assert_int_equal(f->decoded.request.forget.before_ms, 123);
        assert_true(f->decoded.request.forget.removes_copies);
}

static void a_model_to_forget_arrives_by_name(void **state) {
        Fixture *f = *state;

        assert_int_equal(protocol_encode_unregister(4, "M", "plain C", &f->bytes), 0);
        assert_int_equal(decode(f, 4)->kind, REQUEST_UNREGISTER);
        assert_string_equal(f->decoded.request.unregister_model.name, "M");
        assert_string_equal(f->decoded.request.unregister_model.component, "plain c");
}

static void the_size_of_a_submission_bounds_its_share_of_the_frame(void **state) {
        Fixture *f = *state;
        Submission items[3];
        size_t n_bytes = PROTOCOL_SUBMIT_OVERHEAD, size;

        for (size_t i = 0; i < 3; i++) {
                items[i] = make_item(
                        f, "{\"name\":\"M\",\"component\":\"c\",\"@parameters\":{},\"@result\":{\"rate\":1.0}}");
                assert_int_equal(protocol_submission_size(&items[i], NULL, &size), 0);
                n_bytes += size;
        }
        assert_int_equal(protocol_encode_submit(UINT64_MAX, items, 3, &f->bytes), 0);
        assert_in_range(f->bytes.n, n_bytes - PROTOCOL_SUBMIT_OVERHEAD - 3 * FRAME_HEADER_MAX, n_bytes);
}

static void a_begin_carries_all_members(void **state) {
        Fixture *f = *state;
        JobLabel labels[2] = { { "batch", "256" }, { "empty", "" } };
        JobInfo info = { .id = "job-1",
                         .name = "train",
                         .command = "python3 train.py",
                         .pid = 42,
                         .rank = 0,
                         .labels = labels,
                         .n_labels = 2,
                         .gpus = (char[]){ "minor:3,GPU-6b1f0c2e" } };
        const JobInfo *got;

        assert_int_equal(protocol_encode_job_begin(1, &(JobBegin){ .info = &info }, &f->bytes), 0);
        got = decode(f, 1)->job_begin.info;
        assert_int_equal(f->decoded.request.kind, REQUEST_JOB_BEGIN);
        assert_string_equal(got->id, "job-1");
        assert_string_equal(got->name, "train");
        assert_string_equal(got->command, "python3 train.py");
        assert_int_equal(got->pid, 42);
        assert_int_equal(got->rank, 0); /* 0 is distinct from none */
        assert_int_equal(got->n_labels, 2);
        assert_string_equal(got->gpus, "minor:3,GPU-6b1f0c2e");
        assert_string_equal(got->labels[1].key, "empty");
        assert_string_equal(got->labels[1].value, "");
}

static void a_begin_carries_place_and_owner(void **state) {
        Fixture *f = *state;
        JobInfo info = {
                .id = "job-1", .rank = 3, .node = 0, .n_nodes = 2, .n_ranks = 4, .isolation = ISOLATION_CGROUP, .uid = 7
        };
        JobBegin begin = { .info = &info, .has_uid = true, .member_pid = 43, .is_fresh = true,
                           .sample_ns = 20 * NS_PER_MS };
        const Request *request;

        assert_int_equal(protocol_encode_job_begin(1, &begin, &f->bytes), 0);
        request = decode(f, 1);
        assert_int_equal(request->job_begin.info->uid, 7);
        assert_int_equal(request->job_begin.info->rank, 3);
        assert_int_equal(request->job_begin.info->node, 0);
        assert_int_equal(request->job_begin.info->n_nodes, 2);
        assert_int_equal(request->job_begin.info->n_ranks, 4);
        assert_int_equal(request->job_begin.info->isolation, ISOLATION_CGROUP);
        assert_int_equal(request->job_begin.member_pid, 43);
        assert_true(request->job_begin.is_fresh);
        assert_int_equal(request->job_begin.cpu_interval_ns, 20 * NS_PER_MS);
}

static void a_mark_arrives_with_and_without_seconds(void **state) {
        static const double unknown[] = { NAN, -1 };
        Fixture *f = *state;
        const Request *request;

        assert_int_equal(
                protocol_encode_mark(4, &(JobRef){ .id = "job-1", .is_inherited = true }, "train", 1.5, &f->bytes), 0);
        request = decode(f, 4);
        assert_int_equal(request->kind, REQUEST_MARK);
        assert_string_equal(request->mark.job, "job-1");
        assert_true(request->mark.is_job_inherited);
        assert_string_equal(request->mark.name, "train");
        assert_true(request->mark.has_wall_seconds);
        assert_true(request->mark.wall_seconds == 1.5);

        for (size_t i = 0; i < N_ELEMENTS(unknown); i++) {
                buffer_clear(&f->bytes);
                assert_int_equal(protocol_encode_mark(5, &(JobRef){ .id = "" }, "", unknown[i], &f->bytes), 0);
                request = decode(f, 5);
                assert_string_equal(request->mark.job, "");
                assert_false(request->mark.is_job_inherited);
                assert_string_equal(request->mark.name, "");
                assert_false(request->mark.has_wall_seconds);
        }
}

static void an_unset_rank_stays_unset(void **state) {
        Fixture *f = *state;
        JobInfo info = { .id = "job-1", .rank = -1 };

        assert_int_equal(protocol_encode_job_begin(1, &(JobBegin){ .info = &info }, &f->bytes), 0);
        assert_int_equal(decode(f, 1)->job_begin.info->rank, -1);
        assert_int_equal(f->decoded.request.job_begin.cpu_interval_ns, 0);
        assert_int_equal(f->decoded.request.job_begin.client_cpu.user_us, 0);
}

static void an_end_carries_status_and_all_sixteen_of_rusage(void **state) {
        Fixture *f = *state;
        JobEnd end = { .has_exit_status = true, .exit_status = 0, .has_rusage = true }, got;
        int64_t i = 1;

        end.is_rusage_partial = true;
        end.client_cpu = (ClientCpu){ 1500, 700 };
        end.rusage.ru_utime = 0.5;
        end.rusage.ru_stime = 0.25;
#define X(field) end.rusage.ru_##field = i++;
        RUSAGE_COUNTS(X)
#undef X
        assert_int_equal(protocol_encode_job_end(2, "job-1", &end, &f->bytes), 0);
        got = decode(f, 2)->job_end.end;
        assert_string_equal(f->decoded.request.job_end.job, "job-1");
        assert_true(got.has_exit_status);
        assert_int_equal(got.exit_status, 0);
        assert_true(got.has_rusage);
        assert_true(got.is_rusage_partial);
        assert_true(got.client_cpu.user_us == 1500 && got.client_cpu.system_us == 700);
        assert_true(got.rusage.ru_utime == 0.5 && got.rusage.ru_stime == 0.25);
#define X(field) assert_int_equal(got.rusage.ru_##field, end.rusage.ru_##field);
        RUSAGE_COUNTS(X)
#undef X
}

static void an_end_may_be_empty(void **state) {
        Fixture *f = *state;
        const JobEnd *got;

        assert_int_equal(protocol_encode_job_end(2, "job-1", &(JobEnd){}, &f->bytes), 0);
        got = &decode(f, 2)->job_end.end;
        assert_false(got->has_exit_status);
        assert_false(got->has_rusage);
}

static Reply decode_reply(const uint8_t *bytes, size_t n) {
        Frame frame;
        Reply reply;

        assert_int_equal(frame_read(bytes, n, CODEC_REPLY_MAX, &frame, NULL), 0);
        assert_int_equal(protocol_decode_reply(&frame, &reply), 0);
        return reply;
}

static void an_answer_comes_back_with_its_complaint(void **state) {
        Answer answer = { .status = STATUS_INVALID,
                          .complaint = { "submit.indicators[3].@result.rate", "expected a number" } };
        uint8_t bytes[CODEC_REPLY_MAX];
        Reply reply;

        (void)state;
        reply = decode_reply(bytes, codec_encode_answer(5, &answer, bytes));
        assert_int_equal(reply.sequence, 5);
        assert_int_equal(reply.status, STATUS_INVALID);
        assert_string_equal(reply.complaint.path, answer.complaint.path);
        assert_string_equal(reply.complaint.text, answer.complaint.text);
        assert_int_equal(reply.frame_max_bytes, 0);
        assert_string_equal(reply.job, "");
}

static void an_answer_to_a_mark_has_the_job_and_the_ended_phase(void **state) {
        Answer answer = { .job = "job-1", .phase = "load" };
        uint8_t bytes[CODEC_REPLY_MAX];
        Reply reply;

        (void)state;
        reply = decode_reply(bytes, codec_encode_answer(5, &answer, bytes));
        assert_int_equal(reply.status, STATUS_OK);
        assert_string_equal(reply.job, "job-1");
        assert_string_equal(reply.phase, "load");
}

static void the_longest_answer_fits(void **state) {
        Answer answer = { .status = STATUS_UNSUPPORTED };
        uint8_t bytes[CODEC_REPLY_MAX];
        Reply reply;

        (void)state;
        memset(answer.complaint.path, 'p', sizeof(answer.complaint.path) - 1);
        memset(answer.complaint.text, 't', sizeof(answer.complaint.text) - 1);
        memset(answer.job, 'j', sizeof(answer.job) - 1);
        memset(answer.phase, 'n', sizeof(answer.phase) - 1);
        reply = decode_reply(bytes, codec_encode_answer(UINT64_MAX, &answer, bytes));
        assert_string_equal(reply.complaint.path, answer.complaint.path);
        assert_string_equal(reply.complaint.text, answer.complaint.text);
        assert_string_equal(reply.job, answer.job);
        assert_string_equal(reply.phase, answer.phase);
}

static void a_hello_brings_the_limits(void **state) {
        Greeting greeting = { "perfd 9", "n1", .frame_max_bytes = 1048576, .in_flight_max = 64, .durable = true };
        uint8_t bytes[CODEC_REPLY_MAX];
        Reply reply;

        (void)state;
        reply = decode_reply(bytes, codec_encode_hello_reply(1, &greeting, bytes));
        assert_int_equal(reply.status, STATUS_OK);
        assert_int_equal(reply.frame_max_bytes, 1048576);
        assert_int_equal(reply.in_flight_max, 64);
        assert_true(reply.durable);
        assert_string_equal(reply.server, "perfd 9");
        assert_string_equal(reply.node, "n1");
}

static void a_status_of_a_newer_perfd_counts_as_unsupported(void **state) {
        static const uint8_t statuses[] = { N_STATUSES, 99 };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(statuses); i++) {
                const uint8_t body[] = { 1 << 3, 4, 2 << 3, statuses[i] }; /* sequence 4, and the status */
                Reply reply;

                assert_int_equal(protocol_decode_reply(&(Frame){ .data = body, .n = sizeof(body) }, &reply), 0);
                assert_int_equal(reply.sequence, 4);
                assert_int_equal(reply.status, STATUS_UNSUPPORTED);
        }
}

static void invalid_bytes_of_a_reply_are_malformed(void **state) {
        const uint8_t body[] = { 0xff, 0xff, 0xff };
        Reply reply;

        (void)state;
        assert_int_equal(protocol_decode_reply(&(Frame){ .data = body, .n = sizeof(body) }, &reply),
                         PROTOCOL_MALFORMED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_document_arrives_as_it_was_printed),
                TEST(the_run_record_arrives_with_the_result),
                TEST(a_failed_run_arrives_without_a_document),
                TEST(a_model_arrives_as_it_was_declared),
                TEST(a_model_to_forget_arrives_by_name),
                TEST(a_reload_arrives),
                TEST(an_order_to_forget_arrives),
                TEST(the_size_of_a_submission_bounds_its_share_of_the_frame),
                TEST(a_begin_carries_all_members),
                TEST(a_begin_carries_place_and_owner),
                TEST(a_mark_arrives_with_and_without_seconds),
                TEST(an_unset_rank_stays_unset),
                TEST(an_end_carries_status_and_all_sixteen_of_rusage),
                TEST(an_end_may_be_empty),
                TEST(an_answer_comes_back_with_its_complaint),
                TEST(an_answer_to_a_mark_has_the_job_and_the_ended_phase),
                TEST(the_longest_answer_fits),
                TEST(a_hello_brings_the_limits),
                TEST(a_status_of_a_newer_perfd_counts_as_unsupported),
                TEST(invalid_bytes_of_a_reply_are_malformed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
