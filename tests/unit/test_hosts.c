/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "http/hosts.h"
#include "util/file.h"

/* Returns the hosts of a node with this resolv.conf. */
static void make(Hosts *ret, const char *configured, const char *hostname, const char *resolver) {
        char path[] = "/tmp/perfd-test-hosts-XXXXXX";
        scoped(closep) int fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(file_write_all(fd, resolver, strlen(resolver)), 0);
        assert_int_equal(hosts_init(ret, configured, hostname, path), 0);
        assert_int_equal(unlink(path), 0);
}

static void check(const Hosts *hosts, bool expected, const char *const *names, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (hosts_allow(hosts, names[i]) != expected)
                        fail_msg("'%s' is %sallowed", names[i], expected ? "not " : "");
}

static void addresses_and_own_names_are_allowed(void **state) {
        static const char *const ours[] = {
                "",
                "127.0.0.1",
                "127.0.0.1:9847",
                "10.1.2.3",
                "[::1]",
                "[::1]:9847",
                "[fe80::1]",
                "localhost",
                "LocalHost:80",
                "localhost.",
                "n7",
                "N7:9847",
                "n7.cluster.example",
                "n7.example.",
                "n7.other.example",
                "n7.last.example:1",
                "perf.example.org",
                "grafana",
                "n7:",
        };
        static const char *const foreign[] = {
                "evil.example",
                "evil.example:9847",
                "n7.evil.example",
                "n8",
                "localhost.evil.example",
                "127.0.0.1.evil.example",
                "127.0.0.1:x",
                "localhost:80:80",
                "[::1",
                "[n7]",
                "[127.0.0.1]",
                "[::1]x",
                "[]",
                ":9847",
                "::1",
                " n7",
                "n7 ",
                "localhost n7",
                ".",
                "10.1.2",
                "0x7f000001",
        };
        scoped(hosts_deinit) Hosts hosts = {};

        (void)state;
        make(&hosts, "perf.example.org\tgrafana", "n7",
             "# search evil.example\nnameserver 10.0.0.1\nsearch cluster.example example\n\tdomain "
             "other.example\r\nsearch last.example");
        check(&hosts, true, ours, N_ELEMENTS(ours));
        check(&hosts, false, foreign, N_ELEMENTS(foreign));
}

static void a_long_host_name_has_its_short_form(void **state) {
        static const char *const ours[] = { "n7.hpc.example", "n7", "n7.site.example" };
        static const char *const foreign[] = { "hpc.example", "site.example", "n7.hpc.example.site.example" };
        scoped(hosts_deinit) Hosts hosts = {};

        (void)state;
        make(&hosts, "", "n7.hpc.example", "search site.example\n");
        check(&hosts, true, ours, N_ELEMENTS(ours));
        check(&hosts, false, foreign, N_ELEMENTS(foreign));
}

static void without_any_name_addresses_and_localhost_remain(void **state) {
        static const char *const ours[] = { "", "localhost", "127.0.0.1" };
        static const char *const foreign[] = { "n7", ".example" };
        scoped(hosts_deinit) Hosts hosts = {};
        char name[2048];

        (void)state;
        assert_int_equal(hosts_init(&hosts, "", "", "/nonexistent/resolv.conf"), 0);
        check(&hosts, true, ours, N_ELEMENTS(ours));
        check(&hosts, false, foreign, N_ELEMENTS(foreign));
        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        assert_false(hosts_allow(&hosts, name));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(addresses_and_own_names_are_allowed),
                cmocka_unit_test(a_long_host_name_has_its_short_form),
                cmocka_unit_test(without_any_name_addresses_and_localhost_remain),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
