/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/setting.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <grp.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "http/exchange.h"
#include "shares/resource.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/parse.h"

/* A temporary directory with perfd.conf and perfd.conf.d/. */
typedef struct Fixture {
        char directory[64], conf[96], drop_ins[128];
} Fixture;

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        (void)snprintf(f->directory, sizeof(f->directory), "/tmp/perfd-test-XXXXXX");
        if (!mkdtemp(f->directory))
                return -1;
        (void)snprintf(f->conf, sizeof(f->conf), "%s/perfd.conf", f->directory);
        (void)snprintf(f->drop_ins, sizeof(f->drop_ins), "%s.d", f->conf);
        *state = f;
        return mkdir(f->drop_ins, 0755);
}

static int teardown(void **state) {
        Fixture *f = *state;
        char command[128];
        int r;

        (void)snprintf(command, sizeof(command), "rm -r %s", f->directory);
        r = system(command);
        free(f);
        return r;
}

static void put(const char *path, const char *text) {
        assert_int_equal(file_replace(path, text, strlen(text), 0644, false), 0);
}

static void put_drop_in(const Fixture *f, const char *name, const char *text) {
        char path[200];

        (void)snprintf(path, sizeof(path), "%s/%s", f->drop_ins, name);
        put(path, text);
}

static void without_a_file_all_settings_have_defaults(void **state) {
        Config c;

        (void)state;
        config_defaults(&c);
        assert_true(c.node.interval_ns == NS_PER_S);
        assert_string_equal(c.sockets.path, "/run/perfd/perfd.sock");
        assert_string_equal(c.sockets.http_listen, "127.0.0.1:9847");
        assert_int_equal(c.sockets.mode, 0666);
        assert_true(c.ingest.admin_gid == INGEST_NO_ADMIN_GID);
        assert_true(c.store.keep_results_ns == 365 * UINT64_C(86400) * NS_PER_S);
}

static void a_file_named_on_the_command_line_must_exist(void **state) {
        ConfigError e = {};
        Config c;

        (void)state;
        assert_int_equal(config_load("/nonexistent/perfd.conf", NULL, &c, &e), CONFIG_INVALID);
        assert_string_equal(e.file, "/nonexistent/perfd.conf");
        assert_non_null(strstr(e.text, "No such file"));
}

static void drop_ins_win_in_lexical_order_and_other_names_do_not_count(void **state) {
        const Fixture *f = *state;
        ConfigError e = {};
        Config c;

        put(f->conf, "# comment\n[sampling]\ninterval = 250ms\n\n[store]\n  max_size = 64M\n");
        put_drop_in(f, "20-b.conf", "[sampling]\ninterval = 3s\n");
        put_drop_in(f, "10-a.conf", "[sampling]\ninterval = 2s\n[limits]\njobs = 7\n");
        put_drop_in(f, "30-c.conf~", "nonsense");

        assert_int_equal(config_load(f->conf, NULL, &c, &e), 0);
        assert_true(c.node.interval_ns == 3 * NS_PER_S);
        assert_int_equal(c.shares.limits[RESOURCE_JOBS], 7);
        assert_int_equal(c.store.size_max_bytes, 64 << 20);
}

static void refuse(const Fixture *f, const char *text, unsigned line, const char *says) {
        ConfigError e = {};
        Config c = { .shares.limits[RESOURCE_JOBS] = 4711 };

        put(f->conf, text);
        assert_int_equal(config_load(f->conf, NULL, &c, &e), CONFIG_INVALID);
        assert_int_equal(e.line, line);
        assert_string_equal(e.file, f->conf);
        if (!strstr(e.text, says))
                fail_msg("'%s' does not say '%s'", e.text, says);
        assert_int_equal(c.shares.limits[RESOURCE_JOBS], 4711);
}

