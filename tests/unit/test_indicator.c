/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "document/indicator.h"
#include "util/clock.h"
#include "util/scoped.h"
#include "util/utf8.h"

#define MEMBERS_MAX 16

/* A valid document into which each test inserts an error. */
typedef struct Document {
        Member members[MEMBERS_MAX];
        Member parameters[MEMBERS_MAX], result[MEMBERS_MAX];
        Value value;
} Document;

static Value string(const char *text) {
        return (Value){ .type = VALUE_STRING, .string = text };
}

static Value integer(int64_t v) {
        return (Value){ .type = VALUE_INT, .integer = v };
}

static Value number(double v) {
        return (Value){ .type = VALUE_DOUBLE, .number = v };
}

static Value object(const Member *members, size_t n) {
        return (Value){ .type = VALUE_OBJECT, .members = members, .n_members = n };
}

static Value list(const Value *items, size_t n) {
        return (Value){ .type = VALUE_LIST, .items = items, .n_items = n };
}

static Member *find(Document *document, const char *key) {
        for (size_t i = 0; i < document->value.n_members; i++)
                if (strcmp(document->members[i].key, key) == 0)
                        return &document->members[i];

        return NULL;
}

/* Adds or replaces a member. */
static void set(Document *document, const char *key, Value value) {
        Member *member = find(document, key);

        if (!member)
                member = &document->members[document->value.n_members++];
        *member = (Member){ key, value };
}

static void drop(Document *document, const char *key) {
        Member *member = find(document, key);

        *member = document->members[--document->value.n_members];
}

static void set_result(Document *document, const char *key, Value value) {
        Value *result = &find(document, "@result")->value;

        document->result[result->n_members++] = (Member){ key, value };
}

static int set_up(void **state) {
        Document *document = calloc(1, sizeof(*document));

        *state = document;
        document->value = object(document->members, 0);
        document->parameters[0] = (Member){ "reps", integer(30) };
        document->parameters[1] = (Member){ "padding", string("SAME") };
        document->result[0] = (Member){ "rate", number(7.5) };
        set(document, "@parameters", object(document->parameters, 2));
        set(document, "@result", object(document->result, 1));
        set(document, "name", string("PiMatmul"));
        set(document, "component", string("tensorflow"));
        return 0;
}

static int tear_down(void **state) {
        free(*state);
        return 0;
}

static void take(const Document *document, Indicator *ret) {
        Complaint complaint = {};
        int r;

        r = indicator_from_value(&document->value, DOCUMENT_LIMITS_DEFAULT, ret, &complaint);
        if (r != 0)
                fail_msg("refused: %s: %s", complaint.path, complaint.text);
}

static void assert_accepted(const Document *document) {
        Indicator indicator;

        take(document, &indicator);
}

static void assert_refused_value(const Value *value, const char *path, const char *words) {
        Complaint complaint = {};
        Indicator indicator;

        assert_int_equal(indicator_from_value(value, DOCUMENT_LIMITS_DEFAULT, &indicator, &complaint),
                         INDICATOR_INVALID);
        assert_string_equal(complaint.path, path);
        if (!strstr(complaint.text, words))
                fail_msg("'%s' does not say '%s'", complaint.text, words);
}

static void assert_refused(const Document *document, const char *path, const char *words) {
        assert_refused_value(&document->value, path, words);
}

/* --- accepted ------------------------------------------------------------------------------------ */

static void a_document_is_taken_apart(void **state) {
        Document *document = *state;
        Indicator indicator;

        set(document, "version", string("1.13.1"));
        set(document, "overall_score", integer(3));
        take(document, &indicator);
        assert_string_equal(indicator.name, "PiMatmul");
        assert_string_equal(indicator.component, "tensorflow");
        assert_string_equal(indicator.version, "1.13.1");
        assert_true(indicator.has_overall_score);
        assert_true(indicator.overall_score == 3.0);
        assert_ptr_equal(indicator.parameters, &find(document, "@parameters")->value);
        assert_ptr_equal(indicator.result, &find(document, "@result")->value);
        assert_ptr_equal(indicator.document, &document->value);
}

