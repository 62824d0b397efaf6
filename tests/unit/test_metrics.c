/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/http/node/node_subject.c daemon/http/jobs/jobs_subject.c
          daemon/http/self/self_subject.c daemon/http/indicators/indicators_subject.c
          daemon/http/kpis/kpis_subject.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "http/jobs/jobs_subject.h"
#include "http/metrics.h"
#include "http/node/node_subject.h"
#include "snapshot_fixture.h"

typedef struct Fixture {
        Snapshot snapshot;
        Exchange exchange; /* with the snapshot */
        Buffer out;
        Exposition exposition;
} Fixture;

static int setup(void **state) {
        const SnapshotSize size = { .n_cpus = 4, .n_disks = 2, .n_nets = 2, .n_filesystems = 2, .n_jobs = 2 };
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        fixture_fill(&fixture->snapshot, &size);
        exchange_init(&fixture->exchange, &fixture->out);
        assert_int_equal(shares_new(&fixture->exchange.sources.shares, &(SharesConfig){}), 0);
        fixture->exchange.sources.snapshot = &fixture->snapshot;
        exposition_init(&fixture->exposition, &fixture->out, false);
        *state = fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        shares_free(fixture->exchange.sources.shares);
        snapshot_deinit(&fixture->snapshot);
        buffer_deinit(&fixture->out);
        free(fixture);
        return 0;
}

static bool says(const Fixture *fixture, const char *line) {
        return fixture->out.text && strstr(fixture->out.text, line);
}

static void assert_exposed(const Fixture *fixture, const char *name, uint64_t value) {
        char line[160];

        (void)snprintf(line, sizeof(line), "\n%s %" PRIu64 "\n", name, value);
        if (!says(fixture, line))
                fail_msg("no '%s'", line);
}

static size_t count(const Fixture *fixture, const char *word) {
        size_t n = 0;

        for (const char *p = fixture->out.text; (p = strstr(p, word)); p++)
                n++;
        return n;
}

/*
 * Checks that the lines of each family are contiguous: its TYPE occurs once, and each sample belongs to the latest
 * TYPE.
 */
static void check_contiguous(Fixture *fixture) {
        char family[128] = "", *rest = fixture->out.text;

        for (char *line; (line = strsep(&rest, "\n")) && *line;) {
                size_t n = strlen(family);

                if (strncmp(line, "# TYPE ", 7) == 0)
                        (void)snprintf(family, sizeof(family), "%.*s", (int)strcspn(line + 7, " "), line + 7);
                else if (*line != '#' && (strncmp(line, family, n) != 0 || !strchr("{ ", line[n])))
                        fail_msg("'%s' stands under %s", line, family);
        }
}

static void run(Fixture *fixture, const Collector *collector) {
        if (collector->collect)
                collector->collect(&fixture->exposition, &fixture->snapshot);
        else
                collector->collect_now(&fixture->exposition, &fixture->exchange.sources);
        assert_int_equal(buffer_error(fixture->exposition.out), 0);
}

/* Runs the collectors with that name. */
static void collect(Fixture *fixture, const char *name) {
        const Collector *collector;

        for (size_t i = 0; (collector = metrics_collector_at(i)); i++)
                if (strcmp(collector->name, name) == 0)
                        run(fixture, collector);
}

/* Each family is written once, by one collector. */
static void no_family_is_written_twice(void **state) {
        Fixture *fixture = *state;
        const Collector *collector;

        for (size_t i = 0; (collector = metrics_collector_at(i)); i++)
                run(fixture, collector);
        for (const char *p = fixture->out.text; (p = strstr(p, "# TYPE ")); p++) {
                char line[160];

                (void)snprintf(line, sizeof(line), "%.*s ", (int)(strcspn(p + 7, " ") + 7), p);
                if (count(fixture, line) != 1)
                        fail_msg("%zu times '%s'", count(fixture, line), line);
        }
        check_contiguous(fixture);
}

