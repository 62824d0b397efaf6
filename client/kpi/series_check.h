/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Series check: judges a series of numbers from a file, without perfd
 *
 * One number a line; CSV with a header or without, whose rows may have a time; or JSON: a list of numbers, a list of
 * objects {"time": …, "value": …}, or an object with one list of numbers. Missing values (an empty field, null, NaN)
 * are left out.
 */

#include "analysis/judge.h"
#include "client/cli/command.h"

typedef struct SeriesCheck {
        const char *file, *column; /* column NULL: the only one */
        JudgeSettings settings;
        bool is_compat, is_json, no_color;
} SeriesCheck;

/* Prints the change points and the verdict. Returns EXIT_DONE, or an exit status after a message. */
int series_check(const SeriesCheck *check, JudgeVerdict *ret);
