/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/table/user_totals.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "json/record.h"
#include "util/array.h"
#include "util/clock.h"

#define FORGOTTEN_MS (30 * 86400 * UINT64_C(1000))

static const Record total_record = RECORD(UsageTotal,
        RECORD_TEXT_OF(UsageTotal, key),
        RECORD_VALUE(UsageTotal, uid),
        RECORD_VALUE(UsageTotal, begin_ms),
        RECORD_VALUE(UsageTotal, last_ms),
        RECORD_VALUE(UsageTotal, n_jobs),
        RECORD_VALUE(UsageTotal, cpu_us),
        RECORD_VALUE(UsageTotal, read_bytes),
        RECORD_VALUE(UsageTotal, written_bytes));

typedef struct KeptTotals {
        UsageTotal *entries; /* owned after parsing */
        size_t n;
        UsageTotal others;
} KeptTotals;

static const Record key_totals_record = RECORD(KeptTotals,
        RECORD_LIST_OF(KeptTotals, entries, n, TOTALS_SHOWN_MAX, &total_record),
        RECORD_STRUCT(KeptTotals, others, &total_record));

typedef struct Kept {
        char boot_id[64];
        char label[TOTAL_KEY_MAX];
        KeptTotals users, labels;
} Kept;

static const Record kept_record = RECORD(Kept,
        RECORD_TEXT_OF(Kept, boot_id),
        RECORD_TEXT_OF(Kept, label),
        RECORD_STRUCT(Kept, users, &key_totals_record),
        RECORD_STRUCT(Kept, labels, &key_totals_record));

void user_totals_deinit(UserTotals *totals) {
        runtime_file_free(totals->file);
        free(totals->users.entries);
        free(totals->labels.entries);
        *totals = (UserTotals){};
}

/* --- restoring ---------------------------------------------------------------------------------- */

static void clear(UsageTotals *totals) {
        free(totals->entries);
        *totals = (UsageTotals){};
}

static int take(UsageTotals *totals, const KeptTotals *kept, uint64_t oldest_ms) {
        int r;

        clear(totals);
        r = ARRAY_RESERVE(totals->entries, totals->n_allocated, kept->n);
        if (r < 0)
                return r;

        assert(kept->n <= TOTALS_SHOWN_MAX);
        totals->others = kept->others;
        for (size_t i = 0; i < kept->n; i++)
                if (kept->entries[i].last_ms >= oldest_ms)
                        totals->entries[totals->n++] = kept->entries[i];
        return 0;
}

/* Damaged texts are left: the totals begin at zero. */
static int restore(UserTotals *totals, const char *text, bool is_other_boot_taken, bool *ret) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS,
                 oldest_ms = now_ms > FORGOTTEN_MS ? now_ms - FORGOTTEN_MS : 0;
        Kept kept = {};
        bool is_same_boot;
        int r;

        r = record_parse(&kept_record, text, &kept);
        if (r != 0)
                return r < 0 ? r : 0;

        is_same_boot = strcmp(kept.boot_id, totals->boot_id) == 0;
        *ret = is_same_boot || is_other_boot_taken;
        if (*ret) {
                r = take(&totals->users, &kept.users, is_same_boot ? 0 : oldest_ms);
                if (r == 0)
                        r = take(&totals->labels, &kept.labels, is_same_boot ? 0 : oldest_ms);
                memcpy(totals->label, kept.label, sizeof(totals->label));
        }
        record_deinit(&kept_record, &kept);
        return r;
}

int user_totals_open(UserTotals *totals, const char *path, const char *boot_id) {
        scoped(freep) char *text = NULL;
        int r;

        (void)snprintf(totals->boot_id, sizeof(totals->boot_id), "%s", boot_id);
        r = runtime_file_open(&totals->file, path);
        if (r == 0)
                r = runtime_file_read(totals->file, &text, NULL);
        if (r != 0)
                return r < 0 ? r : 0;
        return restore(totals, text, false, &totals->is_restored);
}

int user_totals_restore(UserTotals *totals, const char *text) {
        bool is_restored;

        return totals->is_restored || !text ? 0 : restore(totals, text, true, &is_restored);
}

void user_totals_set_label(UserTotals *totals, const char *label) {
        if (strcmp(totals->label, label) == 0)
                return;
        clear(&totals->labels);
        (void)snprintf(totals->label, sizeof(totals->label), "%s", label);
}

/* --- keeping ------------------------------------------------------------------------------------ */

static void format(UserTotals *totals, Buffer *text) {
        Kept kept = {
                .users = { totals->users.entries, totals->users.n, totals->users.others },
                .labels = { totals->labels.entries, totals->labels.n, totals->labels.others },
        };

        memcpy(kept.boot_id, totals->boot_id, sizeof(kept.boot_id));
        memcpy(kept.label, totals->label, sizeof(kept.label));
        record_put(&kept_record, &kept, text);
}

