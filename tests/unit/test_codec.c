/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/ingest/codec/codec_indicators.c daemon/ingest/codec/refuse.c */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "codec_fixture.h"
#include "ingest/codec/codec_decode.h"
#include "proto/perfd.pb-c.h"

/* --- valid requests ------------------------------------------------------------------------------ */

static void a_submission_arrives_with_its_document(void **state) {
        Fixture *f = *state;
        Buffer document = make_document(NULL), request = make_submit(9, &document);
        const Submission *item;
        double rate;

        assert_int_equal(decode(f, &request), 0);
        assert_int_equal(f->decoded.sequence, 9);
        assert_int_equal(f->decoded.request.kind, REQUEST_SUBMIT);
        assert_memory_equal(&f->decoded.request.peer, &peer, sizeof(peer));
        assert_int_equal(f->decoded.request.submit.n_items, 1);

        item = &f->decoded.request.submit.items[0];
        assert_memory_equal(item->id, "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", 16);
        assert_string_equal(item->job, "");
        assert_int_equal(item->time_ms, 0);
        assert_string_equal(item->indicator.name, "PiMatmul");
        assert_string_equal(item->indicator.component, "tensorflow");
        assert_null(item->indicator.version);
        assert_false(item->indicator.has_overall_score);
        assert_true(value_get_double(item->indicator.result, "rate", &rate));
        assert_true(rate == 7.5);
        assert_string_equal(value_get_string(item->indicator.parameters, "dtype"), "float32");
}

static void assert_text(JsonText text, const char *expected) {
        if (text.n != strlen(expected) || memcmp(text.text, expected, text.n) != 0)
                fail_msg("%.*s is not %s", (int)text.n, text.text, expected);
}

#define HEAD "{\"name\":\"M\",\"component\":\"c\",\"@parameters\":{},\"@result\":"

static const Submission *decode_text(Fixture *f, const char *text) {
        Buffer indicator = {}, request;

        put_bytes(&indicator, 1, "0123456789abcdef", 16);
        put_text(&indicator, FIELD_DOCUMENT, text);
        request = make_submit_of(&indicator);
        assert_int_equal(decode(f, &request), 0);
        return &f->decoded.request.submit.items[0];
}

static void all_kinds_of_values_keep_their_type(void **state) {
        static const char text[] = HEAD "{\"int\":-9223372036854775808,\"float\":3.0,\"text\":\"größer\",\"null\":null,"
                                        "\"true\":true,\"object\":{},\"list\":[1,false],\"escaped\":\"\\\"\\n\"}}";
        const Submission *item = decode_text(*state, text);
        Buffer out = {};
        Json json = { .out = &out };

        value_write_json(item->indicator.document, &json);
        assert_string_equal(out.text, text);
        buffer_deinit(&out);
        assert_text(item->document_text, text);
        assert_null(item->run_text.text);
}

/* Parameters are compared as text, so equal values must have the same text. */
static void a_text_in_another_form_is_not_stored(void **state) {
        const Submission *item = decode_text(
                *state, "\r\n { \"name\":\"\\u004d\",\"component\":\"c\", \"@parameters\":{},\"@result\":"
                        "{\"a\":1.50,\"b\":0.1000000000000000055,\"c\":1e3,\"d\":-0,\"e\":\"\\/\\t\"}}\n");

        Buffer out = {};
        Json json = { .out = &out };

        assert_null(item->document_text.text);
        value_write_json(item->indicator.document, &json);
        assert_string_equal(out.text, HEAD "{\"a\":1.5,\"b\":0.1,\"c\":1000.0,\"d\":0,\"e\":\"/\\t\"}}");
        buffer_deinit(&out);
}

static void fields_of_a_newer_client_are_ignored(void **state) {
        Fixture *f = *state;
        Buffer document = make_document(NULL), request;

        request = make_submit(9, &document);
        put_number(&request, 1000, 1);
        put_double(&request, 1001, 1);
        assert_int_equal(decode(f, &request), 0);
        assert_int_equal(f->decoded.request.submit.n_items, 1);
}

/* --- invalid requests ---------------------------------------------------------------------------- */

static void a_request_of_a_newer_client_is_unsupported(void **state) {
        Buffer body = {}, request = make_request(77, &body), none = {};

        assert_refused(*state, &request, STATUS_UNSUPPORTED, "", "does not know");
        put_number(&none, FIELD_SEQUENCE, 9);
        assert_refused(*state, &none, STATUS_UNSUPPORTED, "", "does not know");
}

