/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/node/node.c */
#include "store_fixture.h"
#include "tree.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "node/node.h"
#include "store/node/store_node.h"

/* A machine that booted less than the hours ago that the tests below move to has no such time: a day is added. */
int clock_gettime(clockid_t clock, struct timespec *ts) {
        int r = (int)syscall(SYS_clock_gettime, clock, ts);

        ts->tv_sec += clock == CLOCK_BOOTTIME ? 86400 : 0;
        return r;
}

static const NodeConfig CONFIG = { .interval_ns = NS_PER_S, .filesystems_interval_ns = 60 * NS_PER_S };

static void a_sample_is_as_old_as_it_may_be(void **state) {
        Node node;
        uint64_t ticks;
        uint32_t uid;

        (void)state;
        assert_int_equal(node_init(&node, "/", &CONFIG), 0);
        assert_int_equal(node_n_cpus(&node), 1);
        assert_int_equal(node_memory_bytes(&node), 0);
        assert_true(node_sample(&node, 0) >= 0);
        assert_int_equal(node.cost.n_samples, 1);
        assert_int_equal(node_sample(&node, 3600 * NS_PER_S), 0);
        assert_int_equal(node.cost.n_samples, 1);
        assert_true(node_sample(&node, 0) >= 0);
        assert_int_equal(node.cost.n_samples, 2);
        assert_true(node.cost.cpu_ns >= node.cost.last_cpu_ns && node.cost.last_cpu_ns > 0);
        assert_true(node_memory_bytes(&node) > 0);
        assert_true(node_realtime_ms(&node) > 0);

        assert_int_equal(node_process_start(&node, getpid(), &ticks, &uid), 0);
        assert_int_equal(uid, getuid());
        node_deinit(&node);
}

static void a_root_that_is_not_there_is_an_error(void **state) {
        Node node;

        (void)state;
        assert_true(node_init(&node, "/nonexistent/root", &CONFIG) < 0);
        node_deinit(&node);
}

static void the_meter_can_be_reset(void **state) {
        Node node;

        (void)state;
        assert_int_equal(node_init(&node, TREES "small", &CONFIG), 0);
        assert_int_equal(node_reset_meter(&node), 0);
        node_configure(&node, &(NodeConfig){ .interval_ns = 5 * NS_PER_S, .filesystems_interval_ns = NS_PER_S });
        assert_true(node.config.interval_ns == 5 * NS_PER_S);
        node_deinit(&node);
}

static void the_least_interval_that_is_asked_for_applies_within_the_limit(void **state) {
        NodeConfig config = CONFIG;
        Node node;

        (void)state;
        assert_int_equal(node_init(&node, TREES "small", &config), 0);
        node_ask_cpu_interval(&node, 100 * NS_PER_MS);
        assert_int_equal(node_cpu_interval_ns(&node), 0); /* jobs may not ask */
        config.job_cpu_interval_ns = 50 * NS_PER_MS;
        node_configure(&node, &config);
        assert_int_equal(node_cpu_interval_ns(&node), 100 * NS_PER_MS);
        config.job_cpu_interval_ns = 200 * NS_PER_MS; /* raised while the job runs */
        node_configure(&node, &config);
        assert_int_equal(node_cpu_interval_ns(&node), 200 * NS_PER_MS);
        config.cpu_interval_ns = 150 * NS_PER_MS;
        node_configure(&node, &config);
        assert_int_equal(node_cpu_interval_ns(&node), 150 * NS_PER_MS);
        node_ask_cpu_interval(&node, 0);
        assert_int_equal(node_cpu_interval_ns(&node), 150 * NS_PER_MS);
        config.cpu_interval_ns = NS_PER_S; /* as frequent as samples */
        node_configure(&node, &config);
        assert_int_equal(node_cpu_interval_ns(&node), 0);
        node_deinit(&node);
}

/* Lets a process run on the CPUs of a set with these numbers, counted from 0. */
static void pin(pid_t pid, const cpu_set_t *cpus, int first, int n) {
        cpu_set_t chosen;
        int k = 0;

        CPU_ZERO(&chosen);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
                if (CPU_ISSET(cpu, cpus) && k++ >= first && k <= first + n)
                        CPU_SET(cpu, &chosen);
        assert_int_equal(sched_setaffinity(pid, sizeof(chosen), &chosen), 0);
}

