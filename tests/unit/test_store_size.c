/* SPDX-License-Identifier: Apache-2.0 */
/* Disk space of a finished job with all its data: metrics and timeline from a machine with noisy load. */

#include "store/jobs/job_rows.h"
#include "store/node/store_node.h"
#include "store_fixture.h"

#include <math.h>
#include <sys/stat.h>

#include "fake_meter.h"
#include "measure/usage.h"
#include "node/recording.h"
#include "snapshot/window.h"

#define N_POINTS 120 /* default length of a timeline */
#define N_JOBS 200
#define N_AT_ONCE 20 /* number of concurrent jobs */
#define JOB_BYTES_MAX 4096.0
#define PHASE_BYTES_MAX 2048.0
#define N_SECONDS (4 * N_POINTS) /* four samples for each point of a timeline */

static double draw(uint32_t *seed) {
        *seed = *seed * 1664525U + 1013904223U;
        return (*seed >> 8) / 16777216.0;
}

/* Simulates a second of a job with uneven use of CPU, disk and network. */
static void pass_busy_second(Sample *now, unsigned second, uint32_t *seed) {
        double level = second % 60 < 5 ? 0.15 : 0.75;
        SampleDisk *disk = fake_disk(now, "nvme0n1", DISK_PHYSICAL);
        SampleNet *net = fake_net(now, "eth0", NET_PHYSICAL);

        for (size_t i = 0; i < now->n_cpus; i++) {
                uint64_t busy = (uint64_t)(100 * (level + 0.25 * draw(seed)));

                fake_cpu(now, i, CPU_USER, busy);
                fake_cpu(now, i, CPU_IDLE, 100 - busy);
        }
        now->memory.available_bytes = (uint64_t)((6 - 2 * second / 600.0 + 0.2 * draw(seed)) * GIB);
        if (draw(seed) < 0.7)
                disk->read_bytes += (uint64_t)exp(12 + 8 * draw(seed)) / 512 * 512;
        if (draw(seed) < 0.7)
                disk->write_bytes += (uint64_t)exp(9 + 9 * draw(seed)) / 512 * 512;
        net->sent_bytes += (uint64_t)exp(6 + 10 * draw(seed));
        net->received_bytes += (uint64_t)exp(6 + 12 * draw(seed));
        fake_pass(now, SECOND);
}

/* All values of each second are random and independent. */
static void pass_random_second(Sample *now, unsigned second, uint32_t *seed) {
        SampleDisk *disk = fake_disk(now, "nvme0n1", DISK_PHYSICAL);
        SampleNet *net = fake_net(now, "eth0", NET_PHYSICAL);

        (void)second;
        fake_work(now, (uint64_t)(100 * draw(seed)), 0);
        for (size_t i = 0; i < now->n_cpus; i++)
                fake_cpu(now, i, CPU_IDLE, (uint64_t)(100 * draw(seed)));
        now->memory.available_bytes = (uint64_t)(10 * draw(seed) * GIB);
        disk->read_bytes += (uint64_t)exp(22 * draw(seed)) / 512 * 512;
        disk->write_bytes += (uint64_t)exp(22 * draw(seed)) / 512 * 512;
        net->sent_bytes += (uint64_t)exp(22 * draw(seed));
        net->received_bytes += (uint64_t)exp(22 * draw(seed));
        fake_pass(now, SECOND);
}

typedef void (*Pass)(Sample *now, unsigned second, uint32_t *seed);

/* Simulates the same second in the job's own group, with all controllers and limits. */
static void pass_group_second(CgroupSample *group, uint32_t *seed) {
        uint64_t user_us = (uint64_t)(2e6 * draw(seed)), system_us = (uint64_t)(2e5 * draw(seed));

        group->boottime_ns += SECOND + (uint64_t)(1e5 * draw(seed));
        group->have = (1U << N_CGROUP_PARTS) - 1;
        group->user_us += user_us;
        group->system_us += system_us;
        group->usage_us += user_us + system_us;
        group->n_periods += 10;
        group->n_throttled += (uint64_t)(5 * draw(seed));
        group->throttled_us += (uint64_t)(1e5 * draw(seed));
        group->quota_us = 250000;
        group->period_us = 100000;
        group->n_cpus = 3;
        group->memory_bytes = (uint64_t)(2 * draw(seed) * GIB);
        group->memory_peak_bytes = (uint64_t)(2.1 * GIB) + (uint64_t)(1e6 * draw(seed));
        group->memory_limit_bytes = 3 * GIB;
        group->n_memory_high += draw(seed) < 0.1;
        group->read_bytes += (uint64_t)exp(20 * draw(seed)) / 512 * 512;
        group->write_bytes += (uint64_t)exp(20 * draw(seed)) / 512 * 512;
        group->reads += (uint64_t)exp(6 * draw(seed));
        group->writes += (uint64_t)exp(6 * draw(seed));
        group->n_pids = 1 + (uint64_t)(100 * draw(seed));
        group->psi_cpu_some_us += (uint64_t)(1e5 * draw(seed));
        group->psi_memory_some_us += (uint64_t)(1e4 * draw(seed));
        group->psi_memory_full_us += (uint64_t)(1e3 * draw(seed));
        group->psi_io_some_us += (uint64_t)(1e5 * draw(seed));
        group->psi_io_full_us += (uint64_t)(1e5 * draw(seed));
}

