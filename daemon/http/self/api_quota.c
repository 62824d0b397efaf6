/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "http/self/self_subject.h"
#include "json/json.h"
#include "util/scoped.h"

#define USERS_MAX 256U

static void put_totals(Json *json, Shares *shares) {
        ResourceStats stats[N_RESOURCES];

        shares_stats(shares, stats);
        json_put_array_begin(json, "resources");
        for (Resource i = 0; i < N_RESOURCES; i++) {
                json_object_begin(json);
                json_put_string(json, "name", shares_resource_name(i));
                json_put_string(json, "unit", shares_resource_unit(i));
                json_put_uint(json, "limit", stats[i].limit);
                json_put_uint(json, "held", stats[i].n_held);
                json_put_uint(json, "users", stats[i].n_owners);
                json_put_uint(json, "refused", stats[i].n_refused);
                json_object_end(json);
        }
        json_array_end(json);
}

static void put_time(Json *json, const char *key, uint64_t time_ms) {
        json_key(json, key);
        if (time_ms > 0)
                json_uint(json, time_ms);
        else
                json_null(json);
}

static void put_user(Json *json, const AccountReport *report) {
        char owner[SHARES_OWNER_MAX];

        json_object_begin(json);
        json_put_string(json, "user", shares_format_owner(&report->owner, owner));
        json_key(json, "uid");
        if (report->owner.type == OWNER_USER)
                json_uint(json, report->owner.uid);
        else
                json_null(json);
        json_put_bool(json, "administrator", report->owner.is_admin);
        json_put_array_begin(json, "resources");
        for (Resource i = 0; i < N_RESOURCES; i++) {
                json_object_begin(json);
                json_put_string(json, "name", shares_resource_name(i));
                json_put_uint(json, "held", report->resources[i].n_held);
                json_put_uint(json, "share", report->resources[i].share);
                json_put_uint(json, "refused", report->resources[i].n_refused);
                put_time(json, "refused_first_ms", report->resources[i].refused_first_ms);
                put_time(json, "refused_last_ms", report->resources[i].refused_last_ms);
                json_object_end(json);
        }
        json_array_end(json);
        json_object_end(json);
}

/* reports: of n accounts */
static void put_users(Json *json, const AccountReport *reports, size_t n) {
        json_put_array_begin(json, "users");
        for (size_t i = 0; i < n; i++)
                put_user(json, &reports[i]);
        json_array_end(json);
}

void self_subject_quota(const Target *target, const Sources *sources, Response *response) {
        scoped(freep) AccountReport *reports = NULL; /* of all users, too large for a stack that stays resident */
        uint64_t uid;
        size_t n = 1;
        Json json = { .out = response->body };

        assert(sources->shares);
        if (exchange_parameter_u64(target, response, "uid", 0, UINT32_MAX - 1, UINT32_MAX, &uid) != 0)
                return;

        reports = calloc(uid < UINT32_MAX ? 1 : USERS_MAX, sizeof(*reports));
        if (!reports) {
                (void)exchange_error(response, 503, "out of memory");
                return;
        }
        if (uid < UINT32_MAX)
                shares_report_user(sources->shares, (uint32_t)uid, reports);
        else
                n = shares_report(sources->shares, reports, USERS_MAX);

        json_object_begin(&json);
        put_totals(&json, sources->shares);
        put_users(&json, reports, n);
        json_object_end(&json);
}