static void a_process_has_the_node_if_it_may_use_all_cpus_but_those_of_perfd(void **state) {
        cpu_set_t all;
        pid_t pid;
        int n;

        (void)state;
        assert_false(node_is_whole_for(0)); /* of a PID namespace that perfd does not see */
        if (sched_getaffinity(0, sizeof(all), &all) < 0 || CPU_COUNT(&all) < sysconf(_SC_NPROCESSORS_ONLN))
                skip();
        n = CPU_COUNT(&all);
        assert_true(node_is_whole_for(getpid()));
        if (n < 2)
                skip();
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                pause();
                _exit(0);
        }
        assert_true(node_is_whole_for(pid));
        pin(pid, &all, 1, n - 1);
        assert_false(node_is_whole_for(pid));
        pin(0, &all, 0, 1); /* the first is reserved for perfd */
        assert_true(node_is_whole_for(pid));
        pin(pid, &all, 0, n - 1);
        assert_int_equal(node_is_whole_for(pid), false);
        pin(0, &all, 0, n);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_false(node_is_whole_for(pid)); /* it has ended */
}

static void what_is_published_is_the_latest_sample(void **state) {
        NodeSnapshot snapshot = {};
        MetricSet metrics;
        Node node;

        (void)state;
        assert_int_equal(node_init(&node, "/", &CONFIG), 0);
        assert_true(node_sample(&node, 0) >= 0);
        assert_int_equal(node_publish(&node, &snapshot), 0);
        assert_true(snapshot.boottime_ns == node.sample.boottime_ns);
        assert_string_equal(snapshot.identity.hostname, node.identity.hostname);
        assert_true(snapshot.identity.hostname[0] && snapshot.identity.kernel[0]);
        assert_true(snapshot.interval_ns == NS_PER_S);
        node_window_metrics(&node, &node.window.begin, &node.window.peaks, &metrics);
        snapshot_node_deinit(&snapshot);
        node_deinit(&node);
}

static void an_interval_is_one_row_of_the_history(void **state) {
        Place *place = *state;
        NodeSampleRow row;
        uint64_t begin_ms, lasted_ms;
        Node node;

        assert_int_equal(node_init(&node, "/", &CONFIG), 0);
        assert_true(node_sample(&node, 0) >= 0);
        node_begin_interval(&node, 10 * NS_PER_S);
        begin_ms = node_realtime_ms(&node);
        EVENTUALLY(node_sample(&node, 0) == NODE_OBSERVED);
        lasted_ms = (node.sample.boottime_ns - node.interval.point.begin_boottime_ns) / NS_PER_MS;
        node_put_interval(&node, place->store, 20 * NS_PER_S, false); /* much earlier than planned */
        assert_true(node.interval.length_ns == 20 * NS_PER_S);
        assert_int_equal(node.interval.point.n, 0);
        /* An interval without an observation makes no row. */
        node_put_interval(&node, place->store, 20 * NS_PER_S, false);

        EVENTUALLY(store_node_list(place->reader, 0, UINT64_MAX / 4) == 0 && store_node_next(place->reader, &row) == 0);
        assert_int_equal(row.begin_ms, begin_ms);
        assert_int_equal(row.interval_ms, lasted_ms);
        assert_int_equal(store_node_next(place->reader, &row), READER_END);
        node_deinit(&node);
}

static bool read_block(Reader *reader, size_t n_wanted, NodeSampleRow *ret, Timeline *ret_timeline) {
        scoped(buffer_deinit) Buffer unpacked = {};
        ColumnReader bytes;

        if (store_node_list_minutes(reader, 0, 0) != 0 || store_node_next_minutes(reader, &unpacked, ret) != 0)
                return false;
        column_reader_init(&bytes, ret->timeline.bytes, ret->timeline.n);
        assert_int_equal(timeline_read(&bytes, ret_timeline), 0);
        if (ret_timeline->n == n_wanted)
                return true;
        timeline_deinit(ret_timeline);
        return false;
}

/* Moves the block of minutes into the past, as if as many minutes had passed. */
static void pass_minutes(Node *node, uint64_t n) {
        node->minutes.block.begin_boottime_ns -= n * 60 * NS_PER_S;
        node->minutes.block.begin_realtime_ns -= n * 60 * NS_PER_S;
}

