/* SPDX-License-Identifier: Apache-2.0 */
#include "shares/shares.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <search.h>
#include <string.h>
#include <sys/queue.h>

#include "util/clock.h"
#include "util/lock.h"

typedef struct ResourceRow {
        const char *name, *unit;
        unsigned reserve_percent;
        uint64_t floor;
} ResourceRow;

static const ResourceRow rows[N_RESOURCES] = {
#define RESOURCE_ROW(id, name, unit, reserve_percent, floor) [RESOURCE_##id] = { name, unit, reserve_percent, floor },
        RESOURCES(RESOURCE_ROW)
#undef RESOURCE_ROW
};

typedef struct Holding {
        uint64_t n_held, n_refused, refused_first_ms, refused_last_ms;
} Holding;

struct ShareAccount {
        Shares *shares;
        Owner owner;
        bool is_idle; /* in idle_accounts */
        uint32_t weight;
        unsigned n_references; /* including charges */
        Holding holdings[N_RESOURCES];
        TAILQ_ENTRY(ShareAccount) all, idle;
};

typedef struct ResourceTotal {
        /* weights: of the users who hold some, summed */
        uint64_t n_held_by_users, n_held_by_admins, weights, n_owners, n_refused;
} ResourceTotal;

struct Shares {
        pthread_mutex_t mutex;
        SharesConfig config;
        void *tree; /* of Accounts, by owner (tsearch) */
        /* idle: accounts without references, oldest first */
        TAILQ_HEAD(AccountList, ShareAccount) accounts, idle_accounts;
        size_t n_idle;
        ResourceTotal totals[N_RESOURCES];
};

const char *shares_resource_name(Resource resource) {
        assert(resource < N_RESOURCES);
        return rows[resource].name;
}

const char *shares_resource_unit(Resource resource) {
        assert(resource < N_RESOURCES);
        return rows[resource].unit;
}

/* --- accounts -------------------------------------------------------------------------------------- */

static int compare_accounts(const void *a, const void *b) {
        const Owner *left = &((const ShareAccount *)a)->owner, *right = &((const ShareAccount *)b)->owner;

        return COMPARE(left->type, right->type) ?: COMPARE(left->is_admin, right->is_admin) ?:
               COMPARE(left->uid, right->uid) ?: memcmp(left->address, right->address, sizeof(left->address));
}

bool shares_weights_have(const SharesWeights *weights, uint32_t uid) {
        for (size_t i = 0; i < weights->n; i++)
                if (weights->items[i].uid == uid)
                        return true;
        return false;
}

static uint32_t find_weight(const SharesWeights *weights, const Owner *owner) {
        for (size_t i = 0; i < weights->n; i++)
                if (owner->type == OWNER_USER && weights->items[i].uid == owner->uid)
                        return weights->items[i].weight;
        return 1;
}

static void set_weight(ShareAccount *account, uint32_t weight) {
        for (Resource i = 0; i < N_RESOURCES; i++)
                if (account->holdings[i].n_held > 0 && !account->owner.is_admin)
                        account->shares->totals[i].weights += weight - (uint64_t)account->weight;
        account->weight = weight;
}

static void remove_account(ShareAccount *account) {
        Shares *shares = account->shares;

        assert(account->n_references == 0);
        if (account->is_idle) {
                TAILQ_REMOVE(&shares->idle_accounts, account, idle);
                shares->n_idle--;
        }
        TAILQ_REMOVE(&shares->accounts, account, all);
        (void)tdelete(account, &shares->tree, compare_accounts);
        free(account);
}

static bool was_refused(const ShareAccount *account) {
        for (Resource i = 0; i < N_RESOURCES; i++)
                if (account->holdings[i].n_refused > 0)
                        return true;
        return false;
}

/* Keeps an account without references for reports if it was refused something, else removes it. */
static void retire_account(ShareAccount *account) {
        Shares *shares = account->shares;

        if (!was_refused(account)) {
                remove_account(account);
                return;
        }

        TAILQ_INSERT_TAIL(&shares->idle_accounts, account, idle);
        account->is_idle = true;
        if (++shares->n_idle > SHARES_IDLE_ACCOUNTS_MAX)
                remove_account(TAILQ_FIRST(&shares->idle_accounts));
}

static void unref_account(ShareAccount *account) {
        assert(account->n_references > 0);
        if (--account->n_references == 0)
                retire_account(account);
}

