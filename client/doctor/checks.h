/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks: find what perfd cannot measure on this machine, and how to enable it
 *
 * A check in checks.c is a function that reads files below a root directory, which may be a captured tree instead of
 * the machine, and never blocks. Checks that need the running system or perfd are in checks_live.c; they evaluate
 * answers that the caller has already requested from perfd.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value/value.h"

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
        /* The finding; contains text from files and from perfd, which must be escaped for a terminal. */
        char detail[CHECK_TEXT_MAX];
        char effect[CHECK_TEXT_MAX];  /* what does not work; "" if ok */
        char fix[CHECK_TEXT_MAX];     /* what to do; "" if ok */
} Check;

#define CHECKS_MAX 32U

typedef struct Checks {
        Check items[CHECKS_MAX];
        size_t n;
} Checks;

/*
 * Appends a check in state ok and returns it; the pointer is valid until the next call. The last of CHECKS_MAX checks
 * is overwritten.
 */
Check *checks_add(Checks *checks, const char *name);
/* Sets the finding. Each text is truncated to fit. */
void check_detail(Check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets the state, the effect, and the fix as a format. */
void check_problem(Check *check, CheckState state, const char *effect, const char *fix, ...)
        __attribute__((format(printf, 4, 5)));

/* Returns the worst state of all checks; CHECK_OK if there are none. */
CheckState checks_worst(const Checks *checks);
size_t checks_count(const Checks *checks, CheckState state);

/*
 * Adds all checks of files below root_fd. A check is omitted if its subject, such as systemd, is missing from the
 * tree.
 */
void checks_add_tree(Checks *checks, int root_fd);

/* --- live checks: sockets, answers of perfd, the clock, the spool ---------------------------------- */

/* Checks that a socket exists and this user may connect. */
void checks_live_add_socket(Checks *checks, const char *name, const char *path);
/* Checks that the clock used for timestamps is synchronised. */
void checks_live_add_clock(Checks *checks);
/* directory: NULL if this user has no home directory. */
void checks_live_add_spool(Checks *checks, const char *directory);

/* node: answer to /api/v1/node; metrics: NUL-terminated text of /metrics, including perfd's own metrics. */
void checks_live_add_node(Checks *checks, const Value *node, const char *metrics, uint64_t now_ms);

/* answer: of /api/v1/quota. */
void checks_live_add_quota(Checks *checks, const Value *answer, uint64_t now_ms);

/* answer: of /api/v1/models. */
void checks_live_add_models(Checks *checks, const Value *answer);

/* Finds the value of a metric without labels in a text exposition. Returns false if it is missing. */
bool checks_live_find_metric(const char *metrics, const char *name, double *ret);