static void observe_once(Node *node) {
        EVENTUALLY(node_sample(node, 0) == NODE_OBSERVED);
}

static void minutes_are_stored_in_blocks_of_an_hour(void **state) {
        Place *place = *state;
        Timeline timeline = {};
        NodeSampleRow row;
        Node node;

        assert_int_equal(node_init(&node, "/", &CONFIG), 0);
        assert_true(node_sample(&node, 0) >= 0);
        node_begin_interval(&node, 10 * NS_PER_S);
        observe_once(&node);
        assert_int_equal(node.minutes.block.begin_realtime_ns % (60 * NS_PER_S), 0);
        node_put_interval(&node, place->store, 10 * NS_PER_S, false);
        EVENTUALLY(read_block(place->reader, node.minutes.block.n, &row, &timeline));
        assert_int_equal(row.begin_ms, node.minutes.block.begin_realtime_ns / NS_PER_MS);
        assert_true(timeline.kind == TIMELINE_OF_NODE && timeline.points[0].observed_ns > 0);
        timeline_deinit(&timeline);

        pass_minutes(&node, 61);
        observe_once(&node);
        assert_in_range(node.minutes.block.n, 62, 63);
        node_put_interval(&node, place->store, 10 * NS_PER_S, false);
        assert_int_equal(node.minutes.block.n, 1); /* of the next block */
        assert_int_equal(node.minutes.block.interval_ns, 60 * NS_PER_S);

        pass_minutes(&node, 600); /* a suspend */
        observe_once(&node);
        assert_in_range(node.minutes.block.n, 1, 2);
        assert_int_equal(node.minutes.block.interval_ns, 60 * NS_PER_S);

        node.minutes.block.begin_realtime_ns -= 5 * NS_PER_S; /* the clock was set */
        node_put_interval(&node, place->store, 10 * NS_PER_S, false);
        assert_int_equal(node.minutes.block.n, 0);
        assert_int_equal(node.minutes.block.begin_realtime_ns % (60 * NS_PER_S), 0);
        node_deinit(&node);
}

static void an_account_goes_on_after_a_restart(void **state) {
        char path[] = "/tmp/perfd-account-XXXXXX";
        uint64_t observed_ns, begin_ns;
        Node node;

        (void)state;
        assert_true(close(mkstemp(path)) == 0);
        assert_int_equal(node_init(&node, "/", &CONFIG), 0);
        assert_int_equal(node_restore_account(&node), NODE_ACCOUNT_NONE);
        assert_int_equal(node_open_account(&node, path), 0);
        assert_int_equal(node_restore_account(&node), NODE_ACCOUNT_NONE);
        for (int i = 0; i < 3; i++)
                EVENTUALLY(node_sample(&node, 0) >= 0);
        observed_ns = meter_totals(node.meter)->value[TOTAL_OBSERVED_NS];
        begin_ns = node.window.begin.boottime_ns;
        node_deinit(&node);

        assert_int_equal(node_init(&node, "/", &CONFIG), 0);
        assert_int_equal(node_open_account(&node, path), 0);
        assert_int_equal(node_restore_account(&node), 0);
        assert_true(meter_totals(node.meter)->value[TOTAL_OBSERVED_NS] == observed_ns);
        assert_true(node.window.begin.boottime_ns == begin_ns);
        node_deinit(&node);

        assert_int_equal(truncate(path, 100), 0);
        assert_int_equal(node_init(&node, "/", &CONFIG), 0);
        assert_int_equal(node_open_account(&node, path), 0);
        assert_true(node_restore_account(&node) > 0);
        node_deinit(&node);
        (void)unlink(path);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_sample_is_as_old_as_it_may_be),
                cmocka_unit_test(a_root_that_is_not_there_is_an_error),
                cmocka_unit_test(the_meter_can_be_reset),
                cmocka_unit_test(a_process_has_the_node_if_it_may_use_all_cpus_but_those_of_perfd),
                cmocka_unit_test(the_least_interval_that_is_asked_for_applies_within_the_limit),
                cmocka_unit_test(an_account_goes_on_after_a_restart),
                cmocka_unit_test(what_is_published_is_the_latest_sample),
                cmocka_unit_test_setup_teardown(an_interval_is_one_row_of_the_history, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(minutes_are_stored_in_blocks_of_an_hour, place_setup_volatile,
                                                place_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
