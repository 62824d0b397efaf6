/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/host/equipment_readers.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler_fixture.h"

#define IB "sys/class/infiniband/"

/* Files of ports as drivers of Linux 5 and 6 write them. */
typedef struct File {
        const char *path, *text;
} File;

static const File edr[] = {
        { IB "mlx5_0/fw_ver", "20.31.1014\n" },
        { IB "mlx5_0/ports/1/link_layer", "InfiniBand\n" },
        { IB "mlx5_0/ports/1/state", "4: ACTIVE\n" },
        { IB "mlx5_0/ports/1/phys_state", "5: LinkUp\n" },
        { IB "mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n" },
        { IB "mlx5_0/ports/1/counters/port_rcv_data", "25000000000\n" },
        { IB "mlx5_0/ports/1/counters/port_xmit_data", "1000\n" },
        { IB "mlx5_0/ports/1/counters/port_rcv_packets", "30000000\n" },
        { IB "mlx5_0/ports/1/counters/port_xmit_packets", "70\n" },
        { IB "mlx5_0/ports/1/counters/port_xmit_wait", "5\n" },
        { IB "mlx5_0/ports/1/counters/port_rcv_errors", "6\n" },
        { IB "mlx5_0/ports/1/counters/port_xmit_discards", "7\n" },
        { IB "mlx5_0/ports/1/counters/symbol_error", "8\n" },
        { IB "mlx5_0/ports/1/counters/link_downed", "2\n" },
        { IB "mlx5_0/ports/1/counters/link_error_recovery", "9\n" },
        {},
};

/* Of ten ports, those with numbers of two digits come last. */
static const File down[] = {
        { IB "mlx5_10/ports/1/link_layer", "InfiniBand\n" },
        { IB "mlx5_10/ports/1/state", "1: DOWN\n" },
        { IB "mlx5_10/ports/1/phys_state", "2: Polling\n" },
        { IB "mlx5_10/ports/1/rate", "2.5 Gb/sec (1X SDR)\n" },
        { IB "mlx5_10/ports/1/counters/port_rcv_data", "0\n" },
        { IB "mlx5_10/ports/1/counters/port_xmit_data", "0\n" },
        {},
};

/* An adapter whose counters have 32 bits, one of which has reached its highest value. */
static const File old[] = {
        { IB "mthca0/ports/2/link_layer", "InfiniBand\n" },
        { IB "mthca0/ports/2/state", "4: ACTIVE\n" },
        { IB "mthca0/ports/2/rate", "10 Gb/sec (4X)\n" },
        { IB "mthca0/ports/2/counters/port_rcv_data", "4294967295\n" },
        { IB "mthca0/ports/2/counters/port_xmit_data", "4294967294\n" },
        { IB "mthca0/ports/2/counters/port_rcv_packets", "N/A (no PMA)\n" },
        {},
};

static const File soft[] = {
        { IB "rxe0/ports/1/link_layer", "Ethernet\n" },
        { IB "rxe0/ports/1/state", "4: ACTIVE\n" },
        { IB "rxe0/ports/1/phys_state", "5: LinkUp\n" },
        { IB "rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n" },
        { IB "rxe0/ports/1/hw_counters/sent_pkts", "11\n" },
        { IB "rxe0/ports/1/hw_counters/rcvd_pkts", "12\n" },
        { IB "rxe0/ports/1/hw_counters/link_downed", "1\n" },
        { IB "rxe0/ports/1/hw_counters/lifespan", "10\n" },
        {},
};

static const File cloud[] = {
        { IB "efa_0/ports/1/link_layer", "Unspecified\n" },
        { IB "efa_0/ports/1/state", "4: ACTIVE\n" },
        { IB "efa_0/ports/1/hw_counters/tx_bytes", "5000\n" },
        { IB "efa_0/ports/1/hw_counters/rx_bytes", "6000\n" },
        { IB "efa_0/ports/1/hw_counters/tx_pkts", "5\n" },
        { IB "efa_0/ports/1/hw_counters/rx_pkts", "6\n" },
        {},
};

static const File slingshot[] = {
        { "sys/class/cxi/cxi0/device/properties/link", "1\n" },
        { "sys/class/cxi/cxi0/device/properties/speed", "200000\n" },
        { "sys/class/cxi/cxi0/device/uc/version", "1.5.53\n" },
        { "sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets", "123456@1699999999.000000001\n" },
        { "sys/class/cxi/cxi0/device/telemetry/hni_sts_rx_ok_octets", "654321@1699999999.000000002\n" },
        {},
};

