/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the software stacks and specifications of submissions. */

#include "codec_fixture.h"

enum { FIELD_STACKS = 2, FIELD_SPECIFICATIONS, FIELD_STACK = 13, FIELD_SPECIFICATION };

/* Makes a submission of one indicator that names one of the documents in the field `list` of the submission. */
static Buffer make_referring(unsigned list, const char *const *texts, size_t n, unsigned field, unsigned number) {
        Buffer document = make_document(NULL), indicator = {}, submit = {};

        put_bytes(&indicator, 1, "0123456789abcdef", 16);
        put_object(&indicator, FIELD_DOCUMENT, &document);
        put_number(&indicator, field, number);
        put_message(&submit, 1, &indicator);
        for (size_t i = 0; i < n; i++)
                put_bytes(&submit, list, texts[i], strlen(texts[i]));
        return make_request(FIELD_SUBMIT, &submit);
}

static Buffer make_with(const char *const *stacks, size_t n, unsigned number) {
        return make_referring(FIELD_STACKS, stacks, n, FIELD_STACK, number);
}

static const SubmissionStack *decode_stack(Fixture *f, const char *const *stacks, size_t n, unsigned number) {
        Buffer request = make_with(stacks, n, number);

        if (decode(f, &request) != 0)
                fail_msg("%s: %s", f->decoded.refusal.complaint.path, f->decoded.refusal.complaint.text);
        return f->decoded.request.submit.items[0].stack;
}

static void an_item_has_the_stack_that_it_names(void **state) {
        static const char *const stacks[] = { "{\"base_image\":\"a\"}",
                                              "{\"base_image\":\"b\",\"packages\":[{\"name\":\"numpy\"}]}" };
        const SubmissionStack *stack = decode_stack(*state, stacks, 2, 2);

        assert_string_equal(stack->stack.base_image, "b");
        assert_int_equal(stack->stack.n_packages, 1);
        assert_string_equal(stack->stack.packages[0].name, "numpy");
        assert_int_equal(stack->n_bytes,
                         strlen("{\"base_image\":\"b\",\"packages\":[{\"kind\":\"python\",\"name\":\"numpy\"}]}"));
        assert_null(decode_stack(*state, stacks, 2, 0));
        assert_null(decode_stack(*state, NULL, 0, 0));
}

static void the_digest_ignores_order_and_repetition(void **state) {
        static const char *const same[] = {
                "{\"os\":{\"name\":\"rhel\"},\"packages\":[{\"name\":\"numpy\",\"version\":\"1\"},{\"name\":\"torch\"}]"
                "}",
                " {\"packages\": [{\"name\":\"Torch\"}, {\"version\":\"1\",\"name\":\"numpy\"}, {\"name\":\"torch\"}],"
                " \"os\": {\"name\":\"rhel\"}}",
        };
        static const char *const other = "{\"os\":{\"name\":\"rhel\"},"
                                         "\"packages\":[{\"name\":\"numpy\",\"version\":\"2\"},{\"name\":\"torch\"}]}";
        Fixture *f = *state;
        uint8_t digest[STACK_DIGEST_BYTES];

        memcpy(digest, decode_stack(f, same, 2, 1)->digest, sizeof(digest));
        assert_memory_equal(decode_stack(f, same, 2, 2)->digest, digest, sizeof(digest));
        assert_memory_not_equal(decode_stack(f, &other, 1, 1)->digest, digest, sizeof(digest));
}

static void a_wrong_stack_is_refused_at_its_place(void **state) {
        static const struct {
                const char *text, *path, *words;
        } wrong[] = {
                { "{\"packages\":[{\"name\":\"a\"},{}]}", "submit.stacks[1].packages[1]", "has no name" },
                { "[]", "submit.stacks[1]", "expected an object" },
                { "{\"os\":", "submit.stacks[1]", "is not valid JSON at byte 6" },
                { "", "submit.stacks[1]", "is not valid JSON at byte 0" },
        };

        for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
                const char *const stacks[] = { "{}", wrong[i].text };
                Buffer request = make_with(stacks, 2, 1);

                assert_refused(*state, &request, STATUS_INVALID, wrong[i].path, wrong[i].words);
        }
}