static void errors_are_reported_with_line_and_expected_value(void **state) {
        const Fixture *f = *state;

        refuse(f, "[sampling]\nintervall = 1s\n", 2,
               "unknown setting 'intervall' in [sampling]: expected one of interval");
        refuse(f, "\n[samplng]\ninterval = 1s\n", 3, "unknown section [samplng]: expected one of [sampling]");
        refuse(f, "interval = 1s\n", 1, "is outside a section");
        refuse(f, "[sampling]\ninterval = 1ms\n", 2, "expected a time from 100ms to 60s");
        refuse(f, "[sampling]\ninterval = soon\n", 2, "interval = soon: expected a time");
        refuse(f, "[limits]\njobs = 5\njobs = 6\n", 3, "set twice, first in line 2");
        refuse(f, "[http]\nlisten = localhost\n", 2, "expected ADDRESS:PORT");
        refuse(f, "[http]\nlisten = 127.0.0.1:99999\n", 2, "expected ADDRESS:PORT");
        refuse(f, "[store]\nvolatile = perhaps\n", 2, "expected yes or no");
        refuse(f, "[store]\ndirectory = relative\n", 2, "expected an absolute path");
        refuse(f, "[socket]\nmode = 0999\n", 2, "octal");
        refuse(f, "[socket]\nadmin_group = no-such-group\n", 2,
               "no-such-group: expected the name or number of an existing group");
        refuse(f, "[socket]\nadmin_group = 4294967295\n", 2, "expected the name or number of an existing group");
        refuse(f, "[sampling]\noffset = 1s\n", 2, "[sampling] offset must be below interval");
        refuse(f, "[sampling]\noffset = 300ms\ninterval = 250ms\n", 2, "[sampling] offset must be below interval");
        refuse(f, "[sampling]\ninterval = 250ms\noffset = 300ms\n", 3, "[sampling] offset must be below interval");
        refuse(f, "[store]\nqueue_size = 8M\n[limits]\nframe_size = 5M\n", 2, "[store] queue_size must be at least");
        refuse(f, "[limits]\nstring_size = 2M\nframe_size = 1M\n", 2, "[limits] string_size must not be above");
        refuse(f, "[sampling]\noffset = 61s\n", 2, "offset = 61s: expected a time below interval");
        refuse(f, "[limits]\nframe_size = 64M\n", 2, "queue_size must be at least twice");
        refuse(f, "[jobs]\ntimeline_points = 121\n", 2, "even number");
        refuse(f, "[limits]\njobs\n", 2, "expected [section], key = value");
}

static void a_group_is_a_name_or_a_number_or_none(void **state) {
        const Fixture *f = *state;
        const struct group *group = getgrgid(getgid());
        ConfigError e = {};
        char text[200];
        Config c;

        put(f->conf, "[socket]\nadmin_group =\n");
        assert_int_equal(config_load(f->conf, NULL, &c, &e), 0);
        assert_true(c.ingest.admin_gid == INGEST_NO_ADMIN_GID);
        put(f->conf, "[socket]\nadmin_group = 4711\n");
        assert_int_equal(config_load(f->conf, NULL, &c, &e), 0);
        assert_int_equal(c.ingest.admin_gid, 4711);

        assert_non_null(group);
        (void)snprintf(text, sizeof(text), "[socket]\nadmin_group = %s\n", group->gr_name);
        put(f->conf, text);
        assert_int_equal(config_load(f->conf, NULL, &c, &e), 0);
        assert_int_equal(c.ingest.admin_gid, getgid());
}

static void privacy_and_weights_can_be_set(void **state) {
        const Fixture *f = *state;
        ConfigError e = {};
        Config c;

        put(f->conf, "");
        assert_int_equal(config_load(f->conf, NULL, &c, &e), 0);
        assert_int_equal(c.http.privacy, PRIVACY_OWN);
        assert_int_equal(c.shares.weights.n, 0);
        put(f->conf, "[http]\nprivacy = all\nhosts = perf.example.org grafana_1\n[limits]\nweights = root=2 4711=5\n");
        assert_int_equal(config_load(f->conf, NULL, &c, &e), 0);
        assert_int_equal(c.http.privacy, PRIVACY_ALL);
        assert_string_equal(c.http.hosts, "perf.example.org grafana_1");
        assert_int_equal(c.shares.weights.n, 2);
        assert_int_equal(c.shares.weights.items[1].uid, 4711);
        put(f->conf, "[http]\nprivacy = private\n[metrics]\nreaders = root 4711\n");
        assert_int_equal(config_load(f->conf, NULL, &c, &e), 0);
        assert_int_equal(c.http.privacy, PRIVACY_PRIVATE);
        assert_true(shares_weights_have(&c.http.readers, 0) && shares_weights_have(&c.http.readers, 4711));
        assert_false(shares_weights_have(&c.http.readers, 1));

        refuse(f, "[http]\nprivacy = none\n", 2, "privacy = none: expected own, all or private");
        refuse(f, "[http]\nprivacy = own or all\n", 2, "expected own, all or private");
        refuse(f, "[http]\nprivacy = ow\n", 2, "expected own, all or private");
        refuse(f, "[http]\nprivacy =\n", 2, "expected own, all or private");
        refuse(f, "[metrics]\nreaders = root=1\n", 2, "expected USER or @GROUP");
        refuse(f, "[http]\nhosts = http://node\n", 2, "expected names of hosts");
        refuse(f, "[limits]\nweights = ci=4\n", 2, "weights = ci=4: expected USER=N or @GROUP=N");
        refuse(f, "[indicators]\npolicy = lax\n", 2, "expected accept or strict");
}

