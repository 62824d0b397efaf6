/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_sample.h"
#include "http/node/node_equipment.h"

static void bare_node(Sample *sample) {
        fake_init(sample, 1);
        for (EquipmentKind kind = 0; kind < N_EQUIPMENT_KINDS; kind++) {
                sample->have &= ~(1U << equipment_kinds[kind].source);
                sample->equipment.none |= 1U << equipment_kinds[kind].source;
        }
}

static void have(Sample *sample, EquipmentKind kind) {
        sample->have |= 1U << equipment_kinds[kind].source;
        sample->equipment.none &= ~(1U << equipment_kinds[kind].source);
}

/* A GPU with an instance that lacks its energy, and a mount whose name no format may write as it is. */
static void equip(Sample *sample) {
        SampleEquipment *item;

        bare_node(sample);
        have(sample, EQUIPMENT_GPU);
        have(sample, EQUIPMENT_NETFS);
        assert_int_equal(equipment_add(&sample->equipment, EQUIPMENT_GPU, "0", &item), 0);
        (void)snprintf(item->texts[0], sizeof(item->texts[0]), "GPU-1");
        equipment_set(item, GPU_energy_mj, 1500);
        equipment_set(item, GPU_memory_used_bytes, 0);
        assert_int_equal(equipment_add(&sample->equipment, EQUIPMENT_NETFS, "/a \"b\"\n\xff", &item), 0);
        equipment_set(item, NETFS_reads, UINT64_MAX);
        assert_int_equal(equipment_add(&sample->equipment, EQUIPMENT_GPU, "0/1", &item), 0);
        item->is_counted = false;
        equipment_set(item, GPU_memory_used_bytes, 7);
}

static void assert_json(const Sample *sample, const char *expected) {
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };

        json_object_begin(&json);
        node_equipment_write(&json, sample);
        json_object_end(&json);
        assert_int_equal(buffer_error(&out), 0);
        assert_string_equal(out.text, expected);
}

static void assert_metrics(const Sample *sample, const char *expected) {
        scoped(buffer_deinit) Buffer out = {};
        Exposition exposition;
        char *to;

        exposition_init(&exposition, &out, false);
        node_equipment_metrics(&exposition, sample);
        exposition_end(&exposition);
        assert_int_equal(buffer_error(&out), 0);
        to = out.text;
        for (char *line = out.text, *next; line && *line; line = next) { /* without types and helps */
                size_t n = strcspn(line, "\n") + 1;

                next = line + n;
                if (*line == '#')
                        continue;
                memmove(to, line, n);
                to += n;
        }
        if (to)
                *to = '\0';
        assert_string_equal(out.text ?: "", expected);
}

static void a_node_without_equipment_has_nothing_of_it(void **state) {
        Sample sample;

        (void)state;
        bare_node(&sample);
        assert_json(&sample, "{}");
        assert_metrics(&sample, "");
        sample_deinit(&sample);
}

#define NAME "/a \\\"b\\\"\\n\xef\xbf\xbd" /* as written in both formats */
#define NONE "model=\"\",driver=\"\",parent=\"\",state=\"\""

static void what_an_item_lacks_is_absent(void **state) {
        Sample sample;

        (void)state;
        equip(&sample);
        assert_json(&sample,
                    "{\"gpus\":[{\"gpu\":\"0\",\"uuid\":\"GPU-1\",\"counted\":true,\"gpu_energy_joules\":1.5,"
                    "\"gpu_memory_used_bytes\":0},{\"gpu\":\"0/1\",\"counted\":false,\"gpu_memory_used_bytes\":7}],"
                    "\"network_filesystems\":[{\"mountpoint\":\"" NAME "\",\"counted\":true,"
                    "\"netfs_reads\":18446744073709551615}]}");
        assert_metrics(&sample,
                       "perfd_node_gpus_info{gpu=\"0\",uuid=\"GPU-1\"," NONE "} 1\n"
                       "perfd_node_gpus_info{gpu=\"0/1\",uuid=\"\"," NONE "} 1\n"
                       "perfd_node_gpu_energy_joules_total{gpu=\"0\"} 1.5\n"
                       "perfd_node_gpu_memory_used_bytes{gpu=\"0\"} 0\n"
                       "perfd_node_gpu_memory_used_bytes{gpu=\"0/1\"} 7\n"
                       "perfd_node_network_filesystems_info{mountpoint=\"" NAME
                       "\",fstype=\"\",source=\"\",error=\"\"} 1\n"
                       "perfd_node_netfs_reads_total{mountpoint=\"" NAME "\"} 18446744073709551615\n");
        sample_deinit(&sample);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_node_without_equipment_has_nothing_of_it),
                cmocka_unit_test(what_an_item_lacks_is_absent),
        };

        return cmocka_run_group_tests_name("node_equipment", tests, NULL, NULL);
}