static void counters_of_the_kernel_come_in_base_units(void **state) {
        Fixture *fixture = *state;

        node_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_true(says(fixture, "\nperfd_node_cpu_seconds_total{mode=\"user\"} 123.45\n"));
        assert_true(says(fixture, "\nperfd_node_cpu_utilization_ratio{cpus=\"mean\"} 0.5\n"));
        assert_true(says(fixture, "\nperfd_node_observed_seconds_total 90\n"));
        assert_true(says(fixture, "\nperfd_node_memory_available_bytes 51539607552\n"));
        assert_true(says(fixture, "\nperfd_node_load1 0.25\n"));
        assert_true(says(fixture, "\nperfd_node_pressure_cpu_waiting_seconds_total 1.5\n"));
        assert_true(says(fixture, "\nperfd_node_disk_read_bytes_total{device=\"disk1\",class=\"physical\"} 512\n"));
        assert_true(says(fixture, "\nperfd_node_disk_io_seconds_total{device=\"disk0\",class=\"physical\"} 1.5\n"));
        assert_true(says(fixture, "\nperfd_node_filesystem_available_bytes{mountpoint=\"/\",fstype=\"ext4\"} 400\n"));
        assert_true(says(fixture, "\nperfd_last_sample_timestamp_seconds 1763676000\n"));
        assert_int_equal(count(fixture, "# TYPE perfd_node_cpu_seconds_total counter\n"), 1);
        check_contiguous(fixture);
}

static void every_counter_of_a_device_is_exposed(void **state) {
        static const uint64_t scales[] = { [0] = 1, [3] = 1000 };
        Fixture *fixture = *state;
        Sample *sample = &fixture->snapshot.node.sample;
        uint64_t n = 1000;

#define X(member, decimals, ...) sample->disks[1].member = scales[decimals] * ++n;
        DISK_COUNTERS(X)
#undef X
#define X(member, decimals, ...) sample->nets[1].member = scales[decimals] * ++n;
        NET_COUNTERS(X)
#undef X
        node_subject_metrics(&fixture->exposition, &fixture->snapshot);
        n = 1000;
#define X(member, decimals, family, ...)                                                                               \
        assert_exposed(fixture, "perfd_node_" family "_total{device=\"disk1\",class=\"physical\"}", ++n);
        DISK_COUNTERS(X)
#undef X
#define X(member, decimals, family, ...)                                                                               \
        assert_exposed(fixture, "perfd_node_" family "_total{device=\"eth1\",class=\"physical\"}", ++n);
        NET_COUNTERS(X)
#undef X
}

static void unread_values_are_absent_instead_of_zero(void **state) {
        static const char *const prefixes[] = {
                "perfd_node_cpu_seconds", "perfd_node_cpus ",    "perfd_node_memory_",     "perfd_node_oom_kills",
                "perfd_node_disk_",       "perfd_node_network_", "perfd_node_filesystem_", "perfd_node_load1",
                "perfd_node_pressure_",   "perfd_node_cpu_utilization",
        };
        Fixture *fixture = *state;

        fixture->snapshot.node.sample.have = 0;
        fixture->snapshot.node.observation.has_cpu = false;
        node_subject_metrics(&fixture->exposition, &fixture->snapshot);
        node_subject_metrics_percpu(&fixture->exposition, &fixture->snapshot);
        for (size_t i = 0; i < N_ELEMENTS(prefixes); i++)
                assert_false(says(fixture, prefixes[i]));
        assert_true(says(fixture, "\nperfd_node_psi_available{resource=\"io\"} 0\n"));
}

static void before_the_first_sample_there_is_no_node(void **state) {
        Fixture *fixture = *state;

        fixture->snapshot.node.boottime_ns = 0;
        node_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_int_equal(fixture->out.n, 0);
}

static void devices_beyond_the_limit_are_counted(void **state) {
        const SnapshotSize size = {
                .n_cpus = 1, .n_disks = DEVICES_MAX + 5, .n_nets = DEVICES_MAX, .n_filesystems = DEVICES_MAX + 1
        };
        Fixture *fixture = *state;

        fixture_fill(&fixture->snapshot, &size);
        fixture->snapshot.node.sample.disks[DEVICES_MAX + 4].class = DISK_VIRTUAL; /* a separate class */
        node_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_int_equal(count(fixture, "\nperfd_node_disk_reads_total{"), DEVICES_MAX + 1);
        assert_int_equal(count(fixture, "\nperfd_node_network_sent_bytes_total{"), DEVICES_MAX);
        assert_true(says(fixture, "\nperfd_node_devices_not_exposed{kind=\"disk\"} 4\n"));
        assert_true(says(fixture, "\nperfd_node_devices_not_exposed{kind=\"network\"} 0\n"));
        assert_true(says(fixture, "\nperfd_node_devices_not_exposed{kind=\"filesystem\"} 1\n"));
}

