/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/doctor/checks.h"
#include "value/value_parse.h"

#define STORE(writable, size)                                                                   \
        "\"store\":{\"writable\":" writable ",\"error\":\"disk\\u001b full\",\"volatile\":false,"  \
        "\"size_bytes\":" size ",\"size_limit_bytes\":1000}"
#define SOURCE(up, error)                                                                       \
        "\"sources\":[{\"name\":\"stat\",\"up\":true,\"error\":null},"                            \
        "{\"name\":\"psi_io\",\"up\":" up ",\"error\":" error "}]"
#define TIMES "\"time_ms\":1000000,\"interval_ms\":1000"
#define NOW_MS 1001000

static void judge(const char *node, const char *metrics, uint64_t now_ms, Checks *ret) {
        scoped(arena_deinit) Arena arena = {};
        const Value *value;
        ValueReader reader;
        ValueError error;

        assert_int_equal(arena_init(&arena, value_parse_arena_size(strlen(node))), 0);
        value_parse_begin(&reader, node, strlen(node));
        assert_int_equal(value_parse_next(&reader, &arena, &value, &error), 0);
        *ret = (Checks){};
        checks_live_add_node(ret, value, metrics, now_ms);
}

static const Check *find(const Checks *checks, const char *name) {
        for (size_t i = 0; i < checks->n; i++)
                if (strcmp(checks->items[i].name, name) == 0)
                        return &checks->items[i];

        return NULL;
}

#define assert_check(checks, name_, state_, detail_)                            \
        do {                                                                    \
                const Check *check_ = find(checks, name_);                      \
                assert_non_null(check_);                                        \
                assert_string_equal(check_state_name(check_->state), state_);   \
                assert_non_null(strstr(check_->detail, detail_));               \
        } while (0)

static void a_metric_is_found_by_its_full_name(void **state) {
        static const char text[] = "# TYPE a gauge\na_total 3\na{b=\"c\"} 4\na 5.5\nb NaN\nc x\n";
        double v;

        (void)state;
        assert_true(checks_live_find_metric(text, "a", &v));
        assert_true(v == 5.5);
        assert_true(checks_live_find_metric(text, "a_total", &v));
        assert_true(v == 3);
        assert_false(checks_live_find_metric(text, "c", &v));
        assert_false(checks_live_find_metric(text, "total", &v));
        assert_false(checks_live_find_metric("", "a", &v));
}

static void a_healthy_perfd_passes_all_checks(void **state) {
        Checks checks;

        (void)state;
        judge("{" STORE("true", "10") "," SOURCE("true", "null") "," TIMES "}",
              "perfd_samples_total 1000\nperfd_samples_missed_total 3\nperfd_sample_lateness_seconds_total 2\n"
              "perfd_sample_lateness_max_seconds 0.25\nprocess_open_fds 30\nprocess_max_fds 4096\n", NOW_MS, &checks);
        assert_int_equal(checks_worst(&checks), CHECK_OK);
        assert_check(&checks, "sampling", "ok", "every 1 s; delay 2 ms on average, 250 ms at most; 3 of 1003 missed");
        assert_check(&checks, "sources", "ok", "all 2 readable");
        assert_check(&checks, "descriptors", "ok", "30 of 4096");
}

static void an_unwritable_store_fails_and_a_full_one_is_limited(void **state) {
        Checks checks;

        (void)state;
        judge("{" STORE("false", "10") "}", "", NOW_MS, &checks);
        assert_check(&checks, "store", "failed", "not writable: disk");
        judge("{" STORE("true", "950") "}", "", NOW_MS, &checks);
        assert_check(&checks, "store", "limited", "0.93 KiB of 0.98 KiB");
        judge("{" STORE("true", "899") "}", "", NOW_MS, &checks);
        assert_check(&checks, "store", "ok", "writable");
        assert_null(find(&checks, "durability"));
        judge("{\"store\":{\"writable\":true,\"volatile\":true}}", "", NOW_MS, &checks);
        assert_check(&checks, "durability", "limited", "volatile");
}