static void what_is_optional_may_be_null_or_absent(void **state) {
        Document *document = *state;
        Indicator indicator;

        take(document, &indicator);
        assert_null(indicator.version);
        assert_false(indicator.has_overall_score);

        set(document, "version", (Value){ .type = VALUE_NULL });
        set(document, "overall_score", (Value){ .type = VALUE_NULL });
        set(document, "framework", (Value){ .type = VALUE_NULL });
        take(document, &indicator);
        assert_null(indicator.version);
        assert_false(indicator.has_overall_score);
}

static void framework_is_another_word_for_component(void **state) {
        Document *document = *state;
        Indicator indicator;

        set(document, "framework", string("tensorflow"));
        take(document, &indicator);
        assert_string_equal(indicator.component, "tensorflow");
        drop(document, "component");
        take(document, &indicator);
        assert_string_equal(indicator.component, "tensorflow");
}

static void parameters_may_be_empty(void **state) {
        Document *document = *state;
        Indicator indicator;

        set(document, "@parameters", object(NULL, 0));
        take(document, &indicator);
        assert_int_equal(indicator.parameters->n_members, 0);
}

static void unknown_members_are_preserved(void **state) {
        static const Value items[] = { { .type = VALUE_INT, .integer = 1 }, { .type = VALUE_NULL } };
        static const Member suite[] = { { "runs", { .type = VALUE_LIST, .items = items, .n_items = 2 } } };
        Document *document = *state;
        Indicator indicator;

        set(document, "tensorflow_aicoe_buildinfo", (Value){ .type = VALUE_NULL });
        set(document, "pytorch_buildinfo", object(suite, 1));
        set(document, "Größe", list(items, 2));
        set_result(document, "benchmarks", object(suite, 1));
        take(document, &indicator);
        assert_int_equal(indicator.document->n_members, 7);
}

/* --- refused ------------------------------------------------------------------------------------- */

static void a_document_is_an_object(void **state) {
        Value value = list(NULL, 0);

        (void)state;
        assert_refused_value(&value, "", "is a list, must be an object");
}

static void missing_members_are_named_with_a_fix(void **state) {
        static const char *const keys[] = { "@parameters", "@result", "name", "component" };
        static const char *const fixes[] = { "\"@parameters\": {…}", "\"@result\": {…}", "\"PiMatmul\"", "framework" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
                Document *document;

                set_up((void **)&document);
                drop(document, keys[i]);
                assert_refused(document, keys[i], "missing");
                assert_refused(document, keys[i], fixes[i]);
                tear_down((void **)&document);
        }
}

static void members_of_the_wrong_type_are_named_with_the_expected_type(void **state) {
        static const char *const keys[] = { "@parameters", "@result", "name",         "component",
                                            "framework",   "version", "overall_score" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
                Document *document;

                set_up((void **)&document);
                set(document, keys[i], (Value){ .type = VALUE_BOOL, .boolean = true });
                assert_refused(document, keys[i], "is a boolean, must be");
                tear_down((void **)&document);
        }
}

static void an_empty_result_is_no_measurement(void **state) {
        Document *document = *state;

        set(document, "@result", object(NULL, 0));
        assert_refused(document, "@result", "empty");
}

static void a_key_in_parameters_and_result_is_a_collision(void **state) {
        Document *document = *state;

        set_result(document, "reps", integer(30));
        assert_refused(document, "@result.reps", "collision: 'reps' is in @parameters as well");
}

static void framework_and_component_must_agree(void **state) {
        Document *document = *state;

        set(document, "framework", string("pytorch"));
        assert_refused(document, "framework", "'pytorch' differs from component 'tensorflow'");
}

static void names_have_a_limit_and_an_alphabet(void **state) {
        Document *document = *state;
        char name[NAME_MAX_BYTES + 2];

        memset(name, 'n', sizeof(name));
        name[NAME_MAX_BYTES] = '\0';
        set(document, "name", string(name));
        assert_accepted(document);

        name[NAME_MAX_BYTES] = 'n';
        name[NAME_MAX_BYTES + 1] = '\0';
        set(document, "name", string(name));
        assert_refused(document, "name", "1 to 128");
        set(document, "name", string("two words"));
        assert_refused(document, "name", "'two words'");
        set(document, "name", string(""));
        assert_refused(document, "name", "letters");
}

