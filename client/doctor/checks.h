/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks: what perfd cannot measure on this machine, and how to enable it
 *
 * Checks of files: a check is a function that reads files below a root directory, which may be a captured
 * tree instead of the machine, and never blocks. Checks that need the running machine or perfd itself are in
 * checks_live.c; what perfd said of itself is judged apart from asking it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/value.h"

typedef enum CheckState {
        CHECK_OK,
        CHECK_LIMITED, /* works with reduced function */
        CHECK_FAILED, /* does not work */
        N_CHECK_STATES,
} CheckState;

/* "ok", "limited", "failed" */
const char *check_state_name(CheckState state);

#define CHECK_TEXT_MAX 512U

typedef struct Check {
        const char *name; /* static */
        CheckState state;
        /* Text of the finding; contains text of files and of perfd, which must be escaped for a terminal. */
        char detail[CHECK_TEXT_MAX];
        char effect[CHECK_TEXT_MAX];  /* function that does not work; "" when ok */
        char fix[CHECK_TEXT_MAX];     /* action to take; "" when ok */
} Check;

#define CHECKS_MAX 32U

typedef struct Checks {
        Check items[CHECKS_MAX];
        size_t n;
} Checks;

/* Appends a check in state ok and returns it, valid until the next call. At most CHECKS_MAX checks. */
Check *checks_add(Checks *checks, const char *name);
/* Sets the text of the finding. Each text is cut to fit. */
void check_detail(Check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* effect: what does not work. fix: format of what to do. */
void check_blame(Check *check, CheckState state, const char *effect, const char *fix, ...) __attribute__((format(printf, 4, 5)));

/* Returns the worst state of all checks; CHECK_OK without checks. */
CheckState checks_worst(const Checks *checks);
size_t checks_count(const Checks *checks, CheckState state);

/* Adds all checks of files below root_fd. A check whose subject a tree does not have, such as systemd, is left out. */
void checks_add_tree(Checks *checks, int root_fd);

/* --- what runs now: sockets, answers of perfd, the clock, the spool -------------------------------- */

/* A socket that is to be connected to: whether it is there, and this user may. `unit` is what makes it. */
void checks_live_add_socket(Checks *checks, const char *name, const char *path);
/* Whether the clock that labels samples is synchronised. */
void checks_live_add_clock(Checks *checks);
/* directory: NULL when this user has none. */
void checks_live_add_spool(Checks *checks, const char *directory);

/* node: the answer to /api/v1/node; metrics: of /metrics, NUL-terminated, with perfd's own. */
void checks_live_add_node(Checks *checks, const Value *node, const char *metrics, uint64_t now_ms);

/* answer: to /api/v1/quota. */
void checks_live_add_quota(Checks *checks, const Value *answer, uint64_t now_ms);

/* answer: to /api/v1/models. */
void checks_live_add_models(Checks *checks, const Value *answer);

/* The value of a metric without labels in a text exposition. False: it is not there. */
bool checks_live_find_metric(const char *metrics, const char *name, double *ret);
