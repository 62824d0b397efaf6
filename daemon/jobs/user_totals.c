/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/user_totals.h"

#include <errno.h>
#include <string.h>

#include "util/clock.h"
#include "util/record.h"

static const RecordField user_fields[] = {
        RECORD_VALUE(UserUsage, uid),
        RECORD_VALUE(UserUsage, begin_ms),
        RECORD_VALUE(UserUsage, n_jobs),
        RECORD_VALUE(UserUsage, cpu_us),
        RECORD_VALUE(UserUsage, read_bytes),
        RECORD_VALUE(UserUsage, written_bytes),
};

static const Record user_record = RECORD(UserUsage, user_fields);

typedef struct Kept {
        char boot_id[64];
        UserUsage *users; /* owned after parsing */
        size_t n;
        UserUsage others;
} Kept;

static const RecordField kept_fields[] = {
        RECORD_TEXT_OF(Kept, boot_id),
        RECORD_LIST_OF(Kept, users, n, USERS_SHOWN_MAX, &user_record),
        RECORD_STRUCT(Kept, others, &user_record),
};

static const Record kept_record = RECORD(Kept, kept_fields);

void user_totals_deinit(UserTotals *totals) {
        kept_text_free(totals->kept);
        *totals = (UserTotals){};
}

/* Texts of another boot, and damaged ones, are left: the totals begin at zero. */
static int restore(UserTotals *totals) {
        scoped(freep) char *text = NULL;
        Kept kept = {};
        int r;

        r = kept_text_read(totals->kept, &text);
        if (r != 0)
                return r < 0 ? r : 0;
        r = record_parse(&kept_record, text, &kept);
        if (r != 0)
                return r < 0 ? r : 0;

        if (strcmp(kept.boot_id, totals->boot_id) == 0) {
                totals->users = (UsersUsage){ .n = kept.n, .others = kept.others };
                if (kept.n > 0)
                        memcpy(totals->users.users, kept.users, kept.n * sizeof(*kept.users));
        }
        record_deinit(&kept_record, &kept);
        return 0;
}

int user_totals_open(UserTotals *totals, const char *path, const char *boot_id) {
        int r;

        (void)snprintf(totals->boot_id, sizeof(totals->boot_id), "%s", boot_id);
        r = kept_text_open(&totals->kept, path);
        return r < 0 ? r : restore(totals);
}

/* Without room for the text, the totals begin at zero after the next start. */
static void keep(UserTotals *totals) {
        Kept kept = { .users = totals->users.users, .n = totals->users.n, .others = totals->users.others };
        scoped(buffer_deinit) Buffer text = {};

        if (!totals->kept)
                return;
        memcpy(kept.boot_id, totals->boot_id, sizeof(kept.boot_id));
        record_put(&kept_record, &kept, &text);
        if (buffer_error(&text) < 0 || kept_text_put(totals->kept, text.text, text.n) < 0)
                totals->kept = kept_text_free(totals->kept);
}

/* Returns the entry of the user, which is that of all others if no place is left. */
static UserUsage *find(UserTotals *totals, uint32_t uid) {
        UsersUsage *users = &totals->users;

        for (size_t i = 0; i < users->n; i++)
                if (users->users[i].uid == uid)
                        return &users->users[i];
        if (users->n == USERS_SHOWN_MAX) {
                if (users->others.begin_ms == 0)
                        users->others.begin_ms = clock_realtime_ns() / NS_PER_MS;
                return &users->others;
        }

        users->users[users->n] = (UserUsage){ .uid = uid, .begin_ms = clock_realtime_ns() / NS_PER_MS };
        return &users->users[users->n++];
}

void user_totals_note(UserTotals *totals, uint32_t uid) {
        (void)find(totals, uid);
}

static uint64_t count_of(const UsageSet *usage, UsageMetric metric, double unit) {
        return quality_is_present(usage->quality[metric]) && usage->value[metric] > 0 ? (uint64_t)(usage->value[metric] / unit + 0.5) : 0;
}

void user_totals_add(UserTotals *totals, uint32_t uid, const UsageSet *usage) {
        UserUsage *user = find(totals, uid);

        user->n_jobs++;
        user->cpu_us += count_of(usage, USAGE_CPU_SECONDS, 1e-6);
        user->read_bytes += count_of(usage, USAGE_READ_BYTES, 1);
        user->written_bytes += count_of(usage, USAGE_WRITE_BYTES, 1);
        keep(totals);
}