static void a_component_has_1_to_256_bytes(void **state) {
        Document *document = *state;
        char text[COMPONENT_MAX_BYTES + 2] = "";

        set(document, "component", string(text));
        assert_refused(document, "component", "256");
        memset(text, 'c', COMPONENT_MAX_BYTES + 1);
        assert_refused(document, "component", "256");
        text[COMPONENT_MAX_BYTES] = '\0';
        assert_accepted(document);
}

static void numbers_are_finite_wherever_they_are(void **state) {
        const Value items[] = { number(1), number(NAN) };
        const Member inner[] = { { "runs", list(items, 2) } };
        Document *document = *state;

        set_result(document, "suite", object(inner, 1));
        assert_refused(document, "@result.suite.runs[1]", "not a number");
        set(document, "@result", object(document->result, 1));
        document->result[0].value = number(-INFINITY);
        assert_refused(document, "@result.rate", "infinite");
}

static void strings_have_a_limit(void **state) {
        Document *document = *state;
        Complaint complaint;
        Indicator indicator;

        set_result(document, "log", string("12345678901234567"));
        assert_int_equal(
                indicator_from_value(&document->value, (DocumentLimits){ 17, KEYS_MAX }, &indicator, &complaint), 0);
        assert_int_equal(
                indicator_from_value(&document->value, (DocumentLimits){ 16, KEYS_MAX }, &indicator, &complaint),
                INDICATOR_INVALID);
        assert_string_equal(complaint.path, "@result.log");
        assert_string_equal(complaint.text,
                            "has 17 bytes, more than the 16 that a string may have: shorten or split it");
}

static void text_is_utf8(void **state) {
        Document *document = *state;

        set_result(document, "host", string("\xc0\x80"));
        assert_refused(document, "@result.host", "UTF-8");
        find(document, "@result")->value.n_members = 1;
        set_result(document, "\xff", integer(1));
        assert_refused(document, "@result", "key of member 2 is not valid UTF-8");
}

static void keys_are_neither_empty_nor_endless(void **state) {
        Document *document = *state;
        char key[258];

        set_result(document, "", integer(1));
        assert_refused(document, "@result", "member 2 has an empty key");

        memset(key, 'k', sizeof(key));
        key[257] = '\0';
        find(document, "@result")->value.n_members = 1;
        set_result(document, key, integer(1));
        assert_refused(document, "@result", "256");
        key[256] = '\0';
        assert_accepted(document);
}

static void a_duplicate_key_is_refused_at_any_depth(void **state) {
        const Member inner[] = { { "a", integer(1) }, { "b", integer(2) }, { "a", integer(1) } };
        Document *document = *state;

        set_result(document, "rate", number(7.5));
        assert_refused(document, "@result.rate", "twice");
        find(document, "@result")->value.n_members = 1;
        set_result(document, "suite", object(inner, 3));
        assert_refused(document, "@result.suite.a", "twice");
}

static void nesting_has_a_limit(void **state) {
        Document *document = *state;
        Value levels[VALUE_DEPTH_MAX + 1];

        levels[0] = integer(1);
        for (size_t i = 1; i <= VALUE_DEPTH_MAX; i++)
                levels[i] = list(&levels[i - 1], 1);

        set(document, "deep", levels[VALUE_DEPTH_MAX - 1]); /* with the document itself, VALUE_DEPTH_MAX */
        assert_accepted(document);
        set(document, "deep", levels[VALUE_DEPTH_MAX]);
        assert_refused(
                document,
                "deep[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]",
                "nested deeper than 32");
}

static void a_long_path_is_cut_between_characters(void **state) {
        Document *document = *state;
        char key[256] = "";
        Complaint complaint;
        Indicator indicator;

        for (size_t i = 0; i < 120; i++)
                strcat(key, "ä");
        set_result(document, key, number(NAN));
        assert_int_equal(indicator_from_value(&document->value, DOCUMENT_LIMITS_DEFAULT, &indicator, &complaint),
                         INDICATOR_INVALID);
        assert_in_range(strlen(complaint.path), COMPLAINT_PATH_MAX - 2, COMPLAINT_PATH_MAX - 1);
        assert_true(utf8_is_valid(complaint.path, strlen(complaint.path)));
}

/* --- many keys ----------------------------------------------------------------------------------- */

typedef struct Keys {
        Member members[KEYS_MAX];
        char texts[KEYS_MAX][16];
} Keys;

