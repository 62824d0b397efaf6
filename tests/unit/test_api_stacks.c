/* SPDX-License-Identifier: Apache-2.0 */
/* Routes of the software stacks on a real store. */
/* tests: daemon/http/indicators/api_stacks.c daemon/http/indicators/stack_diff.c */

#include "stack_fixture.h"

#include "http/routes.h"
#include "http/selection/grouping.h"

typedef struct Fixture {
        Place *place;
        Arena arena;
        Snapshot snapshot;
        Exchange exchange;
        Buffer body;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        *state = f;
        assert_int_equal(arena_init(&f->arena, 1 << 20), 0);
        return place_setup_volatile((void **)&f->place);
}

static int tear_down(void **state) {
        Fixture *f = *state;

        assert_int_equal(place_teardown((void **)&f->place), 0);
        snapshot_deinit(&f->snapshot);
        buffer_deinit(&f->body);
        arena_deinit(&f->arena);
        free(f);
        return 0;
}

/* Digits of a digest. */
typedef struct Digits {
        char text[2 * STACK_DIGEST_BYTES + 1];
} Digits;

/* Stores results from `from` up to `to` with a stack. Every tenth failed. */
static Digits put(Fixture *f, uint64_t from, uint64_t to, const char *text) {
        SubmissionStack stack = stack_of(&f->arena, text);
        Digits digits;

        for (uint64_t n = from; n < to; n++)
                assert_int_equal(put_with_stack(f->place->store, n, NULL, &stack)->n_new, 1);
        digits_of(&stack, digits.text);
        return digits;
}

/* Checks the answer of /api/v1/PATH; parameter: that of the name `name`, or NULL. */
static void check_with(Fixture *f, const char *path, const char *name, const char *parameter, unsigned status,
                       const char *words) {
        scoped(buffer_deinit) Buffer whole = {};

        buffer_printf(&whole, "/api/v1/%s", path);
        exchange_init(&f->exchange, &f->body);
        f->exchange.sources.snapshot = &f->snapshot;
        f->exchange.sources.reader = f->place->reader;
        assert_int_equal(exchange_set_path(&f->exchange.target, &f->exchange.response, whole.text), 0);
        if (name)
                assert_int_equal(exchange_add_parameter(&f->exchange.target, &f->exchange.response, name, parameter),
                                 0);
        routes_answer(&f->exchange);
        reader_reset(f->place->reader);
        if (f->exchange.response.status != status || !strstr(f->body.text, words))
                fail_msg("%s: %u, and not %u with '%s': %.600s", whole.text, f->exchange.response.status, status, words,
                         f->body.text);
}

static void check(Fixture *f, const char *path, unsigned status, const char *words) {
        check_with(f, path, NULL, NULL, status, words);
}

static void check_stack(Fixture *f, const char *digits, unsigned status, const char *words) {
        scoped(buffer_deinit) Buffer path = {};

        buffer_printf(&path, "stacks/%s", digits);
        check(f, path.text, status, words);
}

static void check_diff(Fixture *f, const char *from, const char *to, unsigned status, const char *words) {
        scoped(buffer_deinit) Buffer path = {};

        buffer_printf(&path, "stacks/%s/diff", from);
        check_with(f, path.text, to ? "to" : NULL, to, status, words);
}

#define PLAIN "{\"base_image\":\"ubi8\",\"packages\":[{\"name\":\"numpy\",\"version\":\"1\"}]}"

static void stacks_are_listed_and_shown(void **state) {
        Fixture *f = *state;
        Digits digits;
        char upper[9];

        check(f, "stacks", 200, "{\"stacks\":[],\"truncated\":false}");
        digits = put(f, 1, 4, PLAIN);
        check(f, "stacks", 200,
              "\"results\":3,\"n_packages\":1,\"facts\":{\"base_image\":\"ubi8\"}}],\"truncated\":false}");
        assert_non_null(strstr(f->body.text, digits.text));
        check_stack(f, digits.text, 200, "\"packages\":[{\"name\":\"numpy\",\"kind\":\"python\",\"version\":\"1\"}]}");

        (void)snprintf(upper, sizeof(upper), "%.8s", digits.text);
        for (char *p = upper; *p; p++)
                *p = (char)(*p >= 'a' ? *p - 'a' + 'A' : *p);
        check_stack(f, upper, 200, digits.text);
}

