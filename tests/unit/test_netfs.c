/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/host/mountstats.c daemon/sample/host/lustre.c daemon/sample/host/ceph.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample/host/netfs.h"
#include "sampler_fixture.h"
#include "util/buffer.h"

#define STATS "proc/self/mountstats"
#define MOUNTS "proc/self/mountinfo"
#define LLITE "sys/kernel/debug/lustre/llite/"

/* Where the numbers of each test begin: a mount that is older was there before perfd. */
#define BEGIN_S 10000

static Buffer stats_text, mounts_text; /* of a machine that a test makes */

/* Reads a sample, and gives it to the meter as well. */
static void read_at(Fixture *f, uint64_t s) {
        read_only_at(f, s + BEGIN_S);
        measure(f);
}

/* Values in the order of NETFS_VALUES; UINT64_MAX: absent. */
static void assert_item(const Fixture *f, const char *name, const char *type, const char *source,
                        const uint64_t expected[N_NETFS_VALUES]) {
        const SampleEquipment *found = item(f, name);

        assert_string_equal(found->texts[0], type);
        assert_string_equal(found->texts[1], source);
        assert_string_equal(found->texts[2], "");
        assert_true(found->is_counted);
        for (size_t i = 0; i < N_NETFS_VALUES; i++) {
                assert_int_equal(equipment_has(found, i), expected[i] != UINT64_MAX);
                if (expected[i] != UINT64_MAX)
                        assert_int_equal(found->values[i], expected[i]);
        }
}

/* --- machines that tests make --------------------------------------------------------------------- */

static void clear_machine(void) {
        buffer_clear(&stats_text);
        buffer_clear(&mounts_text);
        buffer_puts(&stats_text, "device proc mounted on /proc with fstype proc\n");
        buffer_puts(&mounts_text, "1 1 0:20 / /proc rw - proc proc rw\n");
}

/* Adds a mount that has read and written some bytes, in as many operations. */
static void add_mount(const char *point, unsigned minor, uint64_t age_s, uint64_t n) {
        buffer_printf(&stats_text,
                      "device srv:/x mounted on %s with fstype nfs4 statvers=1.1\n\tage:\t%" PRIu64
                      "\n\tbytes:\t0 0 0 0 %" PRIu64 " %" PRIu64 " 0 0 \n\tper-op statistics\n\t        READ: %" PRIu64
                      " %" PRIu64 " 0 0 0 0 0 0 0\n\n",
                      point, age_s, n, n, n, n);
        buffer_printf(&mounts_text, "7 1 0:%u / %s rw - nfs4 srv:/x rw\n", minor, point);
}

static void put_machine(Fixture *f) {
        tree_write(f->root, STATS, stats_text.text);
        tree_write(f->root, MOUNTS, mounts_text.text);
}

static void start_machine(Fixture *f) {
        clear_machine();
        start(f, "nfs");
}

/* --- NFS ------------------------------------------------------------------------------------------ */

static void a_superblock_of_nfs_counts_once(void **state) {
        static const uint64_t home[] = { 52428800, 5242880, 405, 40, 100, 3, 1423000, 2960000 };
        static const uint64_t data[] = { 0, 7, 0, 1, 2, 4, 0, 9000000 };
        Fixture *f = *state;

        start(f, "nfs");
        read_at(f, 0);
        assert_true(sample_has(&f->sample, SOURCE_NETFS));
        assert_int_equal(f->sample.equipment.n, 2);
        assert_item(f, "/home/alice", "nfs4", "10.0.0.7:/export/home/alice", home);
        assert_item(f, "/data sets", "nfs", "10.0.0.8:/data", data);
}

static void rates_and_totals_are_those_of_the_server(void **state) {
        Fixture *f = *state;

        start_machine(f);
        add_mount("/home", 41, BEGIN_S, 1000);
        put_machine(f);
        read_at(f, 0);
        clear_machine();
        add_mount("/home", 41, BEGIN_S + 1, 5000);
        put_machine(f);
        read_at(f, 1);
        assert_int_equal(total(f, TOTAL_NETFS_READ_BYTES), 4000);
        assert_int_equal(total(f, TOTAL_NETFS_READS), 4000);
        assert_true(f->observation.netfs_read_rate == 4000);
        assert_true(f->observation.netfs_written_rate == 4000);
        assert_int_equal(total(f, TOTAL_NETFS_RETRANSMITTED), 0);
        assert_int_equal(meter_totals(f->meter)->unknown, 0);
}

