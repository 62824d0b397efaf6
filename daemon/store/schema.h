/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schema: the tables of a file, and migrations of older files
 *
 * A new file gets the tables of all subjects (store_subject.h). Its PRAGMA user_version is the version of the schema: 1, and
 * one more for each migration so far. An older file is migrated in place, in one transaction; a newer file is not changed.
 */

#include <stdbool.h>

#include "store/database/database.h"

/* PRAGMA application_id of perfd's files, "prfd", by which file(1) and perfd recognize them. */
#define SCHEMA_APPLICATION_ID 0x70726664

/* SQL that changes a file of version 1 to version 2, and so on. A migration is never changed after its release. */
typedef struct Migrations {
        const char *const *sql;
        int n;
} Migrations;

/* Identifies an open file, sets the connection up, creates or migrates the tables, and checks them. *ret_version: version of
 * the file as found; a file of a version above schema_version() is only identified. */
int schema_setup(Database *database, bool is_volatile, const Migrations *migrations, int64_t *ret_version);
/* Writes a page without a change, to check whether writing works. Call inside a transaction. */
int schema_touch(Database *database);
/* Returns the version after all migrations. */
int schema_version(const Migrations *migrations);
