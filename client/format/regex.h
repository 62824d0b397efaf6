/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Regex: regular expressions of Perl's form, with named groups
 *
 * PCRE2 (libpcre2-8.so.0) is loaded when the first expression is compiled. ^ and $ match at each line. The steps of
 * a match have a limit, so that no expression runs for ever.
 */

#include <stddef.h>

#define REGEX_ERROR_MAX 300
#define REGEX_GROUPS_MAX 64U /* named groups of an expression */

typedef struct Regex Regex;

typedef struct RegexGroup {
        const char *name; /* borrowed from the expression */
        size_t begin, end; /* in the text; equal to SIZE_MAX: the group is not part of the match */
} RegexGroup;

typedef struct RegexMatch {
        size_t begin, end;
        RegexGroup groups[REGEX_GROUPS_MAX];
        size_t n_groups;
} RegexMatch;

enum {
        REGEX_WRONG = 1, /* ret_error has the reason */
        REGEX_NONE,      /* no match */
};

/* Compiles a pattern. 0, REGEX_WRONG (also if the library is absent) or -ENOMEM. */
int regex_new(Regex **ret, const char *pattern, char ret_error[static REGEX_ERROR_MAX]);
void regex_free(Regex *regex);

/* Finds the first match in the text, which is UTF-8, from a place on. 0, REGEX_WRONG if the limit is reached, or
 * REGEX_NONE. */
int regex_find(const Regex *regex, const char *text, size_t n, size_t from, RegexMatch *ret,
               char ret_error[static REGEX_ERROR_MAX]);
