/* SPDX-License-Identifier: Apache-2.0 */
#include "store/report.h"

#include <stdio.h>
#include <string.h>

#include "util/lock.h"

void report_init(Report *report) {
        *report = (Report){};
        pthread_mutex_init(&report->mutex, NULL);
}

void report_deinit(Report *report) {
        pthread_mutex_destroy(&report->mutex);
}

void report_size(Report *report, uint64_t size_bytes, uint64_t size_max_bytes, uint64_t n_rows_removed) {
        LOCKED(&report->mutex);

        report->stats.size_bytes = size_bytes;
        report->stats.size_max_bytes = size_max_bytes;
        report->stats.n_rows_removed = n_rows_removed;
}

void report_expiry(Report *report, const ExpiryStats *stats) {
        LOCKED(&report->mutex);

        report->stats.expiry = *stats;
}

void report_commit(Report *report, uint64_t duration_ns, size_t n_rows, bool is_clean) {
        LOCKED(&report->mutex);

        report->stats.n_commits++;
        report->stats.commit_ns_sum += duration_ns;
        report->stats.n_rows_committed += n_rows;
        report->stats.is_writable = true;
        if (is_clean)
                report->stats.error[0] = '\0';
}

static void set_error(Report *report, const char *error, bool is_writable) {
        report->stats.is_writable = is_writable;
        (void)snprintf(report->stats.error, sizeof(report->stats.error), "%s", error);
}

void report_failure(Report *report, const char *error, bool is_writable) {
        LOCKED(&report->mutex);

        report->stats.n_commit_failures++;
        set_error(report, error, is_writable);
}

void report_open(Report *report) {
        LOCKED(&report->mutex);

        set_error(report, "", true);
}

void report_closed(Report *report, const char *error) {
        LOCKED(&report->mutex);

        set_error(report, error, false);
}

void report_checkpoints(Report *report, uint64_t n_failures, int error) {
        char *text = report->stats.sync_error;
        const char *name = strerrorname_np(-error);

        LOCKED(&report->mutex);
        report->stats.n_sync_failures = n_failures;
        text[0] = '\0';
        if (error < 0)
                (void)snprintf(text, sizeof(report->stats.sync_error), "%s: %s", name ? name : "unknown", strerrordesc_np(-error));
}

void report_damage(Report *report, const char *found, bool is_condemned) {
        DamageStats *damage = &report->stats.damage;

        LOCKED(&report->mutex);
        /* A file that is condemned first is counted when it is moved aside. */
        damage->n_files += !is_condemned;
        damage->is_condemned = is_condemned;
        (void)snprintf(damage->found, sizeof(damage->found), "%s", found);
}

void report_salvage(Report *report, bool is_salvaging, uint64_t n_rows, const char *note) {
        DamageStats *damage = &report->stats.damage;

        LOCKED(&report->mutex);
        damage->is_salvaging = is_salvaging;
        damage->n_rows_salvaged += n_rows;
        if (note)
                (void)snprintf(damage->salvaged, sizeof(damage->salvaged), "%s", note);
}

void report_read(Report *report, StoreStats *ret) {
        LOCKED(&report->mutex);

        *ret = report->stats;
}

void report_set_config(Report *report, const StoreConfig *config) {
        LOCKED(&report->mutex);

        report->config = *config;
        report->has_config = true;
}

bool report_take_config(Report *report, StoreConfig *ret) {
        LOCKED(&report->mutex);

        if (!report->has_config)
                return false;

        *ret = report->config;
        report->has_config = false;
        return true;
}