static void put(const Fixture *f, const char *path, const char *text) {
        char full[256];

        (void)snprintf(full, sizeof(full), "%s/%s", f->root, path);
        assert_int_equal(file_make_parents(full, 0755), 0);
        tree_write(f->root, path, text);
}

static void put_all(const Fixture *f, const File *files) {
        for (const File *file = files; file->path; file++)
                put(f, file->path, file->text);
}

static void drop(const Fixture *f, const char *path) {
        char full[192];

        (void)snprintf(full, sizeof(full), "%s/%s", f->root, path);
        tree_remove(full);
}

static int setup_small(void **state) {
        setup(state);
        start(*state, "small");
        return 0;
}

/* Reads a sample, again until the thread that reads the ports has ended. */
static void read_at(Fixture *f, uint64_t s) {
        EVENTUALLY((read_only_at(f, s), sample_read_ns(&f->sample, SOURCE_FABRIC) == s * NS_PER_S &&
                                                sample_has(&f->sample, SOURCE_FABRIC)));
}

static void measure_at(Fixture *f, uint64_t s) {
        read_at(f, s);
        measure(f);
}

static void read_none_at(Fixture *f, uint64_t s) {
        EVENTUALLY((read_only_at(f, s), sample_lacks(&f->sample, SOURCE_FABRIC)));
}

static void assert_failed_at(Fixture *f, uint64_t s, const char *error) {
        EVENTUALLY((read_only_at(f, s), *sampler_stats(f->sampler)->error[SOURCE_FABRIC]));
        assert_failed(f, SOURCE_FABRIC, error);
}

static void assert_value(const Fixture *f, const char *name, size_t value, uint64_t expected) {
        const SampleEquipment *port = item(f, name);

        assert_true(equipment_has(port, value));
        assert_int_equal(port->values[value], expected);
}

static void assert_no_value(const Fixture *f, const char *name, size_t value) {
        assert_false(equipment_has(item(f, name), value));
}

static void assert_texts(const Fixture *f, const char *name, const char *layer, const char *port_state,
                         const char *firmware) {
        const SampleEquipment *port = item(f, name);

        assert_memory_equal(port->texts[0], name, strlen(port->texts[0]));
        assert_string_equal(port->texts[1], layer);
        assert_string_equal(port->texts[2], port_state);
        assert_string_equal(port->texts[3], firmware);
}

/* --- ports ---------------------------------------------------------------------------------------- */

static void a_port_of_infiniband_has_all_values(void **state) {
        static const uint64_t expected[N_PORT_VALUES] = {
                [PORT_received_bytes] = 100000000000, [PORT_sent_bytes] = 4000,
                [PORT_received_packets] = 30000000,   [PORT_sent_packets] = 70,
                [PORT_sent_wait_ticks] = 5,           [PORT_received_errors] = 6,
                [PORT_sent_discards] = 7,             [PORT_symbol_errors] = 8,
                [PORT_link_downed] = 2,               [PORT_link_recovered] = 9,
                [PORT_is_active] = 1,                 [PORT_rate_bytes_per_s] = 12500000000,
        };
        Fixture *f = *state;

        put_all(f, edr);
        read_at(f, 1);
        assert_int_equal(f->sample.equipment.n, 1);
        for (size_t i = 0; i < N_PORT_VALUES; i++)
                assert_value(f, "mlx5_0:1", i, expected[i]);
        assert_true(item(f, "mlx5_0:1")->is_counted);
        assert_texts(f, "mlx5_0:1", "InfiniBand", "ACTIVE", "20.31.1014");
}

static void a_port_that_is_down_stays_listed_and_says_why(void **state) {
        Fixture *f = *state;

        put_all(f, down);
        put_all(f, edr);
        read_at(f, 1);
        assert_int_equal(f->sample.equipment.n, 2);
        assert_string_equal(f->sample.equipment.items[0].name, "mlx5_0:1");
        assert_value(f, "mlx5_10:1", PORT_is_active, 0);
        assert_value(f, "mlx5_10:1", PORT_rate_bytes_per_s, 312500000);
        assert_texts(f, "mlx5_10:1", "InfiniBand", "DOWN, Polling", "");
        assert_value(f, "mlx5_10:1", PORT_received_bytes, 0);
        assert_no_value(f, "mlx5_10:1", PORT_link_downed);
}

