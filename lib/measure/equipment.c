/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/equipment.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
#define X(id, kind_source, kind_max, kind_list, kind_label, kind_help, ...)            \
        [EQUIPMENT_##id] = { .source = SOURCE_##kind_source,      \
                             .n_max = kind_max,                   \
                             .list = kind_list,                   \
                             .label = kind_label,                 \
                             .help = kind_help,                   \
                             .texts = { __VA_ARGS__ },            \
                             .values = values[EQUIPMENT_##id],    \
                             .n_values = N_##id##_VALUES },
        EQUIPMENT_KINDS(X)
#undef X
};

const struct GpuSumInfo equipment_gpu_sums[N_GPU_SUMS] = {
#define X(id, member, unit, name) [SUM_##id] = { GPU_##member, unit, name },
        GPU_SUMS(X)
#undef X
};

double equipment_gpu_part(const SampleEquipment *gpu, GpuSum sum) {
        const struct GpuSumInfo *info = &equipment_gpu_sums[sum];

        return equipment_has(gpu, info->value) ? (double)gpu->values[info->value] / info->per_unit : NAN;
}

int equipment_add(EquipmentList *list, EquipmentKind kind, const char *name, SampleEquipment **ret) {
        SampleEquipment *item;
        size_t n = 0;

        for (size_t i = 0; i < list->n; i++)
                n += list->items[i].kind == kind;
        if (n >= equipment_kinds[kind].n_max)
                return EQUIPMENT_FULL;
        if (ARRAY_RESERVE(list->items, list->n_allocated, list->n + 1) < 0)
                return -ENOMEM;

        item = &list->items[list->n++];
        *item = (SampleEquipment){ .kind = kind, .is_counted = true };
        (void)snprintf(item->name, sizeof(item->name), "%s", name);
        *ret = item;
        return 0;
}

/* --- counters over time ---------------------------------------------------------------------------- */

/* Items of a kind that are there, new ones, and those that are gone. */
#define ITEMS_MAX(n_max) (2 * (size_t)(n_max) + 256)

void equipment_table_deinit(EquipmentTable *table) {
        free(table->items);
        *table = (EquipmentTable){};
}

static void drop_oldest(EquipmentTable *table) {
        size_t oldest = 0;

        for (size_t i = 1; i < table->n; i++)
                if (table->items[i].read_ns < table->items[oldest].read_ns)
                        oldest = i;
        table->items[oldest] = table->items[--table->n];
}

int equipment_table_reserve(EquipmentTable *table, EquipmentKind kind, size_t n) {
        assert(n <= equipment_kinds[kind].n_max);
        while (table->n + n > ITEMS_MAX(equipment_kinds[kind].n_max))
                drop_oldest(table);
        table->next = 0;
        return ARRAY_RESERVE(table->items, table->n_allocated, table->n + n);
}

EquipmentItem *equipment_table_take(EquipmentTable *table, const char *name, uint64_t now_ns) {
        EquipmentItem *item = NULL;

        for (size_t i = 0; i < table->n && !item; i++) {
                size_t at = (table->next + i) % table->n;

                if (strcmp(table->items[at].name, name) != 0)
                        continue;
                item = &table->items[at];
                table->next = at + 1;
        }
        if (!item) {
                assert(table->n < table->n_allocated); /* reserved by the caller */
                item = &table->items[table->n++];
                *item = (EquipmentItem){};
                (void)snprintf(item->name, sizeof(item->name), "%s", name);
        }
        item->read_ns = now_ns;
        return item;
}

void equipment_table_resume(EquipmentTable *table) {
        for (size_t i = 0; i < table->n; i++)
                for (size_t k = 0; k < EQUIPMENT_VALUES_MAX; k++) {
                        Counter *counter = &table->items[i].counters[k];

                        if (counter->believed > 0 || counter->shown > 0)
                                counter_resume(counter, table->items[i].read_ns);
                }
}

/* --- record ----------------------------------------------------------------------------------- */

/* Doubts are not kept. */
#define X(kind, member, ...)                                                             \
        RECORD_VALUE_AS(#member, EquipmentItem, counters[kind##_##member].believed),     \
        RECORD_VALUE_AS(#member "_shown", EquipmentItem, counters[kind##_##member].shown),
#define KIND(id, ...)                                                                                                  \
        static const Record id##_record = RECORD(EquipmentItem, RECORD_TEXT_OF(EquipmentItem, name),                   \
                                                 RECORD_VALUE(EquipmentItem, read_ns), id##_VALUES(X));
EQUIPMENT_KINDS(KIND)
#undef KIND
#undef X

const Record equipment_table_records[N_EQUIPMENT_KINDS] = {
#define X(id, ...)                                                                                                     \
        [EQUIPMENT_##id] = RECORD(EquipmentTable,                                                                      \
                RECORD_LIST_OF(EquipmentTable, items, n, ITEMS_MAX(EQUIPMENT_##id##_MAX), &id##_record)),
        EQUIPMENT_KINDS(X)
#undef X
};