int user_totals_format(UserTotals *totals, char **ret) {
        scoped(buffer_deinit) Buffer text = {};

        if (!totals->is_changed)
                return USER_TOTALS_SAME;
        format(totals, &text);
        *ret = buffer_take(&text);
        if (!*ret)
                return -ENOMEM;
        totals->is_changed = false;
        return 0;
}

/* Without room for the text, the totals continue from the store after the next start. */
static void keep(UserTotals *totals) {
        scoped(buffer_deinit) Buffer text = {};

        totals->is_ahead = false;
        if (!totals->file)
                return;
        format(totals, &text);
        if (buffer_error(&text) < 0 || runtime_file_write(totals->file, text.text, text.n) < 0)
                totals->file = runtime_file_free(totals->file);
}

/* --- adding ------------------------------------------------------------------------------------- */

static bool may_have_place(const UsageTotals *totals, uint32_t uid) {
        size_t n_own = 0;

        for (size_t i = 0; i < totals->n; i++)
                n_own += totals->entries[i].uid == uid;
        assert(totals->n <= TOTALS_SHOWN_MAX);
        return n_own < TOTALS_SHOWN_MAX - totals->n;
}

/* Returns the entry of the key, which is that of all others if no place or no memory is left for this user. */
static UsageTotal *find(UsageTotals *totals, const char *key, uint32_t uid) {
        bool is_other = strlen(key) >= TOTAL_KEY_MAX || strcmp(key, "other") == 0;
        UsageTotal *total = &totals->others;

        for (size_t i = 0; i < totals->n; i++)
                if (strcmp(totals->entries[i].key, key) == 0)
                        return &totals->entries[i];
        if (!is_other && may_have_place(totals, uid) &&
            ARRAY_RESERVE(totals->entries, totals->n_allocated, totals->n + 1) == 0) {
                total = &totals->entries[totals->n++];
                *total = (UsageTotal){ .uid = uid };
                strcpy(total->key, key);
        }
        if (total->begin_ms == 0)
                total->begin_ms = clock_realtime_ns() / NS_PER_MS;
        return total;
}

static UsageTotal *find_user(UserTotals *totals, uint32_t uid) {
        char key[16];

        (void)snprintf(key, sizeof(key), "%u", uid);
        return find(&totals->users, uid == JOB_UID_UNKNOWN ? "unknown" : key, uid);
}

static UsageTotal *find_label(UserTotals *totals, const JobDescription *job) {
        for (uint32_t i = 0; i < job->n_labels; i++)
                if (strcmp(job->labels[i].key, totals->label) == 0)
                        return find(&totals->labels, job->labels[i].value, job->uid);
        return find(&totals->labels, "", job->uid);
}

void user_totals_note(UserTotals *totals, uint32_t uid) {
        (void)find_user(totals, uid);
}

static uint64_t count_of(const UsageSet *usage, UsageMetric metric, double unit) {
        double value = usage_value(usage, metric);

        return value > 0 ? (uint64_t)(value / unit + 0.5) : 0;
}

static void add(UsageTotal *total, const UsageSet *usage) {
        total->n_jobs++;
        total->last_ms = clock_realtime_ns() / NS_PER_MS;
        total->cpu_us += count_of(usage, USAGE_CPU_SECONDS, 1e-6);
        total->read_bytes += count_of(usage, USAGE_READ_BYTES, 1);
        total->written_bytes += count_of(usage, USAGE_WRITE_BYTES, 1);
}

void user_totals_add_queued(UserTotals *totals, const JobDescription *job, const UsageSet *usage) {
        add(find_user(totals, job->uid), usage);
        if (totals->label[0])
                add(find_label(totals, job), usage);
        totals->is_changed = totals->is_ahead = true;
}

/* The store commits in order: with the end of this job, those of all queued before are stored. */
void user_totals_add(UserTotals *totals, const JobDescription *job, const UsageSet *usage) {
        user_totals_add_queued(totals, job, usage);
        keep(totals);
}

void user_totals_catch_up(UserTotals *totals) {
        if (totals->is_ahead)
                keep(totals);
}

/* --- forgetting ---------------------------------------------------------------------------------- */

static void drop(UsageTotals *totals, uint32_t uid) {
        size_t n = 0;

        for (size_t i = 0; i < totals->n; i++)
                if (totals->entries[i].uid != uid)
                        totals->entries[n++] = totals->entries[i];
        totals->n = n;
}

/* Both slots of the file are written. */
void user_totals_forget(UserTotals *totals, uint32_t uid) {
        drop(&totals->users, uid);
        drop(&totals->labels, uid);
        totals->is_changed = true;
        keep(totals);
        keep(totals);
}