static void of_two_mounts_on_one_place_the_last_is_shown(void **state) {
        Fixture *fixture = *state;
        SampleFilesystem *filesystems = fixture->snapshot.node.sample.filesystems;

        filesystems[1] = filesystems[0];
        filesystems[1].size_bytes = 2000;
        node_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_int_equal(count(fixture, "\nperfd_node_filesystem_size_bytes{"), 1);
        assert_true(says(fixture, "\nperfd_node_filesystem_size_bytes{mountpoint=\"/\",fstype=\"ext4\"} 2000\n"));
}

static void the_number_of_series_does_not_depend_on_cpus(void **state) {
        const SnapshotSize size = { .n_cpus = 256, .n_disks = 2, .n_nets = 2, .n_filesystems = 2 };
        Fixture *fixture = *state;
        size_t n_lines;

        node_subject_metrics(&fixture->exposition, &fixture->snapshot);
        n_lines = count(fixture, "\n");
        buffer_clear(&fixture->out);
        fixture_fill(&fixture->snapshot, &size);
        node_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_int_equal(count(fixture, "\n"), n_lines);

        buffer_clear(&fixture->out);
        fixture->snapshot.node.sample.cpus[3].online = false;
        node_subject_metrics_percpu(&fixture->exposition, &fixture->snapshot);
        assert_int_equal(count(fixture, "\nperfd_node_cpu_core_seconds_total{"), 255 * N_CPU_MODES);
        assert_false(says(fixture, "cpu=\"3\""));
}

static void families_of_jobs_stand_together(void **state) {
        Fixture *fixture = *state;

        jobs_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_true(says(fixture, "\nperfd_job_begin_timestamp_seconds{job=\"job-0\"} 1763676000\n"));
        assert_true(says(
                fixture,
                "\nperfd_job_cpu_over_threshold_ratio{job=\"job-1\",scope=\"node\",cpus=\"any\",threshold=\"0.2\"} "));
        assert_int_equal(count(fixture, "# TYPE perfd_job_cpu_over_threshold_ratio gauge\n"), 1);
        assert_int_equal(count(fixture, "perfd_job_cpu_over_threshold_ratio{job=\"job-0\""), 12);
        assert_int_equal(count(fixture, "# TYPE perfd_job_disk_read_bytes_total counter\n"), 1);
        assert_int_equal(count(fixture, "{job=\"job-0\""), N_METRICS + N_USAGES + 2);
        check_contiguous(fixture);
}

static void equal_metrics_of_node_and_job_share_a_family(void **state) {
        static const char *const families[] = {
                "cpu_utilization_ratio",
                "cpu_user_seconds_total",
                "cpu_system_seconds_total",
                "cpu_unused_seconds",
                "disk_read_bytes_total",
                "disk_written_bytes_total",
                "oom_kills_total",
                "pressure_cpu_waiting_seconds_total",
                "pressure_memory_waiting_seconds_total",
                "pressure_memory_stalled_seconds_total",
                "pressure_io_waiting_seconds_total",
                "pressure_io_stalled_seconds_total",
        };
        Fixture *fixture = *state;

        jobs_subject_metrics(&fixture->exposition, &fixture->snapshot);
        for (size_t i = 0; i < N_ELEMENTS(families); i++) {
                char line[128];

                (void)snprintf(line, sizeof(line), "\nperfd_job_%s{job=\"job-1\",scope=\"node\"} ", families[i]);
                assert_int_equal(count(fixture, line), 1);
                (void)snprintf(line, sizeof(line), "\nperfd_job_%s{job=\"job-1\",scope=\"job\"} ", families[i]);
                assert_int_equal(count(fixture, line), 1);
        }
}

