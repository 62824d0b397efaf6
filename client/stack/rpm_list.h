/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * RPM list: the packages of an RPM database
 *
 * The database has three forms, of which the program rpm of the system reads its own: the list is the output of `rpm -qa`.
 */

#include "client/stack/stack_builder.h"

enum {
        RPM_LIST_FAILED = 1, /* an error was printed */
};

/* Adds the packages of the database in a directory, given by its absolute path. 0, RPM_LIST_FAILED or a negative errno. */
int rpm_list_read(const char *directory, StackBuilder *stack);