/* An automounter mounts for a job what no sample has seen before, and unmounts it later. */
static void what_is_mounted_between_two_samples_counts_from_its_begin(void **state) {
        Fixture *f = *state;

        start_machine(f);
        put_machine(f);
        read_at(f, 0);
        assert_true(sample_lacks(&f->sample, SOURCE_NETFS));

        add_mount("/home/a", 41, 3, 700);
        add_mount("/old", 42, 300, 5000); /* was not seen: the table changed while it was read */
        put_machine(f);
        read_at(f, 1); /* the kernel tells a change, other files do not */
        assert_true(sample_lacks(&f->sample, SOURCE_NETFS));
        read_at(f, 10);
        assert_int_equal(total(f, TOTAL_NETFS_READ_BYTES), 700);

        clear_machine();
        add_mount("/old", 42, 301, 5000);
        put_machine(f);
        read_at(f, 11);
        assert_int_equal(f->sample.equipment.n, 1);

        /* another one at the same place, in the place of the first in memory */
        add_mount("/home/a", 41, 0, 600);
        put_machine(f);
        read_at(f, 12);
        assert_int_equal(total(f, TOTAL_NETFS_READ_BYTES), 1300);

        /* one at another place, without a sample in between */
        clear_machine();
        add_mount("/home/a", 41, 2, 600);
        put_machine(f);
        read_at(f, 14);
        clear_machine();
        add_mount("/home/b", 41, 0, 800);
        put_machine(f);
        read_at(f, 15);
        assert_int_equal(f->sample.equipment.n, 1);
        assert_int_equal(item(f, "/home/b")->values[NETFS_reads], 800);
        assert_int_equal(total(f, TOTAL_NETFS_READ_BYTES), 2100);

        /* the same again, as well */
        clear_machine();
        add_mount("/home/b", 41, 5, 800);
        put_machine(f);
        read_at(f, 20);
        clear_machine();
        add_mount("/home/b", 41, 1, 700);
        put_machine(f);
        read_at(f, 21);
        assert_int_equal(total(f, TOTAL_NETFS_READ_BYTES), 2800);

        clear_machine();
        put_machine(f);
        read_at(f, 22);
        assert_true(sample_has(&f->sample, SOURCE_NETFS));
        assert_int_equal(f->sample.equipment.n, 0);
        assert_int_equal(total(f, TOTAL_NETFS_READ_BYTES), 2800);
}

static void homes_of_one_superblock_keep_their_name_and_count_once(void **state) {
        Fixture *f = *state;

        start_machine(f);
        add_mount("/home/a", 41, 50, 100);
        add_mount("/home/b", 41, 50, 100);
        put_machine(f);
        read_at(f, 0);
        assert_int_equal(f->sample.equipment.n, 1);

        clear_machine();
        add_mount("/home/b", 41, 51, 300);
        put_machine(f);
        read_at(f, 1);
        assert_int_equal(item(f, "/home/a")->values[NETFS_reads], 300);

        /* another superblock at the place of the name */
        add_mount("/home/a", 55, 0, 7);
        put_machine(f);
        read_at(f, 2);
        assert_int_equal(f->sample.equipment.n, 2);
        assert_int_equal(item(f, "/home/a (0:55)")->values[NETFS_reads], 7);
        assert_int_equal(total(f, TOTAL_NETFS_READS), 207);
}

