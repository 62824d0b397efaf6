/* SPDX-License-Identifier: Apache-2.0 */
#include "http/forwarded.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "util/scoped.h"

#define NAME_MAX_BYTES 256U
#define ENTRY_BYTES_MAX (1024U * 1024U)

bool forwarded_is_valid(const char *name) {
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";
        size_t n = name ? strlen(name) : 0;

        return n > 0 && n <= NAME_MAX_BYTES && name[0] != '-' && strspn(name, letters) == n &&
               strspn(name, "0123456789") < n;
}

int forwarded_find(const char *name, uint32_t *ret) {
        struct passwd entry, *found = NULL;
        int r = ERANGE;

        for (size_t n = 1024; r == ERANGE && n <= ENTRY_BYTES_MAX; n *= 2) {
                scoped(freep) char *bytes = malloc(n);

                r = bytes ? getpwnam_r(name, &entry, bytes, n, &found) : ENOMEM;
        }
        if (r != 0 || !found)
                return FORWARDED_UNKNOWN;
        *ret = entry.pw_uid;
        return 0;
}