static void ref_account(ShareAccount *account) {
        Shares *shares = account->shares;

        account->n_references++;
        if (!account->is_idle)
                return;
        TAILQ_REMOVE(&shares->idle_accounts, account, idle);
        account->is_idle = false;
        shares->n_idle--;
}

static ShareAccount *add_account(Shares *shares, const Owner *owner) {
        scoped(freep) ShareAccount *account = calloc(1, sizeof(*account));

        if (!account)
                return NULL;

        account->shares = shares;
        account->owner = *owner;
        account->weight = find_weight(&shares->config.weights, owner);
        if (!tsearch(account, &shares->tree, compare_accounts))
                return NULL;
        TAILQ_INSERT_TAIL(&shares->accounts, account, all);
        return TAKE(account);
}

static ShareAccount *find_account(Shares *shares, const Owner *owner) {
        const ShareAccount key = { .owner = *owner };
        void *node = tfind(&key, &shares->tree, compare_accounts);

        return node ? *(ShareAccount **)node : NULL;
}

ShareAccount *shares_open_account(Shares *shares, const Owner *owner) {
        ShareAccount *account;

        LOCKED(&shares->mutex);
        account = find_account(shares, owner);
        if (!account)
                account = add_account(shares, owner);
        if (account)
                ref_account(account);
        return account;
}

void shares_close_account(ShareAccount *account) {
        Shares *shares = account ? account->shares : NULL;

        if (!shares)
                return;
        LOCKED(&shares->mutex);
        unref_account(account);
}

/* --- charges --------------------------------------------------------------------------------------- */

