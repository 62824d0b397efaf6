/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Indicator room: the subsystem for indicators
 *
 * Embeds the parts and connects them. A room is not moved after indicator_room_init().
 */

#include "indicators/registry.h"
#include "indicators/results.h"

typedef struct IndicatorRoom {
        Registry registry;
        Results results;
} IndicatorRoom;

/* All arguments are borrowed until indicator_room_deinit(); changes of the configurations apply at once. */
void indicator_room_init(IndicatorRoom *room, const IndicatorsConfig *config, const StoreConfig *store_config, Store *store,
                         Shares *shares, Identity *identity);
void indicator_room_deinit(IndicatorRoom *room);

/* Fills the indicators' part of a snapshot. Returns 0 or -ENOMEM. */
int indicator_room_publish(const IndicatorRoom *room, IndicatorsSnapshot *ret);