static void every_kind_of_request_in_the_protocol_has_a_decoder(void **state) {
        const ProtobufCMessageDescriptor *descriptor = &perfd__v1__request__descriptor;
        Fixture *f = *state;

        for (unsigned i = 0; i < descriptor->n_fields; i++) {
                Buffer body = {}, request;

                if (descriptor->fields[i].id == FIELD_SEQUENCE)
                        continue;
                request = make_request(descriptor->fields[i].id, &body);
                if (decode(f, &request) == CODEC_REFUSED && f->decoded.refusal.status == STATUS_UNSUPPORTED)
                        fail_msg("%s has no decoder", descriptor->fields[i].name);
        }
}

static void text_is_garbage(void **state) {
        Buffer request = {};

        buffer_puts(&request, "{\"@parameters\": {}}");
        assert_int_equal(decode(*state, &request), CODEC_GARBAGE);
}

static void a_truncated_message_is_garbage_at_every_length(void **state) {
        Fixture *f = *state;
        Buffer document = make_document(NULL), request = make_submit(9, &document);
        unsigned n_accepted = 0;

        for (size_t n = 0; n < request.n; n++) {
                Frame frame = { (const uint8_t *)request.text, n, n };
                int r = codec_decode(&f->arena, &frame, &peer, DOCUMENT_LIMITS_DEFAULT, &f->decoded);

                n_accepted += r == 0;
                if (n > 2)
                        assert_int_equal(r, CODEC_GARBAGE);
        }
        assert_int_equal(n_accepted, 0);
        buffer_deinit(&request);
}

static void the_invalid_item_is_named(void **state) {
        Buffer result = {}, submit = {}, good, bad, document, request;

        for (unsigned char i = 1; i <= 3; i++) {
                document = make_document(NULL);
                good = make_indicator(i, &document);
                put_message(&submit, 1, &good);
        }
        put_member_double(&result, "rate", INFINITY);
        document = make_document(&result);
        bad = make_indicator(4, &document);
        put_message(&submit, 1, &bad);
        request = make_request(FIELD_SUBMIT, &submit);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[3].@result.rate", "infinite");
        assert_true(((Fixture *)*state)->decoded.refusal.has_item);
        assert_int_equal(((Fixture *)*state)->decoded.refusal.item, 3);
}

static void invalid_utf8_is_refused_with_its_position(void **state) {
        Buffer result = {}, document, request;

        put_member_string(&result, "host", "caf\xe9");
        document = make_document(&result);
        request = make_submit(9, &document);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[0].@result.host", "UTF-8");
}

static void a_nul_inside_a_string_is_refused_not_cut(void **state) {
        Buffer result = {}, document, request, body = {};

        put_member_string(&result, "host", "a\\u0000b");
        document = make_document(&result);
        request = make_submit(9, &document);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[0].document",
                       "strings may not contain \\u0000: remove it");

        put_bytes(&body, 1, "job\0", 4);
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_begin.job", "NUL");
        assert_false(((Fixture *)*state)->decoded.refusal.has_item);
}

static void invalid_json_is_refused_with_its_position(void **state) {
        Buffer indicator = {}, request;

        put_bytes(&indicator, 1, "0123456789abcdef", 16);
        put_text(&indicator, FIELD_DOCUMENT, "{\"a\": nan}");
        request = make_submit_of(&indicator);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[0].document",
                       "is not valid JSON at byte 6: expected a value");
}

/* Makes {"x": {"x": … 1 … }}. */
static Buffer make_nested(unsigned depth) {
        Buffer object = {};

        put_member_int(&object, "x", 1);
        for (unsigned i = 1; i < depth; i++) {
                Buffer around = {};

                put_member_object(&around, "x", &object);
                object = around;
        }
        return object;
}

static void a_document_may_be_nested_as_deep_as_we_say_and_no_deeper(void **state) {
        Fixture *f = *state;
        Buffer result = make_nested(VALUE_DEPTH_MAX - 1), document = make_document(&result),
               request = make_submit(9, &document);

        assert_int_equal(decode(f, &request), 0);

        result = make_nested(VALUE_DEPTH_MAX);
        document = make_document(&result);
        request = make_submit(9, &document);
        assert_int_equal(decode(f, &request), CODEC_REFUSED);
        assert_int_equal(f->decoded.refusal.status, STATUS_INVALID);
        assert_non_null(strstr(f->decoded.refusal.complaint.text, "nested"));

        result = make_nested(VALUE_DEPTH_MAX + 20);
        document = make_document(&result);
        request = make_submit(9, &document);
        assert_int_equal(decode(f, &request), CODEC_REFUSED);
        assert_non_null(strstr(f->decoded.refusal.complaint.text, "nested"));
}

