/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Registry: loads and applies indicator models
 *
 * Reads the models at start and at each reload, passes them to the store, which indexes results by them, and checks
 * submitted results. Accepts the models of clients, one request at a time: its models wait in Registry.pending until
 * the store has them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "desk/desk.h"
#include "indicators/label_parameters.h"
#include "indicators/models.h"
#include "jobs/identity.h"
#include "snapshot/snapshot.h"

/* A model that waits for the store before it enters the table. */
typedef struct PendingModel {
        Model *model;   /* owned */
        uint32_t index; /* of the model in its request */
} PendingModel;

/* Models whose registration or removal is queued for the store; of a removal, one model. */
typedef struct PendingModels {
        PendingModel *items; /* owned; sorted by name, then component */
        size_t n;            /* 0: nothing is queued */
        bool is_removal;
} PendingModels;

/* Changes of the models. */
#define MODEL_CHANGES_KEPT 64U
typedef struct ModelChanges {
        uint64_t n;
        int64_t owners[MODEL_CHANGES_KEPT]; /* of the last changes: number i is at i % MODEL_CHANGES_KEPT */
} ModelChanges;

typedef struct Registry {
        const IndicatorsConfig *config; /* borrowed, like the next three */
        Store *store;
        Shares *shares;
        const Identity *identity;
        Models models;
        PendingModels pending;
        SharedTexts *json;       /* a reference; all models as /api/v1/models returns them */
        ModelChanges changes;
        LogUserLimits log_limits; /* for messages about registered and removed models */
        uint64_t logged_hash;    /* of the complaints about files that were last logged */
        bool is_declaration_due; /* the models declared in files have changed and are not queued for the store yet */
} Registry;

/* Reads registered models from the store, and the others from files. Returns 0 or a negative errno. */
int registry_start(Registry *registry);
/* Removes the models of a user, as the store did. Those that apply to all users stay, without the user. 0 or < 0. */
int registry_forget(Registry *registry, uint32_t uid);
/* Replaces the models of files after a reload. read: a table that has read them, or NULL: they are read now. Returns 0
 * or a negative errno. */
int registry_configure(Registry *registry, Models *read);
void registry_deinit(Registry *registry);
/*
 * Stores the models again when the store becomes writable, and reads registered models if the database was opened
 * late. Returns 0 or a negative errno.
 */
int registry_restore(Registry *registry);
/* Called at each tick: stores the models for which the store had no space. Returns 0 or a negative errno. */
int registry_tick(Registry *registry);

/* Returns true while a model is queued for the store: other models must wait. */
bool registry_is_busy(const Registry *registry);
/* Returns true if a queued model may apply to a user's results of this indicator, which must wait then. */
bool registry_is_busy_with(const Registry *registry, uint32_t uid, const Indicator *indicator);

/*
 * Sets the model of a user's item, borrowed until the models change, and adds parameters that are labels. Returns 0
 * with the number of keys that are missing from the model; REGISTRY_REFUSED if the policy is strict and the item does
 * not conform; or -ENOMEM.
 */
enum {
        REGISTRY_REFUSED = 1,
};
int registry_check(const Registry *registry, uint32_t uid, Submission *item, LabelParameters *ret_added,
                   size_t *ret_n_deviations, Complaint *ret_complaint);

/* Returns true if models that may apply to a user's results have changed since there were n_changes changes. */
bool registry_has_changed(const Registry *registry, uint32_t uid, uint64_t n_changes);

/* Fills the models of a snapshot. */
void registry_publish(const Registry *registry, IndicatorsSnapshot *ret);

/* Kinds of requests; their state is a Registry. */
enum {
        REGISTRY_REGISTER,
        REGISTRY_UNREGISTER,
};
extern const Kind registry_kinds[2];
