/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "store/node/store_node.h"
#include "util/clock.h"

/* Maximum length of a point of the history in intervals, since the last observation may be late. */
#define POINT_INTERVALS 16

/* A block of minutes ends at the first checkpoint after an hour, which may be ten minutes later. */
#define MINUTE_NS (60 * NS_PER_S)
#define BLOCK_MINUTES 60U
#define BLOCK_MINUTES_MAX 72U
/* The clock was set if a block's minutes are off by more. */
#define CLOCK_STEP_NS NS_PER_S

/* Reads the host name without its domain, as returned by uname(2). */
static void read_identity(NodeIdentity *ret) {
        struct utsname name = {};

        (void)uname(&name);
        (void)snprintf(ret->hostname, sizeof(ret->hostname), "%.64s", name.nodename);
        (void)snprintf(ret->machine, sizeof(ret->machine), "%.64s", name.machine);
        (void)snprintf(ret->kernel, sizeof(ret->kernel), "%.64s", name.release);
}

int node_init(Node *node, const char *root, const NodeConfig *config) {
        int r;

        *node = (Node){ .config = *config };
        r = sampler_new(&node->sampler, root, config->filesystems_interval_ns);
        if (r >= 0)
                r = sampler_new(&node->processes, "/", config->filesystems_interval_ns);
        if (r < 0)
                return r;

        read_identity(&node->identity);
        sampler_boot_id(node->sampler, node->boot_id);
        return meter_new(&node->meter, config->interval_ns);
}

void node_deinit(Node *node) {
        recording_deinit(&node->interval.point);
        recording_deinit(&node->minutes.block);
        recent_log_deinit(&node->recent);
        meter_free(node->meter);
        sampler_free(node->sampler);
        sampler_free(node->processes);
        sample_deinit(&node->sample);
        sample_deinit(&node->cpus);
        runtime_file_free(node->account.file);
        buffer_deinit(&node->account.image);
        *node = (Node){};
}

void node_configure(Node *node, const NodeConfig *config) {
        node->config = *config;
        meter_set_interval(node->meter, config->interval_ns);
}

int node_reset_meter(Node *node) {
        assert(node->cost.n_samples == 0); /* the window since start needs a new meter's totals */

        node->window_begin_realtime_ns = 0;
        meter_free(TAKE(node->meter));
        return meter_new(&node->meter, node->config.interval_ns);
}

int node_open_account(Node *node, const char *path) {
        assert(!node->account.file);
        record_image_init(&node->account.window, &window_record);
        return runtime_file_open(&node->account.file, path);
}

/* 0, an outcome of meter_restore_image(), or -ENOMEM. */
static int restore_image(Node *node, Meter *meter, const char *image, size_t n, Window *ret_window) {
        uint32_t n_window;
        int r;

        if (n < sizeof(n_window))
                return METER_MALFORMED;
        n -= sizeof(n_window);
        memcpy(&n_window, image + n, sizeof(n_window));
        if (n_window > n)
                return METER_MALFORMED;
        n -= n_window;
        r = record_image_parse(&node->account.window, image + n, n_window, ret_window);
        if (r != 0)
                return r < 0 ? r : r == RECORD_IMAGE_OTHER ? METER_OTHER_PROGRAM : METER_MALFORMED;
        return meter_restore_image(meter, image, n, node->boot_id);
}

int node_restore_account(Node *node) {
        scoped(meter_freep) Meter *meter = NULL;
        scoped(freep) char *image = NULL;
        Window window = {};
        size_t n = 0;
        int r;

        assert(node->cost.n_samples == 0);
        if (!node->account.file)
                return NODE_ACCOUNT_NONE;
        r = runtime_file_read(node->account.file, &image, &n);
        if (r != 0)
                return r < 0 ? r : r == RUNTIME_FILE_DAMAGED ? NODE_ACCOUNT_DAMAGED : NODE_ACCOUNT_NONE;

        r = meter_new(&meter, node->config.interval_ns);
        if (r == 0)
                r = restore_image(node, meter, image, n, &window);
        if (r != 0)
                return r < 0 ? r : r == METER_MALFORMED ? NODE_ACCOUNT_DAMAGED : NODE_ACCOUNT_NONE;
        if (meter_totals(meter)->boottime_ns < meter_totals(node->meter)->boottime_ns)
                return NODE_ACCOUNT_NONE;

        node->window = window;
        node->window_begin_realtime_ns = window.begin.realtime_ns;

        meter_free(node->meter);
        node->meter = TAKE(meter);
        return 0;
}

