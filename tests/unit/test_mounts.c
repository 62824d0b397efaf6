/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/mounts.h"
#include "sample/kernel_text.h"
#include "tree.h"
#include "util/buffer.h"

static Word word(const char *text) {
        return (Word){ text, strlen(text) };
}

static void choose(const char *text, MountList *list) {
        const char *fault;

        assert_int_equal(mounts_parse(text, list, &fault), 0);
        mounts_choose(list);
}

static void assert_chosen(const MountList *list, const char *const *expected, size_t n) {
        char point[256];

        for (size_t i = 0; i < n && i < list->n_chosen; i++) {
                mounts_unescape(list->items[list->chosen[i]].point, point, sizeof(point));
                assert_string_equal(point, expected[i]);
        }
        assert_int_equal(list->n_chosen, n);
}

#define assert_only(text, ...)                                                          \
        do {                                                                            \
                const char *const expected_[] = { __VA_ARGS__ };                        \
                MountList list_ = {};                                                   \
                                                                                        \
                choose(text, &list_);                                                   \
                assert_chosen(&list_, expected_, N_ELEMENTS(expected_));                \
                mount_list_deinit(&list_);                                              \
        } while (0)

static void local_file_systems_are_chosen_once_and_the_root_comes_first(void **state) {
        scoped(freep) char *text = tree_text("mounts/proc/1/mountinfo");

        (void)state;
        assert_only(text, "/", "/with blank\\and\ttab", "/srv", "/boot", "/boot/efi", "/auto", "/srvx");
}

static void network_and_user_space_file_systems_are_skipped(void **state) {
        (void)state;
        assert_only("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                    "2 1 0:40 / /nfs rw - nfs server:/ rw\n"
                    "3 1 0:41 / /ceph rw - ceph server:/ rw\n"
                    "4 1 0:42 / /gpfs rw - gpfs gpfs0 rw\n"
                    "5 1 0:43 / /fuse rw - fuse.sshfs x rw\n"
                    "6 1 8:3 / /ntfs rw - fuseblk /dev/sda3 rw\n",
                    "/");
}

static void a_local_file_system_below_a_network_one_is_skipped(void **state) {
        (void)state;
        assert_only("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                    "2 1 0:40 / /home rw - nfs server:/ rw\n"
                    "3 2 8:2 / /home/local rw - xfs /dev/sda2 rw\n"
                    "4 1 8:3 / /home2 rw - xfs /dev/sda3 rw\n",
                    "/", "/home2");
}

static void an_automount_point_is_shown_while_mounted(void **state) {
        (void)state;
        assert_only("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                    "2 1 0:44 / /auto rw - autofs systemd-1 rw,fd=34\n"
                    "3 2 8:2 / /auto rw - ext4 /dev/sda2 rw\n"
                    "4 1 0:45 / /waiting rw - autofs systemd-1 rw,fd=35\n"
                    "5 1 0:46 / /net rw - autofs /etc/auto.net rw,fd=36\n"
                    "6 5 8:3 / /net/below rw - ext4 /dev/sda3 rw\n",
                    "/", "/auto");
}

static void file_systems_beyond_the_limit_are_counted(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        MountList list = {};

        (void)state;
        for (unsigned i = 0; i < MOUNTS_CHOSEN_MAX + 7; i++)
                buffer_printf(&text, "%u 1 8:%u / /m%u rw - ext4 /dev/x rw\n", i + 2, i, i);
        choose(text.text, &list);
        assert_int_equal(list.n_chosen, MOUNTS_CHOSEN_MAX);
        assert_int_equal(list.n_left_out, 7);
        mount_list_deinit(&list);
}

static void covered_mounts_are_skipped(void **state) {
        (void)state;
        assert_only("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                    "2 1 8:2 / /a rw - ext4 /dev/sda2 rw\n"
                    "3 2 8:3 / /a rw - xfs /dev/sda3 rw\n"
                    "4 1 8:4 / /b/c rw - ext4 /dev/sda4 rw\n"
                    "5 1 8:5 / /b rw - ext4 /dev/sda5 rw\n",
                    "/", "/a", "/b");
}