static void an_item_cannot_name_a_stack_that_is_not_there(void **state) {
        static const char *const stacks[] = { "{}" };
        Buffer request = make_with(stacks, 1, 2);
        Fixture *f = *state;

        assert_refused(f, &request, STATUS_INVALID, "submit.indicators[0].stack",
                       "is 2, and the submission has 1 stacks");
        assert_true(f->decoded.refusal.has_item);
        request = make_with(NULL, 0, UINT32_MAX);
        assert_refused(f, &request, STATUS_INVALID, "submit.indicators[0].stack", "the submission has 0 stacks");
}

static Buffer make_specified(const char *const *texts, size_t n, unsigned number) {
        return make_referring(FIELD_SPECIFICATIONS, texts, n, FIELD_SPECIFICATION, number);
}

static void an_item_has_the_specification_that_it_names(void **state) {
        const char *texts[SUBMIT_SPECIFICATIONS_MAX + 1] = { "{\"script\":\"a\"}", "{\"script\":\"b\"}" };
        Buffer request = make_specified(texts, 2, 2);
        Fixture *f = *state;

        assert_int_equal(decode(f, &request), 0);
        assert_string_equal(value_get_string(f->decoded.request.submit.items[0].specification, "script"), "b");
        request = make_specified(texts, 2, 0);
        assert_int_equal(decode(f, &request), 0);
        assert_null(f->decoded.request.submit.items[0].specification);

        request = make_specified(texts, 2, 3);
        assert_refused(f, &request, STATUS_INVALID, "submit.indicators[0].specification",
                       "is 3, and the submission has 2");
        texts[1] = "[]";
        request = make_specified(texts, 2, 1);
        assert_refused(f, &request, STATUS_INVALID, "submit.specifications[1]", "object");
        texts[1] = "{";
        request = make_specified(texts, 2, 1);
        assert_refused(f, &request, STATUS_INVALID, "submit.specifications[1]", "is not valid JSON at byte 1");
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                texts[i] = "{}";
        request = make_specified(texts, N_ELEMENTS(texts), 1);
        assert_refused(f, &request, STATUS_TOO_LARGE, "submit.specifications",
                       "has 65 specifications, may have up to 64");
}

static void more_stacks_than_the_limit_are_refused(void **state) {
        const char *stacks[SUBMIT_STACKS_MAX + 1];
        Buffer request;

        for (size_t i = 0; i < N_ELEMENTS(stacks); i++)
                stacks[i] = "{}";
        assert_non_null(decode_stack(*state, stacks, SUBMIT_STACKS_MAX, SUBMIT_STACKS_MAX));
        request = make_with(stacks, SUBMIT_STACKS_MAX + 1, 1);
        assert_refused(*state, &request, STATUS_TOO_LARGE, "submit.stacks", "has 65 stacks, may have up to 64");
}

/* The packages of a stack take more memory than their text. */
static void a_stack_that_the_arena_cannot_hold_is_refused(void **state) {
        Fixture *f = *state;
        const char *const stacks[] = { "{\"packages\":[{\"name\":\"numpy\"}]}" };
        Buffer request = make_with(stacks, 1, 1);
        scoped(buffer_deinit) Buffer many = {};

        arena_deinit(&f->arena);
        assert_int_equal(arena_init(&f->arena, 4096), 0);
        assert_int_equal(decode(f, &request), 0);

        buffer_puts(&many, "{\"packages\":[{\"name\":\"a\"}");
        for (unsigned i = 0; i < 100; i++)
                buffer_printf(&many, ",{\"name\":\"a%u\"}", i);
        buffer_puts(&many, "]}");
        request = make_with((const char *const[]){ many.text }, 1, 1);
        assert_refused(f, &request, STATUS_TOO_LARGE, "", "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(an_item_has_the_stack_that_it_names),
                TEST(the_digest_ignores_order_and_repetition),
                TEST(a_wrong_stack_is_refused_at_its_place),
                TEST(an_item_cannot_name_a_stack_that_is_not_there),
                TEST(an_item_has_the_specification_that_it_names),
                TEST(more_stacks_than_the_limit_are_refused),
                TEST(a_stack_that_the_arena_cannot_hold_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
