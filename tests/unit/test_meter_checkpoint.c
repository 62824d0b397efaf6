/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "fake_meter.h"
#include "json/record.h"

/* --- save and restore ----------------------------------------------------------------------- */

static void fill_and_run(Bench *b) {
        bench_begin(b, 2);
        fake_disk(&b->now, "sda", DISK_PHYSICAL)->read_bytes = 1000;
        fake_disk(&b->now, "odd name=50%\n\x80", DISK_VIRTUAL)->read_bytes = 70;
        fake_net(&b->now, "eth0", NET_PHYSICAL)->sent_bytes = 5000;
        fake_work(&b->now, 1000, 1000);
        b->now.counter[KERNEL_CONTEXT_SWITCHES] = 100000;
        look(b);
        fake_second(&b->now, 100);
        b->now.disks[0].read_bytes += 10;
        b->now.nets[0].sent_bytes += 20;
        b->now.counter[KERNEL_CONTEXT_SWITCHES] += 30;
        assert_int_equal(look(b), METER_OBSERVED);
}

static void a_restored_meter_goes_on_as_if_it_had_never_stopped(void **state) {
        Bench b;
        Totals before;

        (void)state;
        fill_and_run(&b);
        before = *meter_totals(b.meter);
        assert_int_equal(restart(&b, BOOT, BOOT), 0);
        assert_memory_equal(meter_totals(b.meter), &before, sizeof(before));

        /* A second without a sample. */
        fake_second(&b.now, 40);
        b.now.disks[0].read_bytes += 1;
        b.now.disks[1].read_bytes += 2;
        b.now.nets[0].sent_bytes += 3;
        b.now.counter[KERNEL_CONTEXT_SWITCHES] += 4;
        fake_disk(&b.now, "sdb", DISK_PHYSICAL)->read_bytes = 500; /* a device added since then counts from now */
        assert_int_equal(look(&b), 0);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 280);
        assert_int_equal(total(&b, TOTAL_CPU_IDLE), 120);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 11);
        assert_int_equal(total(&b, TOTAL_VIRT_DISK_READ_BYTES), 2);
        assert_int_equal(total(&b, TOTAL_NET_SENT_BYTES), 23);
        assert_int_equal(total(&b, TOTAL_CONTEXT_SWITCHES), 34);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), 4 * SECOND);
        assert_int_equal(total(&b, TOTAL_OBSERVED_NS), SECOND);
        assert_int_equal(total(&b, TOTAL_UNOBSERVED_NS), SECOND);
        assert_int_equal(meter_events(b.meter)->n_gaps, 1);

        fake_second(&b.now, 20);
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_true(b.observation.cpu_mean == 0.2);
        bench_end(&b);
}

static void time_that_waited_to_be_observed_is_not_lost_in_a_restart(void **state) {
        Bench b;

        (void)state;
        fill_and_run(&b);
        fake_pass(&b.now, 50 * MS);
        look(&b);
        assert_int_equal(restart(&b, BOOT, BOOT), 0);
        fake_pass(&b.now, 10 * SECOND);
        look(&b);
        assert_int_equal(total(&b, TOTAL_UNOBSERVED_NS), 10 * SECOND + 50 * MS);
        bench_end(&b);
}

static void a_source_missing_when_saved_keeps_its_last_known_counters(void **state) {
        Bench b;

        (void)state;
        fill_and_run(&b);
        b.now.have &= ~(1U << SOURCE_STAT | 1U << SOURCE_DISKSTATS);
        look_later(&b);
        assert_int_equal(restart(&b, BOOT, BOOT), 0);
        assert_int_equal(meter_totals(b.meter)->have, ALL_SOURCES & ~(1U << SOURCE_STAT | 1U << SOURCE_DISKSTATS));
        b.now.have = ALL_SOURCES;
        fake_second(&b.now, 10);
        b.now.disks[0].read_bytes += 5;
        look(&b);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 220);
        assert_int_equal(total(&b, TOTAL_DISK_READ_BYTES), 15);
        bench_end(&b);
}

