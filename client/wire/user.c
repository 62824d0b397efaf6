/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/user.h"

#include <pwd.h>
#include <stdio.h>

#include "util/scoped.h"
#include "util/utf8.h"

void user_name_find(uid_t uid, char *ret, size_t n_ret) {
        scoped(fclosep) FILE *file = fopen("/etc/passwd", "re");
        const char *name = uid == geteuid() ? getenv("USER") : NULL;
        struct passwd entry, *found = NULL;
        char text[1024];

        while (file && fgetpwent_r(file, &entry, text, sizeof(text), &found) == 0) {
                if (entry.pw_uid != uid)
                        continue;
                name = entry.pw_name;
                break;
        }

        if (!name || !utf8_is_line(name))
                name = "";
        utf8_copy(ret, n_ret, name);
}

void user_name_or_number(uid_t uid, char *ret, size_t n_ret) {
        user_name_find(uid, ret, n_ret);
        if (!ret[0])
                (void)snprintf(ret, n_ret, "%u", uid);
}
