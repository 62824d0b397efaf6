/* SPDX-License-Identifier: Apache-2.0 */
#include "store/writer_report.h"

#include <stdio.h>
#include <string.h>

#include "util/lock.h"

void writer_report_init(WriterReport *report) {
        *report = (WriterReport){};
        pthread_mutex_init(&report->mutex, NULL);
}

void writer_report_deinit(WriterReport *report) {
        pthread_mutex_destroy(&report->mutex);
}

void writer_report_size(WriterReport *report, uint64_t size_bytes, uint64_t size_max_bytes, uint64_t n_rows_removed) {
        LOCKED(&report->mutex);

        report->stats.size_bytes = size_bytes;
        report->stats.size_max_bytes = size_max_bytes;
        report->stats.n_rows_removed = n_rows_removed;
}

void writer_report_expiry(WriterReport *report, const ExpiryStats *stats) {
        LOCKED(&report->mutex);

        report->stats.expiry = *stats;
}

void writer_report_commit(WriterReport *report, uint64_t duration_ns, size_t n_rows, bool is_clean) {
        LOCKED(&report->mutex);

        report->stats.n_commits++;
        report->stats.commit_ns_sum += duration_ns;
        report->stats.n_rows_committed += n_rows;
        report->stats.is_writable = true;
        if (is_clean)
                report->stats.error[0] = '\0';
}

static void set_error(WriterReport *report, const char *error, bool is_writable) {
        report->stats.is_writable = is_writable;
        (void)snprintf(report->stats.error, sizeof(report->stats.error), "%s", error);
}

void writer_report_failure(WriterReport *report, const char *error, bool is_writable) {
        LOCKED(&report->mutex);

        report->stats.n_commit_failures++;
        set_error(report, error, is_writable);
}

void writer_report_open(WriterReport *report) {
        LOCKED(&report->mutex);

        set_error(report, "", true);
}

void writer_report_closed(WriterReport *report, const char *error) {
        LOCKED(&report->mutex);

        set_error(report, error, false);
}

void writer_report_checkpoints(WriterReport *report, uint64_t n_failures, int error) {
        char *text = report->stats.sync_error;
        const char *name = strerrorname_np(-error);

        LOCKED(&report->mutex);
        report->stats.n_sync_failures = n_failures;
        text[0] = '\0';
        if (error < 0)
                (void)snprintf(text, sizeof(report->stats.sync_error), "%s: %s", name ? name : "unknown", strerrordesc_np(-error));
}

void writer_report_damage(WriterReport *report, const char *found, bool is_condemned, uint64_t n_log_frames) {
        DamageStats *damage = &report->stats.damage;

        LOCKED(&report->mutex);
        /* A file that is condemned first is counted when it is moved aside. */
        damage->n_files += !is_condemned;
        damage->n_log_frames += n_log_frames;
        damage->is_condemned = is_condemned;
        (void)snprintf(damage->found, sizeof(damage->found), "%s", found);
}

void writer_report_salvage(WriterReport *report, bool is_salvaging, uint64_t n_rows, const char *note) {
        DamageStats *damage = &report->stats.damage;

        LOCKED(&report->mutex);
        damage->is_salvaging = is_salvaging;
        damage->n_rows_salvaged += n_rows;
        if (note)
                (void)snprintf(damage->salvaged, sizeof(damage->salvaged), "%s", note);
}

void writer_report_read(WriterReport *report, StoreStats *ret) {
        LOCKED(&report->mutex);

        *ret = report->stats;
}

void writer_report_set_config(WriterReport *report, const StoreConfig *config) {
        LOCKED(&report->mutex);

        report->config = *config;
        report->has_config = true;
}

bool writer_report_take_config(WriterReport *report, StoreConfig *ret) {
        LOCKED(&report->mutex);

        if (!report->has_config)
                return false;

        *ret = report->config;
        report->has_config = false;
        return true;
}