/* Without room for the image, the account is that of the last checkpoint of the store. */
static void keep_account(Node *node) {
        NodeAccount *account = &node->account;
        uint32_t n_window;
        size_t n;

        if (!account->file)
                return;
        buffer_clear(&account->image);
        meter_put_image(node->meter, node->boot_id, &account->image);
        n = account->image.n;
        record_image_put(&account->window, &node->window, &account->image);
        n_window = (uint32_t)(account->image.n - n);
        buffer_put(&account->image, &n_window, sizeof(n_window));
        if (buffer_error(&account->image) < 0 ||
            runtime_file_write(account->file, account->image.text, account->image.n) < 0)
                account->file = runtime_file_free(account->file);
}

/* The totals may be those of the store, without the file that has the peaks: the window is theirs. */
static void begin_window(Node *node) {
        const Totals *totals = meter_totals(node->meter);
        uint64_t length_ns = totals->value[TOTAL_OBSERVED_NS] + totals->value[TOTAL_UNOBSERVED_NS];
        Totals *begin = &node->window.begin;

        window_begin(&node->window, totals, &node->sample);
        node->window_begin_realtime_ns = node->sample.realtime_ns;
        if (length_ns == 0 || length_ns >= begin->boottime_ns)
                return;

        *begin = (Totals){ .boottime_ns = totals->boottime_ns - length_ns,
                           .realtime_ns = totals->realtime_ns - length_ns,
                           .have = totals->have };
        node->window_begin_realtime_ns -= length_ns;
        node->window.peaks.lost = true;
}

/* Begins a block at the full minute before the sample. */
static void begin_minutes(Node *node) {
        uint64_t realtime_ns = node->sample.realtime_ns, boottime_ns = node->sample.boottime_ns;
        uint64_t since_ns = realtime_ns % MINUTE_NS;

        if (since_ns > boottime_ns)
                since_ns = 0;
        recording_deinit(&node->minutes.block);
        recording_init(&node->minutes.block, boottime_ns - since_ns, realtime_ns - since_ns, MINUTE_NS,
                       BLOCK_MINUTES_MAX);
        node->minutes.block.kind = TIMELINE_OF_NODE;
        node->minutes.n_stored = 0;
}

/* After a suspend, the rest of the block is not stored. */
static void add_to_history(Node *node) {
        const Recording *block = &node->minutes.block;

        if (node->interval.length_ns == 0)
                return;
        (void)recording_add(&node->interval.point, &node->observation);
        if (block->interval_ns == 0 ||
            node->observation.end_ns > block->begin_boottime_ns + BLOCK_MINUTES_MAX * MINUTE_NS)
                begin_minutes(node);
        (void)recording_add(&node->minutes.block, &node->observation);
}

static int account(Node *node) {
        int r;

        r = meter_advance(node->meter, &node->sample, &node->observation);
        if (r < 0)
                return r;

        if (node->window_begin_realtime_ns == 0) {
                begin_window(node);
        }
        if (r != METER_OBSERVED)
                return 0;

        window_observe(&node->window.peaks, &node->window.begin, &node->observation, node->sample.realtime_ns);
        add_to_history(node);
        (void)recent_log_add(&node->recent, &node->observation, &node->sample);
        return NODE_OBSERVED;
}