static void what_is_not_listed_is_in_the_sums(void **state) {
        char point[32];
        Fixture *f = *state;

        start_machine(f);
        for (uint64_t round = 0; round < 4; round++) {
                clear_machine();
                for (unsigned i = 0; i < NETFS_LISTED_MAX + 3; i++) {
                        (void)snprintf(point, sizeof(point), "/home/u%u", i);
                        /* of those beyond, one is mounted late, one is mounted again, and one is there */
                        if (i == NETFS_LISTED_MAX)
                                add_mount(point, 100 + i, 5000, 1000 + 10 * round);
                        else if (i == NETFS_LISTED_MAX + 1 && round > 0)
                                add_mount(point, 100 + i, round - 1, 100 * round);
                        else if (i == NETFS_LISTED_MAX + 2)
                                add_mount(point, 100 + i, 5000, round == 2 ? 20 : 500);
                        else if (i < NETFS_LISTED_MAX)
                                add_mount(point, 100 + i, 5000, 1 + round);
                }
                put_machine(f);
                read_at(f, round);
        }
        assert_int_equal(f->sample.equipment.n, NETFS_LISTED_MAX + 1);
        assert_string_equal(item(f, NETFS_OTHERS)->texts[1], "3 file systems");
        /* 3 rounds of 1 each; 30; 300; 20 from 0 after a fall, and 480 */
        assert_int_equal(total(f, TOTAL_NETFS_READS), 3 * NETFS_LISTED_MAX + 30 + 300 + 20 + 480);
        assert_int_equal(item(f, NETFS_OTHERS)->values[NETFS_reads], 830);
        assert_int_equal(meter_totals(f->meter)->unknown, 0);
        assert_int_equal(meter_totals(f->meter)->partial, 0);
}

static void the_text_of_many_mounts_is_not_read_with_each_sample(void **state) {
        char point[32];
        Fixture *f = *state;

        start_machine(f);
        for (unsigned i = 0; i < 4000; i++) {
                (void)snprintf(point, sizeof(point), "/home/u%u", i);
                add_mount(point, 100 + i, 5000, 10);
        }
        put_machine(f);
        assert_true(stats_text.n > 2 * 256 * 1024 && stats_text.n < 3 * 256 * 1024);
        read_at(f, 0);
        clear_machine();
        add_mount("/home/u0", 100, 5000, 30);
        put_machine(f);
        read_at(f, 2);
        assert_int_equal(f->sample.equipment.n, NETFS_LISTED_MAX + 1);
        assert_int_equal(item(f, "/home/u0")->values[NETFS_reads], 10);
        read_at(f, 3);
        assert_int_equal(f->sample.equipment.n, 1);
        assert_int_equal(item(f, "/home/u0")->values[NETFS_reads], 30);
}

static void with_another_root_the_mounts_of_its_first_process_are_read(void **state) {
        scoped(freep) char *stats = tree_text("nfs/" STATS), *mounts = tree_text("nfs/" MOUNTS);
        char path[128];
        Fixture *f = *state;

        tree_copy("small", f->root);
        (void)snprintf(path, sizeof(path), "%s/proc/1/mountstats", f->root);
        assert_int_equal(file_make_parents(path, 0755), 0);
        tree_write(f->root, "proc/1/mountstats", stats);
        tree_write(f->root, "proc/1/mountinfo", mounts);
        tree_write(f->root, STATS, "device srv:/own mounted on /own with fstype nfs4 statvers=1.1\n");
        assert_int_equal(sampler_new(&f->sampler, f->root, 3600 * NS_PER_S), 0);
        read_at(f, 0);
        assert_int_equal(f->sample.equipment.n, 2);
}

/* --- Lustre --------------------------------------------------------------------------------------- */

static void lustre_of_2_12_has_no_times(void **state) {
        static const uint64_t expected[] = { 8392704, 5000000, 12, 10, 73, UINT64_MAX, UINT64_MAX, UINT64_MAX };
        Fixture *f = *state;

        start(f, "lustre-2.12");
        read_at(f, 0);
        assert_int_equal(f->sample.equipment.n, 1);
        assert_item(f, "/scratch", "lustre", "10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch", expected);
}

static void lustre_of_2_15_has_times(void **state) {
        static const uint64_t expected[] = { 16384, 300, 4, 2, 16, UINT64_MAX, 1020, 70 };
        Fixture *f = *state;

        start(f, "lustre-2.15");
        read_at(f, 0);
        assert_item(f, "/work", "lustre", "10.0.0.1@tcp:/work-1/project", expected);

        tree_write(f->root, LLITE "work-1-ffff8d3e01a7b000/stats",
                   "snapshot_time 1658308343.1 secs.nsecs\nread_bytes 5 samples [bytes] 4096 4096 20480 1\n");
        read_at(f, 1);
        assert_int_equal(total(f, TOTAL_NETFS_READ_BYTES), 4096);
        assert_int_equal(total(f, TOTAL_NETFS_READS), 1);
}

