/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks: what perfd cannot measure on this machine, and how to enable it
 *
 * Here is what files tell: a check is a function that looks below a root directory, so that it reads a
 * captured tree as well as the machine, and finds nothing that it has to wait for. What needs the running
 * machine or perfd itself is in checks_live.h.
 */

#include <stdbool.h>
#include <stddef.h>

typedef enum CheckState {
        CHECK_OK,
        CHECK_LIMITED, /* works, with less in it */
        CHECK_FAILED, /* does not work */
        N_CHECK_STATES,
} CheckState;

/* "ok", "limited", "failed" */
const char *check_state_name(CheckState state);

#define CHECK_TEXT_MAX 512U

typedef struct Check {
        const char *name; /* static */
        CheckState state;
        /* What was found; contains text of files and of perfd, which must be escaped for a terminal. */
        char detail[CHECK_TEXT_MAX];
        char effect[CHECK_TEXT_MAX];  /* what does not work; "" when ok */
        char fix[CHECK_TEXT_MAX];     /* what to do; "" when good */
} Check;

#define CHECKS_MAX 32U

typedef struct Checks {
        Check items[CHECKS_MAX];
        size_t n;
} Checks;

/* Appends a check that is good so far, and returns it until the next. Never more than CHECKS_MAX. */
Check *checks_add(Checks *checks, const char *name);
/* Sets the detail: what was found. Each text is cut to fit. */
void check_detail(Check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_effect(Check *check, CheckState state, const char *missing);
void check_fix(Check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The worst of them; CHECK_OK when there are none. */
CheckState checks_worst(const Checks *checks);
size_t checks_count(const Checks *checks, CheckState state);

/* Adds all checks of files below root_fd. A check whose subject a tree does not have, such as systemd, is left out. */
void checks_add_tree(Checks *checks, int root_fd);
