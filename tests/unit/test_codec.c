/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codec_fixture.h"

/* --- what is valid ------------------------------------------------------------------------------- */

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

static void all_kinds_of_values_keep_their_type(void **state) {
        Fixture *f = *state;
        Buffer document, request, result = {}, list = {}, value = {}, item = {}, empty = {}, out = {};
        Json json;

        put_member_int(&result, "int", INT64_MIN);
        put_member_double(&result, "float", 3.0);
        put_member_string(&result, "text", "größer");
        put_number(&value, 1, 1);
        put_member(&result, "null", &value);
        put_number(&value, FIELD_BOOLEAN, 1);
        put_member(&result, "true", &value);
        put_member_object(&result, "object", &empty);
        put_number(&item, FIELD_INTEGER, 2);
        put_message(&list, 1, &item);
        put_number(&item, FIELD_BOOLEAN, 0);
        put_message(&list, 1, &item);
        put_message(&value, FIELD_LIST, &list);
        put_member(&result, "list", &value);

        document = make_document(&result);
        request = make_submit(9, &document);
        assert_int_equal(decode(f, &request), 0);

        json_init(&json, &out);
        value_write_json(f->decoded.request.submit.items[0].indicator.result, &json);
        assert_string_equal(out.text, "{\"int\":-9223372036854775808,\"float\":3.0,\"text\":\"größer\",\"null\":null,"
                                      "\"true\":true,\"object\":{},\"list\":[1,false]}");
        buffer_deinit(&out);
}

static void fields_of_a_newer_client_are_ignored(void **state) {
        Fixture *f = *state;
        Buffer document = make_document(NULL), request;

        put_text(&document, 99, "what is this");
        request = make_submit(9, &document);
        put_number(&request, 1000, 1);
        put_double(&request, 1001, 1);
        assert_int_equal(decode(f, &request), 0);
        assert_int_equal(f->decoded.request.submit.n_items, 1);
}

/* --- what is not --------------------------------------------------------------------------------- */

static void a_request_of_a_newer_client_is_unsupported(void **state) {
        Buffer body = {}, request = make_request(77, &body), none = {};

        assert_refused(*state, &request, STATUS_UNSUPPORTED, "", "does not know");
        put_number(&none, FIELD_SEQUENCE, 9);
        assert_refused(*state, &none, STATUS_UNSUPPORTED, "", "does not know");
}

static void a_value_of_a_newer_kind_is_not_taken_for_null(void **state) {
        Buffer document = make_document(NULL), value = {}, request;

        put_text(&value, 15, "newer");
        put_member(&document, "extra", &value);
        request = make_submit(9, &document);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[0].document", "kind");
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
                int r = codec_decode(&f->arena, &frame, &peer, STRING_MAX_BYTES, &f->decoded);

                n_accepted += r == 0;
                if (n > 2)
                        assert_int_equal(r, CODEC_GARBAGE);
        }
        assert_int_equal(n_accepted, 0);
        buffer_deinit(&request);
}

static void the_item_that_is_wrong_is_named(void **state) {
        Buffer result = {}, submit = {}, good, bad, document, request;

        for (unsigned char i = 0; i < 3; i++) {
                document = make_document(NULL);
                good = make_indicator(i, &document);
                put_message(&submit, 1, &good);
        }
        put_member_double(&result, "rate", INFINITY);
        document = make_document(&result);
        bad = make_indicator(3, &document);
        put_message(&submit, 1, &bad);
        request = make_request(FIELD_SUBMIT, &submit);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[3].@result.rate", "infinite");
}

static void invalid_utf8_is_refused_with_its_place(void **state) {
        Buffer result = {}, document, request;

        put_member_string(&result, "host", "caf\xe9");
        document = make_document(&result);
        request = make_submit(9, &document);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[0].@result.host", "UTF-8");
}

static void a_nul_inside_a_string_is_refused_not_cut(void **state) {
        Buffer value = {}, result = {}, document, request, body = {};

        put_bytes(&value, FIELD_STRING, "a\0b", 3);
        put_member(&result, "host", &value);
        document = make_document(&result);
        request = make_submit(9, &document);
        assert_refused(*state, &request, STATUS_INVALID,
                       "submit.indicators[0].document.members[1].value.object.members[0].value.string", "NUL");

        put_bytes(&body, 1, "job\0", 4);
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_begin.job", "NUL");
}

/* {"x": {"x": … 1 … }} */
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
        Buffer result = make_nested(VALUE_DEPTH_MAX - 1), document = make_document(&result), request = make_submit(9, &document);

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

