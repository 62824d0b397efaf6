/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schema: the tables, and how an older file comes to have them
 *
 * user_version counts the migrations a file has been through. A file is brought up to
 * date in place, in one transaction; one that is ahead of this program is left alone.
 */

#include <stdbool.h>

#include "store/database.h"

enum {
        SCHEMA_TOO_NEW = 100, /* beside the outcomes of database.h */
};

/* Looks at an open file, sets the connection up, migrates. *ret_version: of the file as it was found. */
int schema_setup(Database *database, bool is_volatile, int64_t *ret_version);
/* Writes a page that changes nothing: whether writing works. Inside a transaction. */
int schema_touch(Database *database);
/* The version this program writes. */
int schema_version(void);