static void lustre_before_2_12_is_below_proc(void **state) {
        scoped(freep) char *stats = tree_text("lustre-2.12/" LLITE "scratch-ffff9f6a4c1e2000/stats");
        char path[192];
        Fixture *f = *state;

        start(f, "lustre-2.12");
        (void)snprintf(path, sizeof(path), "%s/sys", f->root);
        tree_remove(path);
        (void)snprintf(path, sizeof(path), "%s/proc/fs/lustre/llite/scratch-ffff9f6a4c1e2000/stats", f->root);
        assert_int_equal(file_make_parents(path, 0755), 0);
        tree_write(f->root, "proc/fs/lustre/llite/scratch-ffff9f6a4c1e2000/stats", stats);
        read_at(f, 0);
        assert_int_equal(item(f, "/scratch")->values[NETFS_reads], 12);
}

static void lustre_that_cannot_be_read_says_why_and_is_tried_again(void **state) {
        char path[128], other[128];
        Fixture *f = *state;

        start(f, "lustre-2.12");
        (void)snprintf(path, sizeof(path), "%s/sys/kernel/debug", f->root);
        (void)snprintf(other, sizeof(other), "%s/sys/kernel/hidden", f->root);
        assert_int_equal(rename(path, other), 0);
        tree_write(f->root, "sys/kernel/debug", "");
        read_at(f, 0);
        assert_true(sample_has(&f->sample, SOURCE_NETFS));
        assert_string_equal(item(f, "/scratch")->texts[2], "sys/kernel/debug/lustre/llite: Not a directory");
        assert_int_equal(item(f, "/scratch")->have, 0);
        assert_true(meter_totals(f->meter)->unknown & totals_bit(TOTAL_NETFS_READ_BYTES));

        assert_int_equal(unlink(path), 0);
        assert_int_equal(rename(other, path), 0);
        read_at(f, 59);
        assert_int_equal(item(f, "/scratch")->have, 0);
        read_at(f, 60);
        assert_int_equal(item(f, "/scratch")->values[NETFS_reads], 12);
        assert_string_equal(item(f, "/scratch")->texts[2], "");

        tree_write(f->root, LLITE "scratch-ffff9f6a4c1e2000/stats", "what?\n");
        read_at(f, 61);
        assert_string_equal(item(f, "/scratch")->texts[2],
                            LLITE "scratch-ffff9f6a4c1e2000/stats: no snapshot_time");
        assert_int_equal(item(f, "/scratch")->have, 0);
}

static void each_mount_of_lustre_has_statistics_of_its_own(void **state) {
        char path[192];
        Fixture *f = *state;

        start(f, "lustre-2.12");
        for (const char *const *name = (const char *const[]){ "scratch-ffff000000000001", "scratch-2-ffff000000000002",
                                                              "scratch2-ffff000000000003", NULL };
             *name; name++) {
                (void)snprintf(path, sizeof(path), "%s/" LLITE "%s", f->root, *name);
                assert_int_equal(mkdir(path, 0755), 0);
                (void)snprintf(path, sizeof(path), LLITE "%s/stats", *name);
                tree_write(f->root, path, "snapshot_time 1.5 secs.nsecs\nread_bytes 1 samples [bytes] 5 5 5\n");
        }
        tree_write(f->root, STATS,
                   "device x@tcp:/scratch mounted on /a with fstype lustre\n"
                   "device x@tcp:/scratch mounted on /b with fstype lustre\n"
                   "device x@tcp:/scratch mounted on /c with fstype lustre\n"
                   "device what? mounted on /d with fstype lustre\n");
        tree_write(f->root, MOUNTS,
                   "1 1 0:61 / /a rw - lustre x@tcp:/scratch rw\n2 1 0:62 / /b rw - lustre x@tcp:/scratch rw\n"
                   "3 1 0:63 / /c rw - lustre x@tcp:/scratch rw\n4 1 0:64 / /d rw - lustre what? rw\n");
        read_at(f, 0);
        assert_int_equal(f->sample.equipment.n, 4);
        assert_int_equal(item(f, "/a")->values[NETFS_reads] + item(f, "/b")->values[NETFS_reads], 13);
        assert_string_equal(item(f, "/c")->texts[2], "sys/kernel/debug/lustre/llite: No such file or directory");
        assert_string_equal(item(f, "/d")->texts[2], "what?: Invalid argument");
}

/* --- CephFS --------------------------------------------------------------------------------------- */