static void a_line_too_long_is_refused_not_cut(void **state) {
        char text[2000] = "[store]\ndirectory = /";

        memset(text + strlen(text), 'x', 1500);
        refuse(*state, text, 2, "longer than");
}

static void an_error_in_a_drop_in_names_the_drop_in(void **state) {
        const Fixture *f = *state;
        ConfigError e = {};
        Config c;

        put(f->conf, "");
        put_drop_in(f, "50-site.conf", "[limits]\nin_flight = none\n");
        assert_int_equal(config_load(f->conf, NULL, &c, &e), CONFIG_INVALID);
        assert_non_null(strstr(e.file, "50-site.conf"));
        assert_int_equal(e.line, 2);
}

static void a_reload_applies_reloadable_settings_and_names_the_others(void **state) {
        Config now, fresh;
        Buffer restart = {};

        (void)state;
        config_defaults(&now);
        config_defaults(&fresh);
        fresh.node.interval_ns = 2 * NS_PER_S;
        fresh.http.n_threads = 4;
        fresh.ingest.admin_gid = 100;
        (void)snprintf(fresh.store.directory, sizeof(fresh.store.directory), "/elsewhere");

        config_apply(&now, &fresh, false, &restart);
        assert_true(now.node.interval_ns == 2 * NS_PER_S);
        assert_int_equal(now.http.n_threads, 2);
        assert_int_equal(now.ingest.admin_gid, 100);
        assert_string_equal(now.store.directory, "/var/lib/perfd");
        assert_string_equal(restart.text, "http.threads, store.directory");
        buffer_deinit(&restart);
}

static void only_changed_settings_that_need_a_restart_are_named(void **state) {
        scoped(buffer_deinit) Buffer restart = {};
        ConfigError e = {};
        Config now, fresh;

        (void)state;
        config_defaults(&now);
        config_defaults(&fresh);
        assert_int_equal(config_set(&fresh, "store", "volatile", "yes", &e), 0); /* its directory follows */
        assert_int_equal(config_set(&fresh, "socket", "mode", "0660", &e), 0);
        assert_int_equal(config_set(&fresh, "http", "socket", "/run/h.sock", &e), 0);
        assert_int_equal(config_set(&fresh, "http", "listen", "127.0.0.1:80", &e), 0);
        config_apply(&now, &fresh, true, &restart);
        assert_string_equal(restart.text, "store.volatile"); /* the service manager has the sockets */
        assert_string_equal(now.sockets.http_listen, "127.0.0.1:80");

        buffer_clear(&restart);
        config_apply(&now, &fresh, false, &restart);
        assert_string_equal(restart.text, "socket.mode, http.socket, store.volatile");
}