static void a_stack_is_named_by_enough_digits_of_its_digest(void **state) {
        Fixture *f = *state;
        Digits digits = put(f, 1, 2, PLAIN), other;
        char prefix[5], sql[256];

        check_stack(f, "abc", 400, "at least 4 hexadecimal digits, not 'abc'");
        check_stack(f, "xyzxyz", 400, "not 'xyzxyz'");
        strcpy(prefix, digits.text[0] == '0' ? "1111" : "0000");
        check_stack(f, prefix, 404, "no result has a stack whose digest begins with '");
        check_diff(f, digits.text, NULL, 400, "not ''");
        check_diff(f, digits.text, prefix, 404, prefix);

        /* Give another stack a digest that begins with the same eight digits. */
        other = put(f, 2, 3, "{}");
        (void)snprintf(sql, sizeof(sql), "UPDATE stack SET digest = x'%.8s%.56s' WHERE digest = x'%s'", digits.text,
                       other.text + 8, other.text);
        change_place(f->place, sql);
        digits.text[8] = '\0';
        check_stack(f, digits.text, 400, "several stacks have a digest that begins with '");
        assert_null(strstr(f->body.text, "numpy"));
        check_diff(f, digits.text, "0000", 400, "several stacks");
}

static void two_stacks_are_compared(void **state) {
        static const char a[] =
                "{\"base_image\":\"ubi8\",\"python\":{\"version\":\"3.8\"},"
                "\"packages\":[{\"name\":\"numpy\",\"version\":\"1\"},"
                "{\"name\":\"tf\",\"version\":\"2\",\"source\":\"avx2\"},{\"name\":\"same\",\"version\":\"1\"}]}";
        static const char b[] = "{\"base_image\":\"ubi9\",\"python\":{\"version\":\"3.8\"},"
                                "\"packages\":[{\"name\":\"same\",\"version\":\"1\"},"
                                "{\"name\":\"tf\",\"version\":\"2\",\"source\":\"pypi\"}]}";
        Fixture *f = *state;
        Digits from = put(f, 1, 3, a), to = put(f, 3, 4, b);

        check_diff(f, from.text, to.text, 200,
                   "{\"differ\":[{\"key\":\"base_image\",\"values\":[{\"value\":\"ubi8\",\"results\":1,\"failed\":0},"
                   "{\"value\":\"ubi9\",\"results\":0,\"failed\":1}]},"
                   "{\"key\":\"package.numpy\",\"values\":[{\"value\":\"1\",\"results\":1,\"failed\":0},"
                   "{\"value\":null,\"results\":0,\"failed\":1}]},"
                   "{\"key\":\"package.tf.build\",\"values\":[{\"value\":\"2 avx2\",\"results\":1,\"failed\":0},"
                   "{\"value\":\"2 pypi\",\"results\":0,\"failed\":1}]}]}");
        check_diff(f, from.text, from.text, 200, "{\"differ\":[]}");
}

#define GLIBC(build) "{\"name\":\"glibc\",\"kind\":\"rpm\",\"version\":\"2\",\"build\":\"" build "\"}"

/* Package managers install builds of a version side by side. */
static void a_stack_that_has_a_version_twice_is_counted_once(void **state) {
        Fixture *f = *state;
        Digits both = put(f, 1, 2, "{\"packages\":[" GLIBC("i686") "," GLIBC("x86_64") "]}"), none = put(f, 2, 3, "{}");
        Digits one = put(f, 3, 4, "{\"packages\":[" GLIBC("x86_64") "]}");

        check_diff(f, both.text, none.text, 200,
                   "{\"differ\":[{\"key\":\"package.glibc\",\"values\":[{\"value\":\"2\",\"results\":1,\"failed\":0},"
                   "{\"value\":null,\"results\":0,\"failed\":1}]}]}");
        check_diff(f, both.text, one.text, 200,
                   "{\"differ\":[{\"key\":\"package.glibc.build\",\"values\":[{\"value\":\"2 "
                   "i686\",\"results\":1,\"failed\":0},{\"value\":\"2 x86_64\",\"results\":1,\"failed\":1}]}]}");
        check_diff(f, both.text, both.text, 200, "{\"differ\":[]}");
}

