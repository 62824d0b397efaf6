/* SPDX-License-Identifier: Apache-2.0 */
#include "setting.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "document/indicator.h"
#include "ingest/ingest.h"
#include "sample/detection/pattern.h"
#include "shares/shares.h"
#include "user_database.h"
#include "util/parse.h"
#include "util/scan.h"

#define ADDRESS_MAX 256
#define WEIGHT_MAX 1000U

bool setting_is_patterns(const Setting *setting) {
        return setting->type == SETTING_PATTERNS || setting->type == SETTING_PATTERNS_EXCLUSIVE;
}

static int parse_mode(const char *text, uint64_t *ret) {
        uint64_t v = 0;

        if (*text == '\0' || strspn(text, "01234567") != strlen(text) || strlen(text) > 4)
                return PARSE_MALFORMED;
        for (; *text; text++)
                v = v * 8 + (uint64_t)(*text - '0');

        *ret = v;
        return 0;
}

/* 0 if an unknown name is only noted. */
static int note_unknown(const Setting *setting, const char *name, UserLookup *lookup) {
        size_t n;

        if (!lookup || !lookup->is_lenient)
                return SETTING_INVALID;

        n = strlen(lookup->unknown);
        (void)snprintf(lookup->unknown + n, sizeof(lookup->unknown) - n, "%s%s.%s: %s", n > 0 ? ", " : "",
                       setting->section, setting->key, name);
        return 0;
}

static int parse_group(const Setting *setting, const char *text, UserLookup *lookup, uint64_t *ret) {
        uint32_t gid = INGEST_NO_ADMIN_GID;

        if (*text && user_database_find_group(lookup, text, &gid) != 0 && note_unknown(setting, text, lookup) != 0)
                return SETTING_INVALID;
        *ret = gid;
        return 0;
}

/* Checks the syntax only: whether the address exists is known when it is bound. */
static bool listen_is_valid(const char *text) {
        const char *colon = strrchr(text, ':');
        char address[ADDRESS_MAX];
        struct in6_addr in6;
        struct in_addr in;
        uint64_t port;
        size_t n;

        if (strcmp(text, "off") == 0)
                return true;
        if (!colon || parse_u64(colon + 1, &port) != 0 || port > 65535)
                return false;

        n = (size_t)(colon - text);
        if (n >= sizeof(address))
                return false;
        memcpy(address, text, n);
        address[n] = '\0';
        if (n > 2 && address[0] == '[' && address[n - 1] == ']') {
                address[n - 1] = '\0';
                return inet_pton(AF_INET6, address + 1, &in6) == 1;
        }

        return inet_pton(AF_INET, address, &in) == 1;
}

/* Characters of host names, and the blank between names. */
static const char host_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._ \t";

static int parse_text(const Setting *setting, const char *text, char *ret) {
        char error[PATTERN_ERROR_MAX];
        size_t n = strlen(text);

        if (n >= setting->size)
                return SETTING_INVALID;
        if (setting->type == SETTING_LISTEN && !listen_is_valid(text))
                return SETTING_INVALID;
        if (setting->type == SETTING_HOSTS && text[strspn(text, host_letters)])
                return SETTING_INVALID;
        if (setting->type == SETTING_LABEL && n > 0 && !indicator_name_is_valid(text, n))
                return SETTING_INVALID;
        if (setting_is_patterns(setting) && pattern_check(text, error) != 0)
                return SETTING_INVALID;
        if (setting->type == SETTING_PATH && (n < setting->min || n > setting->max || (n > 0 && text[0] != '/')))
                return SETTING_INVALID;

        memcpy(ret, text, n + 1);
        return 0;
}

static int parse_choice(const char *words, const char *text, uint64_t *ret) {
        size_t n_text = strlen(text), i = 0;

        for (const char *word = words, *next; word; word = next, i++) {
                size_t n = strcspn(word, ", ");

                if (n == n_text && memcmp(word, text, n) == 0) {
                        *ret = i;
                        return 0;
                }
                next = strncmp(word + n, " or ", 4) == 0 ? word + n + 4 : word[n] ? word + n + 2 : NULL;
        }
        return PARSE_MALFORMED;
}

static int parse_number(const Setting *setting, const char *text, UserLookup *lookup, uint64_t *ret) {
        uint64_t v = 0;
        bool b = false;
        int r = -EINVAL;

        switch (setting->type) {
        case SETTING_DURATION:
        case SETTING_INTERVAL:
                r = parse_duration_ns(text, &v);
                break;
        case SETTING_SIZE:
                r = parse_size(text, &v);
                break;
        case SETTING_BOOL:
                r = parse_bool(text, &b);
                v = b;
                break;
        case SETTING_MODE:
                r = parse_mode(text, &v);
                break;
        case SETTING_GROUP:
                r = parse_group(setting, text, lookup, &v);
                break;
        case SETTING_CHOICE:
                r = parse_choice(setting->expected, text, &v);
                break;
        case SETTING_COUNT:
                r = parse_u64(text, &v);
                break;
        case SETTING_PATH:
        case SETTING_LISTEN:
        case SETTING_PATTERNS:
        case SETTING_PATTERNS_EXCLUSIVE:
        case SETTING_HOSTS:
        case SETTING_LABEL:
        case SETTING_WEIGHTS:
        case SETTING_USERS:
                break; /* no numbers */
        }
        assert(r >= 0);
        if (r != 0 || v > setting->max || (v < setting->min && (v > 0 || setting->type != SETTING_INTERVAL)))
                return SETTING_INVALID;

        *ret = v;
        return 0;
}

