/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/delivery_failure.h"

#include <assert.h>

#include "client/cli/command.h"
#include "client/cli/message.h"

int delivery_failure_status(const Delivery *delivery, int outcome) {
        assert(outcome != 0);
        return outcome > 0 && delivery->error < 0 ? EXIT_UNREACHABLE : EXIT_FAILED;
}

int delivery_failure_print(const Delivery *delivery, const Courier *courier, int outcome) {
        char reason[DELIVERY_TEXT_MAX];

        if (outcome < 0)
                return command_fail(outcome);
        delivery_explain(delivery, courier, reason);
        message_print("%s", reason);
        return delivery_failure_status(delivery, outcome);
}
