/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/devices.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/host/diskstats.h"
#include "sample/kernel_text.h"
#include "tree.h"

typedef struct Disks {
        DeviceList list;
        Sample sample;
} Disks;

static int setup(void **state) {
        *state = calloc(1, sizeof(Disks));
        return *state ? 0 : -1;
}

static int teardown(void **state) {
        Disks *d = *state;

        device_list_deinit(&d->list);
        sample_deinit(&d->sample);
        free(d);
        return 0;
}

/* tree: directory below TREES that contains sys; NULL: no sysfs. Builds a new list. */
static void parse(Disks *d, const char *text, const char *tree) {
        scoped(closep) int root_fd = -1;
        char path[128];
        const char *fault;

        if (tree) {
                (void)snprintf(path, sizeof(path), TREES "%s", tree);
                root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
                assert_true(root_fd >= 0);
        }
        d->list.n = 0;
        assert_int_equal(diskstats_parse(text, root_fd, &d->list, &d->sample, &fault), 0);
}

static const SampleDisk *find(const Disks *d, const char *name) {
        for (size_t i = 0; i < d->sample.n_disks; i++)
                if (strcmp(d->sample.disks[i].name, name) == 0)
                        return &d->sample.disks[i];
        return NULL;
}

static void assert_class(const Disks *d, const char *name, DiskClass class) {
        const SampleDisk *disk = find(d, name);

        if (!disk)
                fail_msg("no %s", name);
        else if (disk->class != class)
                fail_msg("%s is %s", name, sample_disk_class_names[disk->class]);
}

static void assert_left_out(const Disks *d, const char *name) {
        if (find(d, name))
                fail_msg("%s is not left out", name);
}

static void counters_are_read_and_sectors_become_bytes(void **state) {
        scoped(freep) char *text = tree_text("small/proc/diskstats");
        Disks *d = *state;
        const SampleDisk *disk;

        parse(d, text, "small");
        disk = &d->sample.disks[0];
        assert_int_equal(d->sample.n_disks, 1);
        assert_string_equal(disk->name, "vda");
        assert_int_equal(disk->class, DISK_PHYSICAL);
        assert_int_equal(disk->reads, 53715);
        assert_int_equal(disk->read_bytes, UINT64_C(2392746) * 512);
        assert_int_equal(disk->writes, 16894);
        assert_int_equal(disk->write_bytes, UINT64_C(2501352) * 512);
        assert_int_equal(disk->io_ms, 6204);
}

static void a_device_backed_by_hardware_is_physical(void **state) {
        scoped(freep) char *text = tree_text("disks/proc/diskstats");
        Disks *d = *state;

        parse(d, text, "disks");
        assert_class(d, "sda", DISK_PHYSICAL);
        assert_class(d, "sdb", DISK_PHYSICAL);
        assert_class(d, "cciss/c0d0", DISK_PHYSICAL); /* "cciss!c0d0" in sysfs */
        assert_class(d, "nvme0n1", DISK_PHYSICAL);    /* below devices/virtual, but on a device */
        assert_class(d, "mmcblk0", DISK_PHYSICAL);    /* an empty card reader is kept: a card may be inserted */
        assert_class(d, "rbd0", DISK_PHYSICAL);       /* without a device link, but not below devices/virtual */
}

static void a_stacked_device_is_virtual(void **state) {
        scoped(freep) char *text = tree_text("disks/proc/diskstats");
        Disks *d = *state;

        parse(d, text, "disks");
        assert_class(d, "dm-0", DISK_VIRTUAL);
        assert_class(d, "md127", DISK_VIRTUAL);
        assert_class(d, "loop1", DISK_VIRTUAL);
        assert_class(d, "ram0", DISK_VIRTUAL); /* never used, but has a size */
}

static void partitions_hidden_paths_and_unused_devices_are_left_out(void **state) {
        scoped(freep) char *text = tree_text("disks/proc/diskstats");
        Disks *d = *state;

        parse(d, text, "disks");
        assert_left_out(d, "nvme0n1p1");
        assert_left_out(d, "sda1");
        assert_left_out(d, "cciss/c0d0p1");
        assert_left_out(d, "nvme0c0n1");
        assert_left_out(d, "nvme0c1n1");
        assert_left_out(d, "loop0");
        assert_left_out(d, "zram0");
        assert_int_equal(d->sample.n_disks, 10);
}

static void an_unused_device_appears_with_its_first_io(void **state) {
        Disks *d = *state;
        const char *fault;

        parse(d, "7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n", "small");
        assert_int_equal(d->sample.n_disks, 0);
        assert_int_equal(diskstats_parse("7 0 loop0 1 0 8 0 0 0 0 0 0 0 0\n", -1, &d->list, &d->sample, &fault), 0);
        assert_int_equal(d->sample.n_disks, 1);
        assert_string_equal(d->sample.disks[0].name, "loop0");
        assert_int_equal(d->sample.disks[0].read_bytes, 4096);
}

