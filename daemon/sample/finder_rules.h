/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finder rules: the patterns of all settings, applied to one directory after the other
 */

#include <stdbool.h>
#include <stddef.h>

#include "sample/pattern.h"

#define PATTERNS_TEXT_MAX 256

/* Patterns of each kind of job, separated by blanks; "" is off. */
typedef struct PatternsConfig {
        char slurm[PATTERNS_TEXT_MAX], slurm_sluid[PATTERNS_TEXT_MAX], slurm_v1[PATTERNS_TEXT_MAX];
        char kubernetes[PATTERNS_TEXT_MAX];
        char scope[PATTERNS_TEXT_MAX], service[PATTERNS_TEXT_MAX], other[PATTERNS_TEXT_MAX];
} PatternsConfig;

/* A setting of [patterns]: its name, and patterns separated by blanks ("" is off). perfd.conf(5) says how they are written.
 * `others` are names, separated by blanks, that lie where jobs do and are none. NULL: anything may lie there, and nothing is counted. */
typedef struct FinderPattern {
        const char *name, *text, *others;
} FinderPattern;

/* One pattern of a setting. */
typedef struct FinderRule {
        Pattern pattern;
        char setting[32];
        bool is_exclusive; /* jobs and others are all there is where jobs are */
        char others[64];
} FinderRule;

typedef struct FinderRules {
        FinderRule *items; /* owned */
        size_t n;
} FinderRules;

/* Patterns are copied and have been checked by pattern_check(). 0 or -ENOMEM. */
int finder_rules_init(FinderRules *rules, const FinderPattern *patterns, size_t n_patterns);
void finder_rules_deinit(FinderRules *rules);

/* States are those of each rule. */
void finder_rules_begin(const FinderRules *rules, PatternStates *ret_states);

typedef struct FinderVerdict {
        int rule;             /* that says it is a job; -1: none does */
        bool leads_on;        /* there may be jobs below it */
        bool is_unrecognized; /* a job was expected here */
} FinderVerdict;

/* Judges the directory `name` in a directory with the states `parent`. The patterns of a setting do not match below its own jobs. */
FinderVerdict finder_rules_judge(const FinderRules *rules, const PatternStates *parent, const char *name, PatternStates *ret_states);
