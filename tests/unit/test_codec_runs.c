/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/ingest/codec/codec_indicators.c daemon/ingest/codec/codec_models.c daemon/ingest/codec/refuse.c */
/* Decodes run records, failed runs, and models. */

#include <math.h>

#include "codec_fixture.h"

enum {
        FIELD_EXIT_STATUS = 5, FIELD_BATCH = 6, FIELD_INDEX = 7, FIELD_RUN = 8, FIELD_NAME = 9, FIELD_COMPONENT = 10,
};

static Buffer make_measured(Buffer *document) {
        Buffer indicator = {};

        put_bytes(&indicator, 1, "0123456789abcdef", 16);
        if (document)
                put_object(&indicator, FIELD_DOCUMENT, document);
        return indicator;
}

static Buffer make_good(void) {
        Buffer document = make_document(NULL);

        return make_measured(&document);
}

static void assert_item_refused(Fixture *f, Buffer *indicator, const char *field, const char *words) {
        Buffer request = make_submit_of(indicator);
        char path[256];

        snprintf(path, sizeof(path), "submit.indicators[0].%s", field);
        assert_refused(f, &request, STATUS_INVALID, path, words);
}

static const Submission *decode_item(Fixture *f, Buffer *indicator) {
        Buffer request = make_submit_of(indicator);

        if (decode(f, &request) != 0)
                fail_msg("%s: %s", f->decoded.refusal.complaint.path, f->decoded.refusal.complaint.text);
        return &f->decoded.request.submit.items[0];
}

static void an_indicator_of_an_older_client_has_no_run(void **state) {
        Buffer indicator = make_good();
        const Submission *item = decode_item(*state, &indicator);

        assert_false(item->has_exit_status);
        assert_false(item->has_batch);
        assert_null(item->run);
        assert_null(item->model);
        assert_false(submission_has_failed(item));
}

static void a_run_arrives_with_status_batch_and_index(void **state) {
        Buffer indicator = make_good(), run = {};
        const Submission *item;

        put_number(&indicator, FIELD_EXIT_STATUS, 0);
        put_bytes(&indicator, FIELD_BATCH, "fedcba9876543210", 16);
        put_number(&indicator, FIELD_INDEX, 4);
        put_member_string(&run, "stderr", "MATMUL_REPS set to 50\\n");
        put_object(&indicator, FIELD_RUN, &run);
        item = decode_item(*state, &indicator);
        assert_true(item->has_exit_status);
        assert_int_equal(item->exit_status, 0);
        assert_false(submission_has_failed(item));
        assert_true(item->has_batch);
        assert_memory_equal(item->batch, "fedcba9876543210", 16);
        assert_int_equal(item->batch_index, 4);
        assert_string_equal(value_get_string(item->run, "stderr"), "MATMUL_REPS set to 50\n");
        assert_string_equal(item->indicator.name, "PiMatmul");
}

static void the_run_record_is_decoded(void **state) {
        Buffer indicator = make_good();

        put_number(&indicator, FIELD_EXIT_STATUS, 256);
        assert_item_refused(*state, &indicator, "exit_status", "is 256, must be 0 to 255 as in a shell");
        indicator = make_good();
        put_number(&indicator, FIELD_EXIT_STATUS, UINT64_MAX);
        assert_item_refused(*state, &indicator, "exit_status", "is -1, must be 0 to 255");
        indicator = make_good();
        put_bytes(&indicator, FIELD_BATCH, "short", 5);
        assert_item_refused(*state, &indicator, "batch",
                            "has 5 bytes, must have 16 that all runs of the batch share, or none");
        indicator = make_good();
        put_number(&indicator, FIELD_INDEX, 3);
        assert_item_refused(*state, &indicator, "index", "is 3 without a batch");
}

static void a_run_record_must_follow_the_rules_for_documents(void **state) {
        Buffer indicator = make_good(), run = {}, host = {};

        put_member_double(&host, "mhz", -INFINITY);
        put_member_object(&run, "host", &host);
        put_object(&indicator, FIELD_RUN, &run);
        assert_item_refused(*state, &indicator, "run.host.mhz", "is infinite, which JSON cannot express");

        indicator = make_good();
        run = (Buffer){};
        put_member_int(&run, "a", 1);
        put_member_int(&run, "a", 2);
        put_object(&indicator, FIELD_RUN, &run);
        assert_item_refused(*state, &indicator, "run.a", "is given twice: keep one");

        indicator = make_good();
        run = (Buffer){};
        put_member_string(&run, "stderr", "a\\u0000b");
        put_object(&indicator, FIELD_RUN, &run);
        assert_item_refused(*state, &indicator, "run", "strings may not contain \\u0000: remove it");

        indicator = make_good();
        run = (Buffer){};
        for (unsigned i = 0; i < KEYS_MAX + 1; i++) {
                char key[16];

                snprintf(key, sizeof(key), "k%u", i);
                put_member_int(&run, key, i);
        }
        put_object(&indicator, FIELD_RUN, &run);
        assert_item_refused(*state, &indicator, "run", "has more than 65536 keys in all");
}