static void in_another_boot_totals_stay_and_counters_restart(void **state) {
        Bench b;
        Totals before;

        (void)state;
        fill_and_run(&b);
        before = *meter_totals(b.meter);
        assert_int_equal(restart(&b, BOOT, OTHER_BOOT), METER_OTHER_BOOT);
        assert_memory_equal(meter_totals(b.meter), &before, sizeof(before));

        b.now.boottime_ns = 20 * SECOND; /* the clock restarted as well */
        assert_int_equal(look(&b), 0);
        assert_memory_equal(meter_totals(b.meter)->value, before.value, sizeof(before.value));
        assert_int_equal(meter_totals(b.meter)->boottime_ns, 20 * SECOND);
        fake_second(&b.now, 100);
        assert_int_equal(look(&b), METER_OBSERVED);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 400);
        assert_int_equal(total(&b, TOTAL_CAPACITY_NS), 4 * SECOND);
        bench_end(&b);
}

static void a_boot_without_an_id_is_another_one(void **state) {
        Bench b;

        (void)state;
        fill_and_run(&b);
        assert_int_equal(restart(&b, "", ""), METER_OTHER_BOOT);
        bench_end(&b);
}

static void a_meter_saved_before_its_first_sample_starts_with_one(void **state) {
        Bench b;

        (void)state;
        bench_begin(&b, 1);
        assert_int_equal(restart(&b, BOOT, BOOT), 0);
        fake_work(&b.now, 100, 100);
        assert_int_equal(look(&b), 0);
        assert_int_equal(total(&b, TOTAL_CPU_USER), 0);
        bench_end(&b);
}

static void a_checkpoint_of_a_later_version_is_read(void **state) {
        static const char text[] = "{\"boot_id\":\"" BOOT "\",\"base_ns\":5,\"colour\":{\"name\":\"blue\"},\"account\":"
                                   "{"
                                   "\"totals\":{\"boottime_ns\":7,\"have\":[\"stat\",\"qpu\"],\"value\":{\"CPU_USER\":"
                                   "123,\"GPU_JOULES\":\"x\"}},"
                                   "\"qubits\":[{\"name\":0,\"busy\":\"many\"}],"
                                   "\"disks\":{\"devices\":[{\"name\":\"sda\",\"class\":\"physical\",\"reads\":5,"
                                   "\"discards\":\"soon\"}]}}}";
        Meter *meter = NULL;

        (void)state;
        assert_int_equal(meter_new(&meter, SECOND), 0);
        assert_int_equal(meter_restore(meter, text, BOOT), 0);
        assert_int_equal(meter_totals(meter)->value[TOTAL_CPU_USER], 123);
        assert_int_equal(meter_totals(meter)->have, 1U << SOURCE_STAT);
        meter_free(meter);
}

static void an_invalid_checkpoint_leaves_the_meter_unchanged(void **state) {
        static const char *const texts[] = {
                "",
                "\n\n",
                "[]",
                "{",
                "{\"account\":{\"totals\":{\"value\":{\"CPU_USER\":1}}}", /* truncated */
                "{\"account\":{\"totals\":{\"value\":{\"CPU_USER\":-1}}}}",
                "{\"account\":{\"totals\":{\"value\":{\"CPU_USER\":18446744073709551616}}}}",
                "{\"account\":{\"raw\":{\"CPU_USER\":null}}}",
                "{\"base_ns\":8,\"account\":{\"totals\":{\"boottime_ns\":7}}}",    /* observed in the future */
                "{\"account\":{\"totals\":{\"realtime_ns\":18446744073709551615}}}", /* year out of range */
                "{\"account\":{\"n_online\":4294967296}}",
                "{\"account\":{\"disks\":{\"devices\":[{\"class\":\"physical\"}]}}}", /* name missing */
                "{\"account\":{\"disks\":{\"devices\":[{\"name\":\"a\",\"class\":\"imaginary\"}]}}}",
                "{\"account\":{\"disks\":{\"devices\":[{\"name\":\"a\\u0000b\",\"class\":\"physical\"}]}}}",
                "{\"account\":{\"nets\":{\"devices\":[{\"name\":\"01234567890123456789012345678901\"}]}}}",
        };
        Bench b;
        Totals before;

        (void)state;
        fill_and_run(&b);
        before = *meter_totals(b.meter);
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_int_equal(meter_restore(b.meter, texts[i], BOOT), METER_MALFORMED);
        assert_memory_equal(meter_totals(b.meter), &before, sizeof(before));
        fake_second(&b.now, 10);
        assert_int_equal(look(&b), METER_OBSERVED);
        bench_end(&b);
}

