/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * User names: the names of users, by the uid that the kernel reports
 *
 * The users of this machine are read once, at the start. A thread asks the directory service for others, which may
 * take long, and looks up each name again after a while. All functions are called by one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USER_NAME_MAX 65    /* bytes, with the NUL */
#define USER_NAMES_MAX 1024U /* names kept; a further one replaces the oldest */

typedef struct UserName {
        uint32_t uid;
        char text[USER_NAME_MAX]; /* "": the user has none */
        uint64_t until_ns;        /* looked up again then */
} UserName;

typedef struct UserNames {
        UserName items[USER_NAMES_MAX];
        size_t n;                   /* put so far */
        struct UserQuestion *asked; /* to the directory service; NULL: none */
        bool is_elsewhere;          /* the users are those of another root: no service knows them */
} UserNames;

/* Reads etc/passwd of the root if there is one, else of this machine. */
void user_names_init(UserNames *names, const char *root);
void user_names_deinit(UserNames *names);

/* Copies the name of a user, or the number if the user has none. False: the number for now, ask again later. */
bool user_names_find(UserNames *names, uint32_t uid, char ret[static USER_NAME_MAX]);