static void a_counter_that_a_driver_lacks_is_absent(void **state) {
        Fixture *f = *state;

        put_all(f, soft);
        put_all(f, cloud);
        put_all(f, slingshot);
        measure_at(f, 1);
        assert_int_equal(f->sample.equipment.n, 3);

        assert_value(f, "rxe0:1", PORT_sent_packets, 11);
        assert_value(f, "rxe0:1", PORT_received_packets, 12);
        assert_value(f, "rxe0:1", PORT_link_downed, 1);
        assert_no_value(f, "rxe0:1", PORT_sent_bytes);
        assert_no_value(f, "rxe0:1", PORT_received_bytes);
        assert_no_value(f, "rxe0:1", PORT_symbol_errors);

        assert_value(f, "efa_0:1", PORT_sent_bytes, 5000);
        assert_value(f, "efa_0:1", PORT_received_bytes, 6000);
        assert_value(f, "efa_0:1", PORT_received_packets, 6);
        assert_no_value(f, "efa_0:1", PORT_rate_bytes_per_s);

        assert_value(f, "cxi0", PORT_sent_bytes, 123456);
        assert_value(f, "cxi0", PORT_received_bytes, 654321);
        assert_value(f, "cxi0", PORT_is_active, 1);
        assert_value(f, "cxi0", PORT_rate_bytes_per_s, 25000000000);
        assert_texts(f, "cxi0", "Slingshot", "ACTIVE", "1.5.53");
        assert_no_value(f, "cxi0", PORT_received_packets);
        assert_true(meter_totals(f->meter)->partial & totals_bit(TOTAL_FABRIC_SENT_BYTES));
}

static void a_counter_that_has_stopped_at_32_bits_is_unknown(void **state) {
        Fixture *f = *state;

        put_all(f, old);
        measure_at(f, 1);
        assert_no_value(f, "mthca0:2", PORT_received_bytes);
        assert_no_value(f, "mthca0:2", PORT_received_packets);
        assert_value(f, "mthca0:2", PORT_sent_bytes, UINT64_C(4294967294) * 4);
        assert_true(meter_totals(f->meter)->unknown & totals_bit(TOTAL_FABRIC_RECV_BYTES));
}

/* --- over time ------------------------------------------------------------------------------------ */

static void rates_and_totals_follow_the_words(void **state) {
        Fixture *f = *state;

        put_all(f, edr);
        put_all(f, slingshot);
        measure_at(f, 1);
        put(f, IB "mlx5_0/ports/1/counters/port_rcv_data", "25250000000\n");
        put(f, "sys/class/cxi/cxi0/device/telemetry/hni_sts_rx_ok_octets", "655321@1700000000.000000002\n");
        measure_at(f, 2);
        assert_int_equal(total(f, TOTAL_FABRIC_RECV_BYTES), 1000001000);
        assert_int_equal(total(f, TOTAL_FABRIC_SENT_BYTES), 0);
        assert_true(f->observation.fabric_received_rate == 1000001000);
        assert_true(f->observation.fabric_sent_rate == 0);

        /* garbage is no number, and more than any link can carry is none that is believed */
        put(f, IB "mlx5_0/ports/1/counters/port_rcv_data", "18446744073709551615\n");
        measure_at(f, 3);
        assert_no_value(f, "mlx5_0:1", PORT_received_bytes);
        put(f, IB "mlx5_0/ports/1/counters/port_rcv_data", "4000000000000000000\n");
        measure_at(f, 4);
        put(f, IB "mlx5_0/ports/1/counters/port_rcv_data", "25250000100\n");
        measure_at(f, 5);
        assert_int_equal(total(f, TOTAL_FABRIC_RECV_BYTES), 1000001400);

        /* the adapter was reset: what it counts from 0 is added */
        put(f, IB "mlx5_0/ports/1/counters/port_rcv_data", "1000\n");
        measure_at(f, 6);
        put(f, IB "mlx5_0/ports/1/counters/port_rcv_data", "1500\n");
        measure_at(f, 7);
        assert_int_equal(total(f, TOTAL_FABRIC_RECV_BYTES), 1000001400 + 1500 * 4);
        assert_value(f, "mlx5_0:1", PORT_received_bytes, 101000000400 + 1500 * 4);
}

