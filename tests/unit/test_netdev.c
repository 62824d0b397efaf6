/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/host/netdev.h"
#include "sample/kernel_text.h"
#include "tree.h"

#define HEADINGS "Inter-|   Receive  |  Transmit\n face |bytes packets errs\n"

typedef struct Nets {
        DeviceList list;
        Sample sample;
} Nets;

static int setup(void **state) {
        *state = calloc(1, sizeof(Nets));
        return *state ? 0 : -1;
}

static int teardown(void **state) {
        Nets *n = *state;

        device_list_deinit(&n->list);
        sample_deinit(&n->sample);
        free(n);
        return 0;
}

/* tree: directory below TREES that contains sys; NULL: no sysfs. Builds a new list. */
static void parse(Nets *n, const char *text, const char *tree) {
        scoped(closep) int root_fd = -1;
        char path[128];
        const char *fault;

        if (tree) {
                (void)snprintf(path, sizeof(path), TREES "%s", tree);
                root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
                assert_true(root_fd >= 0);
        }
        n->list.n = 0;
        assert_int_equal(netdev_parse(text, root_fd, &n->list, &n->sample, &fault), 0);
}

static void assert_class(const Nets *n, const char *name, NetClass class) {
        for (size_t i = 0; i < n->sample.n_nets; i++)
                if (strcmp(n->sample.nets[i].name, name) == 0) {
                        if (n->sample.nets[i].class != class)
                                fail_msg("%s is %s", name, sample_net_class_names[n->sample.nets[i].class]);
                        return;
                }
        fail_msg("no %s", name);
}

static void counters_of_both_directions_are_read(void **state) {
        scoped(freep) char *text = tree_text("small/proc/net/dev");
        Nets *n = *state;
        const SampleNet *net;

        parse(n, text, "small");
        assert_int_equal(n->sample.n_nets, 2);
        net = &n->sample.nets[1];
        assert_string_equal(net->name, "eth0");
        assert_int_equal(net->class, NET_PHYSICAL);
        assert_int_equal(net->received_bytes, 208029766);
        assert_int_equal(net->received_packets, 138500);
        assert_int_equal(net->received_errors, 4);
        assert_int_equal(net->sent_bytes, 161908);
        assert_int_equal(net->sent_packets, 2061);
        assert_int_equal(net->sent_errors, 2);
}

static void traffic_that_is_counted_below_is_virtual(void **state) {
        scoped(freep) char *text = tree_text("bond/proc/1/net/dev");
        Nets *n = *state;

        parse(n, text, "bond");
        assert_class(n, "enp1s0f0", NET_PHYSICAL);
        assert_class(n, "enp1s0f1", NET_PHYSICAL);
        assert_class(n, "bond0", NET_VIRTUAL);
        assert_class(n, "bond0.100", NET_VIRTUAL);
        assert_class(n, "br0", NET_VIRTUAL);
        assert_class(n, "veth12ab34c", NET_VIRTUAL);
        assert_class(n, "dummy1", NET_VIRTUAL);
        assert_class(n, "ib0", NET_PHYSICAL);
}

static void a_fast_path_is_counted_by_its_physical_master(void **state) {
        scoped(freep) char *text = tree_text("bond/proc/1/net/dev");
        Nets *n = *state;

        parse(n, text, "bond");
        assert_class(n, "eth9", NET_PHYSICAL);
        assert_class(n, "enP1s9", NET_VIRTUAL);
}

static void loopback_is_recognized_by_name_or_type(void **state) {
        scoped(freep) char *text = tree_text("bond/proc/1/net/dev");
        Nets *n = *state;

        parse(n, text, "bond");
        assert_class(n, "lo", NET_LOOPBACK);
        assert_class(n, "MyLoopBack0", NET_LOOPBACK);
        assert_class(n, "loop9", NET_LOOPBACK);
}

static void an_interface_without_hardware_stays_virtual_even_if_it_is_the_only_one(void **state) {
        Nets *n = *state;

        parse(n, HEADINGS "lo: 1 1 0 0 0 0 0 0 1 1 0\neth5: 1 1 0 0 0 0 0 0 1 1 0\n", "bond");
        assert_class(n, "eth5", NET_VIRTUAL);
}

static void without_sysfs_everything_but_loopback_is_physical(void **state) {
        scoped(freep) char *text = tree_text("bond/proc/1/net/dev");
        Nets *n = *state;

        parse(n, text, NULL);
        assert_class(n, "lo", NET_LOOPBACK);
        assert_class(n, "MyLoopBack0", NET_LOOPBACK);
        assert_class(n, "enp1s0f0", NET_PHYSICAL);
        assert_class(n, "bond0", NET_PHYSICAL);
}

