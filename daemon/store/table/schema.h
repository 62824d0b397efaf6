/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schema: the tables of a file
 *
 * A new file gets the tables of all subjects (store_subject.h), and SCHEMA_VERSION as its PRAGMA user_version. A
 * file of another version is not changed: opening.h moves an older file aside, and refuses a newer one.
 */

#include <stdbool.h>

#include "store/database/database.h"

/* PRAGMA application_id of perfd's files, "prfd", by which file(1) and perfd recognize them. */
#define SCHEMA_APPLICATION_ID 0x70726664

/* Rises by one whenever a change of a table or of stored bytes makes older files unreadable. */
#define SCHEMA_VERSION 7

/* Identifies an open file, sets the connection up, creates the tables of an empty file, and checks them.
 * *ret_version: version of the file; a file of another version than SCHEMA_VERSION is only identified. */
int schema_setup(Database *database, bool is_volatile, int64_t *ret_version);
/* Writes a page without a change, to check whether writing works. Call inside a transaction. */
int schema_touch(Database *database);