static void state_and_errors_are_read_each_ten_seconds(void **state) {
        Fixture *f = *state;

        put_all(f, edr);
        read_at(f, 1);
        put(f, IB "mlx5_0/ports/1/counters/symbol_error", "80\n");
        put(f, IB "mlx5_0/ports/1/counters/port_xmit_data", "1001\n");
        put(f, IB "mlx5_0/ports/1/state", "2: INIT\n");
        read_at(f, 10);
        assert_value(f, "mlx5_0:1", PORT_sent_bytes, 4004);
        assert_value(f, "mlx5_0:1", PORT_symbol_errors, 8);
        assert_value(f, "mlx5_0:1", PORT_is_active, 1);
        read_at(f, 11);
        assert_value(f, "mlx5_0:1", PORT_symbol_errors, 80);
        assert_value(f, "mlx5_0:1", PORT_is_active, 0);
        assert_texts(f, "mlx5_0:1", "InfiniBand", "INIT, LinkUp", "20.31.1014");
}

static void ports_that_come_and_go_are_found(void **state) {
        Fixture *f = *state;

        read_none_at(f, 1);
        put_all(f, edr);
        put_all(f, soft);
        read_at(f, 11);
        assert_int_equal(f->sample.equipment.n, 2);
        drop(f, IB "mlx5_0");
        read_at(f, 21);
        assert_int_equal(f->sample.equipment.n, 1);
        drop(f, IB "rxe0");
        read_none_at(f, 31);
}

/* --- failures ------------------------------------------------------------------------------------- */

static void texts_that_are_no_numbers_leave_their_value_out(void **state) {
        static const char *const hostile[] = { "",   "\n",      "-1\n",                   "x\n",
                                               "12", "12 13\n", "99999999999999999999\n", " \n" };
        Fixture *f = *state;

        put_all(f, edr);
        for (size_t i = 0; i < N_ELEMENTS(hostile); i++) {
                put(f, IB "mlx5_0/ports/1/counters/port_rcv_data", hostile[i]);
                put(f, IB "mlx5_0/ports/1/counters/link_downed", hostile[i]);
                put(f, IB "mlx5_0/ports/1/rate", hostile[i]);
                put(f, IB "mlx5_0/ports/1/state", hostile[i]);
                put(f, IB "mlx5_0/fw_ver", hostile[i]);
                read_at(f, 1 + 10 * i);
                assert_int_equal(f->sample.equipment.n, 1);
                assert_no_value(f, "mlx5_0:1", PORT_received_bytes);
                assert_no_value(f, "mlx5_0:1", PORT_link_downed);
                assert_no_value(f, "mlx5_0:1", PORT_rate_bytes_per_s);
                assert_value(f, "mlx5_0:1", PORT_is_active, 0);
                assert_value(f, "mlx5_0:1", PORT_sent_bytes, 4000);
        }
}

static void without_one_of_the_ports_there_are_no_sums(void **state) {
        Fixture *f = *state;
        char path[64];

        put_all(f, edr);
        put(f, IB "mlx5_1/ports/1", "a file\n");
        assert_failed_at(f, 1, "sys/class/infiniband: Not a directory");
        drop(f, IB "mlx5_1");
        read_at(f, 11);

        for (unsigned i = 1; i <= EQUIPMENT_PORT_MAX; i++) {
                (void)snprintf(path, sizeof(path), IB "vf%u/ports/1/state", i);
                put(f, path, "4: ACTIVE\n");
        }
        assert_failed_at(f, 21, "sys/class/infiniband: too many ports");
        drop(f, IB "vf1");
        put(f, "sys/class/powercap/intel-rapl:0/name", "package-0\n");
        put(f, "sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
        put(f, "sys/class/powercap/intel-rapl:0/energy_uj", "1\n");
        read_at(f, 61);
        assert_int_equal(f->sample.equipment.n, EQUIPMENT_PORT_MAX + 1); /* they push out no other equipment */
        assert_true(sample_has(&f->sample, SOURCE_ENERGY));
}

static void a_class_that_is_no_directory_is_a_failure(void **state) {
        Fixture *f = *state;

        put(f, "sys/class/infiniband", "a file\n");
        assert_failed_at(f, 1, "sys/class/infiniband: Not a directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_port_of_infiniband_has_all_values),
                TEST(a_port_that_is_down_stays_listed_and_says_why),
                TEST(a_counter_that_a_driver_lacks_is_absent),
                TEST(a_counter_that_has_stopped_at_32_bits_is_unknown),
                TEST(rates_and_totals_follow_the_words),
                TEST(state_and_errors_are_read_each_ten_seconds),
                TEST(ports_that_come_and_go_are_found),
                TEST(texts_that_are_no_numbers_leave_their_value_out),
                TEST(without_one_of_the_ports_there_are_no_sums),
                TEST(a_class_that_is_no_directory_is_a_failure),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
