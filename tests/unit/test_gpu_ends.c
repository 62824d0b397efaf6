/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that begin and end with a reading of their GPUs. */
/* tests: daemon/jobs/lifecycle.c daemon/jobs/job_end.c */
#include "room_fixture.h"

#include <math.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "jobs/job_watch.h"
#include "jobs/sampling.h"
#include "measure/gpu_file.h"

#define POWER_MJ_PER_US 0.4 /* 400 W */

typedef struct Gpus {
        Fixture *f;
        int fd; /* the socket of perfd-gpu */
        uint64_t begin_ns;
        GpuReadings readings;
} Gpus;

/* A reading of now. */
static void put_reading(Gpus *gpus) {
        GpuReading *gpu = &gpus->readings.gpus[0];
        uint64_t now_ns = clock_boottime_ns(), us = (now_ns - gpus->begin_ns) / NS_PER_US;
        char path[128];

        gpus->readings.sequence++;
        gpus->readings.boottime_ns = gpu->boottime_ns = gpu->energy_boottime_ns = now_ns;
        gpu->have = 1U << GPU_present_us | 1U << GPU_utilized_us | 1U << GPU_energy_mj;
        gpu->values[GPU_present_us] = us;
        gpu->values[GPU_utilized_us] = us / 2;
        gpu->values[GPU_energy_mj] = (uint64_t)((double)us * POWER_MJ_PER_US);
        (void)snprintf(path, sizeof(path), "%s/" GPU_FILE_PATH, gpus->f->root);
        assert_int_equal(gpu_file_write(path, &gpus->readings), 0);
}