typedef struct Run {
        JobInfo info;
        Window window;
        Usage usage;
        CgroupSample group;
        Recording recording;
        PhaseView phase; /* the current phase */
} Run;

/* Returns the text of the job's progress; caller frees. */
static char *progress_of(const Run *run) {
        char *window, *usage, *text;

        assert_int_equal(record_format(&window_record, &run->window, &window), 0);
        assert_int_equal(record_format(&usage_record, &run->usage, &usage), 0);
        assert_true(asprintf(&text, "%s%s", window, usage) > 0);
        free(window);
        free(usage);
        return text;
}

static void put_begin(Store *store, const Run *run, const Bench *bench) {
        uint64_t now_ms = bench->now.realtime_ns / MS;
        char *account, *text = progress_of(run);

        assert_int_equal(meter_save(bench->meter, BOOT, &account), 0);
        assert_int_equal(store_put(store, pack_begin_row(&run->info, now_ms, BOOT, text, account, cookie_of(1))), 0);
        assert_int_equal(outcome_of(store, 1), STORE_DONE);
        free(account);
        free(text);
}

/* Uses the metrics of a whole job for a phase, as an upper limit of their size. */
static void end_phase(Run *run, const Bench *bench) {
        run->phase.end_realtime_ms = bench->now.realtime_ns / MS;
        run->phase.has_wall_seconds = true;
        run->phase.wall_seconds = 119.983741;
        window_metrics(&run->window.begin, &run->window.peaks, meter_totals(bench->meter), 4, &run->phase.metrics);
        usage_metrics(&run->usage, 4, 16 * GIB, &run->phase.usage);
}

static void put_phase(Store *store, Run *run, const Bench *bench) {
        StorePhase row = { .job = run->info.id, .phase = &run->phase, .boot_id = BOOT };
        char *account, *text = progress_of(run);

        end_phase(run, bench);
        assert_int_equal(meter_save(bench->meter, BOOT, &account), 0);
        row.progress = text;
        row.meter = account;
        assert_int_equal(store_put(store, job_rows_pack_phase(&row, cookie_of(3))), 0);
        assert_int_equal(outcome_of(store, 3), STORE_DONE);
        run->phase = (PhaseView){ .index = run->phase.index + 1,
                                  .name = "evaluate",
                                  .begin_realtime_ms = run->phase.end_realtime_ms };
        free(account);
        free(text);
}

static void put_end(Store *store, const Run *run, const Bench *bench) {
        JobEnd end = {
                .has_exit_status = true, .has_rusage = true,
                .rusage = {
                        .ru_utime = 1439.284511, .ru_stime = 12.038171, .ru_maxrss = 4183204, .ru_minflt = 1938271,
                        .ru_majflt = 12,
                        .ru_inblock = 20184728, .ru_oublock = 8172816, .ru_nvcsw = 182731, .ru_nivcsw = 48172,
                },
        };
        MetricSet metrics;
        UsageSet usage;
        StoreJobEnd row = {
                .job = run->info.id, .state = JOB_FINISHED, .end_realtime_ms = bench->now.realtime_ns / MS, .end = &end,
                .metrics = &metrics, .usage = &usage, .phase = run->phase.index > 0 ? &run->phase : NULL,
        };
        scoped(buffer_deinit) Buffer timeline = {};

        window_metrics(&run->window.begin, &run->window.peaks, meter_totals(bench->meter), 4, &metrics);
        usage_metrics(&run->usage, 4, 16 * GIB, &usage);
        for (size_t i = 0; i < N_USAGES; i++)
                assert_true(quality_is_present(usage.quality[i]) || usage.quality[i] == QUALITY_NO_EQUIPMENT);
        assert_int_equal(recording_write(&run->recording, &timeline), 0);
        row.timeline = &timeline;
        assert_int_equal(store_put(store, job_rows_pack_end(&row, cookie_of(2))), 0);
        assert_int_equal(outcome_of(store, 2), STORE_DONE);
}