static bool is_text(const Setting *setting) {
        return setting->type == SETTING_PATH || setting->type == SETTING_LISTEN || setting->type == SETTING_HOSTS ||
               setting->type == SETTING_LABEL ||
               setting_is_patterns(setting);
}

/* The field is a bool, an unsigned, an enum, a uint64_t or a size_t. */
static void store_number(const Setting *setting, uint64_t v, void *field) {
        if (setting->size == sizeof(bool))
                *(bool *)field = v != 0;
        else if (setting->size == sizeof(uint32_t))
                *(uint32_t *)field = (uint32_t)v;
        else
                *(uint64_t *)field = v;
}

static int add_users(SharesWeights *weights, const uint32_t *uids, size_t n, uint32_t weight) {
        if (n > SHARES_WEIGHTS_MAX - weights->n)
                return SETTING_INVALID;
        for (size_t i = 0; i < n; i++)
                weights->items[weights->n++] = (SharesWeight){ .uid = uids[i], .weight = weight };
        return 0;
}

/* Parses an entry such as "ci=4". */
static int add_entry(const Setting *setting, char *entry, UserLookup *lookup, SharesWeights *weights) {
        bool has_weight = setting->type == SETTING_WEIGHTS;
        char *equals = has_weight ? strchr(entry, '=') : NULL;
        uint32_t uids[SHARES_WEIGHTS_MAX];
        uint64_t weight = 1;
        size_t n = 1;
        int r;

        if (has_weight && (!equals || parse_u64(equals + 1, &weight) != 0 || weight < 1 || weight > WEIGHT_MAX))
                return SETTING_INVALID;

        if (equals)
                *equals = '\0';
        if (*entry == '@')
                r = user_database_list_members(lookup, entry + 1, uids, N_ELEMENTS(uids), &n);
        else
                r = user_database_find_user(lookup, entry, &uids[0]);
        return r == 0 ? add_users(weights, uids, n, (uint32_t)weight) : note_unknown(setting, entry, lookup);
}

/*
 * In "ci=4 @hpc=2 1000=10", or a list of users without weights, each entry gives a user, or each member of a group, a
 * multiple of the default share. The first entry that names a user applies. An entry is invalid if it names an unknown
 * user or group, or there are too many users.
 */
static int parse_weights(const Setting *setting, const char *text, UserLookup *lookup, SharesWeights *ret) {
        scoped(freep) char *copy = strdup(text);
        SharesWeights weights = {};
        char *rest = copy;

        if (!copy)
                return SETTING_INVALID;
        for (char *entry; (entry = strsep(&rest, " \t"));)
                if (*entry && add_entry(setting, entry, lookup, &weights) != 0)
                        return SETTING_INVALID;

        *ret = weights;
        return 0;
}

int setting_set(const Setting *setting, void *fields, const char *text, UserLookup *lookup) {
        void *field = (char *)fields + setting->offset;
        uint64_t v;

        if (is_text(setting))
                return parse_text(setting, text, field);
        if (setting->type == SETTING_WEIGHTS || setting->type == SETTING_USERS)
                return parse_weights(setting, text, lookup, field);

        assert(setting->size == sizeof(uint64_t) || (setting->size == sizeof(uint32_t) && setting->max <= UINT32_MAX) ||
               (setting->size == sizeof(bool) && setting->max == 1));
        if (parse_number(setting, text, lookup, &v) != 0)
                return SETTING_INVALID;
        store_number(setting, v, field);
        return 0;
}

bool setting_is_same(const Setting *setting, const void *fields, const void *others) {
        const char *one = (const char *)fields + setting->offset, *other = (const char *)others + setting->offset;

        return is_text(setting) ? strcmp(one, other) == 0 : memcmp(one, other, setting->size) == 0;
}

void setting_copy(const Setting *setting, const void *from, void *fields) {
        memcpy((char *)fields + setting->offset, (const char *)from + setting->offset, setting->size);
}

/* --- error messages ------------------------------------------------------------------------------ */

/* Returns false if the unit is not the error. */
static bool complain_unit(const Setting *setting, const char *text, char *ret, size_t n_max) {
        const char *unit = scan_blanks(text + strspn(text, "0123456789."));
        bool is_size = setting->type == SETTING_SIZE;
        uint64_t v;

        if ((!is_size && setting->type != SETTING_DURATION && setting->type != SETTING_INTERVAL) || unit == text ||
            !*unit || (is_size ? parse_size(text, &v) : parse_duration_ns(text, &v)) != PARSE_MALFORMED)
                return false;
        (void)snprintf(ret, n_max, "[%s] %s = %.100s: '%.50s' is not a unit: expected %s, in %s", setting->section,
                       setting->key, text, unit, setting->expected,
                       is_size ? "K, M, G or T (powers of 1024)" : "ms, s, min, h or d");
        return true;
}

/* Returns false if the patterns have no error. */
static bool complain_patterns(const Setting *setting, const char *text, char *ret, size_t n_max) {
        char error[PATTERN_ERROR_MAX];

        if (!setting_is_patterns(setting) || pattern_check(text, error) == 0)
                return false;
        (void)snprintf(ret, n_max, "[%s] %s = %.100s: %s", setting->section, setting->key, text, error);
        return true;
}

void setting_complain(const Setting *setting, const char *text, char *ret, size_t n_max) {
        if (!complain_patterns(setting, text, ret, n_max) && !complain_unit(setting, text, ret, n_max))
                (void)snprintf(ret, n_max, "[%s] %s = %.100s: expected %s", setting->section, setting->key, text,
                               setting->expected);
}
