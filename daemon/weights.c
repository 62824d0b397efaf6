/* SPDX-License-Identifier: Apache-2.0 */
#include "weights.h"

#include <string.h>

#include "user_database.h"
#include "util/parse.h"

static int add_users(SharesWeights *weights, const uint32_t *uids, size_t n, uint32_t weight) {
        if (n > SHARES_WEIGHTS_MAX - weights->n)
                return WEIGHTS_INVALID;
        for (size_t i = 0; i < n; i++)
                weights->items[weights->n++] = (SharesWeight){ .uid = uids[i], .weight = weight };
        return 0;
}

/* Parses an entry such as "ci=4". */
static int add_entry(SharesWeights *weights, char *entry) {
        char *equals = strchr(entry, '=');
        uint32_t uids[SHARES_WEIGHTS_MAX];
        uint64_t weight;
        size_t n = 1;
        int r;

        if (!equals || parse_u64(equals + 1, &weight) != 0 || weight < 1 || weight > WEIGHT_MAX)
                return WEIGHTS_INVALID;

        *equals = '\0';
        if (*entry == '@')
                r = user_database_list_members(entry + 1, uids, N_ELEMENTS(uids), &n);
        else
                r = user_database_find_user(entry, &uids[0]);
        return r == 0 ? add_users(weights, uids, n, (uint32_t)weight) : WEIGHTS_INVALID;
}

int weights_parse(const char *text, SharesWeights *ret) {
        scoped(freep) char *copy = strdup(text);
        SharesWeights weights = {};
        char *rest = copy;

        if (!copy)
                return WEIGHTS_INVALID;
        for (char *entry; (entry = strsep(&rest, " \t"));)
                if (*entry && add_entry(&weights, entry) != 0)
                        return WEIGHTS_INVALID;

        *ret = weights;
        return 0;
}