static void both_tables_agree_on_the_families_they_share(void **state) {
        size_t n_shared = 0;

        (void)state;
        for (UsageMetric own = 0; own < N_USAGES; own++) {
                const MetricInfo *info = &usage_info[own];

                for (UsageMetric other = 0; other < own; other++)
                        assert_string_not_equal(info->family, usage_info[other].family);
                for (Metric metric = 0; metric < N_METRICS; metric++) {
                        if (strcmp(info->family, metric_info[metric].family) != 0)
                                continue;
                        assert_int_equal(info->type, metric_info[metric].type);
                        assert_string_equal(info->unit, metric_info[metric].unit);
                        assert_string_equal(metric_info[metric].label, "");
                        n_shared++;
                }
        }
        assert_int_equal(n_shared, 17);
}

static void the_gpus_of_a_running_job_have_their_counters(void **state) {
        Fixture *fixture = *state;
        JobGpu gpus[2] = {
                { .name = "3", .have = 1U << GPU_utilized_us | 1U << GPU_energy_mj | 1U << GPU_utilization,
                  .values = { [GPU_utilized_us] = 1500000, [GPU_energy_mj] = 4000, [GPU_utilization] = 5000 } },
                { .given = "9" },
        };

        fixture->snapshot.jobs.records[1].gpus = (JobGpus){ gpus, 2 };
        jobs_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_true(says(fixture, "\nperfd_job_gpu_utilized_seconds_total{job=\"job-1\",gpu=\"3\"} 1.5\n"));
        assert_true(says(fixture, "\nperfd_job_gpu_energy_joules_total{job=\"job-1\",gpu=\"3\"} 4\n"));
        assert_int_equal(count(fixture, "gpu=\""), 2); /* no gauge, nothing that was not read, no GPU without name */
        check_contiguous(fixture);
}

static void names_are_on_the_info_alone_whatever_is_in_them(void **state) {
        Fixture *fixture = *state;
        JobDescription *info = &fixture->snapshot.jobs.records[1].info;

        info->name = "gr\xc3\xbcn \"1\"\n\\x \xff";
        info->isolation = ISOLATION_SCOPE;
        info->node = 3;
        jobs_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_true(
                says(fixture,
                     "\nperfd_job_info{job=\"job-1\",name=\"gr\xc3\xbcn \\\"1\\\"\\n\\\\x \xef\xbf\xbd\",user=\"ada\","
                     "state=\"running\",isolation=\"scope\",rank=\"1\",node=\"3\"} 1\n"));
        assert_true(says(fixture,
                         "\nperfd_job_info{job=\"job-0\",name=\"training \\\"0\\\"\",user=\"ada\",state=\"running\","
                         "isolation=\"none\",rank=\"0\"} 1\n"));
        assert_int_equal(count(fixture, "name="), 2);
        assert_int_equal(count(fixture, "user="), 2);
        check_contiguous(fixture);
}

static void without_names_there_are_ids_and_sums(void **state) {
        Fixture *fixture = *state;
        JobsSnapshot *jobs = &fixture->snapshot.jobs;
        UsageTotal totals[] = {
                { .key = "1000", .begin_ms = 2000, .n_jobs = 3, .cpu_us = 1000000 },
                { .key = "1001", .begin_ms = 1000, .n_jobs = 4 },
        };

        jobs->users = (UsageTotals){ .entries = totals, .n = N_ELEMENTS(totals), .others.n_jobs = 5 };
        fixture->exposition.has_names = false;
        jobs_subject_metrics(&fixture->exposition, &fixture->snapshot);
        jobs->users = (UsageTotals){};
        assert_true(says(fixture, "\nperfd_job_info{job=\"job-1\",state=\"running\""));
        assert_int_equal(count(fixture, "name="), 0);
        assert_int_equal(count(fixture, "user="), 0);
        assert_true(says(fixture, "\nperfd_user_jobs_ended_total{uid=\"other\"} 12\n"));
        assert_true(says(fixture, "\nperfd_user_jobs_cpu_seconds_total{uid=\"other\"} 1\n") ||
                    says(fixture, "\nperfd_user_jobs_cpu_seconds_total{uid=\"other\"} 1.000000\n"));
        assert_int_equal(count(fixture, "uid=\"1000\""), 0);
        check_contiguous(fixture);
}

