/* SPDX-License-Identifier: Apache-2.0 */
#include "store/report.h"

#include <stdio.h>

void report_init(Report *report) {
        *report = (Report){};
        pthread_mutex_init(&report->mutex, NULL);
}

void report_deinit(Report *report) {
        pthread_mutex_destroy(&report->mutex);
}

void report_size(Report *report, uint64_t size_bytes, uint64_t size_max_bytes, uint64_t n_rows_removed) {
        pthread_mutex_lock(&report->mutex);
        report->stats.size_bytes = size_bytes;
        report->stats.size_max_bytes = size_max_bytes;
        report->stats.n_rows_removed = n_rows_removed;
        pthread_mutex_unlock(&report->mutex);
}

void report_expiry(Report *report, const ExpiryStats *stats) {
        pthread_mutex_lock(&report->mutex);
        report->stats.expiry = *stats;
        pthread_mutex_unlock(&report->mutex);
}

void report_commit(Report *report, uint64_t duration_ns, size_t n_rows, bool is_clean) {
        pthread_mutex_lock(&report->mutex);
        report->stats.n_commits++;
        report->stats.commit_ns_last = duration_ns;
        report->stats.commit_ns_sum += duration_ns;
        report->stats.n_rows_committed += n_rows;
        report->stats.is_writable = true;
        if (is_clean)
                report->stats.error[0] = '\0';
        pthread_mutex_unlock(&report->mutex);
}

static void set_error(Report *report, const char *error, bool is_writable) {
        report->stats.is_writable = is_writable;
        (void)snprintf(report->stats.error, sizeof(report->stats.error), "%s", error);
}

void report_failure(Report *report, const char *error, bool is_writable) {
        pthread_mutex_lock(&report->mutex);
        report->stats.n_commit_failures++;
        set_error(report, error, is_writable);
        pthread_mutex_unlock(&report->mutex);
}

void report_open(Report *report, const char *notice) {
        pthread_mutex_lock(&report->mutex);
        set_error(report, "", true);
        (void)snprintf(report->stats.notice, sizeof(report->stats.notice), "%s", notice ? notice : "");
        pthread_mutex_unlock(&report->mutex);
}

void report_closed(Report *report, const char *error) {
        pthread_mutex_lock(&report->mutex);
        set_error(report, error, false);
        pthread_mutex_unlock(&report->mutex);
}

void report_read(Report *report, StoreStats *ret) {
        pthread_mutex_lock(&report->mutex);
        *ret = report->stats;
        pthread_mutex_unlock(&report->mutex);
}

void report_set_config(Report *report, const StoreConfig *config) {
        pthread_mutex_lock(&report->mutex);
        report->config = *config;
        report->has_config = true;
        pthread_mutex_unlock(&report->mutex);
}

bool report_take_config(Report *report, StoreConfig *ret) {
        bool has_config;

        pthread_mutex_lock(&report->mutex);
        has_config = report->has_config;
        if (has_config)
                *ret = report->config;
        report->has_config = false;
        pthread_mutex_unlock(&report->mutex);
        return has_config;
}