static void a_missing_source_is_limited_and_a_failing_one_fails(void **state) {
        Checks checks;

        (void)state;
        judge("{" SOURCE("false", "\"proc/pressure/io: No such file or directory\"") "}", "", NOW_MS, &checks);
        assert_check(&checks, "sources", "limited", "proc/pressure/io: No such file or directory");
        judge("{" SOURCE("false", "\"proc/pressure/io: Operation not supported\"") "}", "", NOW_MS, &checks);
        assert_check(&checks, "sources", "limited", "not supported");
        judge("{" SOURCE("false", "\"proc/diskstats: Permission denied\"") "}", "", NOW_MS, &checks);
        assert_check(&checks, "sources", "failed", "Permission denied");
        judge("{" SOURCE("false", "\"the driver of a port has not answered for 4 s\"") "}", "", NOW_MS, &checks);
        assert_check(&checks, "sources", "failed", "the driver of a port");
        assert_non_null(strstr(find(&checks, "sources")->fix, "journalctl -k"));
}

static void meters_of_energy_are_a_check_of_their_own(void **state) {
        Checks checks;

        (void)state;
        judge("{" SOURCE("true", "null") "}", "", NOW_MS, &checks);
        assert_check(&checks, "energy", "ok", "no meter: a virtual machine");
        judge("{\"sources\":[{\"name\":\"energy\",\"up\":true,\"error\":null}]}", "", NOW_MS, &checks);
        assert_check(&checks, "energy", "ok", "have meters (RAPL)");
        judge("{\"sources\":[{\"name\":\"energy\",\"up\":false,\"error\":"
              "\"sys/class/powercap: intel-rapl:0/energy_uj: Permission denied\"}]}", "", NOW_MS, &checks);
        assert_check(&checks, "energy", "limited", "intel-rapl:0/energy_uj: Permission denied");
        assert_non_null(strstr(find(&checks, "energy")->fix, "udevadm trigger"));
        assert_check(&checks, "sources", "ok", "readable");
        judge("{\"sources\":[{\"name\":\"energy\",\"up\":false,\"error\":\"No data available\"}]}", "", NOW_MS,
              &checks);
        assert_check(&checks, "energy", "limited", "No data available");
        assert_non_null(strstr(find(&checks, "energy")->fix, "journalctl -k"));
}

#define RESOURCE(name, refused, last)                                                                                  \
        "{\"name\":\"" name "\",\"held\":1,\"share\":2,\"refused\":" refused                                           \
        ",\"refused_first_ms\":500000,\"refused_last_ms\":" last "}"
#define USER(user, uid, resources)                                                                                     \
        "{\"user\":\"" user "\",\"uid\":" uid ",\"administrator\":false,\"resources\":[" resources "]}"

static void judge_quota(const char *users, Checks *ret) {
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer text = {};
        const Value *value;
        ValueReader reader;
        ValueError error;

        buffer_printf(&text, "{\"users\":[%s]}", users);
        assert_int_equal(arena_init(&arena, value_parse_arena_size(text.n)), 0);
        value_parse_begin(&reader, text.text, text.n);
        assert_int_equal(value_parse_next(&reader, &arena, &value, &error), 0);
        *ret = (Checks){};
        checks_live_add_quota(ret, value, NOW_MS);
}

/* Judges a node with this port, with values in JSON, and one that works. */
static void judge_port(const char *values, Checks *ret) {
        char node[512];

        (void)snprintf(node, sizeof(node),
                       "{\"latest\":{\"fabric_ports\":[{\"port\":\"b:1\",\"fabric_active\":1},{\"port\":\"a:1\",%s}]}}",
                       values);
        judge(node, "", NOW_MS, ret);
}

#define GPU_SOURCE(more) "{\"sources\":[{\"name\":\"gpu\"," more