static void fill(Keys *keys) {
        for (size_t i = 0; i < KEYS_MAX; i++) {
                snprintf(keys->texts[i], sizeof(keys->texts[i]), "key%zu", i * 7919 % KEYS_MAX);
                keys->members[i] = (Member){ keys->texts[i], integer((int64_t)i) };
        }
}

static void as_many_keys_as_allowed_are_checked_and_one_more_is_refused(void **state) {
        Document *document = *state;
        Keys *keys = calloc(1, sizeof(*keys));
        size_t n_others = 4 + 2; /* at the top level, and in @parameters */

        fill(keys);
        set(document, "@result", object(keys->members, KEYS_MAX - n_others));
        assert_accepted(document);

        strcpy(keys->texts[5], "key7919x"); /* the last of all keys that sort next to it */
        strcpy(keys->texts[KEYS_MAX - n_others - 1], "key7919x");
        assert_refused(document, "@result.key7919x", "twice");

        fill(keys);
        strcpy(keys->texts[1234], "reps");
        assert_refused(document, "@result.reps", "collision");

        fill(keys);
        set(document, "@result", object(keys->members, KEYS_MAX - n_others + 1));
        assert_refused(document, "", "more than 65536 keys");
        free(keys);
}

/* Returns the minimum CPU time of three runs, which reduces the effect of other load. */
static uint64_t least_ns(void (*work)(const Document *document), const Document *document) {
        uint64_t least = UINT64_MAX;

        for (unsigned i = 0; i < 3; i++) {
                uint64_t begin_ns = clock_thread_cpu_ns(), ns;

                work(document);
                ns = clock_thread_cpu_ns() - begin_ns;
                least = ns < least ? ns : least;
        }
        return least;
}

static void compare_each_with_each(const Document *document) {
        const Value *result = &document->value.members[1].value;
        size_t n_equal = 0;

        for (size_t i = 0; i < result->n_members; i++)
                for (size_t j = 0; j < i; j++)
                        n_equal += strcmp(result->members[i].key, result->members[j].key) == 0;
        assert_int_equal(n_equal, 0);
}

/*
 * Comparing 4096 keys pairwise takes 8 million comparisons: the limit is the time of these in the same build on this
 * machine.
 */
static void many_keys_do_not_delay_the_loop(void **state) {
        Document *document = *state;
        Keys *keys = calloc(1, sizeof(*keys));

        fill(keys);
        set(document, "@result", object(keys->members, 4096));
        assert_string_equal(document->value.members[1].key, "@result");
        assert_true(least_ns(assert_accepted, document) < least_ns(compare_each_with_each, document) / 2);
        free(keys);
}

static void valid_names_are_what_the_manual_says(void **state) {
        (void)state;
        assert_true(indicator_name_is_valid("aZ09_.:-", 8));
        assert_false(indicator_name_is_valid("aZ09_.:-", 7));
        assert_false(indicator_name_is_valid("", 8));
        assert_false(indicator_name_is_valid("a b", 8));
        assert_false(indicator_name_is_valid("ä", 8));
        assert_false(indicator_name_is_valid("a/b", 8));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(a_document_is_taken_apart),
                TEST(what_is_optional_may_be_null_or_absent),
                TEST(framework_is_another_word_for_component),
                TEST(parameters_may_be_empty),
                TEST(unknown_members_are_preserved),
                TEST(a_document_is_an_object),
                TEST(missing_members_are_named_with_a_fix),
                TEST(members_of_the_wrong_type_are_named_with_the_expected_type),
                TEST(an_empty_result_is_no_measurement),
                TEST(a_key_in_parameters_and_result_is_a_collision),
                TEST(framework_and_component_must_agree),
                TEST(names_have_a_limit_and_an_alphabet),
                TEST(a_component_has_1_to_256_bytes),
                TEST(numbers_are_finite_wherever_they_are),
                TEST(strings_have_a_limit),
                TEST(text_is_utf8),
                TEST(keys_are_neither_empty_nor_endless),
                TEST(a_duplicate_key_is_refused_at_any_depth),
                TEST(nesting_has_a_limit),
                TEST(a_long_path_is_cut_between_characters),
                TEST(as_many_keys_as_allowed_are_checked_and_one_more_is_refused),
                TEST(many_keys_do_not_delay_the_loop),
                cmocka_unit_test(valid_names_are_what_the_manual_says),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
