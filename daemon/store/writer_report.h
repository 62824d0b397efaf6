/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * WriterReport: state of the writer for other threads, and configuration from other threads for the writer
 *
 * Every function may be called from any thread.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/table/store_types.h"

typedef struct WriterReport {
        pthread_mutex_t mutex; /* protects all members below */
        StoreStats stats;      /* counters except for those of the queue */
        StoreConfig config;
        bool has_config;
} WriterReport;

void writer_report_init(WriterReport *report);
void writer_report_deinit(WriterReport *report);

void writer_report_size(WriterReport *report, uint64_t size_bytes, uint64_t size_max_bytes, uint64_t n_rows_removed);
void writer_report_expiry(WriterReport *report, const ExpiryStats *stats);
/* is_clean: no row set of the batch was refused. */
void writer_report_commit(WriterReport *report, uint64_t duration_ns, size_t n_rows, bool is_clean);
/* is_writable: only this batch cannot be stored. */
void writer_report_failure(WriterReport *report, const char *error, bool is_writable);
/* The database was opened late, or could not be opened. */
void writer_report_open(WriterReport *report);
void writer_report_closed(WriterReport *report, const char *error);
/* Counts failed checkpoints since start; error: negative errno of the last checkpoint, or 0. */
void writer_report_checkpoints(WriterReport *report, uint64_t n_failures, int error);
/* Reports that a damaged file was moved aside, or could not be moved aside yet (is_condemned). */
void writer_report_damage(WriterReport *report, const char *found, bool is_condemned, uint64_t n_log_frames);
/* n_rows: stored by this step. note: result at the end, or NULL. */
void writer_report_salvage(WriterReport *report, bool is_salvaging, uint64_t n_rows, const char *note);
void writer_report_read(WriterReport *report, StoreStats *ret);

void writer_report_set_config(WriterReport *report, const StoreConfig *config);
/* True once after writer_report_set_config(). */
bool writer_report_take_config(WriterReport *report, StoreConfig *ret);
