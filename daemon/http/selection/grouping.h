/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Grouping: numbers of results, grouped by common fields
 *
 * Keeps every number until all results are read, since a median needs all of them. Its limits bound the memory of a
 * request.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/exchange.h"
#include "http/selection/selection.h"
#include "store/indicators/points.h"
#include "util/scoped.h"

#define GROUP_FIELDS_MAX 20U
#define GROUP_STACKS_MAX 256U /* stacks of a group that are counted */
#define GROUPS_MAX 10000U
#define VALUES_MAX 2000000U /* over all groups */

typedef struct Sequence {
        double *values; /* owned */
        size_t n, n_max;
} Sequence;

/* Appends a value. 0 or -ENOMEM. */
int grouping_sequence_add(Sequence *sequence, double value);

/* Results of a software stack. */
typedef struct StackCount {
        int64_t stack;        /* id */
        uint64_t n, n_failed; /* n excludes failed runs */
} StackCount;

typedef struct Group {
        char *key; /* owned: JSON list of the fields; null for a missing field */
        uint64_t hash;
        uint64_t n, n_failed; /* n excludes failed runs */
        uint64_t first_ms, last_ms;
        StackCount *stacks; /* owned; results without a stack are not counted */
        size_t n_stacks, last_stack;
        uint64_t n_of_further_stacks; /* results whose stacks are not among them, because there are GROUP_STACKS_MAX */
        Sequence numbers[POINT_NUMBERS_MAX]; /* finite numbers, unsorted */
} Group;

/* Fields of a group: all other parameters together, then component, version, hardware and named parameters. */
typedef struct GroupFields {
        const char *names[GROUP_FIELDS_MAX];
        size_t n;
        bool has_parameters; /* add a first field: an object of all parameters that are in neither list */
        const char *dropped[GROUP_FIELDS_MAX];
        size_t n_dropped;
        bool has_medians; /* a list counts as its median, not as its numbers */
} GroupFields;

typedef struct Grouping Grouping;

Grouping *grouping_free(Grouping *grouping);
DEFINE_SCOPED(Grouping, grouping_free);

enum {
        GROUPING_MANY_GROUPS = 1, /* a further group would exceed GROUPS_MAX */
        GROUPING_MANY_VALUES,     /* a further number would exceed VALUES_MAX */
};

/* Returns the groups sorted by their keys: numbers by value, objects by their members, other values as text, in
 * which numbers are compared by value. Borrowed. */
Group *grouping_sorted(Grouping *grouping, size_t *ret_n);
/* Returns field i of the key, as JSON. */
JsonText grouping_field(const Group *group, size_t i);

/* Reads the selected results into groups. 0 or EXCHANGE_ANSWERED; then *ret is NULL. */
int grouping_read(const Sources *sources, Response *response, const Selection *selection, const GroupFields *fields,
                       Grouping **ret, uint64_t *ret_n_scanned);
/* Sets *ret to whether any result meets the filter. 0 or EXCHANGE_ANSWERED. */
int grouping_has_any(const Sources *sources, Response *response, const PointFilter *filter, bool *ret);
