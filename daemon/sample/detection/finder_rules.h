/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finder rules: applies the patterns of all settings to one directory level at a time
 */

#include <stdbool.h>
#include <stddef.h>

#include "sample/detection/pattern.h"

#define PATTERNS_TEXT_MAX 256

/* Patterns of each kind of job, separated by blanks; "" disables the kind. */
typedef struct PatternsConfig {
        char slurm[PATTERNS_TEXT_MAX], slurm_sluid[PATTERNS_TEXT_MAX], slurm_v1[PATTERNS_TEXT_MAX];
        char kubernetes[PATTERNS_TEXT_MAX];
        char scope[PATTERNS_TEXT_MAX], service[PATTERNS_TEXT_MAX], other[PATTERNS_TEXT_MAX];
} PatternsConfig;

/*
 * A setting of [patterns]: its name, and patterns separated by blanks ("" disables it), with the syntax of
 * perfd.conf(5). others: names, separated by blanks, of directories next to jobs that are not jobs. NULL: such
 * directories are not counted.
 */
typedef struct FinderPattern {
        const char *name, *text, *others;
} FinderPattern;

/* One pattern of a setting. */
typedef struct FinderRule {
        Pattern pattern;
        char setting[32];
        bool is_exclusive; /* all directories next to jobs must be jobs or in `others` */
        char others[64];
} FinderRule;

typedef struct FinderRules {
        FinderRule *items; /* owned */
        size_t n;
} FinderRules;

/* Patterns are copied and must be valid, see pattern_check(). Returns 0 or -ENOMEM. */
int finder_rules_init(FinderRules *rules, const FinderPattern *patterns, size_t n_patterns);
void finder_rules_deinit(FinderRules *rules);

/* Sets the initial states of each rule. */
void finder_rules_begin(const FinderRules *rules, PatternStates *ret_states);

typedef struct FinderVerdict {
        int rule;             /* rule that matches the directory as a job; -1: none */
        bool may_contain_jobs;        /* jobs may exist below */
        bool is_unrecognized; /* a job was expected, but the name matches no rule */
} FinderVerdict;

/*
 * Evaluates the directory `name` in a directory with the states `parent`. The patterns of a setting do not match
 * below its own jobs.
 */
FinderVerdict finder_rules_judge(const FinderRules *rules, const PatternStates *parent, const char *name,
                                 PatternStates *ret_states);