int node_sample(Node *node, uint64_t max_age_ns) {
        uint64_t now_ns = clock_boottime_ns(), cpu_ns;
        NodeCost *cost = &node->cost;
        int r;

        if (max_age_ns > 0 && cost->n_samples > 0 && now_ns - node->sample.boottime_ns <= max_age_ns)
                return 0;

        assert(now_ns >= node->sample.boottime_ns);
        cpu_ns = clock_thread_cpu_ns();
        r = sampler_read(node->sampler, now_ns, clock_realtime_ns(), &node->sample);
        if (r < 0)
                return r;

        r = account(node);
        keep_account(node);
        cost->last_cpu_ns = clock_thread_cpu_ns() - cpu_ns;
        cost->cpu_ns += cost->last_cpu_ns;
        cost->n_samples++;
        return r;
}

static uint64_t less_of(uint64_t a, uint64_t b) {
        return a > 0 && (b == 0 || a < b) ? a : b;
}

uint64_t node_cpu_interval_ns(const Node *node) {
        const NodeConfig *config = &node->config;
        uint64_t asked_ns = config->job_cpu_interval_ns > 0 ? node->asked_cpu_interval_ns : 0, interval_ns;

        if (asked_ns > 0 && asked_ns < config->job_cpu_interval_ns)
                asked_ns = config->job_cpu_interval_ns;
        interval_ns = less_of(config->cpu_interval_ns, asked_ns);
        return interval_ns < config->interval_ns ? interval_ns : 0;
}

void node_ask_cpu_interval(Node *node, uint64_t interval_ns) {
        node->asked_cpu_interval_ns = interval_ns;
}

int node_sample_cpus(Node *node) {
        uint64_t cpu_ns = clock_thread_cpu_ns();
        int r;

        r = sampler_read_cpus(node->sampler, clock_boottime_ns(), &node->cpus);
        if (r >= 0)
                r = meter_add_cpus(node->meter, &node->cpus);
        node->cost.cpu_ns += clock_thread_cpu_ns() - cpu_ns;
        return r;
}

void node_begin_interval(Node *node, uint64_t length_ns) {
        NodeInterval *interval = &node->interval;

        assert(length_ns > 0);

        recording_deinit(&interval->point);
        recording_init(&interval->point, node->sample.boottime_ns, node->sample.realtime_ns,
                       POINT_INTERVALS * length_ns, 2);
        interval->point.kind = TIMELINE_OF_NODE;
        interval->length_ns = length_ns;
}

/* Returns the length of the current interval: samples end it somewhat earlier or later than planned, unless it was
 * cut short. */
static uint64_t interval_length_ns(const Node *node, bool is_last) {
        uint64_t planned_ns = node->interval.length_ns,
                 lasted_ns = node->sample.boottime_ns - node->interval.point.begin_boottime_ns;
        uint64_t tolerance_ns = planned_ns / 10 + node->config.interval_ns;
        bool is_as_planned = lasted_ns <= planned_ns + tolerance_ns && lasted_ns + tolerance_ns >= planned_ns;

        return is_as_planned && !is_last ? planned_ns : lasted_ns;
}

static bool has_clock_stepped(const Node *node) {
        const Recording *block = &node->minutes.block;
        int64_t off_ns = (int64_t)(node->sample.realtime_ns - block->begin_realtime_ns) -
                         (int64_t)(node->sample.boottime_ns - block->begin_boottime_ns);

        return off_ns > (int64_t)CLOCK_STEP_NS || off_ns < -(int64_t)CLOCK_STEP_NS;
}

/* Stores the block if a minute has ended, and begins the next one if it is full. */
static void put_minutes(Node *node, Store *store, bool is_last) {
        Recording *block = &node->minutes.block;
        bool is_stepped = block->n > 0 && has_clock_stepped(node), is_full = block->n > BLOCK_MINUTES;
        scoped(buffer_deinit) Buffer timeline = {};

        if (block->n == 0 || (block->n == node->minutes.n_stored && !is_stepped && !is_last))
                return;
        if (recording_write(block, &timeline) == 0)
                (void)store_put(store, store_node_pack_minutes(block->begin_realtime_ns / NS_PER_MS, &timeline));
        node->minutes.n_stored = block->n;
        if (is_stepped)
                begin_minutes(node);
        else if (is_full) {
                recording_keep_last(block);
                node->minutes.n_stored = 0;
        }
}

