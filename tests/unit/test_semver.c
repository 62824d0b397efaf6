/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "document/version.h"
#include "util/scoped.h"

static void only_complete_versions_are_valid(void **state) {
        static const char *const valid[] = { "0.0.0",     "2.13.0-rc1+2024-09-02", "1.0.0-alpha.1",
                                             "1.0.0+001", "1.0.0-0a.x-y",          "99999999999999999999.1.2" };
        static const char *const invalid[] = { "",         "2.13",       "v1.0.0", "1.0.0-",  "1.0.0+",    "01.0.0",
                                               "1.0.0-01", "1.0.0-a..b", "1.0.0 ", "1.0.0.0", "1.0.0+a+b", "1..0" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(valid); i++)
                assert_true(version_is_semantic(valid[i]));
        for (size_t i = 0; i < N_ELEMENTS(invalid); i++)
                assert_false(version_is_semantic(invalid[i]));
}

/* The list of section 11 of Semantic Versioning 2.0.0, and versions around it. */
static void versions_are_ordered(void **state) {
        static const char *const ordered[] = {
                "0.9.9",         "1.0.0-alpha",
                "1.0.0-alpha.1", "1.0.0-alpha.beta",
                "1.0.0-beta",    "1.0.0-beta.2",
                "1.0.0-beta.11", "1.0.0-rc.1",
                "1.0.0",         "2.9.0",
                "2.10.0-rc1",    "2.10.0",
                "2.10.1",        "99999999999999999999.0.0",
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(ordered); i++)
                for (size_t k = 0; k < N_ELEMENTS(ordered); k++)
                        assert_int_equal(version_compare_semantic(ordered[i], ordered[k]), (i > k) - (i < k));
}

static void build_metadata_do_not_count(void **state) {
        (void)state;
        assert_int_equal(version_compare_semantic("1.0.0+a", "1.0.0"), 0);
        assert_int_equal(version_compare_semantic("1.0.0-rc1+b.7", "1.0.0-rc1+a"), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(only_complete_versions_are_valid),
                cmocka_unit_test(versions_are_ordered),
                cmocka_unit_test(build_metadata_do_not_count),
        };

        return cmocka_run_group_tests_name("semver", tests, NULL, NULL);
}