static void an_absent_metric_of_a_job_has_no_sample(void **state) {
        Fixture *fixture = *state;

        fixture->snapshot.jobs.results[0].metrics.quality[METRIC_DISK_READ] = QUALITY_UNKNOWN_SOURCE;
        fixture->snapshot.jobs.results[0].metrics.quality[METRIC_CPU_MAX] = QUALITY_TOO_SHORT;
        fixture->snapshot.jobs.results[1].metrics.quality[METRIC_CPU_MAX] = QUALITY_SAMPLED;
        fixture->snapshot.jobs.records[0].info.rank = -1;
        jobs_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_false(says(fixture, "perfd_job_disk_read_bytes_total{job=\"job-0\",scope=\"node\"}"));
        assert_true(says(fixture, "perfd_job_disk_read_bytes_total{job=\"job-0\",scope=\"job\"}"));
        assert_true(says(fixture, "perfd_job_disk_read_bytes_total{job=\"job-1\",scope=\"node\"} "));
        assert_false(says(fixture, "perfd_job_cpu_utilization_peak_ratio{job=\"job-0\",scope=\"node\",cpus=\"mean\"}"));
        assert_true(says(fixture, "perfd_job_cpu_utilization_peak_ratio{job=\"job-1\",scope=\"node\",cpus=\"mean\"}"));
        assert_false(says(fixture, "rank=\"-1\""));
}

static void a_job_without_a_group_has_the_nodes_numbers_alone(void **state) {
        Fixture *fixture = *state;

        for (size_t i = 0; i < fixture->snapshot.jobs.used.n_records; i++)
                memset(fixture->snapshot.jobs.results[i].usage.quality, QUALITY_NO_GROUP, N_USAGES);
        jobs_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_false(says(fixture, "scope=\"job\""));
        assert_false(says(fixture, "perfd_job_cpus_given"));
        assert_int_equal(count(fixture, "scope=\"node\""), 2 * N_METRICS);
        check_contiguous(fixture);
}

static void jobs_beyond_the_limit_are_counted(void **state) {
        Fixture *fixture = *state;

        fixture->snapshot.jobs.n_exposed_max = 1;
        jobs_subject_metrics(&fixture->exposition, &fixture->snapshot);
        assert_false(says(fixture, "job=\"job-1\""));
        assert_true(says(fixture, "\nperfd_jobs_not_exposed 1\n"));
        assert_true(says(fixture, "\nperfd_jobs_running 2\n"));
}

static void perfd_exposes_its_own_metrics(void **state) {
        Fixture *fixture = *state;

        fixture->snapshot.self.process_cpu_ns = 1250000000;
        fixture->snapshot.node.sample.have &= ~(1U << SOURCE_PSI_IO);
        fixture->snapshot.node.sampler.n_failures[SOURCE_PSI_IO] = 7;
        fixture->snapshot.ingest.n_answers[1] = 9;
        fixture->snapshot.jobs.finder.n_found = 21;
        fixture->snapshot.jobs.finder.n_unrecognized = 22;
        fixture->snapshot.jobs.finder.n_not_watched = 23;
        fixture->snapshot.jobs.stats.n_with_cgroup = 24;
        fixture->exchange.sources.http.n_requests_by_class[4] = 5;
        assert_int_equal(snapshot_indicators_reserve(&fixture->snapshot.indicators, 1), 0);
        fixture->snapshot.indicators.counts[0] = (IndicatorCount){
                .name = "PiMatmul", .component = "jax", .uid = 7, .n = { 3, 2, 1 }
        };
        fixture->snapshot.indicators.n = 1;
        collect(fixture, "self");
        assert_true(says(fixture, "\nperfd_build_info{version=\"" PERFD_VERSION "\"} 1\n"));
        assert_true(says(fixture, "\nprocess_cpu_seconds_total 1.25\n"));
        assert_true(says(fixture, "\nperfd_source_up{source=\"stat\"} 1\n"));
        assert_int_equal(count(fixture, "\nperfd_source_up{"), N_SOURCES);
        assert_int_equal(count(fixture, "} 7\n"), 1);
        assert_true(says(fixture, "\nperfd_requests_total{status=\"DUPLICATE\"} 9\n"));
        assert_true(says(fixture, "\nperfd_http_requests_total{class=\"4xx\"} 5\n"));
        assert_true(says(fixture, "\nperfd_store_writable 0\n"));
        assert_true(says(
                fixture,
                "\nperfd_indicators_total{indicator=\"PiMatmul\",component=\"jax\",uid=\"7\",outcome=\"failed\"} 2\n"));
        assert_true(says(fixture, "\nperfd_cgroups_found_total 21\n"));
        assert_true(says(fixture, "\nperfd_cgroups_unrecognized_total 22\n"));
        assert_true(says(fixture, "\nperfd_cgroups_not_watched_total 23\n"));
        assert_true(says(fixture, "\nperfd_jobs_with_cgroup 24\n"));
        check_contiguous(fixture);
}