static void gpus_are_a_check_of_their_own(void **state) {
        Checks checks;

        (void)state;
        judge("{" SOURCE("true", "null") "}", "", NOW_MS, &checks);
        assert_null(find(&checks, "gpus"));
        judge(GPU_SOURCE("\"up\":true}],\"latest\":{\"gpus\":[{\"gpu\":\"0\",\"state\":\"ok\"}]}}"), "", NOW_MS,
              &checks);
        assert_check(&checks, "gpus", "ok", "1 are read");
        judge(GPU_SOURCE("\"up\":true}],\"latest\":{\"gpus\":[{\"gpu\":\"0\",\"state\":\"ok\"},"
                         "{\"gpu\":\"1\",\"state\":\"lost\"},{\"gpu\":\"2\",\"state\":\"failed\"}]}}"),
              "", NOW_MS, &checks);
        assert_check(&checks, "gpus", "failed", "GPU 1: lost; GPU 2: failed");
        assert_non_null(strstr(find(&checks, "gpus")->fix, "NVRM"));
        judge(GPU_SOURCE("\"up\":false,\"error\":\"run/perfd-gpu/readings: 5 s old\"}]}"), "", NOW_MS, &checks);
        assert_check(&checks, "gpus", "failed", "run/perfd-gpu/readings: 5 s old");
        assert_non_null(strstr(find(&checks, "gpus")->fix, "perfd-gpu(8)"));
        judge(GPU_SOURCE("\"up\":true,\"error\":\"amdgpu has not answered for 4 s\"}],\"latest\":{\"gpus\":[]}}"), "",
              NOW_MS, &checks);
        assert_check(&checks, "gpus", "failed", "amdgpu has not answered");
        assert_check(&checks, "sources", "ok", "readable");
}

static void ports_of_a_fabric_that_fail_are_named(void **state) {
        Checks checks;

        (void)state;
        judge("{" SOURCE("true", "null") "}", "", NOW_MS, &checks);
        assert_null(find(&checks, "fabric"));
        judge("{\"latest\":{\"fabric_ports\":[]}}", "", NOW_MS, &checks);
        assert_null(find(&checks, "fabric"));

        /* a port without a cable, one of a driver that counts nothing, and what a link may have */
        judge_port("\"fabric_active\":0,\"state\":\"DOWN, Polling\",\"fabric_sent_bytes\":0", &checks);
        assert_check(&checks, "fabric", "ok", "1 of 2 ports active");
        judge_port("\"link_layer\":\"Ethernet\"", &checks);
        assert_check(&checks, "fabric", "ok", "1 of 2 ports active");
        judge_port("\"fabric_active\":1,\"fabric_symbol_errors\":9,\"fabric_link_downs\":1", &checks);
        assert_check(&checks, "fabric", "ok", "2 of 2 ports active");

        judge_port("\"fabric_active\":0,\"state\":\"DOWN, Polling\",\"fabric_sent_packets\":1", &checks);
        assert_check(&checks, "fabric", "limited", "1 of 2 ports active; a:1 is DOWN, Polling, and was in use");
        assert_non_null(strstr(find(&checks, "fabric")->fix, "cable"));
        judge_port("\"fabric_active\":1,\"fabric_symbol_errors\":800000", &checks);
        assert_check(&checks, "fabric", "limited", "a:1: 800000 symbol errors, ");
        judge_port("\"fabric_active\":1,\"fabric_link_downs\":3", &checks);
        assert_check(&checks, "fabric", "limited", "a:1 went down 3 times since boot");
}

static void network_file_systems_without_statistics_are_named(void **state) {
        Checks checks;

        (void)state;
        judge("{\"latest\":{\"network_filesystems\":[]}}", "", NOW_MS, &checks);
        assert_null(find(&checks, "netfs"));
        judge("{\"latest\":{\"network_filesystems\":[{\"mountpoint\":\"/home\"}]}}", "", NOW_MS, &checks);
        assert_check(&checks, "netfs", "ok", "1 network file systems have statistics");
        judge("{\"latest\":{\"network_filesystems\":[{\"mountpoint\":\"/home\"},{\"mountpoint\":\"/work\",\"error\":"
              "\"sys/kernel/debug/lustre/llite: Permission denied\"}]}}", "", NOW_MS, &checks);
        assert_check(&checks, "netfs", "limited",
                     "1 of 2 network file systems have none, /work: sys/kernel/debug/lustre/llite: Permission denied");
        assert_non_null(strstr(find(&checks, "netfs")->fix, "remount,mode=750,gid=perfd"));
        judge("{\"latest\":{\"network_filesystems\":[{\"error\":\"sys/kernel/debug/ceph/5f1e.client1/metrics/size: "
              "Permission denied\"}]}}", "", NOW_MS, &checks);
        assert_non_null(strstr(find(&checks, "netfs")->fix, "chgrp -R perfd /sys/kernel/debug/ceph"));
        judge("{\"latest\":{\"network_filesystems\":[{\"error\":\"No such file\"}]}}", "", NOW_MS, &checks);
        assert_non_null(strstr(find(&checks, "netfs")->fix, "mount debugfs"));
}