static void a_document_of_deep_nesting_is_refused(void **state) {
        Fixture *f = *state;
        Buffer document = {}, request;

        buffer_puts(&document, "\"x\":");
        for (size_t i = 0; i < FRAME_MAX_BYTES / 3; i++)
                buffer_putc(&document, '[');
        for (size_t i = 0; i < FRAME_MAX_BYTES / 3; i++)
                buffer_putc(&document, ']');
        request = make_submit(9, &document);
        assert_int_equal(decode(f, &request), CODEC_REFUSED);
        assert_int_equal(f->decoded.refusal.status, STATUS_INVALID);
        assert_non_null(strstr(f->decoded.refusal.complaint.text, "nested deeper than 32"));
}

/* Each value takes two bytes in the document and 24 bytes in the arena. */
static void the_densest_document_fits_the_arena(void **state) {
        Fixture *f = *state;
        Buffer document, request;

        document = make_document(NULL);
        buffer_puts(&document, ",\"list\":[0");
        for (unsigned i = 0; i < 520000; i++)
                buffer_puts(&document, ",0");
        buffer_putc(&document, ']');
        request = make_submit(9, &document);
        assert_in_range(request.n, 1040000, FRAME_MAX_BYTES);
        assert_int_equal(decode(f, &request), 0);
}

static void a_frame_that_unpacks_to_more_than_the_arena_is_too_large(void **state) {
        Buffer submit = {}, request;

        for (unsigned i = 0; i < 500000; i++)
                put_bytes(&submit, 1, "", 0);
        request = make_request(FIELD_SUBMIT, &submit);
        assert_in_range(request.n, 1000000, FRAME_MAX_BYTES);
        assert_refused(*state, &request, STATUS_TOO_LARGE, "", "smaller parts");
}

static void an_id_must_have_sixteen_bytes(void **state) {
        Buffer indicator = {}, document = make_document(NULL), request;

        put_bytes(&indicator, 1, "short", 5);
        put_object(&indicator, FIELD_DOCUMENT, &document);
        request = make_submit_of(&indicator);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[0].id", "16");
}

/* Users could otherwise take the id of the result that perfd is about to make of another user's job. */
static void ids_of_results_that_perfd_makes_are_refused(void **state) {
        uint8_t id[16] = { [RESULT_ID_OWN_BYTES] = 1 };
        Buffer indicator = {}, document = make_document(NULL), request;

        put_bytes(&indicator, 1, id, sizeof(id));
        put_object(&indicator, FIELD_DOCUMENT, &document);
        request = make_submit_of(&indicator);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[0].id", "begins with 8 zero bytes");
}

static void a_submission_needs_indicators_with_documents(void **state) {
        Buffer submit = {}, indicator = {}, request = make_request(FIELD_SUBMIT, &submit);

        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators", "at least one");
        put_bytes(&indicator, 1, "0123456789abcdef", 16);
        request = make_submit_of(&indicator);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[0].document", "missing");
}

static void more_indicators_than_a_request_may_have_are_refused(void **state) {
        Buffer submit = {}, request;

        for (unsigned i = 0; i < SUBMIT_ITEMS_MAX + 1; i++)
                put_bytes(&submit, 1, "", 0);
        request = make_request(FIELD_SUBMIT, &submit);
        assert_refused(*state, &request, STATUS_TOO_LARGE, "submit.indicators", "10000");
}

static void an_items_job_and_time_are_decoded(void **state) {
        Fixture *f = *state;
        Buffer document = make_document(NULL), indicator = make_indicator(1, &document), request;

        put_text(&indicator, 2, "job 1");
        request = make_submit_of(&indicator);
        assert_refused(f, &request, STATUS_INVALID, "submit.indicators[0].job", "letters");

        document = make_document(NULL);
        indicator = make_indicator(1, &document);
        put_number(&indicator, 3, UINT64_MAX);
        request = make_submit_of(&indicator);
        assert_refused(f, &request, STATUS_INVALID, "submit.indicators[0].time_ms", "1970");

        document = make_document(NULL);
        indicator = make_indicator(1, &document);
        put_text(&indicator, 2, "job-1");
        put_number(&indicator, 3, 1700000000123);
        request = make_submit_of(&indicator);
        assert_int_equal(decode(f, &request), 0);
        assert_string_equal(f->decoded.request.submit.items[0].job, "job-1");
        assert_int_equal(f->decoded.request.submit.items[0].time_ms, 1700000000123);
}

/* --- replies ------------------------------------------------------------------------------------- */

