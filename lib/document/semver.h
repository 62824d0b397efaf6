/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Semantic versions: "2.13.0-rc1+2024-09-02"
 *
 * The form and the order are those of Semantic Versioning 2.0.0, sections 9 to 11: 2.9.0 comes before 2.10.0,
 * 2.10.0-rc1 before 2.10.0, and build metadata (+…) do not count.
 */

#include <stdbool.h>

/* True for MAJOR.MINOR.PATCH with an optional prerelease and optional build metadata; 2.13 is none. */
bool semver_is_valid(const char *text);
/* Orders two valid versions: -1, 0 or 1. */
int semver_compare(const char *a, const char *b);