static void settings_of_sockets_that_were_passed_with_other_values_have_no_effect(void **state) {
        SocketsConfig bound = { .path = "/run/perfd/perfd.sock", .mode = 0666, .http_path = "/run/perfd/http.sock" };
        scoped(buffer_deinit) Buffer ignored = {};
        ConfigError e = {};
        Config config;

        (void)state;
        config_defaults(&config);
        config_list_ignored(&config, &bound, &ignored);
        assert_int_equal(ignored.n, 0);
        assert_int_equal(config_set(&config, "socket", "path", "/run/other.sock", &e), 0);
        assert_int_equal(config_set(&config, "socket", "mode", "0660", &e), 0);
        assert_int_equal(config_set(&config, "http", "socket", "/run/h.sock", &e), 0);
        assert_int_equal(config_set(&config, "http", "listen", "off", &e), 0);
        config_list_ignored(&config, &bound, &ignored);
        assert_string_equal(ignored.text, "socket.path, socket.mode, http.socket");

        buffer_clear(&ignored);
        config_list_ignored(&config, &config.sockets, &ignored); /* the unit has the same values */
        assert_int_equal(ignored.n, 0);
}

static void a_larger_store_is_shared_out_after_a_reload(void **state) {
        scoped(buffer_deinit) Buffer restart = {};
        const Fixture *f = *state;
        ConfigError e = {};
        Config now, fresh;

        put(f->conf, "");
        assert_int_equal(config_load(f->conf, NULL, &now, &e), 0);
        put(f->conf, "[store]\nmax_size = 2G\n");
        assert_int_equal(config_load(f->conf, NULL, &fresh, &e), 0);
        config_apply(&now, &fresh, false, &restart);
        assert_true(now.shares.limits[RESOURCE_STORE] == UINT64_C(2) << 30);
}

static void a_volatile_store_is_next_to_the_socket_by_default(void **state) {
        char directory[CONFIG_TEXT_MAX];
        ConfigError e = {};
        Config c;

        (void)state;
        config_defaults(&c);
        config_store_directory(&c, directory);
        assert_string_equal(directory, "/var/lib/perfd");
        assert_int_equal(config_set(&c, "store", "volatile", "yes", &e), 0);
        config_store_directory(&c, directory);
        assert_string_equal(directory, "/run/perfd/volatile");

        assert_int_equal(config_set(&c, "store", "directory", "/ram", &e), 0);
        config_store_directory(&c, directory);
        assert_string_equal(directory, "/ram");
}

static void patterns_are_checked_and_a_fault_is_placed(void **state) {
        ConfigError e = {};
        Config c;

        (void)state;
        config_defaults(&c);
        assert_int_equal(config_set(&c, "patterns", "scope", "/system.slice/run-{job}.scope", &e), 0);
        assert_string_equal(c.patterns.scope, "/system.slice/run-{job}.scope");
        assert_int_equal(config_set(&c, "patterns", "scope", "/a/{job} /b/{jbo}", &e), CONFIG_INVALID);
        assert_string_equal(
                e.text, "[patterns] scope = /a/{job} /b/{jbo}: character 13: expected {job}, {sluid}, {uid} or {node}");
        assert_string_equal(c.patterns.scope, "/system.slice/run-{job}.scope");
        assert_int_equal(config_set(&c, "patterns", "scope", "", &e), 0);
        assert_string_equal(c.patterns.scope, "");
}

static void patterns_that_are_too_long_are_refused(void **state) {
        char text[2 * CONFIG_TEXT_MAX];
        ConfigError e = {};
        Config c;

        (void)state;
        config_defaults(&c);
        (void)snprintf(text, sizeof(text), "/a/{job}%0*d /b/{job}%0*d", CONFIG_TEXT_MAX / 2, 0, CONFIG_TEXT_MAX / 2, 0);
        assert_int_equal(config_set(&c, "patterns", "other", text, &e), CONFIG_INVALID);
        assert_non_null(strstr(e.text, "expected patterns of at most 255 bytes"));
}

static void all_patterns_go_to_the_finder_and_a_reload_changes_them(void **state) {
        FinderPattern patterns[CONFIG_PATTERNS_MAX];
        scoped(buffer_deinit) Buffer restart = {};
        ConfigError e = {};
        Config c, fresh;

        (void)state;
        config_defaults(&c);
        assert_int_equal(config_patterns(&c.patterns, patterns), CONFIG_PATTERNS_MAX);
        assert_string_equal(patterns[0].name, "slurm");
        assert_string_equal(patterns[0].others, "system");
        assert_ptr_equal(patterns[0].text, c.patterns.slurm);
        assert_string_equal(patterns[3].name, "kubernetes");
        assert_null(patterns[3].others);
        assert_string_equal(patterns[CONFIG_PATTERNS_MAX - 1].name, "other");
        assert_null(patterns[CONFIG_PATTERNS_MAX - 1].others);

        config_defaults(&fresh);
        assert_int_equal(config_set(&fresh, "patterns", "slurm", "", &e), 0);
        assert_int_equal(config_set(&fresh, "patterns", "other", "/jobs/{job}", &e), 0);
        config_apply(&c, &fresh, false, &restart);
        assert_int_equal(restart.n, 0);
        assert_string_equal(c.patterns.slurm, "");
        assert_string_equal(c.patterns.other, "/jobs/{job}");
}

