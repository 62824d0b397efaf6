/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/node/user_id.h"

#include <pwd.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "util/parse.h"

int user_id_find(const char *text, uint64_t *ret) {
        const struct passwd *entry;

        *ret = getuid();
        if (!text || (parse_u64(text, ret) == 0 && *ret < UINT32_MAX))
                return 0;

        entry = getpwnam(text);
        if (!entry) {
                message_print("no such user: %s; of a user who was removed, give the number", text);
                return EXIT_USAGE;
        }
        *ret = entry->pw_uid;
        return 0;
}
