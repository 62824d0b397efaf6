/* SPDX-License-Identifier: Apache-2.0 */
#include "http/node/node_equipment.h"

#include <math.h>
#include <stdio.h>

#define FAMILY_PREFIX "perfd_node_"

/* The i-th item of a kind from an index on; NULL: none. */
static const SampleEquipment *next_item(const Sample *sample, EquipmentKind kind, size_t *i) {
        while (*i < sample->equipment.n) {
                const SampleEquipment *item = &sample->equipment.items[(*i)++];

                if (item->kind == kind)
                        return item;
        }
        return NULL;
}

static void write_item(Json *json, const EquipmentKindInfo *kind, const SampleEquipment *item) {
        json_object_begin(json);
        json_put_string(json, kind->label, item->name);
        for (size_t i = 0; i < EQUIPMENT_TEXTS_MAX && kind->texts[i]; i++)
                if (item->texts[i][0])
                        json_put_string(json, kind->texts[i], item->texts[i]);
        json_put_bool(json, "counted", item->is_counted);
        for (size_t i = 0; i < kind->n_values; i++) {
                const EquipmentValue *value = &kind->values[i];

                if (!equipment_has(item, i))
                        continue;
                if (value->n_decimals > 0)
                        json_put_double(json, value->family, (double)item->values[i] / pow(10, value->n_decimals));
                else
                        json_put_uint(json, value->family, item->values[i]);
        }
        json_object_end(json);
}

void node_equipment_write(Json *json, const Sample *sample) {
        for (EquipmentKind kind = 0; kind < N_EQUIPMENT_KINDS; kind++) {
                const EquipmentKindInfo *info = &equipment_kinds[kind];
                const SampleEquipment *item;
                size_t i = 0;

                if (!sample_has(sample, info->source))
                        continue;
                json_put_array_begin(json, info->list);
                while ((item = next_item(sample, kind, &i)))
                        write_item(json, info, item);
                json_array_end(json);
        }
}

static void put_texts(Exposition *exposition, const Sample *sample, EquipmentKind kind) {
        const EquipmentKindInfo *info = &equipment_kinds[kind];
        const SampleEquipment *item;
        char name[64];
        size_t i = 0;

        (void)snprintf(name, sizeof(name), FAMILY_PREFIX "%s", info->list);
        exposition_family(exposition, name, FAMILY_INFO, "", info->help);
        while ((item = next_item(sample, kind, &i))) {
                exposition_sample(exposition);
                exposition_label(exposition, info->label, item->name);
                for (size_t k = 0; k < EQUIPMENT_TEXTS_MAX && info->texts[k]; k++)
                        exposition_label(exposition, info->texts[k], item->texts[k]);
                exposition_u64(exposition, 1);
        }
}

static void put_value(Exposition *exposition, const Sample *sample, EquipmentKind kind, size_t value) {
        const EquipmentValue *info = &equipment_kinds[kind].values[value];
        const SampleEquipment *item;
        bool has_family = false;
        char name[96];
        size_t i = 0;

        (void)snprintf(name, sizeof(name), FAMILY_PREFIX "%s", info->family);
        while ((item = next_item(sample, kind, &i))) {
                if (!equipment_has(item, value))
                        continue;
                if (!has_family)
                        exposition_family(exposition, name,
                                          info->type == EQUIPMENT_COUNTER ? FAMILY_COUNTER : FAMILY_GAUGE, info->unit,
                                          info->help);
                has_family = true;
                exposition_sample(exposition);
                exposition_label(exposition, equipment_kinds[kind].label, item->name);
                exposition_decimal(exposition, item->values[value], info->n_decimals);
        }
}

void node_equipment_metrics(Exposition *exposition, const Sample *sample) {
        for (EquipmentKind kind = 0; kind < N_EQUIPMENT_KINDS; kind++) {
                if (!sample_has(sample, equipment_kinds[kind].source))
                        continue;
                put_texts(exposition, sample, kind);
                for (size_t value = 0; value < equipment_kinds[kind].n_values; value++)
                        put_value(exposition, sample, kind, value);
        }
}