static void samples_of_a_kpi_share_their_family(void **state) {
        Fixture *fixture = *state;
        KpisSnapshot *kpis = &fixture->snapshot.indicators.kpis;

        kpis->samples = calloc(3, sizeof(*kpis->samples));
        assert_non_null(kpis->samples);
        kpis->samples[0] = (KpiSample){ "rate", "", "Speed", "component=\"a\"", 1.5 };
        kpis->samples[1] = (KpiSample){ "rate", "", "Speed", "component=\"b\"", 2 };
        kpis->samples[2] = (KpiSample){ "wait_seconds", "seconds", "", "component=\"a\"", 3 };
        kpis->n = 3;
        kpis->n_not_exposed = 4;
        collect(fixture, "kpis");
        assert_true(says(fixture, "rate{component=\"a\"} 1.5\nrate{component=\"b\"} 2\n# "));
        assert_true(says(fixture, "\nwait_seconds{component=\"a\"} 3\n"));
        assert_int_equal(count(fixture, "# TYPE rate gauge\n"), 1);
        collect(fixture, "self");
        assert_true(says(fixture, "\nperfd_kpi_series_not_exposed 4\n"));
        check_contiguous(fixture);
}

/* --- shared texts ---------------------------------------------------------------------------------- */

/* Answers a scrape; collect: value of collect[], or NULL. */
static void scrape(Fixture *fixture, ScrapeCache *cache, const char *collect) {
        Exchange *exchange = &fixture->exchange;
        Shares *shares = exchange->sources.shares;

        scrape_clear(&exchange->response.scrape);
        exchange_init(exchange, &fixture->out);
        exchange->sources.snapshot = &fixture->snapshot;
        exchange->sources.shares = shares;
        exchange->response.scrape.cache = cache;
        if (collect)
                assert_int_equal(exchange_add_parameter(&exchange->target, &exchange->response, "collect[]", collect),
                                 0);
        metrics_answer(&exchange->target, &exchange->sources, &exchange->response);
}

static const SharedText *shared_part(const Fixture *fixture) {
        return fixture->exchange.response.scrape.n == 1 ? fixture->exchange.response.scrape.texts[0].text : NULL;
}

static void scrapes_of_a_snapshot_share_what_it_says(void **state) {
        scoped(scrape_cache_freep) ScrapeCache *cache = NULL;
        Fixture *fixture = *state;
        const SharedText *text;
        size_t n;

        assert_int_equal(scrape_cache_new(&cache), 0);
        fixture->snapshot.serial = 1;
        scrape(fixture, cache, NULL);
        text = shared_part(fixture);
        assert_non_null(text);
        assert_non_null(strstr(shared_text_get(text, &n), "perfd_samples_total"));
        assert_false(says(fixture, "perfd_samples_total"));

        /* what is not in the snapshot is new in each answer */
        assert_exposed(fixture, "perfd_http_sent_bytes_total", 0);
        scrape(fixture, cache, NULL);
        assert_ptr_equal(shared_part(fixture), text);
        fixture->exchange.sources.http.n_bytes_sent = 5;
        buffer_clear(&fixture->out);
        collect(fixture, "self");
        assert_exposed(fixture, "perfd_http_sent_bytes_total", 5);

        scrape(fixture, cache, "jobs");
        assert_ptr_not_equal(shared_part(fixture), text);
        assert_null(strstr(shared_text_get(shared_part(fixture), &n), "perfd_samples_total"));
        assert_int_equal(fixture->out.n, 0);

        fixture->snapshot.serial = 2;
        fixture->snapshot.self.n_ticks = 4711;
        scrape(fixture, cache, NULL);
        assert_non_null(strstr(shared_text_get(shared_part(fixture), &n), "\nperfd_samples_total 4711\n"));
        scrape_clear(&fixture->exchange.response.scrape);
}