/* Length-delimited field `field` around itself, as deep as a frame has bytes. Written from the inside, which is the end. */
static void a_frame_of_nothing_but_nesting_is_refused(void **state) {
        Fixture *f = *state;
        static uint8_t bytes[FRAME_MAX_BYTES];
        size_t at = sizeof(bytes), n_levels = 0;
        Frame frame;

        while (at > 64) {
                static const uint8_t fields[] = { FIELD_LIST, 1 }; /* Value.list, List.items */
                uint8_t header[FRAME_HEADER_MAX];
                size_t n = frame_write_header(header, (uint32_t)(sizeof(bytes) - at));

                at -= n;
                memcpy(bytes + at, header, n);
                bytes[--at] = (uint8_t)(fields[n_levels++ % 2] << 3 | 2);
        }
        assert_true(n_levels > 200000);

        {
                /* submit.indicators[0].document.members[0].value */
                static const uint8_t path[] = { 2, 1, 4, 1, FIELD_SUBMIT };

                for (size_t i = 0; i < sizeof(path); i++) {
                        uint8_t header[FRAME_HEADER_MAX];
                        size_t n = frame_write_header(header, (uint32_t)(sizeof(bytes) - at));

                        at -= n;
                        memcpy(bytes + at, header, n);
                        bytes[--at] = (uint8_t)(path[i] << 3 | 2);
                }
        }

        frame = (Frame){ bytes + at, sizeof(bytes) - at, 0 };
        assert_int_equal(codec_decode(&f->arena, &frame, &peer, STRING_MAX_BYTES, &f->decoded), CODEC_REFUSED);
        assert_int_equal(f->decoded.refusal.status, STATUS_INVALID);
        assert_non_null(strstr(f->decoded.refusal.complaint.text, "nested"));
}

/* Two bytes each on the wire, dozens of times that unpacked. */
static void a_frame_that_unpacks_to_more_than_the_arena_is_too_large(void **state) {
        Buffer list = {}, value = {}, document, request;

        for (unsigned i = 0; i < 500000; i++)
                put_bytes(&list, 1, "", 0);
        put_message(&value, FIELD_LIST, &list);
        document = make_document(NULL);
        put_member(&document, "list", &value);
        request = make_submit(9, &document);
        assert_in_range(request.n, 1000000, FRAME_MAX_BYTES);
        assert_refused(*state, &request, STATUS_TOO_LARGE, "", "smaller parts");
}

static void an_id_must_have_sixteen_bytes(void **state) {
        Buffer indicator = {}, document = make_document(NULL), request;

        put_bytes(&indicator, 1, "short", 5);
        put_message(&indicator, 4, &document);
        request = make_submit_of(&indicator);
        assert_refused(*state, &request, STATUS_INVALID, "submit.indicators[0].id", "16");
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

        for (unsigned i = 0; i < CODEC_ITEMS_MAX + 1; i++)
                put_bytes(&submit, 1, "", 0);
        request = make_request(FIELD_SUBMIT, &submit);
        assert_refused(*state, &request, STATUS_TOO_LARGE, "submit.indicators", "10000");
}

static void an_item_names_its_job_and_time_in_our_terms(void **state) {
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
        answer.complaint.text[COMPLAINT_TEXT_MAX - 2] = '\xe2'; /* a character that was cut */
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

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(a_submission_arrives_with_its_document),
                TEST(all_kinds_of_values_keep_their_type),
                TEST(fields_of_a_newer_client_are_ignored),
                TEST(a_request_of_a_newer_client_is_unsupported),
                TEST(a_value_of_a_newer_kind_is_not_taken_for_null),
                TEST(text_is_garbage),
                TEST(a_truncated_message_is_garbage_at_every_length),
                TEST(the_item_that_is_wrong_is_named),
                TEST(invalid_utf8_is_refused_with_its_place),
                TEST(a_nul_inside_a_string_is_refused_not_cut),
                TEST(a_document_may_be_nested_as_deep_as_we_say_and_no_deeper),
                TEST(a_frame_of_nothing_but_nesting_is_refused),
                TEST(a_frame_that_unpacks_to_more_than_the_arena_is_too_large),
                TEST(an_id_must_have_sixteen_bytes),
                TEST(a_submission_needs_indicators_with_documents),
                TEST(more_indicators_than_a_request_may_have_are_refused),
                TEST(an_item_names_its_job_and_time_in_our_terms),
                TEST(a_reply_is_a_frame_of_a_few_bytes),
                TEST(a_reply_with_the_longest_texts_fits_and_is_utf8),
                TEST(hello_names_the_limits_whatever_the_length_of_the_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
