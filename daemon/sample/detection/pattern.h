/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pattern: describes the cgroup paths of jobs
 *
 *   /system.slice/{node}slurmstepd.scope/job_{job}
 *
 * A pattern is a path. Within a name, `*` matches any text, including none; the name `**` matches any number of
 * names, including none. Captures in braces extract text from the path:
 *
 *   {job}    job id; characters that are invalid in an id become _
 *   {sluid}  job id, a SLUID of Slurm: s and 13 characters of Crockford's base 32
 *   {uid}    uid of the owner, in digits
 *   {node}   one of several scheduler daemons on this machine; may be empty. A _ at either end is removed
 *
 * A pattern contains exactly one of {job} and {sluid}, and each capture at most once. `*` and captures match as
 * little as possible, and must be separated by text within a name. The matching group belongs to the job, with all
 * groups below it.
 *
 * A tree is walked with a set of states for each directory, so that the cost does not depend on the pattern.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/job.h"

#define PATTERN_TEXT_MAX 256      /* including NUL */
#define PATTERN_COMPONENTS_MAX 24 /* maximum number of names in a pattern */
#define PATTERN_ELEMENTS_MAX 64   /* maximum number of texts, * and {…} in all names */
#define PATTERN_NAME_ELEMENTS_MAX 15 /* maximum number in one name */
#define PATTERN_ERROR_MAX 128

typedef enum PatternKind {
        PATTERN_TEXT,
        PATTERN_ANY, /* * */
        PATTERN_JOB,
        PATTERN_SLUID,
        PATTERN_UID,
        PATTERN_NODE,
        N_PATTERN_KINDS,
} PatternKind;

/* Contains no pointers: can be copied by assignment. */
typedef struct Pattern {
        char text[PATTERN_TEXT_MAX];
        struct {
                PatternKind kind;
                uint16_t at, n; /* of a PATTERN_TEXT: position in `text` */
        } elements[PATTERN_ELEMENTS_MAX];
        struct {
                uint8_t first, n; /* range of elements */
                bool is_any_number; /* the component is ** */
        } components[PATTERN_COMPONENTS_MAX];
        size_t n_components, n_elements;
} Pattern;

/* All positive: outcomes, see the conventions on errors. */
enum {
        PATTERN_INVALID = 1, /* ret_error has the position and the error: "character 8: …" */
        PATTERN_END,         /* the text has no more patterns */
        PATTERN_NO_MATCH,
};

/*
 * Parses the pattern at *text, and advances *text; patterns are separated by blanks. Returns 0, PATTERN_INVALID, or
 * PATTERN_END. Error positions are counted from 1 at `begin`, the start of the whole text.
 */
int pattern_next(const char *begin, const char **text, Pattern *ret, char ret_error[static PATTERN_ERROR_MAX]);
/* Validates all patterns in a text, which may be "". Returns 0 or PATTERN_INVALID. */
int pattern_check(const char *text, char ret_error[static PATTERN_ERROR_MAX]);

/* Set of states: bit i means that the first i names of the pattern match the path. */
typedef uint32_t PatternStates;

/* Returns the states of the root directory. */
PatternStates pattern_begin(const Pattern *pattern);
/* Returns the states of the directory `name` in a directory with `states`; 0: neither the directory nor anything
 * below can match. */
PatternStates pattern_step(const Pattern *pattern, PatternStates states, const char *name);
/* Return true if the directory is a job, and if an entry of it may be one. */
bool pattern_is_match(const Pattern *pattern, PatternStates states);
bool pattern_expects_job(const Pattern *pattern, PatternStates states);

typedef struct PatternMatch {
        char job[JOB_ID_MAX];
        char node[JOB_ID_MAX]; /* "" if there is none */
        bool is_sluid;
        bool has_uid;
        uint32_t uid;
        size_t n_path; /* length of the path up to the job's own group */
} PatternMatch;

/*
 * Matches a path as written by the kernel ("/a/b"): the job's own group or a group below. Returns 0, or
 * PATTERN_NO_MATCH, also if a capture is too long.
 */
int pattern_match(const Pattern *pattern, const char *path, PatternMatch *ret);
