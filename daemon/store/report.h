/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report: state of the writer for other threads, and configuration from other threads for the writer
 *
 * Every function may be called from any thread.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/table/store_types.h"

typedef struct Report {
        pthread_mutex_t mutex; /* protects all members below */
        StoreStats stats;      /* counters except for those of the queue */
        StoreConfig config;
        bool has_config;
} Report;

void report_init(Report *report);
void report_deinit(Report *report);

void report_size(Report *report, uint64_t size_bytes, uint64_t size_max_bytes, uint64_t n_rows_removed);
void report_expiry(Report *report, const ExpiryStats *stats);
/* is_clean: no row set of the batch was refused. */
void report_commit(Report *report, uint64_t duration_ns, size_t n_rows, bool is_clean);
/* is_writable: only this batch cannot be stored. */
void report_failure(Report *report, const char *error, bool is_writable);
/* The database was opened late, or could not be opened. */
void report_open(Report *report);
void report_closed(Report *report, const char *error);
/* Counts failed checkpoints since start; error: negative errno of the last checkpoint, or 0. */
void report_checkpoints(Report *report, uint64_t n_failures, int error);
/* Reports that a damaged file was moved aside, or could not be moved aside yet (is_condemned). */
void report_damage(Report *report, const char *found, bool is_condemned);
/* n_rows: stored by this step. note: result at the end, or NULL. */
void report_salvage(Report *report, bool is_salvaging, uint64_t n_rows, const char *note);
void report_read(Report *report, StoreStats *ret);

void report_set_config(Report *report, const StoreConfig *config);
/* True once after report_set_config(). */
bool report_take_config(Report *report, StoreConfig *ret);
