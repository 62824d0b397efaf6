/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Setting: one row of the table in config.c, with the syntax of its value
 *
 * The value is a field of a struct, which the functions get as `fields`: its offset, size and type are in the row.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum SettingType {
        SETTING_DURATION, SETTING_INTERVAL, /* an interval may also be 0, for none */
        SETTING_SIZE,
        SETTING_COUNT,
        SETTING_BOOL,
        SETTING_MODE,
        SETTING_PATH,   /* absolute */
        SETTING_LISTEN, /* ADDRESS:PORT or off */
        SETTING_PATTERNS, /* cgroup patterns, separated by blanks */
        SETTING_PATTERNS_EXCLUSIVE, /* the same: each directory next to a job is a job, or is named "system" */
        SETTING_GROUP,  /* group name or number, or empty */
        SETTING_HOSTS,  /* host names, separated by blanks */
        SETTING_LABEL,  /* key of a label of jobs, or empty */
        SETTING_CHOICE, /* one of the words in `expected`, "A, B or C"; stored as an index */
        SETTING_WEIGHTS, /* of users and groups: SharesWeights */
        SETTING_USERS,   /* users and groups: SharesWeights, each with 1 */
} SettingType;

typedef struct Setting {
        const char *section, *key;
        SettingType type;
        size_t offset, size;
        const char *initial;
        uint64_t min, max;    /* limits in ns, bytes, or the number itself */
        const char *expected; /* follows "expected " in error messages */
        bool needs_restart;
} Setting;

/* Parses a value into its field. Returns 0, or SETTING_INVALID with the field unchanged. */
enum {
        SETTING_INVALID = 1,
};
struct UserLookup;
/* lookup: of user and group names, or NULL. */
int setting_set(const Setting *setting, void *fields, const char *text, struct UserLookup *lookup);

/* Describes the error of an invalid value. */
void setting_complain(const Setting *setting, const char *text, char *ret, size_t n_max);

/* Returns true for a setting of [patterns]. */
bool setting_is_patterns(const Setting *setting);
/* Returns true if the setting has the same value in both. */
bool setting_is_same(const Setting *setting, const void *fields, const void *others);
/* Copies the value. */
void setting_copy(const Setting *setting, const void *from, void *fields);