static void an_answer_that_is_too_large_has_no_texts(void **state) {
        scoped(scrape_cache_freep) ScrapeCache *cache = NULL;
        Fixture *fixture = *state;

        assert_int_equal(scrape_cache_new(&cache), 0);
        fixture->snapshot.serial = 1;
        scrape(fixture, cache, "node");
        fixture->exchange.response.scrape.sum.n = ANSWER_BYTES_MAX + 1;
        assert_int_equal(exchange_check_body(&fixture->exchange.response), EXCHANGE_ANSWERED);
        assert_int_equal(fixture->exchange.response.status, 413);
        assert_int_equal(fixture->exchange.response.scrape.n, 0);
        assert_true(says(fixture, "the answer would have more than"));
}

/* A limit of [metrics] jobs that is too large for an answer must not cost all metrics. */
static void jobs_beyond_the_size_of_an_answer_are_counted(void **state) {
        const SnapshotSize size = { .n_cpus = 1, .n_jobs = 3000 };
        Fixture *fixture = *state;
        Snapshot snapshot = {};
        size_t n;

        fixture_fill(&snapshot, &size);
        snapshot.jobs.n_exposed_max = 10000;
        exposition_init(&fixture->exposition, &fixture->out, true);
        jobs_subject_metrics(&fixture->exposition, &snapshot);
        assert_int_equal(buffer_error(&fixture->out), 0);
        n = count(fixture, "\nperfd_job_info{");
        assert_in_range(n, 200, 2999);
        assert_exposed(fixture, "perfd_jobs_not_exposed", 3000 - n);
        assert_int_equal(count(fixture, "\nperfd_job_begin_timestamp_seconds{"), n);
        assert_true(fixture->out.n < ANSWER_BYTES_MAX);
        snapshot_deinit(&snapshot);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(no_family_is_written_twice, setup, teardown),
                cmocka_unit_test_setup_teardown(samples_of_a_kpi_share_their_family, setup, teardown),
                cmocka_unit_test_setup_teardown(counters_of_the_kernel_come_in_base_units, setup, teardown),
                cmocka_unit_test_setup_teardown(every_counter_of_a_device_is_exposed, setup, teardown),
                cmocka_unit_test_setup_teardown(unread_values_are_absent_instead_of_zero, setup, teardown),
                cmocka_unit_test_setup_teardown(before_the_first_sample_there_is_no_node, setup, teardown),
                cmocka_unit_test_setup_teardown(devices_beyond_the_limit_are_counted, setup, teardown),
                cmocka_unit_test_setup_teardown(of_two_mounts_on_one_place_the_last_is_shown, setup, teardown),
                cmocka_unit_test_setup_teardown(the_number_of_series_does_not_depend_on_cpus, setup, teardown),
                cmocka_unit_test_setup_teardown(families_of_jobs_stand_together, setup, teardown),
                cmocka_unit_test_setup_teardown(equal_metrics_of_node_and_job_share_a_family, setup, teardown),
                cmocka_unit_test_setup_teardown(both_tables_agree_on_the_families_they_share, setup, teardown),
                cmocka_unit_test_setup_teardown(the_gpus_of_a_running_job_have_their_counters, setup, teardown),
                cmocka_unit_test_setup_teardown(names_are_on_the_info_alone_whatever_is_in_them, setup, teardown),
                cmocka_unit_test_setup_teardown(without_names_there_are_ids_and_sums, setup, teardown),
                cmocka_unit_test_setup_teardown(an_absent_metric_of_a_job_has_no_sample, setup, teardown),
                cmocka_unit_test_setup_teardown(a_job_without_a_group_has_the_nodes_numbers_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(jobs_beyond_the_limit_are_counted, setup, teardown),
                cmocka_unit_test_setup_teardown(perfd_exposes_its_own_metrics, setup, teardown),
                cmocka_unit_test_setup_teardown(scrapes_of_a_snapshot_share_what_it_says, setup, teardown),
                cmocka_unit_test_setup_teardown(an_answer_that_is_too_large_has_no_texts, setup, teardown),
                cmocka_unit_test_setup_teardown(jobs_beyond_the_size_of_an_answer_are_counted, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