void node_put_interval(Node *node, Store *store, uint64_t next_length_ns, bool is_last) {
        Recording *point = &node->interval.point;
        uint64_t length_ms = interval_length_ns(node, is_last) / NS_PER_MS;
        uint64_t begin_ms = point->begin_realtime_ns / NS_PER_MS;
        scoped(buffer_deinit) Buffer timeline = {};

        /* the start is stored in a column of the row */
        point->begin_boottime_ns = point->begin_realtime_ns = 0;
        if (point->n > 0 && length_ms > 0 && recording_write(point, &timeline) == 0)
                (void)store_put(store, store_node_pack(begin_ms, length_ms, &timeline));
        put_minutes(node, store, is_last);

        node_begin_interval(node, next_length_ns);
}

int node_find_process(int32_t peer_pid, int32_t pid, int32_t *ret) {
        return pid_namespace_find(peer_pid, pid, ret);
}

int node_process_start(const Node *node, int32_t pid, uint64_t *ret_ticks, uint32_t *ret_uid) {
        assert(pid != 0);
        return sampler_process_start(node->processes, pid, ret_ticks, ret_uid);
}

int32_t node_process_parent(const Node *node, int32_t pid) {
        return sampler_process_parent(node->processes, pid);
}

bool node_is_whole_for(int32_t pid) {
        cpu_set_t cpus[8] = {}, own[8] = {}; /* up to 8192 CPUs: the kernel refuses sets that are too small for it */
        long n_online = sysconf(_SC_NPROCESSORS_ONLN);

        if (pid <= 0 || sched_getaffinity(pid, sizeof(cpus), cpus) < 0 || sched_getaffinity(0, sizeof(own), own) < 0)
                return false;
        if (CPU_COUNT_S(sizeof(own), own) < n_online)
                CPU_OR_S(sizeof(cpus), cpus, cpus, own);
        return CPU_COUNT_S(sizeof(cpus), cpus) >= n_online;
}

uint32_t node_n_cpus(const Node *node) {
        return node->sample.n_online > 0 ? node->sample.n_online : 1;
}

uint64_t node_memory_bytes(const Node *node) {
        return sample_has(&node->sample, SOURCE_MEMINFO) ? node->sample.memory.total_bytes : 0;
}

uint64_t node_realtime_ms(const Node *node) {
        return node->sample.realtime_ns / NS_PER_MS;
}

void node_window_metrics(const Node *node, const Totals *begin, const WindowPeaks *peaks, MetricSet *ret) {
        window_metrics(begin, peaks, meter_totals(node->meter), node_n_cpus(node), ret);
}

int node_publish(const Node *node, NodeSnapshot *ret) {
        int r;

        r = sample_copy(&node->sample, &ret->sample);
        if (r < 0)
                return r;

        _Static_assert(sizeof(ret->boot_id) == BOOT_ID_MAX, "a snapshot has room for a boot id");
        memcpy(ret->boot_id, node->boot_id, sizeof(ret->boot_id));
        ret->identity = node->identity;
        ret->interval_ns = node->config.interval_ns;
        ret->cpu_interval_ns = node_cpu_interval_ns(node) ?: node->config.interval_ns;
        ret->boottime_ns = node->sample.boottime_ns;
        ret->realtime_ns = node->sample.realtime_ns;
        ret->totals = *meter_totals(node->meter);
        ret->events = *meter_events(node->meter);
        ret->observation = node->observation;
        recent_share(&node->recent.recent, &ret->recent);
        ret->window = node->window;
        ret->window_begin_realtime_ns = node->window_begin_realtime_ns;
        ret->sampler = *sampler_stats(node->sampler);
        ret->sample_cpu_ns = node->cost.cpu_ns;
        ret->last_sample_cpu_ns = node->cost.last_cpu_ns;
        return 0;
}