static void a_reply_is_a_frame_of_a_few_bytes(void **state) {
        uint8_t reply[CODEC_REPLY_MAX];

        (void)state;
        assert_int_equal(codec_encode_answer(9, &(Answer){ .status = STATUS_OK }, reply), 3);
        assert_memory_equal(reply, "\x02\x08\x09", 3);
        assert_int_equal(codec_encode_answer(9, &(Answer){ .status = STATUS_DUPLICATE }, reply), 5);
        assert_memory_equal(reply, "\x04\x08\x09\x10\x01", 5);
}

static void a_reply_with_the_longest_texts_fits_and_is_utf8(void **state) {
        Answer answer = { .status = STATUS_INVALID };
        uint8_t reply[CODEC_REPLY_MAX];
        Frame frame;
        size_t n;

        (void)state;
        memset(answer.complaint.path, 'p', COMPLAINT_PATH_MAX - 1);
        memset(answer.complaint.text, 't', COMPLAINT_TEXT_MAX - 1);
        answer.complaint.text[COMPLAINT_TEXT_MAX - 2] = '\xe2'; /* a truncated character */
        n = codec_encode_answer(UINT64_MAX, &answer, reply);
        assert_int_equal(frame_read(reply, n, CODEC_REPLY_MAX, &frame, NULL), 0);
        assert_int_equal(frame.n_consumed, n);
        assert_null(memchr(reply, 0xe2, n));
        assert_non_null(memmem(reply, n, "tttttttttt", 10));
}

static void hello_names_the_limits_whatever_the_length_of_the_names(void **state) {
        char server[500], node[500];
        Greeting greeting = { server, node, .frame_max_bytes = 1048576, .in_flight_max = 1024, .durable = true };
        uint8_t reply[CODEC_REPLY_MAX];
        Frame frame;
        size_t n;

        (void)state;
        memset(server, 's', sizeof(server));
        memset(node, 'n', sizeof(node));
        server[499] = node[499] = '\0';
        n = codec_encode_hello_reply(1, &greeting, reply);
        assert_int_equal(frame_read(reply, n, CODEC_REPLY_MAX, &frame, NULL), 0);
        assert_int_equal(frame.n_consumed, n);
        assert_non_null(memmem(reply, n, "\x10\x80\x80\x40\x18\x80\x08\x20\x01", 9));
}

static void statuses_and_isolations_have_the_numbers_of_the_protocol(void **state) {
        const ProtobufCEnumDescriptor *statuses = &perfd__v1__status__descriptor,
                                      *isolations = &perfd__v1__isolation__descriptor;

        (void)state;
        assert_int_equal(statuses->n_values, N_STATUSES);
        for (size_t i = 0; i < statuses->n_values; i++)
                assert_string_equal(statuses->values[i].name, request_status_name((Status)statuses->values[i].value));
        assert_int_equal(isolations->n_values, N_ISOLATIONS);
        for (size_t i = 0; i < isolations->n_values; i++)
                assert_int_equal(strcasecmp(isolations->values[i].name,
                                            job_isolation_name((Isolation)isolations->values[i].value)), 0);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(a_submission_arrives_with_its_document),
                TEST(all_kinds_of_values_keep_their_type),
                TEST(fields_of_a_newer_client_are_ignored),
                TEST(a_request_of_a_newer_client_is_unsupported),
                TEST(a_text_in_another_form_is_not_stored),
                TEST(every_kind_of_request_in_the_protocol_has_a_decoder),
                TEST(text_is_garbage),
                TEST(a_truncated_message_is_garbage_at_every_length),
                TEST(the_invalid_item_is_named),
                TEST(invalid_utf8_is_refused_with_its_position),
                TEST(a_nul_inside_a_string_is_refused_not_cut),
                TEST(invalid_json_is_refused_with_its_position),
                TEST(a_document_may_be_nested_as_deep_as_we_say_and_no_deeper),
                TEST(a_document_of_deep_nesting_is_refused),
                TEST(the_densest_document_fits_the_arena),
                TEST(a_frame_that_unpacks_to_more_than_the_arena_is_too_large),
                TEST(an_id_must_have_sixteen_bytes),
                TEST(ids_of_results_that_perfd_makes_are_refused),
                TEST(a_submission_needs_indicators_with_documents),
                TEST(more_indicators_than_a_request_may_have_are_refused),
                TEST(an_items_job_and_time_are_decoded),
                TEST(a_reply_is_a_frame_of_a_few_bytes),
                TEST(a_reply_with_the_longest_texts_fits_and_is_utf8),
                TEST(hello_names_the_limits_whatever_the_length_of_the_names),
                TEST(statuses_and_isolations_have_the_numbers_of_the_protocol),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
