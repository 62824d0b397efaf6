/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kept list: the samples of one job, and their text for the store
 */

#include <stddef.h>
#include <stdint.h>

#include "measure/kept_sample.h"
#include "util/buffer.h"

#define KEPT_LIST_MAX 1000U /* limit of samples in a list; perf.py's own limit was the same */

/* The samples of one job. */
typedef struct KeptList {
        uint64_t begin_realtime_ms; /* from when on samples were kept */
        uint64_t n_merged;          /* number of observations in each sample, but the first and the last */
        size_t n;
        KeptSample *samples; /* owned */
} KeptList;

void kept_list_deinit(KeptList *list);
/* Appends the list as text, a line for each column. observed_ns is not part of it. */
void kept_list_format(const KeptList *list, Buffer *out);
/* Parses the text of kept_list_format(). 0, PARSE_MALFORMED or -ENOMEM. */
int kept_list_parse(const char *text, KeptList *ret);