static void a_truncated_checkpoint_is_invalid(void **state) {
        Bench b;
        Meter *meter = NULL;
        char *text = NULL;
        size_t n;

        (void)state;
        fill_and_run(&b);
        assert_int_equal(meter_new(&meter, SECOND), 0);
        assert_int_equal(meter_save(b.meter, BOOT, &text), 0);
        n = strlen(text);
        for (; n > 0; n--) {
                text[n - 1] = '\0';
                assert_int_equal(meter_restore(meter, text, BOOT), METER_MALFORMED);
        }
        free(text);
        meter_free(meter);
        bench_end(&b);
}

static void an_invalid_image_leaves_the_meter_unchanged(void **state) {
        Bench b;
        Totals before;
        Buffer image = {};

        (void)state;
        fill_and_run(&b);
        before = *meter_totals(b.meter);
        meter_put_image(b.meter, BOOT, &image);
        for (size_t n = 0; n < image.n; n++)
                assert_int_equal(meter_restore_image(b.meter, image.text, n, BOOT), METER_MALFORMED);
        image.text[0] ^= 1; /* of the fingerprint */
        assert_int_equal(meter_restore_image(b.meter, image.text, image.n, BOOT), METER_OTHER_PROGRAM);
        assert_memory_equal(meter_totals(b.meter), &before, sizeof(before));
        buffer_deinit(&image);
        bench_end(&b);
}

/* --- totals --------------------------------------------------------------------------------- */

static void totals_of_any_size_go_through_text(void **state) {
        Totals totals = { .boottime_ns = UINT64_MAX, .realtime_ns = UINT64_MAX, .have = ALL_SOURCES }, again;
        scoped(freep) char *text = NULL, *nothing = NULL;

        (void)state;
        for (Total t = 0; t < N_TOTALS; t++)
                totals.value[t] = UINT64_MAX - (uint64_t)t;
        assert_int_equal(record_format(&totals_record, &totals, &text), 0);
        assert_int_equal(record_parse(&totals_record, text, &again), 0);
        assert_memory_equal(&again, &totals, sizeof(again));

        totals = (Totals){};
        assert_int_equal(record_format(&totals_record, &totals, &nothing), 0);
        assert_int_equal(record_parse(&totals_record, nothing, &again), 0);
        assert_memory_equal(&again, &totals, sizeof(again));
        assert_string_equal(total_names[TOTAL_CPU_GUEST_NICE], "CPU_GUEST_NICE");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_restored_meter_goes_on_as_if_it_had_never_stopped),
                cmocka_unit_test(time_that_waited_to_be_observed_is_not_lost_in_a_restart),
                cmocka_unit_test(a_source_missing_when_saved_keeps_its_last_known_counters),
                cmocka_unit_test(in_another_boot_totals_stay_and_counters_restart),
                cmocka_unit_test(a_boot_without_an_id_is_another_one),
                cmocka_unit_test(a_meter_saved_before_its_first_sample_starts_with_one),
                cmocka_unit_test(a_checkpoint_of_a_later_version_is_read),
                cmocka_unit_test(an_invalid_checkpoint_leaves_the_meter_unchanged),
                cmocka_unit_test(a_truncated_checkpoint_is_invalid),
                cmocka_unit_test(an_invalid_image_leaves_the_meter_unchanged),
                cmocka_unit_test(totals_of_any_size_go_through_text),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
