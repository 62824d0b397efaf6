/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "document/version.h"
#include "util/scoped.h"

static void versions_of_the_usual_forms_have_an_order(void **state) {
        static const char *const ordered[] = { "1.0", "v1.2", "12.2.0", "2.13-rc1", "2026-11-27", "20261127",
                                               "build 1834", "build-1834", "llvm-17.0.1", "1.0rc1",
                                               "r4711", "8u292", "1.0~beta2",
                                               "2026-11-27T10:30:00Z", "v1.2-14-g1c2d3e4", "1.0+cu121", "build #11",
                                               "release/1.10", "1.0 (build 11)", "perfd@1.2.0" };
        static const char *const others[] = { "", "nightly", "main", "1c2d3e4", "deadbeef1", "1c2d3e4-dirty",
                                              "550e8400-e29b-41d4-a716-446655440000", "1.0,2", "v", "gpus=4" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(ordered); i++)
                if (!version_is_ordered(ordered[i]))
                        fail_msg("%s", ordered[i]);
        for (size_t i = 0; i < N_ELEMENTS(others); i++)
                if (version_is_ordered(others[i]))
                        fail_msg("%s", others[i]);
}

static void only_numbers_behind_the_same_word_are_compared(void **state) {
        (void)state;
        assert_true(version_is_comparable("v1.2", "1.3"));
        assert_true(version_is_comparable("build 9", "Build 10"));
        assert_false(version_is_comparable("build 9", "1.0"));
        assert_false(version_is_comparable("r9", "v9"));
}

static void assert_ascending(const char *const *versions, size_t n) {
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < n; k++)
                        if (version_compare(versions[i], versions[k]) != (i > k) - (i < k))
                                fail_msg("%s and %s", versions[i], versions[k]);
}

static void versions_are_ordered(void **state) {
        static const char *const releases[] = { "0.9", "1.0.dev3", "1.0a1", "1.0b2", "v1.0b10", "1.0-rc1", "1.0",
                                                "1.0-14-g1c2d3e4", "1.0-14-g1c2d3e4-dirty", "1.0-15-g0000000",
                                                "1.0.post1", "1.0.1", "v1.2",
                                                "1.10", "2.13-rc1", "2.13", "12.2.0", "99999999999999999999" };
        static const char *const days[] = { "2025-12-31", "2026-01-05", "2026-11-09", "2026-11-27" };
        static const char *const builds[] = { "build 9", "build 0010", "build 1834" };

        (void)state;
        assert_ascending(releases, N_ELEMENTS(releases));
        assert_ascending(days, N_ELEMENTS(days));
        assert_ascending(builds, N_ELEMENTS(builds));
        assert_int_equal(version_compare("1.0", "v1.0.0"), 0);
        assert_int_equal(version_compare("1.0", "1.0+cu121"), 0);
        assert_int_equal(version_compare("1.02", "1.2"), 0);
        assert_int_equal(version_compare("1.0RC1", "1.0-rc1"), 0);
}

/* Their versions are equal, so that the first runs order them. */
static void names_of_commits_do_not_count(void **state) {
        (void)state;
        assert_int_equal(version_compare("1.0-14-g1c2d3e4", "1.0-14-gabcdef0"), 0);
        assert_int_equal(version_compare("1.0-14-g1234567", "1.0-14-g0abcdef"), 0);
        assert_int_equal(version_compare("20261127-1c2d3e4", "20261127-abcdef0"), 0);
        assert_int_equal(version_compare("sha256:1c2d3e4f5a", "sha256:abcdef0"), 0);
        assert_int_equal(version_compare("20261127-1c2d3e4", "20261128-0abcdef"), -1);
}

/* Semantic Versioning takes them for prereleases. */
static void what_is_added_to_a_release_is_known(void **state) {
        (void)state;
        assert_true(version_is_extended("1.2.0-14-g1c2d3e4"));
        assert_true(version_is_extended("1.2.0-rc.1-3-gabcdef0"));
        assert_true(version_is_extended("1.2.0-post1"));
        assert_true(version_is_extended("1.2.0-dirty"));
        assert_false(version_is_extended("1.2.0"));
        assert_false(version_is_extended("1.2.0-rc.1+p5"));
        assert_false(version_is_extended("5.14.0-162.el9"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(versions_of_the_usual_forms_have_an_order),
                cmocka_unit_test(only_numbers_behind_the_same_word_are_compared),
                cmocka_unit_test(versions_are_ordered),
                cmocka_unit_test(names_of_commits_do_not_count),
                cmocka_unit_test(what_is_added_to_a_release_is_known),
        };

        return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