/* --- limits --------------------------------------------------------------------------------------- */

/* Sets the smallest or largest value, which must be accepted, and the one beyond, which must not. */
static void check_bound(const char *section, const char *key, const char *bound, int step) {
        char beyond[64];
        ConfigError e = {};
        uint64_t v;
        Config c;

        config_defaults(&c);
        if (config_set(&c, section, key, bound, &e) != 0)
                fail_msg("%s", e.text);
        if (parse_size(bound, &v) == 0)
                (void)snprintf(beyond, sizeof(beyond), "%ju", (uintmax_t)v + (uintmax_t)(intmax_t)step);
        else if (parse_duration_ns(bound, &v) == 0)
                (void)snprintf(beyond, sizeof(beyond), "%juus", (uintmax_t)v / NS_PER_US + (uintmax_t)(intmax_t)step);
        else
                fail_msg("%s.%s: '%s' is no number", section, key, bound);
        if ((step > 0 || v > 0) && config_set(&c, section, key, beyond, &e) != CONFIG_INVALID)
                fail_msg("%s.%s accepts %s, beyond %s", section, key, beyond, bound);
}

/* Checks the bounds that the message names. Returns their number. */
static unsigned check_bounds(const char *section, const char *key) {
        char least[16] = "", most[16] = "";
        const char *expected, *at;
        ConfigError e = {};
        Config c;

        config_defaults(&c);
        assert_int_equal(config_set(&c, section, key, "?", &e), CONFIG_INVALID);
        expected = strstr(e.text, "?: "); /* what is wrong with a pattern, otherwise what is expected */
        assert_non_null(expected);
        if ((at = strstr(expected, " from ")))
                assert_int_equal(sscanf(at, " from %15s to %15[^ ,]", least, most), 2);
        else if ((at = strstr(expected, " at least ")))
                assert_int_equal(sscanf(at, " at least %15s", least), 1);
        else if ((at = strstr(expected, " a time of at most ")))
                assert_int_equal(sscanf(at, " a time of at most %15s", most), 1);
        if (least[0])
                check_bound(section, key, least, -1);
        if (most[0])
                check_bound(section, key, most, 1);
        return (least[0] != '\0') + (most[0] != '\0');
}

/* At the least answers_size, a user alone and an administrator beside many users can have an answer of any size. */
static void the_largest_answer_fits_into_a_share(void **state) {
        ShareAccount *accounts[20], *root;
        Charge charges[20][32], answer;
        scoped(shares_freep) Shares *shares = NULL;
        ConfigError e = {};
        Config c;

        (void)state;
        config_defaults(&c);
        assert_int_equal(config_set(&c, "limits", "answers_size", "33554431", &e), CONFIG_INVALID);
        assert_int_equal(config_set(&c, "limits", "answers_size", "32M", &e), 0);
        assert_int_equal(shares_new(&shares, &c.shares), 0);
        root = shares_open_account(shares, &(Owner){ .type = OWNER_USER, .is_admin = true });
        assert_non_null(root);
        for (uint32_t i = 0; i < N_ELEMENTS(accounts); i++) {
                accounts[i] = shares_open_account(shares, &OWNER_OF_UID(1000 + i));
                assert_non_null(accounts[i]);
                if (i == 0) {
                        assert_int_equal(shares_charge(accounts[0], RESOURCE_ANSWERS, ANSWER_BYTES_MAX, &answer), 0);
                        shares_release(&answer);
                }
                for (size_t k = 0; k < N_ELEMENTS(charges[i]); k++)
                        (void)shares_charge(accounts[i], RESOURCE_ANSWERS, 512U * 1024U, &charges[i][k]);
        }
        assert_int_equal(shares_charge(root, RESOURCE_ANSWERS, ANSWER_BYTES_MAX, &answer), 0);

        shares_release(&answer);
        for (size_t i = 0; i < N_ELEMENTS(accounts); i++) {
                for (size_t k = 0; k < N_ELEMENTS(charges[i]); k++)
                        shares_release(&charges[i][k]);
                shares_close_account(accounts[i]);
        }
        shares_close_account(root);
}