static void users_whose_flood_was_refused_lately_are_named(void **state) {
        Checks checks;

        (void)state;
        judge_quota("", &checks);
        assert_check(&checks, "quota", "ok", "no requests were refused");
        judge_quota(USER("uid 0", "0", RESOURCE("queries", "0", "null")) "," USER("uid 0", "0",
                                                                                  RESOURCE("jobs", "3", "400000")),
                    &checks);
        assert_check(&checks, "quota", "ok", "no requests were refused");

        judge_quota(USER("uid 0", "0", RESOURCE("queries", "12", "1000000") "," RESOURCE("jobs", "3", "400000")) ","
                    USER("10.0.0.7", "null", RESOURCE("http_connections", "2", "900000")), &checks);
        assert_check(&checks, "quota", "limited", "root: queries (12 refused since 1970-01-01 ");
        assert_check(&checks, "quota", "limited", "; 10.0.0.7: http_connections (2 refused since ");
        assert_null(strstr(find(&checks, "quota")->detail, "jobs"));
        assert_non_null(strstr(find(&checks, "quota")->fix, "end some of what root has started"));
}

static void many_sources_that_fail_fit(void **state) {
        scoped(buffer_deinit) Buffer node = {};
        Checks checks;

        (void)state;
        buffer_puts(&node, "{\"sources\":[");
        for (unsigned i = 0; i < 50; i++)
                buffer_printf(&node,
                              "%s{\"name\":\"s\",\"up\":false,\"error\":\"proc/something/long/%u: Permission denied\"}",
                              i > 0 ? "," : "", i);
        buffer_puts(&node, "]}");
        judge(node.text, "", NOW_MS, &checks);
        assert_check(&checks, "sources", "failed", "; proc/something");
        assert_int_equal(strlen(find(&checks, "sources")->detail), CHECK_TEXT_MAX - 1);
}

static void missed_or_old_samples_are_reported(void **state) {
        Checks checks;

        (void)state;
        judge("{" TIMES "}", "perfd_samples_total 80\nperfd_samples_missed_total 20\n", NOW_MS, &checks);
        assert_check(&checks, "sampling", "limited", "20 of 100 missed");
        judge("{" TIMES "}", "", NOW_MS + 60000, &checks);
        assert_check(&checks, "sampling", "failed", "1 min 01 s old");
        /* A clock that was set back must not cause a failure. */
        judge("{" TIMES "}", "", 5, &checks);
        assert_check(&checks, "sampling", "ok", "every 1 s");
}

static void a_low_descriptor_limit_is_reported(void **state) {
        Checks checks;

        (void)state;
        judge("{}", "process_open_fds 3500\nprocess_max_fds 4096\n", NOW_MS, &checks);
        assert_check(&checks, "descriptors", "limited", "3500 of 4096");
        judge("{}", "process_open_fds 4090\nprocess_max_fds 4096\n", NOW_MS, &checks);
        assert_check(&checks, "descriptors", "failed", "4090");
        judge("{}", "process_open_fds 30\nprocess_max_fds 256\n", NOW_MS, &checks);
        assert_check(&checks, "descriptors", "limited", "256");
}

static void an_answer_of_another_shape_is_survived(void **state) {
        static const char *const nodes[] = { "[]", "{}", "{\"store\":3,\"sources\":{}}", "{\"sources\":[1,{}]}",
                                             "{\"time_ms\":\"x\"}" };
        Checks checks;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(nodes); i++) {
                judge(nodes[i], "perfd_samples_total\nperfd_samples_total NaN\n", NOW_MS, &checks);
                assert_check(&checks, "store", "failed", "");
        }
}

