/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ingest/codec/message_scan.h"
#include "proto/perfd.pb-c.h"
#include "wire.h"

/* Takes ownership of `message`. */
static int scan(Buffer *message, char path[static MESSAGE_SCAN_PATH_MAX]) {
        int r = message_scan(&perfd__v1__request__descriptor, (const uint8_t *)message->text, message->n, path);

        buffer_deinit(message);
        return r;
}

static void assert_malformed(const char *bytes, size_t n) {
        char path[MESSAGE_SCAN_PATH_MAX];

        assert_int_equal(message_scan(&perfd__v1__request__descriptor, (const uint8_t *)bytes, n, path),
                         MESSAGE_SCAN_MALFORMED);
}

static void a_request_of_ours_passes(void **state) {
        Buffer document = make_document(NULL), request = make_submit(1, &document);
        char path[MESSAGE_SCAN_PATH_MAX];

        (void)state;
        assert_int_equal(scan(&request, path), 0);
}

static void fields_of_every_wire_type_pass_known_or_not(void **state) {
        Buffer request = {};
        char path[MESSAGE_SCAN_PATH_MAX];

        (void)state;
        put_number(&request, 500, UINT64_MAX);
        put_double(&request, 501, 1);
        put_bytes(&request, 502, "a\0b", 3); /* an unknown field, whose content may be bytes */
        put_varint(&request, 503 << 3 | 5);
        buffer_put(&request, "1234", 4);
        assert_int_equal(scan(&request, path), 0);
}

static void bytes_may_have_nuls_and_strings_may_not(void **state) {
        Buffer indicator = {}, submit = {}, request = {};
        char path[MESSAGE_SCAN_PATH_MAX];

        (void)state;
        put_bytes(&indicator, 1, "\0\0", 2);
        put_message(&submit, 1, &indicator);
        put_message(&request, FIELD_SUBMIT, &submit);
        assert_int_equal(scan(&request, path), 0);

        put_bytes(&submit, 1, "", 0);
        put_bytes(&indicator, 2, "j\0", 2);
        put_message(&submit, 1, &indicator);
        put_message(&request, FIELD_SUBMIT, &submit);
        assert_int_equal(scan(&request, path), MESSAGE_SCAN_NUL);
        assert_string_equal(path, "submit.indicators[1].job");
}

static void truncated_fields_are_malformed(void **state) {
        (void)state;
        assert_malformed("\x08", 1);                                             /* missing number */
        assert_malformed("\x08\x80", 2);                                         /* truncated number */
        assert_malformed("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12); /* a number of more than 64 bits */
        assert_malformed("\x09\x01\x02", 3);                                     /* truncated 64-bit field */
        assert_malformed("\x0d\x01\x02", 3);                                     /* truncated 32-bit field */
        assert_malformed("\x12\x05\x0a", 3);                                     /* a message longer than the rest */
        assert_malformed("\x12\x02\x0a\x05", 4);                                 /* a string longer than its message */
        /* a length near the maximum of 64 bits */
        assert_malformed("\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
        assert_malformed("\x0b\x0c", 2);                                         /* a group */
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_request_of_ours_passes),
                cmocka_unit_test(fields_of_every_wire_type_pass_known_or_not),
                cmocka_unit_test(bytes_may_have_nuls_and_strings_may_not),
                cmocka_unit_test(truncated_fields_are_malformed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