static void run_begin(Run *run, Store *store, const Bench *bench, unsigned n) {
        static JobLabel labels[] = { { "partition", "gpu-long" }, { "account", "climate" } };
        static char cgroup[] = "/system.slice/node17_slurmstepd.scope/job_4711000";

        *run = (Run){
                .info = {
                        .name = "train-resnet50",
                        .command = "python3 train.py --epochs 90 --batch 256 --data /scratch/imagenet",
                        .user = "ada", .uid = 1000, .gid = 1000, .pid = 481516, .pid_start_ticks = 2342108, .rank = 3,
                        .node = 1, .n_nodes = 4, .n_ranks = 16, .isolation = ISOLATION_FOUND, .cgroup = cgroup,
                        .n_labels = N_ELEMENTS(labels), .labels = labels,
                },
                .group = { .boottime_ns = bench->now.boottime_ns },
                .phase = { .begin_realtime_ms = bench->now.realtime_ns / MS },
        };
        (void)snprintf(run->info.id, sizeof(run->info.id), "slurm-%u.%u", 4711000 + n, n % 4);
        window_begin(&run->window, meter_totals(bench->meter), &bench->now);
        recording_init(&run->recording, bench->now.boottime_ns, bench->now.realtime_ns, SECOND, N_POINTS);
        pass_group_second(&run->group, &n);
        usage_begin(&run->usage, &run->group, false);
        put_begin(store, run, bench);
}

static void run_end(Run *run, Store *store, const Bench *bench) {
        assert_int_equal(run->recording.n, N_POINTS);
        end_phase(run, bench);
        put_end(store, run, bench);
        recording_deinit(&run->recording);
}

/* Stores checkpoints as the daemon does once a minute. */
static void put_checkpoints(Store *store, const Bench *bench, const Run runs[static N_AT_ONCE]) {
        StoreCheckpoint items[N_AT_ONCE];
        char *account;

        assert_int_equal(meter_save(bench->meter, BOOT, &account), 0);
        for (unsigned i = 0; i < N_AT_ONCE; i++) {
                items[i] = (StoreCheckpoint){ .job = runs[i].info.id, .progress = progress_of(&runs[i]) };
        }
        assert_int_equal(store_put(store, job_rows_pack_checkpoints(items, N_AT_ONCE, BOOT, account,
                                                                    bench->now.realtime_ns / MS)), 0);
        for (unsigned i = 0; i < N_AT_ONCE; i++)
                free((char *)items[i].progress);
        free(account);
}

/* Runs eight minutes, divided into phases. */
static void run_some(Store *store, Bench *bench, unsigned first, Pass pass, unsigned n_phases) {
        uint32_t seed = first + 1;
        Run runs[N_AT_ONCE];

        for (unsigned i = 0; i < N_AT_ONCE; i++)
                run_begin(&runs[i], store, bench, first + i);

        for (unsigned second = 0; second < N_SECONDS; second++) {
                pass(&bench->now, second, &seed);
                assert_int_equal(look(bench), METER_OBSERVED);
                for (unsigned i = 0; i < N_AT_ONCE; i++) {
                        window_observe(&runs[i].window.peaks, &runs[i].window.begin, &bench->observation,
                                       bench->now.realtime_ns);
                        assert_int_equal(recording_add(&runs[i].recording, &bench->observation), 0);
                        pass_group_second(&runs[i].group, &seed);
                        usage_advance(&runs[i].usage, &runs[i].group);
                        if (second > 0 && second % (N_SECONDS / n_phases) == 0)
                                put_phase(store, &runs[i], bench);
                }
                if (second % 60 == 59)
                        put_checkpoints(store, bench, runs);
        }

        for (unsigned i = 0; i < N_AT_ONCE; i++)
                run_end(&runs[i], store, bench);
}

static double file_bytes(const Place *place) {
        char path[PATH_MAX];
        struct stat st;

        place_path(place, "perfd.db", path);
        assert_int_equal(stat(path, &st), 0);
        return (double)st.st_size;
}

/* Returns the growth of the file per job. A closed store has no write-ahead log. */
static double bytes_per_job(Pass pass, unsigned n_phases) {
        double before, bytes;
        Bench bench;
        Place place;

        bench_begin(&bench, 4);
        (void)fake_disk(&bench.now, "nvme0n1", DISK_PHYSICAL);
        (void)fake_net(&bench.now, "eth0", NET_PHYSICAL);
        (void)look(&bench);
        place_make(&place);
        place_open(&place);
        place_close(&place);
        before = file_bytes(&place);

        place_open(&place);
        for (unsigned n = 0; n < N_JOBS; n += N_AT_ONCE)
                run_some(place.store, &bench, n, pass, n_phases);
        place_close(&place);
        bytes = (file_bytes(&place) - before) / N_JOBS;
        print_message("%.0f bytes for each job\n", bytes);

        place_remove(&place);
        bench_end(&bench);
        return bytes;
}