static uint64_t subtract(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

/* Returns the largest amount that an account may hold now, including the amount that it holds. */
static uint64_t find_share(const ShareAccount *account, Resource resource) {
        const Shares *shares = account->shares;
        const ResourceTotal *total = &shares->totals[resource];
        uint64_t limit = shares->config.limits[resource], reserve = limit / 100 * rows[resource].reserve_percent;
        uint64_t n_own = account->holdings[resource].n_held, n_others, n_free, weights, share;

        assert(total->n_held_by_users + total->n_held_by_admins >= n_own);
        n_others = total->n_held_by_users + total->n_held_by_admins - n_own;
        if (account->owner.is_admin)
                return subtract(limit, n_others);

        /* The administrators take the reserve first. */
        n_others = total->n_held_by_users - n_own + subtract(total->n_held_by_admins, reserve);
        n_free = subtract(subtract(limit, reserve), n_others);
        weights = total->weights + (n_own > 0 ? 0 : account->weight);
        share = (uint64_t)((__uint128_t)n_free * account->weight / (weights + 1));
        if (share < rows[resource].floor)
                share = rows[resource].floor < n_free ? rows[resource].floor : n_free;
        return share;
}

static void refuse(ShareAccount *account, Resource resource) {
        Holding *holding = &account->holdings[resource];

        holding->refused_last_ms = clock_realtime_ns() / NS_PER_MS;
        if (holding->n_refused++ == 0)
                holding->refused_first_ms = holding->refused_last_ms;
        account->shares->totals[resource].n_refused++;
}

/* Sets the amount of a resource that an account holds. */
static void set_held(ShareAccount *account, Resource resource, uint64_t n_before, uint64_t n_after) {
        ResourceTotal *total = &account->shares->totals[resource];
        uint64_t *n_held = &account->holdings[resource].n_held;
        uint64_t *n_total = account->owner.is_admin ? &total->n_held_by_admins : &total->n_held_by_users;
        bool had_some = *n_held > 0;

        assert(*n_held >= n_before && *n_total >= n_before);
        *n_held += n_after - n_before;
        *n_total += n_after - n_before;
        if (had_some != (*n_held > 0)) {
                total->n_owners += had_some ? UINT64_MAX : 1;
                if (!account->owner.is_admin)
                        total->weights += had_some ? -(uint64_t)account->weight : account->weight;
        }
}

/* A smaller amount is never refused. */
static bool has_room(const ShareAccount *account, Resource resource, uint64_t n_before, uint64_t n_after) {
        return n_after <= n_before ||
               account->holdings[resource].n_held - n_before + n_after <= find_share(account, resource);
}

/* Sets the amount that an account holds, unless the amount exceeds the share. */
static int hold(ShareAccount *account, Resource resource, uint64_t n_before, uint64_t n_after) {
        if (!has_room(account, resource, n_before, n_after)) {
                refuse(account, resource);
                return SHARES_REFUSED;
        }

        set_held(account, resource, n_before, n_after);
        return 0;
}

int shares_charge(ShareAccount *account, Resource resource, uint64_t amount, Charge *ret) {
        int r;

        assert(resource < N_RESOURCES);
        *ret = (Charge){};
        LOCKED(&account->shares->mutex);
        r = hold(account, resource, 0, amount);
        if (r == 0) {
                account->n_references++;
                *ret = (Charge){ account, resource, amount };
        }
        return r;
}

void shares_charge_always(ShareAccount *account, Resource resource, uint64_t amount, Charge *ret) {
        assert(resource < N_RESOURCES);
        LOCKED(&account->shares->mutex);
        set_held(account, resource, 0, amount);
        account->n_references++;
        *ret = (Charge){ account, resource, amount };
}

int shares_resize(Charge *charge, uint64_t amount) {
        ShareAccount *account = charge->account;
        int r;

        assert(account);
        LOCKED(&account->shares->mutex);
        r = hold(account, charge->resource, charge->amount, amount);
        if (r == 0)
                charge->amount = amount;
        return r;
}

bool shares_has_room(const Charge *charge, uint64_t amount) {
        const ShareAccount *account = charge->account;

        assert(account);
        LOCKED(&account->shares->mutex);
        return has_room(account, charge->resource, charge->amount, amount);
}

void shares_set(Charge *charge, uint64_t amount) {
        ShareAccount *account = charge->account;

        assert(account);
        LOCKED(&account->shares->mutex);
        set_held(account, charge->resource, charge->amount, amount);
        charge->amount = amount;
}

void shares_release(Charge *charge) {
        ShareAccount *account = charge->account;
        Shares *shares = account ? account->shares : NULL;

        if (!shares)
                return;
        LOCKED(&shares->mutex);
        (void)hold(account, charge->resource, charge->amount, 0);
        unref_account(account);
        *charge = (Charge){};
}

uint64_t shares_find_share(ShareAccount *account, Resource resource) {
        LOCKED(&account->shares->mutex);

        return find_share(account, resource);
}

void shares_note_refusal(ShareAccount *account, Resource resource) {
        LOCKED(&account->shares->mutex);

        refuse(account, resource);
}

uint32_t shares_weight(Shares *shares, uint32_t uid) {
        LOCKED(&shares->mutex);

        return find_weight(&shares->config.weights, &OWNER_OF_UID(uid));
}

/* --- messages and reports -------------------------------------------------------------------------- */

const char *shares_format_owner(const Owner *owner, char ret[SHARES_OWNER_MAX]) {
        static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };
        bool is_mapped = memcmp(owner->address, mapped_prefix, sizeof(mapped_prefix)) == 0;

        (void)snprintf(ret, SHARES_OWNER_MAX, "unknown");
        if (owner->type == OWNER_USER)
                (void)snprintf(ret, SHARES_OWNER_MAX, "uid %" PRIu32, owner->uid);
        if (owner->type == OWNER_ADDRESS)
                (void)inet_ntop(is_mapped ? AF_INET : AF_INET6,
                                owner->address + (is_mapped ? sizeof(mapped_prefix) : 0), ret, SHARES_OWNER_MAX);
        return ret;
}

void shares_explain(const ShareAccount *account, Resource resource, char ret[SHARES_REASON_MAX]) {
        Shares *shares = account->shares;
        const ResourceRow *row = &rows[resource];
        const char *counted = resource == RESOURCE_JOBS
                                      ? ", of which those whose process or cgroup perfd does not watch count twice"
                                      : "";
        char owner[SHARES_OWNER_MAX];

        assert(resource < N_RESOURCES);
        LOCKED(&shares->mutex);
        (void)snprintf(ret, SHARES_REASON_MAX,
                       "%s holds %" PRIu64 " %s%s, and its share is %" PRIu64 " while %" PRIu64
                       " users hold some ([limits] %s = %" PRIu64 " for all): release some, or try again later",
                       shares_format_owner(&account->owner, owner), account->holdings[resource].n_held, row->unit,
                       counted, find_share(account, resource), shares->totals[resource].n_owners, row->name,
                       shares->config.limits[resource]);
}

void shares_stats(Shares *shares, ResourceStats ret[N_RESOURCES]) {
        LOCKED(&shares->mutex);

        for (Resource i = 0; i < N_RESOURCES; i++) {
                const ResourceTotal *total = &shares->totals[i];

                ret[i] = (ResourceStats){
                        .n_held = total->n_held_by_users + total->n_held_by_admins,
                        .limit = shares->config.limits[i],
                        .n_owners = total->n_owners,
                        .n_refused = total->n_refused,
                };
        }
}