#define CEPH "sys/kernel/debug/ceph/"
#define CLIENT CEPH "5f1e6c1a-7c0e-4c6f-9a35-2d8b7a4f1e01.client4312/metrics/"

static void cephfs_counts_requests_without_times(void **state) {
        static const uint64_t first[] = { 1006632960, 2031616, 240, 31, 5120, UINT64_MAX, UINT64_MAX, UINT64_MAX };
        static const uint64_t old[] = { 28672, 300, 7, 3, 90, UINT64_MAX, UINT64_MAX, UINT64_MAX };
        Fixture *f = *state;

        start(f, "ceph");
        read_at(f, 0);
        assert_int_equal(f->sample.equipment.n, 2);
        assert_item(f, "/ceph", "ceph", "alice@5f1e6c1a-7c0e-4c6f-9a35-2d8b7a4f1e01.fs=/", first);
        assert_item(f, "/old", "ceph", "10.0.0.9:6789:/", old);
        tree_write(f->root, CLIENT "size", "item total total_sz(bytes)\nread 241 1 1006633000\nwrite 31 1 2031616\n");
        read_at(f, 1);
        assert_int_equal(total(f, TOTAL_NETFS_READ_BYTES), 40);
        assert_int_equal(total(f, TOTAL_NETFS_READS), 1);
}

static void cephfs_that_cannot_be_read_says_why(void **state) {
        static const struct {
                const char *file, *text, *error;
        } bad[] = {
                { "size", "what?\n", "no table" },
                { "size", "item total total_sz(bytes)\nread 1", "truncated in the middle" },
                { "size", "", "no table" },
                { "latency", "", "no table" },
        };
        char path[192];

        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                Fixture *f = *state;

                start(f, "ceph");
                (void)snprintf(path, sizeof(path), CLIENT "%s", bad[i].file);
                tree_write(f->root, path, bad[i].text);
                read_at(f, 0);
                assert_int_equal(item(f, "/ceph")->have, 0);
                assert_non_null(strstr(item(f, "/ceph")->texts[2], bad[i].error));
                assert_int_equal(teardown(state), 0);
                assert_int_equal(setup(state), 0);
        }
        start(*state, "ceph");
        (void)snprintf(path, sizeof(path), "%s/" CEPH, ((Fixture *)*state)->root);
        tree_remove(path);
        read_at(*state, 0);
        assert_string_equal(item(*state, "/ceph")->texts[2], "sys/kernel/debug/ceph: No such file or directory");
}

static void numbers_of_cephfs_that_are_none_are_absent(void **state) {
        Fixture *f = *state;

        start(f, "ceph");
        tree_write(f->root, CLIENT "size", "item total total_sz(bytes)\nread x 1\nwrite 5 x\nread\n\nwritten 5\n");
        tree_write(f->root, CLIENT "latency", "item total avg_lat(us)\nmetadata -\nread 99999999999999999999 1\n");
        read_at(f, 0);
        assert_int_equal(item(f, "/ceph")->have, 1U << NETFS_writes);
}

/* --- failures ------------------------------------------------------------------------------------- */

static void a_text_that_is_no_table_is_refused(void **state) {
        Fixture *f = *state;

        start(f, "nfs");
        tree_write(f->root, STATS, "what?\n");
        read_at(f, 0);
        assert_failed(f, SOURCE_NETFS, STATS ": no mounts");
        tree_write(f->root, STATS, "");
        read_at(f, 1);
        assert_failed(f, SOURCE_NETFS, STATS ": no mounts");
        tree_write(f->root, STATS, "device a:/b mounted on /c with fstype nfs statvers=1.1\n\tbytes:\t1 2");
        read_at(f, 2);
        assert_failed(f, SOURCE_NETFS, STATS ": truncated in the middle of a line");
        tree_write(f->root, STATS, "device a:/b mounted on /c with fstype nfs statvers=1.1\n");
        tree_write(f->root, MOUNTS, "what?\n");
        read_at(f, 3);
        assert_failed(f, SOURCE_NETFS, STATS ": a line that is not a mount");
}