static void the_stacks_of_results_are_compared(void **state) {
        Fixture *f = *state;

        (void)put(f, 1, 10, PLAIN);
        check(f, "indicators/PiMatmul/stacks", 200, "\"stacks\":1,\"differ\":[],\"differ_excluded\":0}");
        (void)put(f, 10, 14, "{\"base_image\":\"ubi8\",\"packages\":[{\"name\":\"numpy\",\"version\":\"2\"}]}");
        assert_int_equal(put_with_stack(f->place->store, 14, NULL, NULL)->n_new, 1); /* is not counted */
        check(f, "indicators/PiMatmul/stacks", 200,
              "{\"scanned\":14,\"stacks\":2,"
              "\"differ\":[{\"key\":\"package.numpy\",\"values\":[{\"value\":\"1\",\"results\":9,\"failed\":0},"
              "{\"value\":\"2\",\"results\":3,\"failed\":1}]}],\"differ_excluded\":0}");
        check_with(f, "indicators/PiMatmul/stacks", "where", "package.numpy=2", 200,
                   "\"stacks\":1,\"differ\":[],\"differ_excluded\":0}");
        check_with(f, "indicators/PiMatmul/stacks", "where", "dtyp=float32", 400, "did you mean dtype?");
        check(f, "indicators/None/stacks", 404, "no results and no model of indicator 'None'");
}

static void a_package_that_no_stack_has_is_named(void **state) {
        Fixture *f = *state;

        assert_int_equal(put_with_stack(f->place->store, 1, NULL, NULL)->n_new, 1);
        check_with(f, "indicators/PiMatmul/query", "group_by", "package.numpy", 400,
                   "no result has a software stack with packages");
        (void)put(
                f, 2, 4,
                "{\"packages\":[{\"name\":\"numpy\"},{\"name\":\"nump\"},{\"name\":\"six.build\",\"kind\":\"rpm\"}]}");
        check_with(f, "indicators/PiMatmul/query", "group_by", "package.NumPy,package.\"six.build\".build", 200,
                   "\"n\":");
        check_with(f, "indicators/PiMatmul/query", "group_by", "package.numpyy", 400,
                   "no software stack has the package 'numpyy': did you mean numpy? Packages: nump, numpy, six.build");
        check_with(f, "indicators/PiMatmul/rank", "by", "package.quitedifferent.build", 400,
                   "no software stack has the package 'quitedifferent'. Packages: nump");
        check_with(f, "indicators/PiMatmul/stacks", "where", "package.six=1", 400,
                   "no software stack has the package 'six'");
}

static void results_of_too_many_stacks_are_counted(void **state) {
        Fixture *f = *state;
        scoped(buffer_deinit) Buffer text = {};

        for (uint64_t n = 1; n <= GROUP_STACKS_MAX + 2; n++) {
                buffer_clear(&text);
                buffer_printf(&text, "{\"base_image\":\"i%04u\"}", (unsigned)n);
                (void)put(f, n, n + 1, text.text);
        }
        check(f, "indicators/PiMatmul/stacks", 200, "\"stacks\":256,");
        check(f, "indicators/PiMatmul/stacks", 200, "\"differ_excluded\":2}");
}

static void a_missing_store_is_reported(void **state) {
        Fixture *f = *state;
        Reader *kept = f->place->reader;

        assert_int_equal(reader_new(&f->place->reader, "/nonexistent/perfd.db", NULL, NS_PER_S), 0);
        check(f, "stacks", 503, "the store cannot be read");
        check(f, "stacks/0000", 503, "the store cannot be read");
        check_diff(f, "0000", "0000", 503, "the store cannot be read");
        reader_free(f->place->reader);
        f->place->reader = kept;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(stacks_are_listed_and_shown),
                TEST(a_stack_is_named_by_enough_digits_of_its_digest),
                TEST(two_stacks_are_compared),
                TEST(a_stack_that_has_a_version_twice_is_counted_once),
                TEST(the_stacks_of_results_are_compared),
                TEST(a_package_that_no_stack_has_is_named),
                TEST(results_of_too_many_stacks_are_counted),
                TEST(a_missing_store_is_reported),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