static void without_sysfs_names_decide(void **state) {
        scoped(freep) char *old = tree_text("old/proc/diskstats");
        scoped(freep) char *text = tree_text("disks/proc/diskstats");
        Disks *d = *state;

        parse(d, old, NULL);
        assert_int_equal(d->sample.n_disks, 4);
        assert_class(d, "sda", DISK_PHYSICAL);
        assert_class(d, "hdc", DISK_PHYSICAL);
        assert_class(d, "cciss/c0d0", DISK_PHYSICAL);
        assert_class(d, "dm-0", DISK_VIRTUAL);

        parse(d, text, NULL);
        assert_class(d, "nvme0n1", DISK_PHYSICAL);
        assert_class(d, "mmcblk0", DISK_PHYSICAL);
        assert_class(d, "md127", DISK_VIRTUAL);
        assert_class(d, "loop1", DISK_VIRTUAL);
        assert_left_out(d, "nvme0n1p2");
        assert_left_out(d, "nvme0c0n1");
        assert_left_out(d, "sda1");
        assert_left_out(d, "cciss/c0d0p1");
        assert_left_out(d, "ram0");
}

static void lines_of_every_kernel_are_understood(void **state) {
        Disks *d = *state;

        parse(d, "8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n", NULL);
        assert_int_equal(d->sample.disks[0].write_bytes, 5 * 512);
        parse(d, "8 0 sda 1 0 2 3 4 0 5 6 0 7 8 9 9 9 9\n", NULL);
        assert_int_equal(d->sample.disks[0].write_bytes, 5 * 512);
        parse(d, "8 0 sda 1 0 2 3 4 0 5 6 0 7 8 9 9 9 9 9 9\n8 1 sda1 1 2 3 4\n", NULL);
        assert_int_equal(d->sample.disks[0].io_ms, 7);
        assert_int_equal(d->sample.n_disks, 1);
}

static void changed_names_rebuild_the_list(void **state) {
        static const struct {
                const char *text;
                size_t n;
                const char *names[3];
        } others[] = {
                { "", 0, {} },
                { "8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n", 1, { "sda" } },
                { "8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n8 16 sdc 1 0 2 3 4 0 5 6 0 7 8\n", 2, { "sda", "sdc" } },
                { "8 16 sdb 1 0 2 3 4 0 5 6 0 7 8\n8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n", 2, { "sdb", "sda" } },
                { "8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n8 16 sdb 1 0 2 3 4 0 5 6 0 7 8\n8 32 sdc 1 0 2 3 4 0 5 6 0 7 8\n", 3, { "sda", "sdb", "sdc" } },
        };
        Disks *d = *state;
        const char *known = "8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n8 16 sdb 1 0 2 3 4 0 5 6 0 7 8\n", *fault;

        for (size_t i = 0; i < N_ELEMENTS(others); i++) {
                parse(d, known, NULL);
                assert_int_equal(diskstats_parse(others[i].text, -1, &d->list, &d->sample, &fault), 0);
                assert_int_equal(d->sample.n_disks, others[i].n);
                assert_int_equal(d->list.n, others[i].n);
                for (size_t k = 0; k < others[i].n; k++)
                        assert_string_equal(d->sample.disks[k].name, others[i].names[k]);
        }
}

static void a_machine_without_disks_is_valid(void **state) {
        Disks *d = *state;

        parse(d, "", NULL);
        assert_int_equal(d->sample.n_disks, 0);
}

static void malformed_text_is_reported_and_nothing_is_filled(void **state) {
        static const char *const bad[] = {
                "8 0 sda 1 0 2 3 4 0 5 6 0 7\n",
                "8 0 sda 1 2 3 4\n",
                "8 0 sda 1 0 2 3 4 0 5 6 0 7 8",
                "8 0 sda 1 0 2 3 4 0 5 6 0 7 8x\n",
                "8 0 sda -1 0 2 3 4 0 5 6 0 7 8\n",
                "8 0 sda 1 0 99999999999999999999 3 4 0 5 6 0 7 8\n",
                "8 0 sda 1 0 36028797018963968 3 4 0 5 6 0 7 8\n", /* the number of bytes exceeds 64 bits */
        };
        Disks *d = *state;
        const char *fault;

        parse(d, "8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n", NULL);
        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                assert_int_equal(diskstats_parse(bad[i], -1, &d->list, &d->sample, &fault), TEXT_MALFORMED);
                assert_string_equal(fault, "a line that is not eleven counters");
                assert_int_equal(d->sample.n_disks, 0);
        }
        assert_int_equal(diskstats_parse("sda 1 2 3\n", -1, &d->list, &d->sample, &fault), TEXT_MALFORMED);
        assert_string_equal(fault, "a line without a device");
        assert_int_equal(
                diskstats_parse("8 0 a_name_of_more_than_thirty_one_letters 1\n", -1, &d->list, &d->sample, &fault),
                TEXT_MALFORMED);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                test(counters_are_read_and_sectors_become_bytes),
                test(a_device_backed_by_hardware_is_physical),
                test(a_stacked_device_is_virtual),
                test(partitions_hidden_paths_and_unused_devices_are_left_out),
                test(an_unused_device_appears_with_its_first_io),
                test(without_sysfs_names_decide),
                test(lines_of_every_kernel_are_understood),
                test(changed_names_rebuild_the_list),
                test(a_machine_without_disks_is_valid),
                test(malformed_text_is_reported_and_nothing_is_filled),
        };

        return cmocka_run_group_tests_name("diskstats", tests, NULL, NULL);
}
