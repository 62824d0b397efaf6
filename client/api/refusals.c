/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/refusals.h"

#include <inttypes.h>

#include "client/api/answer.h"
#include "client/wire/user.h"

#define RECENT_MS (10U * 60U * 1000U)

bool refusals_is_recent(const Value *resource, uint64_t now_ms) {
        uint64_t last_ms = answer_time(resource, "refused_last_ms");

        return last_ms > 0 && last_ms + RECENT_MS > now_ms;
}

const Value *refusals_next_user(const Value *users, uint64_t now_ms, size_t *i) {
        while (*i < answer_length(users)) {
                const Value *user = &users->items[(*i)++], *resources = value_get(user, "resources");

                for (size_t k = 0; k < answer_length(resources); k++)
                        if (refusals_is_recent(&resources->items[k], now_ms))
                                return user;
        }
        return NULL;
}

void refusals_put_name(const Value *user, Buffer *out) {
        char name[65] = "";
        int64_t uid;

        if (value_get_int(user, "uid", &uid))
                user_name_find((uid_t)uid, name, sizeof(name));
        buffer_puts(out, *name ? name : answer_text(user, "user"));
}

void refusals_put_user(const Value *user, uint64_t now_ms, Buffer *out) {
        const Value *resources = value_get(user, "resources");
        const char *separator = ": ";

        refusals_put_name(user, out);
        for (size_t i = 0; i < answer_length(resources); i++) {
                const Value *resource = &resources->items[i];
                char first[TEXT_MAX], last[TEXT_MAX];

                if (!refusals_is_recent(resource, now_ms))
                        continue;
                text_time(answer_time(resource, "refused_first_ms"), first);
                text_time(answer_time(resource, "refused_last_ms"), last);
                buffer_printf(out, "%s%s (%" PRIu64 " refused since %s, last %s)", separator,
                              answer_text(resource, "name"), answer_time(resource, "refused"), first, last);
                separator = ", ";
        }
}