static void a_missing_socket_fails(void **state) {
        Checks checks = {};

        (void)state;
        checks_live_add_socket(&checks, "socket", "/nonexistent/perfd.sock");
        assert_check(&checks, "socket", "failed", "No such file");
        checks = (Checks){};
        checks_live_add_socket(&checks, "socket", "/dev/null");
        assert_check(&checks, "socket", "failed", "is not a socket");
}

static void a_spool_that_cannot_be_created_fails(void **state) {
        Checks checks = {};

        (void)state;
        checks_live_add_spool(&checks, "/tmp/perfd-there-is-none/a/b");
        assert_check(&checks, "spool", "ok", "0 files");
        checks = (Checks){};
        checks_live_add_spool(&checks, "/proc/1/stat/x");
        assert_check(&checks, "spool", "failed", "/proc/1/stat/x");
        checks = (Checks){};
        checks_live_add_spool(&checks, NULL);
        assert_check(&checks, "spool", "failed", "no home directory");
}

static void a_port_that_cannot_be_opened_is_a_failure(void **state) {
        Checks checks;

        (void)state;
        judge("{\"http\":{\"listen\":\"127.0.0.1:1\",\"address\":null,\"error\":\"Cannot listen\"}}", "", NOW_MS,
              &checks);
        assert_check(&checks, "http-port", "failed", "Cannot listen");
        judge("{\"http\":{\"listen\":\"127.0.0.1:1\",\"address\":\"127.0.0.1:1\",\"error\":null}}", "", NOW_MS,
              &checks);
        assert_check(&checks, "http-port", "ok", "127.0.0.1:1");
        judge("{\"http\":{\"listen\":\"off\",\"address\":null,\"error\":null}}", "", NOW_MS, &checks);
        assert_check(&checks, "http-port", "ok", "off");
}

static void files_not_in_force_fail_and_pending_settings_are_limited(void **state) {
        Checks checks;

        (void)state;
        judge("{\"configuration\":{\"error\":\"perfd.conf:3: no\",\"restart\":\"http.threads\"}}", "", NOW_MS, &checks);
        assert_check(&checks, "configuration", "failed", "perfd.conf:3: no");
        judge("{\"configuration\":{\"error\":null,\"restart\":\"http.threads\"}}", "", NOW_MS, &checks);
        assert_check(&checks, "configuration", "limited", "wait for a restart: http.threads");
        judge("{\"configuration\":{\"error\":null,\"restart\":\"http.threads\",\"edited\":\"/etc/x\"}}", "", NOW_MS,
              &checks);
        assert_check(&checks, "configuration", "limited", "/etc/x was edited and not reloaded");
        judge("{\"configuration\":{\"error\":null,\"restart\":null,\"ignored\":\"socket.path\",\"edited\":null}}", "",
              NOW_MS, &checks);
        assert_check(&checks, "configuration", "limited", "settings without effect: socket.path");
        judge("{\"configuration\":{\"error\":null,\"restart\":null,\"edited\":null}}", "", NOW_MS, &checks);
        assert_check(&checks, "configuration", "ok", "in force");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_metric_is_found_by_its_full_name),
                cmocka_unit_test(a_healthy_perfd_passes_all_checks),
                cmocka_unit_test(an_unwritable_store_fails_and_a_full_one_is_limited),
                cmocka_unit_test(a_port_that_cannot_be_opened_is_a_failure),
                cmocka_unit_test(files_not_in_force_fail_and_pending_settings_are_limited),
                cmocka_unit_test(a_missing_source_is_limited_and_a_failing_one_fails),
                cmocka_unit_test(meters_of_energy_are_a_check_of_their_own),
                cmocka_unit_test(gpus_are_a_check_of_their_own),
                cmocka_unit_test(ports_of_a_fabric_that_fail_are_named),
                cmocka_unit_test(network_file_systems_without_statistics_are_named),
                cmocka_unit_test(users_whose_flood_was_refused_lately_are_named),
                cmocka_unit_test(many_sources_that_fail_fit),
                cmocka_unit_test(missed_or_old_samples_are_reported),
                cmocka_unit_test(a_low_descriptor_limit_is_reported),
                cmocka_unit_test(an_answer_of_another_shape_is_survived),
                cmocka_unit_test(a_missing_socket_fails),
                cmocka_unit_test(a_spool_that_cannot_be_created_fails),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
