/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/indicator_room.h"

void indicator_room_init(IndicatorRoom *room, const IndicatorsConfig *config, const StoreConfig *store_config, Store *store,
                         Shares *shares, Identity *identity) {
        *room = (IndicatorRoom){
                .registry = { .config = config, .store = store, .shares = shares },
                .results = { .store_config = store_config, .store = store, .shares = shares, .identity = identity,
                             .registry = &room->registry },
        };
}

void indicator_room_deinit(IndicatorRoom *room) {
        results_deinit(&room->results);
        registry_deinit(&room->registry);
}

int indicator_room_publish(const IndicatorRoom *room, IndicatorsSnapshot *ret) {
        int r;

        registry_publish(&room->registry, ret);
        r = live_kpis_publish(&room->results.kpis, &ret->kpis);
        return r < 0 ? r : tally_publish(&room->results.tally, ret);
}