/* Copies the words that follow "expected one of" in the message about an unknown name. */
static void list_known(const char *section, char *ret, size_t n) {
        ConfigError e = {};
        const char *at;
        Config c;

        config_defaults(&c);
        assert_int_equal(config_set(&c, section, "nothing", "", &e), CONFIG_INVALID);
        at = strstr(e.text, "expected one of ");
        assert_non_null(at);
        assert_true((size_t)snprintf(ret, n, "%s", at + strlen("expected one of ")) < n);
}

static void limits_are_those_of_the_messages(void **state) {
        char sections[400], keys[400], *rest = sections;
        unsigned n = 0;

        (void)state;
        list_known("nothing", sections, sizeof(sections));
        for (char *section; (section = strsep(&rest, " "));) {
                char *rest_of_keys = keys;

                section[strlen(section) - 1] = '\0'; /* [limits] */
                list_known(section + 1, keys, sizeof(keys));
                for (char *key; (key = strsep(&rest_of_keys, " "));)
                        if (strcmp(key, "weights") != 0) /* its numbers are those of an entry */
                                n += check_bounds(section + 1, key);
        }
        assert_true(n > 50);
}

static void each_shared_resource_has_a_limit_of_its_name(void **state) {
        static const char *const names[] = {
#define X(id, name, unit, reserve_percent, floor) [RESOURCE_##id] = (name),
                RESOURCES(X)
#undef X
        };
        char text[32];

        (void)state;
        for (Resource i = 0; i < N_RESOURCES; i++) {
                uint64_t limit;
                ConfigError e = {};
                Config c;

                if (i == RESOURCE_STORE) /* that of [store] */
                        continue;
                config_defaults(&c);
                limit = c.shares.limits[i];
                (void)snprintf(text, sizeof(text), "%ju", (uintmax_t)limit + 1);
                if (config_set(&c, "limits", names[i], text, &e) != 0)
                        fail_msg("%s", e.text);
                assert_true(c.shares.limits[i] == limit + 1);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(without_a_file_all_settings_have_defaults),
                cmocka_unit_test(a_file_named_on_the_command_line_must_exist),
                cmocka_unit_test_setup_teardown(drop_ins_win_in_lexical_order_and_other_names_do_not_count, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(errors_are_reported_with_line_and_expected_value, setup, teardown),
                cmocka_unit_test(the_largest_answer_fits_into_a_share),
                cmocka_unit_test_setup_teardown(a_group_is_a_name_or_a_number_or_none, setup, teardown),
                cmocka_unit_test_setup_teardown(privacy_and_weights_can_be_set, setup, teardown),
                cmocka_unit_test_setup_teardown(a_line_too_long_is_refused_not_cut, setup, teardown),
                cmocka_unit_test_setup_teardown(an_error_in_a_drop_in_names_the_drop_in, setup, teardown),
                cmocka_unit_test(a_reload_applies_reloadable_settings_and_names_the_others),
                cmocka_unit_test(only_changed_settings_that_need_a_restart_are_named),
                cmocka_unit_test(settings_of_sockets_that_were_passed_with_other_values_have_no_effect),
                cmocka_unit_test_setup_teardown(a_larger_store_is_shared_out_after_a_reload, setup, teardown),
                cmocka_unit_test(a_volatile_store_is_next_to_the_socket_by_default),
                cmocka_unit_test(patterns_are_checked_and_a_fault_is_placed),
                cmocka_unit_test(patterns_that_are_too_long_are_refused),
                cmocka_unit_test(all_patterns_go_to_the_finder_and_a_reload_changes_them),
                cmocka_unit_test(limits_are_those_of_the_messages),
                cmocka_unit_test(each_shared_resource_has_a_limit_of_its_name),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
