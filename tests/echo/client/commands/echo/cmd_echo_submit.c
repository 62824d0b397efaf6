/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/cli/message.h"
#include "client/commands/commands.h"
#include "client/wire/protocol_echo.h"
#include "client/wire/wire.h"
#include "util/clock.h"
#include "util/error_text.h"

static int echo_submit_run(const CommandLine *line) {
        uint64_t deadline_ns = clock_boottime_ns() + 10 * NS_PER_S;
        scoped(buffer_deinit) Buffer frame = {};
        scoped(wire_deinit) Wire wire;
        uint64_t sequence;
        Reply reply;
        int r;

        wire_init(&wire);
        r = wire_connect(&wire, wire_path(line->global.socket), deadline_ns);
        if (r == 0) {
                sequence = wire_next_sequence(&wire);
                r = protocol_echo_encode(sequence, line->arguments[0], &frame);
                if (r == 0)
                        r = wire_exchange(&wire, &frame, sequence, deadline_ns, &reply);
        }
        if (r < 0) {
                message_print("%s", error_text(-r));
                return EXIT_UNREACHABLE;
        }
        if (reply.status != STATUS_OK) {
                message_print("%s: %s", request_status_name(reply.status), reply.complaint.text);
                return EXIT_FAILED;
        }
        return EXIT_DONE;
}

const Command cmd_echo_submit = {
        .name = "echo submit",
        .arguments = "TEXT",
        .summary = "Store a text",
        .examples = { "perfctl echo submit hello" },
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = echo_submit_run,
};
