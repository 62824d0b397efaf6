/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/component_note.h"

#include "client/cli/message.h"

void component_note(const Indicator *indicator, bool *is_noted) {
        if (*is_noted || !indicator->component || indicator_component_is_folded(indicator->component))
                return;

        *is_noted = true;
        message_print("component '%s' is compared without regard to case", indicator->component);
}