static int set_up(void **state) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const NodeConfig config = { .interval_ns = NS_PER_S, .filesystems_interval_ns = 60 * NS_PER_S };
        Gpus *gpus = calloc(1, sizeof(*gpus));
        char command[160];

        assert_non_null(gpus);
        assert_int_equal(rooms_set_up((void **)&gpus->f), 0);
        *state = gpus;
        (void)snprintf(command, sizeof(command), "mkdir -p %s/run/perfd-gpu", gpus->f->root);
        assert_int_equal(system(command), 0);
        gpus->begin_ns = clock_boottime_ns() - 1000 * NS_PER_S;
        gpus->readings = (GpuReadings){ .magic = GPU_FILE_MAGIC, .n_bytes_gpu = sizeof(GpuReading),
                                        .n_values = N_GPU_VALUES, .n_gpus = 1 };
        (void)strcpy(gpus->readings.gpus[0].uuid, "GPU-1");
        gpus->readings.gpus[0].parent = -1;
        put_reading(gpus);

        gpus->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/" GPU_FILE_SOCKET, gpus->f->root);
        assert_int_equal(bind(gpus->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        node_deinit(&gpus->f->node);
        assert_int_equal(node_init(&gpus->f->node, gpus->f->root, &config), 0);
        assert_true(sampling_now(&gpus->f->jobs.jobs, &gpus->f->node) >= 0);
        assert_true(sampling_tick(&gpus->f->jobs.jobs, &gpus->f->node) >= 0); /* this one reads processes, too */
        return 0;
}

static int tear_down(void **state) {
        Gpus *gpus = *state;

        close(gpus->fd);
        assert_int_equal(rooms_tear_down((void **)&gpus->f), 0);
        free(gpus);
        return 0;
}

static bool is_asked(const Gpus *gpus) {
        char byte;

        return recv(gpus->fd, &byte, 1, MSG_DONTWAIT) == 1;
}

/* Runs the loop until the reading that was asked for is taken. */
static void take_reading(Gpus *gpus) {
        assert_true(is_asked(gpus));
        put_reading(gpus);
        do
                assert_true(sd_event_run(gpus->f->event, DEADLINE_MS * 1000) > 0);
        while (!gpu_use_is_answered(gpus->f->jobs.gpu_use, gpus->readings.boottime_ns));
}

static Job *begin_with_gpu(Gpus *gpus, const char *id) {
        Request request = begin_request(gpus->f, id);

        gpus->f->info.gpus = (char[]){ "0" };
        assert_int_equal(serve(gpus->f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_OK);
        return jobs_find(&gpus->f->jobs.jobs, id);
}

static int place_end(Gpus *gpus, const char *id, int status) {
        Request request = { .kind = REQUEST_JOB_END,
                            .job_end = { .job = id, .end = { .has_exit_status = true, .exit_status = status } } };

        return place_request(gpus->f, &lifecycle_kinds[LIFECYCLE_END], &request);
}

static void assert_energy(const JobGpu *gpu) {
        double seconds = job_gpus_number(gpu, JOB_GPU_SECONDS), joules = job_gpus_number(gpu, JOB_GPU_ENERGY);

        assert_true(fabs(joules - 400 * seconds) <= 0.002);
}

static void a_job_begins_and_ends_with_a_reading(void **state) {
        Gpus *gpus = *state;
        Job *job = begin_with_gpu(gpus, "job-1");
        uint64_t begin_us;
        JobRow row;

        take_reading(gpus);
        begin_us = gpus->readings.gpus[0].values[GPU_present_us];
        assert_int_equal(job->gpus.items[0].last[GPU_present_us], begin_us);
        assert_int_equal(place_end(gpus, "job-1", 3), DESK_PENDING);
        assert_int_equal(job->stage, JOB_ENDING);
        wait_written(gpus->f);
        assert_int_equal(stored_job(gpus->f, "job-1").view.state, JOB_RUNNING);

        take_reading(gpus);
        assert_true(complete_one(gpus->f) >= 0);
        assert_int_equal(gpus->f->answer.status, STATUS_OK);
        row = stored_job(gpus->f, "job-1");
        assert_int_equal(row.view.state, JOB_FINISHED);
        assert_int_equal(row.view.end.exit_status, 3);
        assert_int_equal(row.gpus.n, 1);
        assert_int_equal(row.gpus.items[0].total_us, gpus->readings.gpus[0].values[GPU_present_us] - begin_us);
        assert_energy(&row.gpus.items[0]);
        assert_true(row.view.usage.value[USAGE_GPU_TIME] == (double)row.gpus.items[0].total_us / 1e6);
}

static void an_end_does_not_wait_for_ever(void **state) {
        Gpus *gpus = *state;

        (void)begin_with_gpu(gpus, "job-1");
        take_reading(gpus);
        assert_int_equal(place_end(gpus, "job-1", 0), DESK_PENDING);
        assert_true(is_asked(gpus));
        while (jobs_find(&gpus->f->jobs.jobs, "job-1")->final->is_put_due)
                assert_true(sd_event_run(gpus->f->event, DEADLINE_MS * 1000) > 0);
        assert_true(complete_one(gpus->f) >= 0);
        assert_int_equal(gpus->f->answer.status, STATUS_OK);
        assert_int_equal(stored_job(gpus->f, "job-1").view.state, JOB_FINISHED);
}

static void an_end_that_is_reported_again_is_to_be_tried_again(void **state) {
        Gpus *gpus = *state;

        (void)begin_with_gpu(gpus, "job-1");
        take_reading(gpus);
        assert_int_equal(place_end(gpus, "job-1", 3), DESK_PENDING);
        assert_int_equal(place_end(gpus, "job-1", 4), 0);
        assert_int_equal(gpus->f->answer.status, STATUS_UNAVAILABLE);
        take_reading(gpus);
        assert_true(complete_one(gpus->f) >= 0);
        assert_int_equal(stored_job(gpus->f, "job-1").view.end.exit_status, 3);
}

static void an_end_that_is_reported_while_the_reading_is_due_is_that_of_the_job(void **state) {
        Gpus *gpus = *state;
        Job *job;

        (void)begin_in_42(gpus->f, "job-1");
        job = jobs_find(&gpus->f->jobs.jobs, "job-1");
        job->info.pid = 0;
        gpu_use_give(gpus->f->jobs.gpu_use, job, &gpus->f->node, "0");
        take_reading(gpus);
        job->is_announced = false; /* its end is put as soon as its cgroup is empty */
        gpus->f->config.linger_ns = 0;
        set_populated(gpus->f, false);
        job->group.usage->pids_max = 1;
        assert_int_equal(job_watch_check_group(&gpus->f->jobs.lifecycle, job), 0);
        assert_int_equal(job->stage, JOB_ENDING);
        assert_true(job->final->is_put_due);

        assert_int_equal(place_end(gpus, "job-1", 5), DESK_PENDING);
        take_reading(gpus);
        assert_true(complete_one(gpus->f) >= 0);
        assert_int_equal(gpus->f->answer.status, STATUS_OK);
        assert_int_equal(stored_job(gpus->f, "job-1").view.end.exit_status, 5);
}

static void a_full_queue_leaves_the_end_for_the_next_tick(void **state) {
        Gpus *gpus = *state;
        sqlite3 *db;
        Job *job = begin_with_gpu(gpus, "job-1");

        take_reading(gpus);
        assert_int_equal(place_end(gpus, "job-1", 3), DESK_PENDING);
        db = block_store(gpus->f);
        take_reading(gpus);
        assert_int_equal(job->stage, JOB_ENDING);
        assert_true(job->final->is_put_due);
        unblock_store(gpus->f, db);
        assert_int_equal(lifecycle_tick(&gpus->f->jobs.lifecycle), 0);
        assert_false(job->final->is_put_due);
        assert_true(complete_one(gpus->f) >= 0);
        assert_int_equal(stored_job(gpus->f, "job-1").view.end.exit_status, 3);
}

static void a_detected_job_gets_its_gpus_when_it_is_announced(void **state) {
        Gpus *gpus = *state;
        Request request;
        Job *job;

        assert_int_equal(begin_in_42(gpus->f, "job-1"), STATUS_OK);
        job = jobs_find(&gpus->f->jobs.jobs, "job-1");
        job->is_announced = false;
        request = begin_request(gpus->f, "job-1");
        gpus->f->info.gpus = (char[]){ "GPU-1" };
        assert_int_equal(serve(gpus->f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_DUPLICATE);
        assert_int_equal(job->gpus.n, 1);
        assert_string_equal(job->gpus.items[0].name, "0");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(a_job_begins_and_ends_with_a_reading),
                TEST(an_end_does_not_wait_for_ever),
                TEST(an_end_that_is_reported_again_is_to_be_tried_again),
                TEST(an_end_that_is_reported_while_the_reading_is_due_is_that_of_the_job),
                TEST(a_full_queue_leaves_the_end_for_the_next_tick),
                TEST(a_detected_job_gets_its_gpus_when_it_is_announced),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
