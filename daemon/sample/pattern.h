/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pattern: which paths of cgroups are jobs
 *
 *   /system.slice/{node}slurmstepd.scope/job_{job}
 *
 * A pattern is a path. In a name, `*` stands for any text, also none; a name `**` stands for any number of names, also
 * none. What stands in braces is taken out of the path:
 *
 *   {job}    the job's id. What an id may not have becomes _
 *   {sluid}  the job's id, and Slurm's SLUID: s and 13 characters of Crockford's base 32
 *   {uid}    whose job it is, in digits
 *   {node}   which of several daemons of a scheduler on this machine it belongs to; also nothing. A _ at either end is left out
 *
 * One of {job} and {sluid} is in every pattern, and nothing twice. `*` and {…} take as little as they can, and have text between
 * them in a name. The group that a pattern leads to is the job's, with all groups below it.
 *
 * A tree is walked with one set of states for each directory, so that a walk costs the same whatever the pattern.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/job.h"

#define PATTERN_TEXT_MAX 256      /* with NUL */
#define PATTERN_COMPONENTS_MAX 24 /* names in a pattern */
#define PATTERN_ELEMENTS_MAX 64   /* pieces of text, * and {…} in all of them */
#define PATTERN_NAME_ELEMENTS_MAX 15 /* in one */
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

/* Plain: copying a Pattern copies everything. */
typedef struct Pattern {
        char text[PATTERN_TEXT_MAX];
        struct {
                PatternKind kind;
                uint16_t at, n; /* of a PATTERN_TEXT, in text */
        } elements[PATTERN_ELEMENTS_MAX];
        struct {
                uint8_t first, n; /* elements */
                bool is_any_number; /* ** */
        } components[PATTERN_COMPONENTS_MAX];
        size_t n_components, n_elements;
} Pattern;

/* All positive: outcomes, see conventions. */
enum {
        PATTERN_INVALID = 1, /* with what is wrong and where: "character 8: …" */
        PATTERN_END,         /* no more patterns in the text */
        PATTERN_NO_MATCH,
};

/* Reads the pattern at *text, which moves past it; several are separated by blanks. 0, PATTERN_INVALID, or PATTERN_END. Characters are
 * counted from 1 at `begin`, where the whole text begins. */
int pattern_next(const char *begin, const char **text, Pattern *ret, char ret_error[static PATTERN_ERROR_MAX]);
/* All of the patterns in a text, "" included. 0 or PATTERN_INVALID. */
int pattern_check(const char *text, char ret_error[static PATTERN_ERROR_MAX]);

/* How far a path is matched, in all ways at once: bit i, the first i names of the pattern. */
typedef uint32_t PatternStates;

/* Returns the states of the root directory. */
PatternStates pattern_begin(const Pattern *pattern);
/* Returns the states of the directory `name` in a directory with `states`; 0: neither the directory nor anything below can match. */
PatternStates pattern_step(const Pattern *pattern, PatternStates states, const char *name);
/* Whether it is a job; whether something in it may be one. */
bool pattern_is_match(const Pattern *pattern, PatternStates states);
bool pattern_expects_job(const Pattern *pattern, PatternStates states);

typedef struct PatternMatch {
        char job[JOB_ID_MAX];
        char node[JOB_ID_MAX]; /* "" when there is none */
        bool is_sluid;
        bool has_uid;
        uint32_t uid;
        size_t n_path; /* of the path, up to the job's own group */
} PatternMatch;

/* Matches a path as the kernel writes it ("/a/b"): the job's own group or a group below. 0, or PATTERN_NO_MATCH, also when what
 * should be taken from it is too long. */
int pattern_match(const Pattern *pattern, const char *path, PatternMatch *ret);
