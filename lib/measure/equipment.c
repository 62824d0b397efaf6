/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/equipment.h"

#include <errno.h>
#include <stdio.h>

#include "util/array.h"

static const EquipmentValue values[N_EQUIPMENT_KINDS][EQUIPMENT_VALUES_MAX] = {
#define X(kind, name, value_type, decimals, value_family, value_unit, value_help, max) \
        [EQUIPMENT_##kind][kind##_##name] = { .member = #name,                         \
                                              .type = EQUIPMENT_##value_type,          \
                                              .n_decimals = decimals,                  \
                                              .family = value_family,                  \
                                              .unit = value_unit,                      \
                                              .help = value_help,                      \
                                              .max_per_s = max },
        EQUIPMENT_VALUES(X)
#undef X
};

const EquipmentKindInfo equipment_kinds[N_EQUIPMENT_KINDS] = {
#define X(id, kind_source, kind_list, kind_label, kind_help, ...)            \
        [EQUIPMENT_##id] = { .source = SOURCE_##kind_source,      \
                             .list = kind_list,                   \
                             .label = kind_label,                 \
                             .help = kind_help,                   \
                             .texts = { __VA_ARGS__ },            \
                             .values = values[EQUIPMENT_##id],    \
                             .n_values = N_##id##_VALUES },
        EQUIPMENT_KINDS(X)
#undef X
};

int equipment_add(EquipmentList *list, EquipmentKind kind, const char *name, SampleEquipment **ret) {
        SampleEquipment *item;

        if (list->n >= EQUIPMENT_MAX)
                return EQUIPMENT_FULL;
        if (ARRAY_RESERVE(list->items, list->n_allocated, list->n + 1) < 0)
                return -ENOMEM;

        item = &list->items[list->n++];
        *item = (SampleEquipment){ .kind = kind, .is_counted = true };
        (void)snprintf(item->name, sizeof(item->name), "%s", name);
        *ret = item;
        return 0;
}