static void a_number_right_behind_the_colon_is_read(void **state) {
        scoped(freep) char *text = tree_text("old/proc/net/dev");
        Nets *n = *state;

        parse(n, text, NULL);
        assert_int_equal(n->sample.n_nets, 2);
        assert_string_equal(n->sample.nets[1].name, "eth0");
        assert_int_equal(n->sample.nets[1].received_bytes, 4294967295);
        assert_int_equal(n->sample.nets[1].sent_bytes, 3000);
        assert_int_equal(n->sample.nets[1].sent_errors, 2);
}

static void changed_names_rebuild_the_list(void **state) {
        static const struct {
                const char *text;
                size_t n;
                const char *names[3];
        } others[] = {
                { HEADINGS, 0, {} },
                { HEADINGS "lo: 1 1 0 0 0 0 0 0 1 1 0\n", 1, { "lo" } },
                { HEADINGS "lo: 1 1 0 0 0 0 0 0 1 1 0\neth1: 1 1 0 0 0 0 0 0 1 1 0\n", 2, { "lo", "eth1" } },
                { HEADINGS "eth0: 1 1 0 0 0 0 0 0 1 1 0\nlo: 1 1 0 0 0 0 0 0 1 1 0\n", 2, { "eth0", "lo" } },
                { HEADINGS "lo: 1 1 0 0 0 0 0 0 1 1 0\neth0: 1 1 0 0 0 0 0 0 1 1 0\neth1: 1 1 0 0 0 0 0 0 1 1 0\n",
                  3, { "lo", "eth0", "eth1" } },
        };
        Nets *n = *state;
        const char *known = HEADINGS "lo: 1 1 0 0 0 0 0 0 1 1 0\neth0: 1 1 0 0 0 0 0 0 1 1 0\n", *fault;

        for (size_t i = 0; i < N_ELEMENTS(others); i++) {
                parse(n, known, NULL);
                assert_int_equal(netdev_parse(others[i].text, -1, &n->list, &n->sample, &fault), 0);
                assert_int_equal(n->sample.n_nets, others[i].n);
                assert_int_equal(n->list.n, others[i].n);
                for (size_t k = 0; k < others[i].n; k++)
                        assert_string_equal(n->sample.nets[k].name, others[i].names[k]);
        }
}

static void malformed_text_is_reported_and_nothing_is_filled(void **state) {
        static const struct {
                const char *text, *fault;
        } bad[] = {
                { "", "no headings" },
                { "lo: 1 1 0 0 0 0 0 0 1 1 0\n", "no headings" },
                { HEADINGS "lo 1 1 0 0 0 0 0 0 1 1 0\n", "a line without an interface" },
                { HEADINGS "a_name_of_more_than_thirty_one_letters: 1 1 0\n", "a line without an interface" },
                { HEADINGS "lo: 1 1 0 0 0 0 0 0 1 1\n", "a line that is not counters" },
                { HEADINGS "lo: 1 1 0 0 0 0 0 0 1 1 0", "a line that is not counters" },
                { HEADINGS "lo: 1 1 0 0 0 0 0 0 -1 1 0\n", "a line that is not counters" },
                { HEADINGS "lo: 99999999999999999999 1 0 0 0 0 0 0 1 1 0\n", "a line that is not counters" },
        };
        Nets *n = *state;
        const char *fault;

        parse(n, HEADINGS "lo: 1 1 0 0 0 0 0 0 1 1 0\n", NULL);
        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                assert_int_equal(netdev_parse(bad[i].text, -1, &n->list, &n->sample, &fault), TEXT_MALFORMED);
                assert_string_equal(fault, bad[i].fault);
                assert_int_equal(n->sample.n_nets, 0);
        }
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                test(counters_of_both_directions_are_read),
                test(traffic_that_is_counted_below_is_virtual),
                test(a_fast_path_is_counted_by_its_physical_master),
                test(loopback_is_recognized_by_name_or_type),
                test(an_interface_without_hardware_stays_virtual_even_if_it_is_the_only_one),
                test(without_sysfs_everything_but_loopback_is_physical),
                test(a_number_right_behind_the_colon_is_read),
                test(changed_names_rebuild_the_list),
                test(malformed_text_is_reported_and_nothing_is_filled),
        };

        return cmocka_run_group_tests_name("netdev", tests, NULL, NULL);
}