static void statistics_that_are_no_numbers_leave_their_values_out(void **state) {
        static const char *const hostile[] = {
                "",
                "\tbytes:\n\tper-op statistics\n\tREAD:\n",
                "\tbytes:\t1 2 3 4 5\n\tper-op statistics\n\t: : :\n",
                "\tbytes:\t1 2 3 4 99999999999999999999999 6\n\tper-op statistics\n\tREAD: 1 2 3 4 5 6 7\n",
                "\tage:\tx\n\tper-op statistics\n\tREAD 1 2 3 4 5 6 7 8\n",
                "\tper-op statistic\n\tREAD: 1 1 1 1 1 1 1 1 1\n",
        };
        static const char head[] = "device a:/b mounted on /c with fstype nfs statvers=1.1\n";
        char text[512];
        Fixture *f = *state;

        start(f, "nfs");
        tree_write(f->root, MOUNTS, "1 1 0:9 / /c rw - nfs a:/b rw\n");
        for (size_t i = 0; i < N_ELEMENTS(hostile); i++) {
                (void)snprintf(text, sizeof(text), "%s%s", head, hostile[i]);
                tree_write(f->root, STATS, text);
                read_at(f, i);
                assert_int_equal(item(f, "/c")->have, 0);
        }
}

static void a_mount_that_vanishes_between_two_files_is_looked_for_again(void **state) {
        Fixture *f = *state;

        start_machine(f);
        add_mount("/a", 41, 50, 1);
        put_machine(f);
        buffer_puts(&stats_text, "device srv:/x mounted on /b with fstype nfs4 statvers=1.1\n"
                            "device  mounted on  with fstype nfs4\ndevice\n");
        tree_write(f->root, STATS, stats_text.text);
        read_at(f, 0);
        assert_int_equal(f->sample.equipment.n, 1);
        buffer_puts(&mounts_text, "8 1 0:42 / /b rw - nfs4 srv:/x rw\n");
        tree_write(f->root, MOUNTS, mounts_text.text);
        read_at(f, 1);
        assert_int_equal(f->sample.equipment.n, 2);
}

static void a_file_that_is_gone_is_a_failure_if_it_was_there(void **state) {
        char path[128];
        Fixture *f = *state;

        start(f, "nfs");
        (void)snprintf(path, sizeof(path), "%s/" MOUNTS, f->root);
        assert_int_equal(unlink(path), 0);
        read_at(f, 0);
        assert_failed(f, SOURCE_NETFS, STATS ": No such file or directory");
        read_at(f, 1);
        assert_failed(f, SOURCE_NETFS, STATS ": No such file or directory");
        f->sampler = sampler_free(f->sampler);

        (void)snprintf(path, sizeof(path), "%s/" STATS, f->root);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(sampler_new(&f->sampler, f->root, 3600 * NS_PER_S), 0);
        read_at(f, 2);
        assert_true(sample_lacks(&f->sample, SOURCE_NETFS));
        read_at(f, 3);
        assert_true(sample_lacks(&f->sample, SOURCE_NETFS));
        assert_int_equal(mkdir(path, 0755), 0);
        read_at(f, 63);
        read_at(f, 73);
        assert_failed(f, SOURCE_NETFS, STATS ": Is a directory");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                TEST(a_superblock_of_nfs_counts_once),
                TEST(rates_and_totals_are_those_of_the_server),
                TEST(what_is_mounted_between_two_samples_counts_from_its_begin),
                TEST(homes_of_one_superblock_keep_their_name_and_count_once),
                TEST(what_is_not_listed_is_in_the_sums),
                TEST(the_text_of_many_mounts_is_not_read_with_each_sample),
                TEST(with_another_root_the_mounts_of_its_first_process_are_read),
                TEST(lustre_of_2_12_has_no_times),
                TEST(lustre_of_2_15_has_times),
                TEST(lustre_before_2_12_is_below_proc),
                TEST(lustre_that_cannot_be_read_says_why_and_is_tried_again),
                TEST(each_mount_of_lustre_has_statistics_of_its_own),
                TEST(cephfs_counts_requests_without_times),
                TEST(cephfs_that_cannot_be_read_says_why),
                TEST(numbers_of_cephfs_that_are_none_are_absent),
                TEST(a_text_that_is_no_table_is_refused),
                TEST(statistics_that_are_no_numbers_leave_their_values_out),
                TEST(a_mount_that_vanishes_between_two_files_is_looked_for_again),
                TEST(a_file_that_is_gone_is_a_failure_if_it_was_there),
        };
#undef TEST

        return cmocka_run_group_tests(tests, NULL, NULL);
}
