/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: all parsers of daemon/sample
 *
 * The sanitizers detect memory errors. The target asserts the guarantees of the parsers' headers for any text.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "sample/host/diskstats.h"
#include "sample/host/mountstats.h"
#include "sample/host/netdev.h"
#include "sample/host/netfs.h"
#include "sample/host/stat.h"
#include "sample/kernel_text.h"
#include "sample/mounts.h"
#include "sample/pressure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int r, const char *fault) {
        assert(r == 0 || (r == TEXT_MALFORMED && fault && *fault));
}

static void fuzz_stat(const char *text, Sample *sample) {
        const char *fault = NULL;
        int r = stat_parse(text, sample, &fault);
        size_t n_online = 0;

        check(r, fault);
        for (size_t i = 0; i < sample->n_cpus; i++)
                n_online += sample->cpus[i].online;
        assert(n_online == sample->n_online);
        assert((r == 0) == (n_online > 0));
}

static void fuzz_disks(const char *text, Sample *sample) {
        const char *fault = NULL;
        DeviceList list = {};
        int r;

        r = diskstats_parse(text, -1, &list, sample, &fault);
        check(r, fault);
        assert(r == 0 || sample->n_disks == 0);
        assert(sample->n_disks <= list.n);
        device_list_deinit(&list);
}

static void fuzz_nets(const char *text, Sample *sample) {
        const char *fault = NULL;
        DeviceList list = {};
        int r;

        r = netdev_parse(text, -1, &list, sample, &fault);
        check(r, fault);
        assert(sample->n_nets == (r == 0 ? list.n : 0));
        device_list_deinit(&list);
}

static void fuzz_mounts(const char *text) {
        const char *fault = NULL;
        MountList list = {};
        char point[32];

        check(mounts_parse(text, &list, &fault), fault);
        mounts_choose(&list);
        for (size_t i = 0; i < list.n_chosen; i++) {
                assert(mounts_unescape(list.items[list.chosen[i]].point, point, sizeof(point)) > 0);
                assert(strlen(point) < sizeof(point));
        }
        mount_list_deinit(&list);
}

static void fuzz_netfs(const char *text) {
        const char *fault = NULL;
        SampleEquipment item = {};
        MountStatsList list = {};

        check(mountstats_parse(text, &list, &fault), fault);
        for (size_t i = 0; i < list.n; i++) {
                assert(list.items[i].source.n > 0 && list.items[i].point.n > 0 && list.items[i].type.n > 0);
                mountstats_parse_nfs(list.items[i].statistics, &item);
        }
        mountstats_parse_nfs(text, &item);
        free(list.items);

        item.have = 0;
        fault = NULL;
        check(lustre_files.parse(text, &item, &fault), fault);
        assert((item.have == 0) == (fault != NULL));
        fault = NULL;
        check(ceph_files.parse(text, &item, &fault), fault);
}

static void fuzz_rest(const char *text, Sample *sample) {
        const char *fault = NULL;
        uint64_t ticks;
        int r;

        check(stat_parse_meminfo(text, &sample->memory, &fault), fault);
        check(stat_parse_vmstat(text, sample, &fault), fault);
        check(stat_parse_loadavg(text, &sample->load, &fault), fault);
        check(pressure_parse(text, &sample->counter[KERNEL_PSI_CPU_SOME], NULL, &fault), fault);
        check(pressure_parse(text, &sample->counter[KERNEL_PSI_IO_SOME], &sample->counter[KERNEL_PSI_IO_FULL], &fault),
              fault);
        check(pressure_parse(text, NULL, &sample->counter[KERNEL_PSI_IO_FULL], &fault), fault);
        r = stat_parse_process(text, &ticks);
        check(r == STAT_ENDED ? 0 : r, "malformed");
        assert(stat_parse_parent(text) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Sample sample = {};
        char *text;

        text = malloc(size + 1);
        if (!text)
                return 0;
        memcpy(text, data, size);
        text[size] = '\0';

        fuzz_stat(text, &sample);
        fuzz_disks(text, &sample);
        fuzz_nets(text, &sample);
        fuzz_mounts(text);
        fuzz_netfs(text);
        fuzz_rest(text, &sample);

        sample_deinit(&sample);
        free(text);
        return 0;
}
