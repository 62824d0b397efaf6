/* SPDX-License-Identifier: Apache-2.0 */
#include "base/user_counts.h"

#include <assert.h>

#include "util/hash.h"
#include "util/scoped.h"

/* Returns the place of a user, or the free place for it. */
static uint32_t find(const UserCounts *counts, uint32_t uid) {
        uint32_t i = (uint32_t)(hash_bytes(HASH_BEGIN, &uid, sizeof(uid)) % N_ELEMENTS(counts->items));

        while (counts->items[i].n > 0 && counts->items[i].uid != uid)
                i = (i + 1) % N_ELEMENTS(counts->items);
        return i;
}

void user_counts_add(UserCounts *counts, uint32_t uid, uint32_t n) {
        UserCount *count = &counts->items[find(counts, uid)];

        counts->n_users += count->n == 0 && n > 0;
        assert(counts->n_users <= USER_COUNTS_MAX);
        *count = (UserCount){ uid, count->n + n };
        if (count->n > counts->n_most)
                counts->n_most = count->n;
}

uint32_t user_counts_get(const UserCounts *counts, uint32_t uid) {
        return counts->items[find(counts, uid)].n;
}

static const void *at_item(const void *member, size_t i, size_t n_bytes) {
        return (const char *)member + i * n_bytes;
}

size_t user_counts_choose_victim(const uint32_t *uids, const uint64_t *uses, size_t n_bytes, size_t n, uint32_t uid) {
        UserCounts counts = {};
        uint64_t least_use = 0;
        size_t victim = n;

        user_counts_add(&counts, uid, 1);
        for (size_t i = 0; i < n; i++)
                user_counts_add(&counts, *(const uint32_t *)at_item(uids, i, n_bytes), 1);
        for (size_t i = 0; i < n; i++) {
                uint64_t use = *(const uint64_t *)at_item(uses, i, n_bytes);

                if (user_counts_get(&counts, *(const uint32_t *)at_item(uids, i, n_bytes)) == counts.n_most &&
                    (victim == n || use < least_use)) {
                        victim = i;
                        least_use = use;
                }
        }
        return victim;
}