static uint64_t last_refusal(const ShareAccount *account) {
        uint64_t last_ms = 0;

        for (Resource i = 0; i < N_RESOURCES; i++)
                if (account->holdings[i].refused_last_ms > last_ms)
                        last_ms = account->holdings[i].refused_last_ms;
        return last_ms;
}

static int compare_refusals(const void *a, const void *b) {
        uint64_t a_ms = last_refusal(*(ShareAccount *const *)a), b_ms = last_refusal(*(ShareAccount *const *)b);

        return COMPARE(b_ms, a_ms);
}

static void report_account(const ShareAccount *account, AccountReport *ret) {
        *ret = (AccountReport){ .owner = account->owner };
        for (Resource i = 0; i < N_RESOURCES; i++) {
                const Holding *holding = &account->holdings[i];

                ret->resources[i].n_held = holding->n_held;
                ret->resources[i].share = find_share(account, i);
                ret->resources[i].n_refused = holding->n_refused;
                ret->resources[i].refused_first_ms = holding->refused_first_ms;
                ret->resources[i].refused_last_ms = holding->refused_last_ms;
        }
}

size_t shares_report(Shares *shares, AccountReport *ret, size_t n_max) {
        scoped(freep) const ShareAccount **sorted = NULL;
        const ShareAccount *account;
        size_t n = 0, n_reported = 0;

        LOCKED(&shares->mutex);
        TAILQ_FOREACH(account, &shares->accounts, all)
                n++;
        sorted = calloc(n > 0 ? n : 1, sizeof(*sorted));
        if (sorted) {
                size_t i = 0;

                TAILQ_FOREACH(account, &shares->accounts, all)
                        sorted[i++] = account;
                qsort(sorted, n, sizeof(*sorted), compare_refusals);
                for (; n_reported < n && n_reported < n_max; n_reported++)
                        report_account(sorted[n_reported], &ret[n_reported]);
        }
        return n_reported;
}

void shares_report_user(Shares *shares, uint32_t uid, AccountReport *ret) {
        ShareAccount absent = { .shares = shares, .owner = { .type = OWNER_USER, .uid = uid, .is_admin = true } };
        const ShareAccount *account;

        LOCKED(&shares->mutex);
        account = find_account(shares, &absent.owner);
        absent.owner.is_admin = uid == 0;
        absent.weight = find_weight(&shares->config.weights, &absent.owner);
        if (!account)
                account = find_account(shares, &absent.owner);
        report_account(account ? account : &absent, ret);
}

/* --- configuration --------------------------------------------------------------------------------- */

int shares_new(Shares **ret, const SharesConfig *config) {
        Shares *shares = calloc(1, sizeof(*shares));

        if (!shares)
                return -ENOMEM;

        (void)pthread_mutex_init(&shares->mutex, NULL);
        TAILQ_INIT(&shares->accounts);
        TAILQ_INIT(&shares->idle_accounts);
        shares->config = *config;
        *ret = shares;
        return 0;
}

Shares *shares_free(Shares *shares) {
        if (!shares)
                return NULL;

        while (!TAILQ_EMPTY(&shares->accounts))
                remove_account(TAILQ_FIRST(&shares->accounts));
        (void)pthread_mutex_destroy(&shares->mutex);
        free(shares);
        return NULL;
}

uint64_t shares_limit(Shares *shares, Resource resource) {
        LOCKED(&shares->mutex);

        return shares->config.limits[resource];
}

void shares_forget(Shares *shares, uint32_t uid) {
        ShareAccount *account, *next;

        LOCKED(&shares->mutex);
        for (account = TAILQ_FIRST(&shares->accounts); account; account = next) {
                next = TAILQ_NEXT(account, all);
                if (account->owner.type != OWNER_USER || account->owner.uid != uid)
                        continue;
                for (Resource i = 0; i < N_RESOURCES; i++)
                        account->holdings[i].n_refused = account->holdings[i].refused_first_ms =
                                account->holdings[i].refused_last_ms = 0;
                if (account->is_idle)
                        remove_account(account);
        }
}

void shares_configure(Shares *shares, const SharesConfig *config) {
        ShareAccount *account;

        LOCKED(&shares->mutex);
        shares->config = *config;
        TAILQ_FOREACH(account, &shares->accounts, all)
                set_weight(account, find_weight(&config->weights, &account->owner));
}
