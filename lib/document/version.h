/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Versions in the forms that releases, builds and dates have: "1.0", "v1.2", "2.13-rc1", "2026-11-27", "build 1834"
 *
 * A version is a word, which may be missing, and numbers, each of any number of digits. Numbers are compared from left
 * to right, and missing numbers are 0. A word behind the numbers makes an earlier version (1.0rc1 comes before 1.0)
 * unless it says that something was added (1.0.post1; 1.0-14-g1c2d3e4, as git describe writes). Build metadata (+…) and
 * names of commits do not count: such versions are equal. Semantic Versioning 2.0.0 ("2.13.0-rc1+2024-09-02") has an
 * order of its own.
 */

#include <stdbool.h>

/* True if the text has this form. False for the name of a commit and for words without numbers, which have no order. */
bool version_is_ordered(const char *text);
/*
 * True if something was added to a release: commits (1.0.0-14-g1c2d3e4) or a later word (1.0.0-post1). Semantic
 * Versioning takes it for a prerelease.
 */
bool version_is_extended(const char *text);
/* True if both versions have the same word in front of the numbers; "v" is as no word. */
bool version_is_comparable(const char *a, const char *b);
/* Orders two versions of this form: -1, 0 or 1. */
int version_compare(const char *a, const char *b);

/* True for MAJOR.MINOR.PATCH with an optional prerelease and optional build metadata; 2.13 is none. */
bool version_is_semantic(const char *text);
/* Orders two valid versions: -1, 0 or 1. */
int version_compare_semantic(const char *a, const char *b);