static void the_root_of_a_container_or_a_live_system_is_asked(void **state) {
        (void)state;
        assert_only("1 0 0:50 / / rw - overlay overlay rw,lowerdir=/x\n"
                    "2 1 8:1 /etc/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
                    "3 1 0:51 / /tmp rw - tmpfs tmpfs rw\n",
                    "/", "/etc/hosts");
        assert_only("1 1 0:1 / / rw - rootfs rootfs rw\n"
                    "2 1 0:20 / / rw - tmpfs tmpfs rw\n",
                    "/");
}

static void a_network_root_is_skipped_with_all_mounts_below(void **state) {
        MountList list = {};

        (void)state;
        choose("1 0 0:30 / / rw - nfs server:/ rw\n2 1 8:1 / /scratch rw - ext4 /dev/sda1 rw\n", &list);
        assert_int_equal(list.n_chosen, 0);
        mount_list_deinit(&list);
}

static void of_several_mounts_of_one_file_system_the_whole_one_is_chosen(void **state) {
        (void)state;
        assert_only("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                    "2 1 0:60 /@a /a rw - btrfs /dev/sdb rw\n"
                    "3 1 0:60 / /whole rw - btrfs /dev/sdb rw\n"
                    "4 1 0:61 /@b /b rw - btrfs /dev/sdc rw\n"
                    "5 1 0:61 /@c /c rw - btrfs /dev/sdc rw\n",
                    "/", "/whole", "/b");
}

static void mounts_whose_parents_go_round_end(void **state) {
        MountList list = {};

        (void)state;
        choose("1 2 8:1 / /a rw - ext4 /dev/sda1 rw\n2 1 8:2 / /a rw - ext4 /dev/sda2 rw\n", &list);
        assert_true(list.n_chosen <= 2);
        mount_list_deinit(&list);
}

static void escapes_are_decoded_and_invalid_ones_stay(void **state) {
        char text[32];

        (void)state;
        assert_int_equal(mounts_unescape(word("/a\\040b\\134c"), text, sizeof(text)), 6);
        assert_string_equal(text, "/a b\\c");
        mounts_unescape(word("/a\\04"), text, sizeof(text));
        assert_string_equal(text, "/a\\04");
        mounts_unescape(word("/a\\08x"), text, sizeof(text));
        assert_string_equal(text, "/a\\08x");
        assert_int_equal(mounts_unescape(word("/abcdef"), text, 5), 7);
        assert_string_equal(text, "/abc");
}

static void malformed_text_is_reported_and_the_list_is_empty(void **state) {
        static const char *const bad[] = {
                "x\n",
                "1 0 8 / / rw - ext4 /dev/sda1 rw\n",
                "1 0 8:1 / / rw ext4 /dev/sda1 rw\n",
                "1 0 8:1 / / rw -\n",
                "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
                "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2\n",
        };
        MountList list = {};
        const char *fault;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                assert_int_equal(mounts_parse(bad[i], &list, &fault), TEXT_MALFORMED);
                assert_string_equal(fault, "a line that is not a mount");
                assert_int_equal(list.n, 0);
        }
        assert_int_equal(mounts_parse("", &list, &fault), TEXT_MALFORMED);
        assert_string_equal(fault, "no mounts");
        mount_list_deinit(&list);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(local_file_systems_are_chosen_once_and_the_root_comes_first),
                cmocka_unit_test(network_and_user_space_file_systems_are_skipped),
                cmocka_unit_test(a_local_file_system_below_a_network_one_is_skipped),
                cmocka_unit_test(an_automount_point_is_shown_while_mounted),
                cmocka_unit_test(file_systems_beyond_the_limit_are_counted),
                cmocka_unit_test(covered_mounts_are_skipped),
                cmocka_unit_test(the_root_of_a_container_or_a_live_system_is_asked),
                cmocka_unit_test(a_network_root_is_skipped_with_all_mounts_below),
                cmocka_unit_test(of_several_mounts_of_one_file_system_the_whole_one_is_chosen),
                cmocka_unit_test(mounts_whose_parents_go_round_end),
                cmocka_unit_test(escapes_are_decoded_and_invalid_ones_stay),
                cmocka_unit_test(malformed_text_is_reported_and_the_list_is_empty),
        };

        return cmocka_run_group_tests_name("mounts", tests, NULL, NULL);
}