/* The text is only context; it must not cause the result to be refused. */
static void long_standard_error_is_truncated_instead_of_refused(void **state) {
        Buffer indicator = make_good(), run = {}, text = {};
        const Submission *item;

        for (size_t i = 0; i < STRING_MAX_BYTES; i++)
                buffer_putc(&text, 'a');
        buffer_puts(&text, "the end");
        put_member_string(&run, "stderr", text.text);
        put_object(&indicator, FIELD_RUN, &run);
        item = decode_item(*state, &indicator);
        assert_int_equal(strlen(value_get_string(item->run, "stderr")), STRING_MAX_BYTES);
        assert_string_equal(value_get_string(item->run, "stderr") + STRING_MAX_BYTES - 8, "athe end");
        assert_true(value_get(item->run, "stderr_cut")->boolean);
        buffer_deinit(&text);
}

static void a_run_may_be_nested_as_deep_as_a_document(void **state) {
        Buffer run, indicator;

        for (unsigned depth = VALUE_DEPTH_MAX; depth <= VALUE_DEPTH_MAX + 1; depth++) {
                run = (Buffer){};
                put_member_int(&run, "x", 1);
                for (unsigned i = 1; i < depth; i++) {
                        Buffer around = {};

                        put_member_object(&around, "x", &run);
                        run = around;
                }
                indicator = make_good();
                put_object(&indicator, FIELD_RUN, &run);
                if (depth <= VALUE_DEPTH_MAX)
                        (void)decode_item(*state, &indicator);
        }

        {
                Fixture *f = *state;
                Buffer request = make_submit_of(&indicator);

                assert_int_equal(decode(f, &request), CODEC_REFUSED);
                assert_int_equal(f->decoded.refusal.status, STATUS_INVALID);
                assert_non_null(strstr(f->decoded.refusal.complaint.text, "nested deeper than 32 objects and lists"));
        }
}

/* --- runs that failed ----------------------------------------------------------------------------- */

static void a_failed_run_needs_no_document_but_a_name(void **state) {
        Buffer indicator = make_measured(NULL);
        const Submission *item;

        put_number(&indicator, FIELD_EXIT_STATUS, 1);
        assert_item_refused(*state, &indicator, "name", "missing: say which indicator failed to run");

        indicator = make_measured(NULL);
        put_number(&indicator, FIELD_EXIT_STATUS, 137);
        put_text(&indicator, FIELD_NAME, "PiMatmul");
        item = decode_item(*state, &indicator);
        assert_true(submission_has_failed(item));
        assert_int_equal(item->exit_status, 137);
        assert_string_equal(item->indicator.name, "PiMatmul");
        assert_null(item->indicator.component);
        assert_null(item->indicator.document);
        assert_null(item->indicator.result);
}

static void a_run_that_did_not_fail_needs_a_document(void **state) {
        Buffer indicator = make_measured(NULL);

        put_number(&indicator, FIELD_EXIT_STATUS, 0);
        put_text(&indicator, FIELD_NAME, "PiMatmul");
        assert_item_refused(*state, &indicator, "document", "missing");
}

static void the_output_of_a_failed_run_takes_precedence_over_its_names(void **state) {
        Buffer document = {}, parameters = {}, indicator;
        const Submission *item;

        put_member_int(&parameters, "reps", 30);
        put_member_object(&document, "@parameters", &parameters);
        put_member_string(&document, "name", "PiConv2D");
        put_member_string(&document, "framework", "pytorch");
        indicator = make_measured(&document);
        put_number(&indicator, FIELD_EXIT_STATUS, 1);
        put_text(&indicator, FIELD_NAME, "PiMatmul");
        put_text(&indicator, FIELD_COMPONENT, "tensorflow");
        item = decode_item(*state, &indicator);
        assert_string_equal(item->indicator.name, "PiConv2D");
        assert_string_equal(item->indicator.component, "pytorch");
        assert_int_equal(item->indicator.parameters->n_members, 1);
        assert_null(item->indicator.result);
        assert_int_equal(item->indicator.document->n_members, 3);
}

/* A failed run may print anything: only output that is not a document at all is refused. */
static void a_failed_run_may_have_printed_anything(void **state) {
        Buffer document = {}, indicator;
        const Submission *item;

        put_member_int(&document, "name", 7);
        put_member_string(&document, "component", "");
        put_member_string(&document, "@result", "none");
        put_member_int(&document, "overall_score", 3);
        indicator = make_measured(&document);
        put_number(&indicator, FIELD_EXIT_STATUS, 1);
        put_text(&indicator, FIELD_NAME, "PiMatmul");
        put_text(&indicator, FIELD_COMPONENT, "tensorflow");
        item = decode_item(*state, &indicator);
        assert_string_equal(item->indicator.name, "PiMatmul");
        assert_string_equal(item->indicator.component, "tensorflow");
        assert_null(item->indicator.result);
        assert_true(item->indicator.has_overall_score);

        document = (Buffer){};
        put_member_double(&document, "x", INFINITY);
        indicator = make_measured(&document);
        put_number(&indicator, FIELD_EXIT_STATUS, 1);
        put_text(&indicator, FIELD_NAME, "PiMatmul");
        assert_item_refused(*state, &indicator, "x", "is infinite");
}

