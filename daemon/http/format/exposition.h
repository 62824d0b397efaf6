/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Exposition: metrics as text, in both formats
 *
 * OpenMetrics 1.0 and Prometheus' text format 0.0.4 differ in the lines about a family and at the end; only this
 * module knows the differences. A family's lines are written with its first sample, so that a family without samples
 * does not appear.
 *
 *     exposition_family(x, "perfd_node_disk_read_bytes", FAMILY_COUNTER, "bytes", "Read from …");
 *     exposition_sample(x);
 *     exposition_label(x, "device", "sda");
 *     exposition_u64(x, 512);
 *
 * Names are given without _total and _info; the unit is the end of the name. Only the text allocates memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/buffer.h"

typedef enum FamilyType {
        FAMILY_GAUGE,
        FAMILY_COUNTER,
        FAMILY_INFO, /* information is in the labels; the value is 1 */
} FamilyType;

#define FAMILY_NAME_MAX 96U
#define SAMPLE_SUFFIX_MAX 8U

typedef struct Exposition {
        Buffer *out; /* borrowed */
        bool is_openmetrics;
        bool has_names; /* names of jobs and users, and what users chose as texts; set by exposition_init() */

        char name[FAMILY_NAME_MAX + SAMPLE_SUFFIX_MAX]; /* of the family; with the suffix, of its samples */
        size_t n_name, n_sample_name;
        FamilyType type;
        const char *unit, *help;
        bool has_header, has_labels;
        uint64_t created_ms; /* 0: unknown, or not shown */
        size_t sample_at;    /* where the sample begins in `out` */
} Exposition;

void exposition_init(Exposition *exposition, Buffer *out, bool is_openmetrics);

/*
 * unit: "" for none. unit and help are borrowed until the next family; help must not contain quotes, backslashes or
 * newlines.
 */
void exposition_family(Exposition *exposition, const char *name, FamilyType type, const char *unit, const char *help);

/*
 * Unix time at which the counters of the next samples were 0; 0: unknown. In OpenMetrics, a sample with _created
 * follows each of them. For all samples until the next call.
 */
void exposition_created(Exposition *exposition, uint64_t realtime_ms);

/* One sample: begin it, add its labels, and end it with its value. */
void exposition_sample(Exposition *exposition);
void exposition_label(Exposition *exposition, const char *key, const char *value); /* value: any bytes */
void exposition_label_i64(Exposition *exposition, const char *key, int64_t value);
/* key="value" pairs, already formatted; "" for none */
void exposition_labels(Exposition *exposition, const char *text);
void exposition_u64(Exposition *exposition, uint64_t value);
void exposition_double(Exposition *exposition, double value);
/* Writes value / 10^n_decimals, exactly: nanoseconds as seconds have 9 decimals. */
void exposition_decimal(Exposition *exposition, uint64_t value, unsigned n_decimals);

/* Writes a whole sample with one label. */
void exposition_sample_u64(Exposition *exposition, const char *key, const char *label, uint64_t value);
/* Writes a family of one sample without labels. */
void exposition_single(Exposition *exposition, const char *name, FamilyType type, const char *help, uint64_t value);

void exposition_end(Exposition *exposition);
