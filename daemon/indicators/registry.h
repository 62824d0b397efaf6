/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Registry: the models of indicators, at work
 *
 * Reads the models at the start and at each reload, accepts those that clients register, tells the store by which models results are
 * indexed, and checks submitted results.
 */

#include "desk/desk.h"
#include "indicators/models.h"
#include "snapshot/indicators_snapshot.h"

typedef struct Registry {
        const IndicatorsConfig *config; /* borrowed, as the store */
        Store *store;
        Models models;
        Model *pending;          /* owned; registered or removed, and queued for the store; NULL: none */
        bool is_pending_removal;
        char *json;              /* owned; all models as /api/v1/models returns them */
        uint64_t json_version;
        bool is_declaration_due; /* the models declared in files have changed and are not queued for the store yet */
} Registry;

/* Kinds of requests; their state is a Registry. */
extern const Kind registry_kinds[2];

/* Reads the registered models from the store, and the others from files. 0 or < 0. */
int registry_start(Registry *registry);
/* The configuration was read again, and files may have changed. 0 or < 0. */
int registry_configure(Registry *registry);
void registry_deinit(Registry *registry);
/* The store can write again, and may have opened its database only now. 0 or < 0. */
int registry_restore(Registry *registry);
/* At each tick: puts what the store had no room for. 0 or < 0. */
int registry_tick(Registry *registry);

/* Whether a model is queued for the store: results and models that come after it wait. */
bool registry_is_busy(const Registry *registry);

/* A result that does not conform to its model. */
typedef struct RegistryComplaint {
        size_t i_item;
        Complaint complaint; /* its path begins at the item */
} RegistryComplaint;

/*
 * Gives each item its model. 0 with the number of keys that their models do not know; or REGISTRY_REFUSED: the policy is strict, and
 * an item does not conform.
 */
enum {
        REGISTRY_REFUSED = 1,
};
int registry_check(const Registry *registry, Submission *items, size_t n_items, size_t *ret_n_odd, RegistryComplaint *ret_complaint);

/* Fills the models of a snapshot. */
void registry_publish(const Registry *registry, IndicatorsSnapshot *ret);
