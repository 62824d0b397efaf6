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

#include "measure/meter.h"
#include "sample/host/sampler.h"
#include "tree.h"
#include "util/clock.h"

#define IB "sys/class/infiniband/"
#define HOUR_NS (3600 * NS_PER_S)

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

typedef struct Fixture {
        char root[64];
        Sampler *sampler;
        Meter *meter;
        Sample sample;
        Observation observation;
} Fixture;

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

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        tree_copy("small", f->root);
        assert_int_equal(sampler_new(&f->sampler, f->root, HOUR_NS), 0);
        assert_int_equal(meter_new(&f->meter, NS_PER_S), 0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;

        sampler_free(f->sampler);
        meter_free(f->meter);
        sample_deinit(&f->sample);
        tree_remove(f->root);
        free(f);
        return 0;
}

static void read_at(Fixture *f, uint64_t s) {
        assert_int_equal(sampler_read(f->sampler, s * NS_PER_S, s * NS_PER_S, &f->sample), 0);
}

/* Reads a sample, and gives it to the meter as well. */
static void measure_at(Fixture *f, uint64_t s) {
        read_at(f, s);
        assert_true(meter_advance(f->meter, &f->sample, &f->observation) >= 0);
}

static uint64_t total(const Fixture *f, Total t) {
        return meter_totals(f->meter)->value[t];
}

static const SampleEquipment *port(const Fixture *f, const char *name) {
        for (size_t i = 0; i < f->sample.equipment.n; i++)
                if (strcmp(f->sample.equipment.items[i].name, name) == 0)
                        return &f->sample.equipment.items[i];
        fail_msg("no port %s", name);
        return NULL;
}

static void assert_value(const Fixture *f, const char *name, size_t value, uint64_t expected) {
        const SampleEquipment *item = port(f, name);

        assert_true(equipment_has(item, value));
        assert_int_equal(item->values[value], expected);
}

static void assert_no_value(const Fixture *f, const char *name, size_t value) {
        assert_false(equipment_has(port(f, name), value));
}

static void assert_texts(const Fixture *f, const char *name, const char *layer, const char *port_state,
                         const char *firmware) {
        const SampleEquipment *item = port(f, name);

        assert_memory_equal(item->texts[0], name, strlen(item->texts[0]));
        assert_string_equal(item->texts[1], layer);
        assert_string_equal(item->texts[2], port_state);
        assert_string_equal(item->texts[3], firmware);
}

static void assert_failed(const Fixture *f, const char *error) {
        assert_false(sample_has(&f->sample, SOURCE_FABRIC));
        assert_false(sample_lacks(&f->sample, SOURCE_FABRIC));
        assert_int_equal(f->sample.equipment.n, 0);
        assert_string_equal(sampler_stats(f->sampler)->error[SOURCE_FABRIC], error);
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
        assert_true(sample_has(&f->sample, SOURCE_FABRIC));
        assert_int_equal(f->sample.equipment.n, 1);
        for (size_t i = 0; i < N_PORT_VALUES; i++)
                assert_value(f, "mlx5_0:1", i, expected[i]);
        assert_true(port(f, "mlx5_0:1")->is_counted);
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

        read_at(f, 1);
        assert_true(sample_lacks(&f->sample, SOURCE_FABRIC));
        put_all(f, edr);
        put_all(f, soft);
        read_at(f, 2);
        assert_true(sample_lacks(&f->sample, SOURCE_FABRIC));
        read_at(f, 11);
        assert_int_equal(f->sample.equipment.n, 2);
        drop(f, IB "mlx5_0");
        read_at(f, 21);
        assert_int_equal(f->sample.equipment.n, 1);
        drop(f, IB "rxe0");
        read_at(f, 31);
        assert_true(sample_lacks(&f->sample, SOURCE_FABRIC));
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
        read_at(f, 1);
        assert_failed(f, "sys/class/infiniband: Not a directory");
        drop(f, IB "mlx5_1");
        read_at(f, 11);
        assert_true(sample_has(&f->sample, SOURCE_FABRIC));

        for (unsigned i = 1; i <= EQUIPMENT_MAX; i++) {
                (void)snprintf(path, sizeof(path), IB "vf%u/ports/1/state", i);
                put(f, path, "4: ACTIVE\n");
        }
        read_at(f, 21);
        assert_failed(f, "sys/class/infiniband: too many ports");
        drop(f, IB "vf1");
        read_at(f, 31);
        assert_int_equal(f->sample.equipment.n, EQUIPMENT_MAX);
}

static void a_class_that_is_no_directory_is_a_failure(void **state) {
        Fixture *f = *state;

        put(f, "sys/class/infiniband", "a file\n");
        read_at(f, 1);
        assert_failed(f, "sys/class/infiniband: Not a directory");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_port_of_infiniband_has_all_values, setup, teardown),
                cmocka_unit_test_setup_teardown(a_port_that_is_down_stays_listed_and_says_why, setup, teardown),
                cmocka_unit_test_setup_teardown(a_counter_that_a_driver_lacks_is_absent, setup, teardown),
                cmocka_unit_test_setup_teardown(a_counter_that_has_stopped_at_32_bits_is_unknown, setup, teardown),
                cmocka_unit_test_setup_teardown(rates_and_totals_follow_the_words, setup, teardown),
                cmocka_unit_test_setup_teardown(state_and_errors_are_read_each_ten_seconds, setup, teardown),
                cmocka_unit_test_setup_teardown(ports_that_come_and_go_are_found, setup, teardown),
                cmocka_unit_test_setup_teardown(texts_that_are_no_numbers_leave_their_value_out, setup, teardown),
                cmocka_unit_test_setup_teardown(without_one_of_the_ports_there_are_no_sums, setup, teardown),
                cmocka_unit_test_setup_teardown(a_class_that_is_no_directory_is_a_failure, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
