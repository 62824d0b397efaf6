/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/hello.h"

#include "client/wire/wire.h"

int hello_ask(const char *path, uint64_t deadline_ns, Reply *ret) {
        scoped(wire_deinit) Wire wire;
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence;
        int r;

        wire_init(&wire);
        sequence = wire_next_sequence(&wire);
        r = codec_encode_hello(sequence, "perfctl " PERFD_VERSION, &frame);
        if (r < 0)
                return r;

        r = wire_connect(&wire, path, deadline_ns);
        return r < 0 ? r : wire_exchange(&wire, &frame, sequence, deadline_ns, ret);
}
