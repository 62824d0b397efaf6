/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shares: amounts that users hold of perfd's limits, and the amounts that they may hold
 *
 * Each resource has a limit for all users together. A user may hold at most a share of what the others leave free:
 *
 *     share = (limit - reserve - held by others) * weight / (weights of the users who hold some, this one included,
 *     + 1)
 *
 * So one user alone reaches half of the limit, the share shrinks when others come, and the n-th user of equal weight
 * always finds limit / (n * (n + 1)), whatever the others do. A smaller share takes nothing away; it refuses further
 * charges. Administrators have no share: they may use everything that is free and the reserve, which nobody else can
 * use.
 *
 * A Charge is one amount of one resource with its owner's account. The code that made the charge keeps it next to
 * the charged object, and releases it with the object. All functions may be called by any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shares/resource.h"
#include "util/scoped.h"

/* Users with a weight of their own, from [limits] weights, members of groups included. */
#define SHARES_WEIGHTS_MAX 1024U
/*
 * Accounts that hold nothing but were refused something are kept for perfctl quota, up to this number; the oldest
 * are dropped.
 */
#define SHARES_IDLE_ACCOUNTS_MAX 256U

typedef enum OwnerType {
        OWNER_USER,    /* uid */
        OWNER_ADDRESS, /* a host, for connections that do not come from this machine */
        OWNER_UNKNOWN, /* a local process whose user the kernel does not report */
} OwnerType;

typedef struct Owner {
        OwnerType type;
        uint32_t uid;        /* of OWNER_USER, else 0 */
        uint8_t address[16]; /* for OWNER_ADDRESS, IPv4 mapped into IPv6, else zeros */
        bool is_admin;       /* an administrator's requests are charged to a separate account */
} Owner;
#define OWNER_OF_UID(uid_) ((Owner){ .type = OWNER_USER, .uid = (uid_) })

typedef struct SharesWeight {
        uint32_t uid;
        uint32_t weight; /* 1 to 1000; others have 1 */
} SharesWeight;

/* The first item of a user applies. */
typedef struct SharesWeights {
        SharesWeight items[SHARES_WEIGHTS_MAX];
        size_t n;
} SharesWeights;

bool shares_weights_have(const SharesWeights *weights, uint32_t uid);

typedef struct SharesConfig {
        uint64_t limits[N_RESOURCES]; /* for all users together */
        SharesWeights weights;
} SharesConfig;

typedef struct Shares Shares;
typedef struct ShareAccount ShareAccount;

/* Zeroed: no charge. */
typedef struct Charge {
        ShareAccount *account; /* a reference */
        Resource resource;
        uint64_t amount;
} Charge;

/* The configuration is copied. Caller frees, after all charges are released and all accounts are closed. 0 or < 0. */
int shares_new(Shares **ret, const SharesConfig *config);
Shares *shares_free(Shares *shares);
DEFINE_SCOPED(Shares, shares_free);
/* Returns the limit of a resource for all users together. */
uint64_t shares_limit(Shares *shares, Resource resource);
/* Sets the limits and weights for further charges. */
void shares_configure(Shares *shares, const SharesConfig *config);

/* Returns a reference to the account of an owner, which is created if needed. NULL: out of memory. */
ShareAccount *shares_open_account(Shares *shares, const Owner *owner);
/* Releases a reference. Accepts NULL. */
void shares_close_account(ShareAccount *account);

/* Charges an amount. 0: *ret is the charge, to be released; or SHARES_REFUSED: it is {}. */
enum {
        SHARES_REFUSED = 1,
};
int shares_charge(ShareAccount *account, Resource resource, uint64_t amount, Charge *ret);
/* Charges an amount that is never refused: an amount that a user held before a restart, or that an administrator
 * must be able to use. The limit may be exceeded; then nobody else is charged until enough is released. */
void shares_charge_always(ShareAccount *account, Resource resource, uint64_t amount, Charge *ret);
/* Changes the amount of a charge. SHARES_REFUSED: the larger amount exceeds the share, and the charge is as before. */
int shares_resize(Charge *charge, uint64_t amount);
/* True when the charge could have this amount now. */
bool shares_has_room(const Charge *charge, uint64_t amount);
/* Sets the amount of a charge without a check, for an amount that is already held, such as rows that were stored
 * before the start. */
void shares_set(Charge *charge, uint64_t amount);
/* Releases a charge and sets it to {}. */
void shares_release(Charge *charge);

/* Writes why an account was refused, with the setting and a fix: "uid 1000 holds 512 of its share of 600 running
 * jobs (…)". */
#define SHARES_REASON_MAX 256U
void shares_explain(const ShareAccount *account, Resource resource, char ret[SHARES_REASON_MAX]);

/* Returns the largest amount that an account may hold now. */
uint64_t shares_find_share(ShareAccount *account, Resource resource);
/* Counts a refusal that the caller decided on. */
void shares_note_refusal(ShareAccount *account, Resource resource);
/* Forgets the refusals of a user. */
void shares_forget(Shares *shares, uint32_t uid);
/* Returns the weight of a user. */
uint32_t shares_weight(Shares *shares, uint32_t uid);

const char *shares_resource_name(Resource resource);
const char *shares_resource_unit(Resource resource);

/* --- reports --------------------------------------------------------------------------------------- */

typedef struct ResourceStats {
        uint64_t n_held, limit, n_owners; /* number of owners who hold some */
        uint64_t n_refused;               /* refused charges since start */
} ResourceStats;
void shares_stats(Shares *shares, ResourceStats ret[N_RESOURCES]);

typedef struct AccountReport {
        Owner owner;
        struct {
                uint64_t n_held, share;      /* share: largest amount that the owner may hold now */
                uint64_t n_refused;
                uint64_t refused_first_ms, refused_last_ms; /* CLOCK_REALTIME; 0: never */
        } resources[N_RESOURCES];
} AccountReport;
/* Reports up to n_max accounts, those with the latest refusals first. Returns their number. */
size_t shares_report(Shares *shares, AccountReport *ret, size_t n_max);
/* Reports a user, as an administrator if there is such an account. The user may hold nothing. */
void shares_report_user(Shares *shares, uint32_t uid, AccountReport *ret);

/* Writes "uid 1000", an address, or "unknown". Returns ret. */
#define SHARES_OWNER_MAX 64U
const char *shares_format_owner(const Owner *owner, char ret[SHARES_OWNER_MAX]);