static void a_busy_job_takes_four_kib_with_its_timeline(void **state) {
        (void)state;
        assert_true(bytes_per_job(pass_busy_second, 1) <= JOB_BYTES_MAX);
}

static void pure_noise_takes_four_kib_too(void **state) {
        (void)state;
        assert_true(bytes_per_job(pass_random_second, 1) <= JOB_BYTES_MAX);
}

static void each_of_four_phases_takes_two_kib(void **state) {
        (void)state;
        assert_true(bytes_per_job(pass_busy_second, 4) <= JOB_BYTES_MAX + 4 * PHASE_BYTES_MAX);
}

/* --- the node's history ---------------------------------------------------------------------------- */

#define N_DAYS 36
#define HISTORY_MB_MAX 80.0

static void point_of(const Observation *o, TimelinePoint *ret) {
        scoped(recording_deinit) Recording recording = {};
        scoped(timeline_deinit) Timeline timeline = {};

        recording_init(&recording, o->begin_ns, 0, o->end_ns - o->begin_ns, 2);
        assert_int_equal(recording_add(&recording, o), 0);
        assert_int_equal(recording_timeline(&recording, &timeline), 0);
        *ret = timeline.points[0];
}

/* A point of a busy node: all numbers differ. */
static void draw_point(uint64_t length_ns, uint32_t *seed, TimelinePoint *ret) {
        double low = draw(seed) / 2, high = 0.5 + draw(seed) / 2;
        Observation o = {
                .begin_ns = SECOND, .end_ns = SECOND + length_ns, .has_cpu = true, .has_memory = true,
                .cpu_mean = low + (high - low) * draw(seed), .cpu_min = low, .cpu_max = high, .memory = draw(seed),
                .disk_read_rate = exp(22 * draw(seed)), .disk_written_rate = exp(22 * draw(seed)),
                .network_sent_rate = exp(22 * draw(seed)), .network_received_rate = exp(22 * draw(seed)),
                .pressure_cpu_rate = draw(seed), .pressure_memory_rate = draw(seed), .pressure_io_rate = draw(seed),
        };

        point_of(&o, ret);
        for (Series series = 0; series < N_JOB_SERIES; series++) {
                ret->series[series].min *= (float)draw(seed);
                ret->series[series].max *= 1 + (float)draw(seed);
        }
}

static void put_points(Store *store, uint64_t begin_ms, size_t n, uint64_t length_ns, uint32_t *seed) {
        scoped(timeline_deinit) Timeline timeline = { .interval_ns = length_ns, .kind = TIMELINE_OF_NODE };
        scoped(buffer_deinit) Buffer bytes = {};

        assert_int_equal(timeline_reserve(&timeline, n), 0);
        for (size_t i = 0; i < n; i++)
                draw_point(length_ns, seed, &timeline.points[i]);
        assert_int_equal(timeline_write(&timeline, &bytes), 0);
        assert_int_equal(store_put(store, n > 1 ? store_node_pack_minutes(begin_ms, &bytes) :
                                                  store_node_pack(begin_ms, length_ns / MS, &bytes)), 0);
}

/* The file grows in proportion to the days. */
static void a_month_of_samples_and_a_year_of_minutes_take_80_mb(void **state) {
        const uint64_t begin_ms = UINT64_C(1700000000000);
        double before, sample_bytes, minute_bytes, mb;
        uint32_t seed = 3;
        Place place;

        (void)state;
        place_make(&place);
        place_open(&place);
        place_close(&place);
        before = file_bytes(&place);
        place_open(&place);
        for (uint64_t i = 0; i < N_DAYS * 1440; i++)
                put_points(place.store, begin_ms + 10000 * i, 1, 10 * SECOND, &seed);
        place_close(&place);
        sample_bytes = (file_bytes(&place) - before) / (N_DAYS * 1440);
        before = file_bytes(&place);
        place_open(&place);
        for (uint64_t i = 0; i < N_DAYS * 24; i++)
                put_points(place.store, begin_ms + 3600000 * i, 60, 60 * SECOND, &seed);
        place_close(&place);
        minute_bytes = (file_bytes(&place) - before) / (N_DAYS * 24);

        mb = (sample_bytes * 30 * 8640 + minute_bytes * 365 * 24) / 1e6;
        print_message("%.0f bytes for each sample, %.0f for each hour of minutes: %.1f MB\n", sample_bytes,
                      minute_bytes, mb);
        assert_true(mb <= HISTORY_MB_MAX);
        place_remove(&place);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_busy_job_takes_four_kib_with_its_timeline),
                cmocka_unit_test(pure_noise_takes_four_kib_too),
                cmocka_unit_test(each_of_four_phases_takes_two_kib),
                cmocka_unit_test(a_month_of_samples_and_a_year_of_minutes_take_80_mb),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
