/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "util/sha256.h"

static void assert_digest(const char *text, const char *expected) {
        char got[SHA256_TEXT_MAX];

        sha256_text(text, strlen(text), got);
        assert_string_equal(got, expected);
}

/* Example computations of FIPS 180-4, published by NIST. */
static void published_digests_are_reproduced(void **state) {
        (void)state;
        assert_digest("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_digest("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(published_digests_are_reproduced),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