static void the_names_of_a_failed_run_are_checked(void **state) {
        Buffer indicator = make_measured(NULL);
        char longer[COMPONENT_MAX_BYTES + 2] = "";

        put_number(&indicator, FIELD_EXIT_STATUS, 1);
        put_text(&indicator, FIELD_NAME, "../../etc/passwd");
        assert_item_refused(*state, &indicator, "name", "'../../etc/passwd' must be 1 to 128 letters");

        memset(longer, 'c', sizeof(longer) - 1);
        indicator = make_measured(NULL);
        put_number(&indicator, FIELD_EXIT_STATUS, 1);
        put_text(&indicator, FIELD_NAME, "PiMatmul");
        put_text(&indicator, FIELD_COMPONENT, longer);
        assert_item_refused(*state, &indicator, "component", "must have 1 to 256 bytes");

        indicator = make_measured(NULL);
        put_number(&indicator, FIELD_EXIT_STATUS, 1);
        put_text(&indicator, FIELD_NAME, "PiMatmul");
        put_text(&indicator, FIELD_COMPONENT, "caf\xe9");
        assert_item_refused(*state, &indicator, "component", "is not valid UTF-8");
}

/* --- models --------------------------------------------------------------------------------------- */

static Buffer make_model(const char *type) {
        Buffer model = {}, results = {};

        put_member_string(&model, "name", "PiMatmul");
        put_member_string(&results, "rate", type);
        put_member_object(&model, "results", &results);
        return model;
}

static void a_model_arrives_with_its_properties(void **state) {
        Fixture *f = *state;
        Buffer body = {}, model = make_model("float"), request;

        put_object(&body, 1, &model);
        request = make_request(FIELD_REGISTER, &body);
        assert_int_equal(decode(f, &request), 0);
        assert_int_equal(f->decoded.request.kind, REQUEST_REGISTER);
        assert_string_equal(f->decoded.request.register_model.models[0].name, "PiMatmul");
        assert_int_equal(f->decoded.request.register_model.models[0].n_properties, 1);
}

static void an_error_in_a_model_is_named(void **state) {
        Buffer body = {}, model = make_model("number"), request;

        put_object(&body, 1, &model);
        request = make_request(FIELD_REGISTER, &body);
        assert_refused(*state, &request, STATUS_INVALID, "register.results.rate", "'number' is not a type");

        body = (Buffer){};
        request = make_request(FIELD_REGISTER, &body);
        assert_refused(*state, &request, STATUS_INVALID, "register.model", "missing");

        body = (Buffer){};
        model = make_model("float");
        put_member_string(&model, "name", "again");
        put_object(&body, 1, &model);
        request = make_request(FIELD_REGISTER, &body);
        assert_refused(*state, &request, STATUS_INVALID, "register.name", "is given twice");
}

static Buffer make_unregister(const char *name, const char *component) {
        Buffer body = {};

        put_text(&body, 1, name);
        put_text(&body, 2, component);
        return make_request(FIELD_UNREGISTER, &body);
}

static void a_model_to_forget_is_named(void **state) {
        Fixture *f = *state;
        Buffer request = make_unregister("PiMatmul", "");

        assert_int_equal(decode(f, &request), 0);
        assert_int_equal(f->decoded.request.kind, REQUEST_UNREGISTER);
        assert_string_equal(f->decoded.request.unregister_model.name, "PiMatmul");
        assert_null(f->decoded.request.unregister_model.component);

        request = make_unregister("", "tensorflow");
        assert_refused(f, &request, STATUS_INVALID, "unregister.name", "missing");
        request = make_unregister("PiMatmul", "two\nlines");
        assert_refused(f, &request, STATUS_INVALID, "unregister.component", "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(an_indicator_of_an_older_client_has_no_run),
                TEST(a_run_arrives_with_status_batch_and_index),
                TEST(the_run_record_is_decoded),
                TEST(a_run_record_must_follow_the_rules_for_documents),
                TEST(long_standard_error_is_truncated_instead_of_refused),
                TEST(a_run_may_be_nested_as_deep_as_a_document),
                TEST(a_failed_run_needs_no_document_but_a_name),
                TEST(a_run_that_did_not_fail_needs_a_document),
                TEST(the_output_of_a_failed_run_takes_precedence_over_its_names),
                TEST(a_failed_run_may_have_printed_anything),
                TEST(the_names_of_a_failed_run_are_checked),
                TEST(a_model_arrives_with_its_properties),
                TEST(an_error_in_a_model_is_named),
                TEST(a_model_to_forget_is_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
