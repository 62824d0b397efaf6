/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decodes requests with an arena of the size that the daemon's settings give. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ingest/codec/codec.h"
#include "wire.h"

#define FRAME_MAX_BYTES 1048576U

static const Peer peer = { .uid = 1000, .gid = 100, .pid = 42, .pidfd = -1 };

typedef struct Fixture {
        Arena arena;
        Decoded decoded;
} Fixture;

static inline int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        return arena_init(&f->arena, FRAME_MAX_BYTES * CODEC_ARENA_FACTOR);
}

static inline int tear_down(void **state) {
        Fixture *f = *state;

        arena_deinit(&f->arena);
        free(f);
        return 0;
}

/* Takes ownership of `request`. */
static inline int decode_from(Fixture *f, Buffer *request, const Peer *sender) {
        Frame frame = { (const uint8_t *)request->text, request->n, request->n };
        int r;

        assert_int_equal(buffer_error(request), 0);
        memset(&f->decoded, 0x5a, sizeof(f->decoded));
        r = codec_decode(&f->arena, &frame, sender, DOCUMENT_LIMITS_DEFAULT, &f->decoded);
        buffer_deinit(request);
        return r;
}

static inline int decode(Fixture *f, Buffer *request) {
        return decode_from(f, request, &peer);
}

static inline void assert_refused(Fixture *f, Buffer *request, Status status, const char *path, const char *words) {
        assert_int_equal(decode(f, request), CODEC_REFUSED);
        assert_int_equal(f->decoded.refusal.status, status);
        assert_string_equal(f->decoded.refusal.complaint.path, path);
        if (!strstr(f->decoded.refusal.complaint.text, words))
                fail_msg("'%s' does not say '%s'", f->decoded.refusal.complaint.text, words);
        assert_int_equal(f->decoded.sequence, 9);
}

/* Makes a Request with sequence 9 and this body. */
static inline Buffer make_request(unsigned field, Buffer *body) {
        Buffer request = {};

        put_number(&request, FIELD_SEQUENCE, 9);
        put_message(&request, field, body);
        return request;
}

static inline Buffer make_submit_of(Buffer *indicator) {
        Buffer submit = {};

        put_message(&submit, 1, indicator);
        return make_request(FIELD_SUBMIT, &submit);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
