/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: results of Amun
 *
 * Input: a result document, optionally followed by the specification of the run. A document that perfctl accepts
 * must be
 * accepted by perfd; otherwise perfctl must report an error.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/import/amun.h"
#include "client/wire/protocol.h"
#include "ingest/codec/codec.h"
#include "util/scoped.h"
#include "util/utf8.h"
#include "value/value_parse.h"

#define TEXT_MAX 16384U
#define FRAME_MAX_BYTES 1048576U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_taken(Submission *item) {
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer bytes = {};
        Decoded decoded;
        Frame frame;
        int r;

        assert(item->indicator.name && indicator_name_is_valid(item->indicator.name, NAME_MAX_BYTES));
        assert(submission_has_failed(item) || item->indicator.result);

        item->job = "";
        item->has_batch = true;
        assert(protocol_encode_submit(1, item, 1, &bytes) == 0);
        assert(frame_read((const uint8_t *)bytes.text, bytes.n, FRAME_MAX_BYTES, &frame, NULL) == 0);
        assert(arena_init(&arena, FRAME_MAX_BYTES * CODEC_ARENA_FACTOR) == 0);
        r = codec_decode(&arena, &frame, &(Peer){}, DOCUMENT_LIMITS_DEFAULT, &decoded);
        assert(r == 0);
        assert(strcmp(decoded.request.submit.items[0].indicator.name, item->indicator.name) == 0);
        assert(decoded.request.submit.items[0].exit_status == item->exit_status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        AmunContext context = { .inspection = "inspection-fuzz" };
        scoped(arena_deinit) Arena arena = {};
        const Value *document, *specification;
        Submission item = {};
        Complaint complaint;
        ValueReader reader;
        ValueError error;
        int r;

        if (size > TEXT_MAX)
                return 0;
        assert(arena_init(&arena, amun_arena_size(size)) == 0);
        value_parse_begin(&reader, (const char *)data, size);
        if (value_parse_next(&reader, &arena, &document, &error) != 0)
                return 0;
        if (value_parse_next(&reader, &arena, &specification, &error) == 0)
                context.specification = specification;

        r = amun_read(document, &context, &arena, &item, &complaint);
        assert(r == 0 || r == INDICATOR_INVALID);
        if (r == 0) {
                check_taken(&item);
                return 0;
        }
        assert(complaint.text[0]);
        assert(utf8_is_valid(complaint.text, strlen(complaint.text)) &&
               utf8_is_valid(complaint.path, strlen(complaint.path)));
        return 0;
}
