/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/table/gpu_use.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "fake_sample.h"
#include "jobs/table/gpu_use.h"
#include "measure/gpu_file.h"
#include "tree.h"
#include "util/clock.h"

#define CGROUP_A "/system.slice/slurmstepd.scope/job_42"
#define CGROUP_B "/user.slice/run-1.scope"
#define UUID(n) "GPU-6b1f0c2e-0000-0000-0000-00000000000" #n

typedef struct Fixture {
        char root[64];
        CgroupTree *tree;
        Node node;
        Jobs jobs;
        GpuUse *use;
        sd_event *event;
        GpuReadings readings;
        pid_t children[3]; /* 0: ended */
        size_t n_children;
} Fixture;

/* The text of the readings, as of now. */
static void put_readings(Fixture *f) {
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/" GPU_FILE_PATH, f->root);
        f->readings.sequence++;
        f->readings.boottime_ns = clock_boottime_ns();
        for (uint32_t i = 0; i < f->readings.n_gpus; i++)
                f->readings.gpus[i].boottime_ns = f->readings.gpus[i].energy_boottime_ns = f->readings.boottime_ns;
        assert_int_equal(gpu_file_write(path, &f->readings), 0);
}

static SampleEquipment *item(Fixture *f, size_t i) {
        return &f->node.sample.equipment.items[i];
}

static int set_up(void **state) {
        const NodeConfig config = { .interval_ns = SECOND, .filesystems_interval_ns = 60 * SECOND };
        static const char *const uuids[] = { UUID(0), UUID(1), "MIG-11112222-0000-0000-0000-000000000000" };
        Fixture *f = calloc(1, sizeof(*f));
        char command[160];

        assert_non_null(f);
        *state = f;
        tree_copy("cgroup-v2", f->root);
        (void)snprintf(command, sizeof(command), "mkdir -p %s/run/perfd-gpu", f->root);
        assert_int_equal(system(command), 0);
        assert_int_equal(cgroup_tree_new(&f->tree, f->root), 0);
        assert_int_equal(node_init(&f->node, "/", &config), 0);
        fake_init(&f->node.sample, 1);
        f->readings = (GpuReadings){
                .magic = GPU_FILE_MAGIC, .n_bytes_gpu = sizeof(GpuReading),
                .n_values = sizeof(f->readings.gpus[0].values) / sizeof(uint64_t), .n_gpus = 3,
        };
        for (uint32_t i = 0; i < 3; i++) {
                const char *const names[] = { "0", "1", "1/0" };
                GpuReading *gpu = &f->readings.gpus[i];

                (void)strcpy(fake_gpu(&f->node.sample, names[i])->texts[0], uuids[i]);
                (void)strcpy(gpu->uuid, uuids[i]);
                gpu->minor = (int32_t)(i < 2 ? 5 - i : 4);
                gpu->parent = i == 2 ? 1 : -1;
                gpu->has_instances = i == 1;
        }
        assert_int_equal(jobs_init(&f->jobs), 0);
        assert_int_equal(gpu_use_new(&f->use, f->root, f->tree), 0);
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        for (size_t i = 0; i < f->n_children; i++)
                if (f->children[i]) {
                        (void)kill(f->children[i], SIGKILL);
                        (void)waitpid(f->children[i], NULL, 0);
                }
        jobs_deinit(&f->jobs);
        gpu_use_free(f->use);
        sd_event_unref(f->event);
        node_deinit(&f->node);
        cgroup_tree_free(f->tree);
        tree_remove(f->root);
        free(f);
        return 0;
}

/* Starts a process that is in this cgroup. */
static pid_t start(Fixture *f, const char *cgroup, uid_t uid) {
        char path[64], text[128], command[128];
        int ready[2];
        pid_t pid;

        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                if (uid != getuid() && setuid(uid) < 0)
                        _exit(1);
                closep(&ready[1]);
                for (;;)
                        (void)pause();
        }
        assert_true(pid > 0);
        closep(&ready[1]);
        assert_int_equal(read(ready[0], path, 1), 0); /* it is the user's now */
        closep(&ready[0]);
        f->children[f->n_children++] = pid;
        (void)snprintf(command, sizeof(command), "mkdir %s/proc/%d", f->root, pid);
        assert_int_equal(system(command), 0);
        (void)snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
        (void)snprintf(text, sizeof(text), "0::%s\n", cgroup);
        tree_write(f->root, path, text);
        return pid;
}

static Job *add_job(Fixture *f, const char *id, const char *cgroup, uint32_t uid) {
        JobInfo info = { .uid = uid, .rank = -1, .node = -1 };
        Job *job;

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        assert_int_equal(jobs_add(&f->jobs, &info, &(Totals){}, &job), 0);
        job->stage = JOB_ACTIVE;
        if (cgroup)
                assert_int_equal(jobs_set_group(&f->jobs, job, cgroup), 0);
        return job;
}

static GpuProcess *put_process(Fixture *f, size_t gpu, pid_t pid, uint64_t memory_bytes) {
        GpuReading *reading = &f->readings.gpus[gpu];
        GpuProcess *process = &reading->processes[reading->n_processes++];

        *process = (GpuProcess){ .pid = pid, .have = GPU_PROCESS_RUNNING | GPU_PROCESS_MEMORY | GPU_PROCESS_SHARE,
                                 .memory_bytes = memory_bytes };
        return process;
}

/* A second passes on all GPUs, and is read. */
static void tick(Fixture *f) {
        for (size_t i = 0; i < 3; i++) {
                item(f, i)->values[GPU_present_us] += 1000000;
                item(f, i)->values[GPU_utilized_us] += 500000;
        }
        put_readings(f);
        gpu_use_read(f->use, &f->node);
        gpu_use_advance(f->use, &f->jobs, &f->node);
}

static double seconds(const Job *job, size_t i) {
        assert_true(i < job->gpus.n);
        return job_gpus_number(&job->gpus.items[i], JOB_GPU_SECONDS);
}

static void the_gpus_of_a_job_are_those_that_its_processes_use(void **state) {
        Fixture *f = *state;
        Job *job = add_job(f, "a", CGROUP_A, getuid()), *other = add_job(f, "b", CGROUP_B, getuid());
        pid_t step = start(f, CGROUP_A "/step_0", getuid());

        tick(f);
        assert_int_equal(job->gpus.n, 0);
        put_process(f, 0, step, GIB);
        put_process(f, 0, start(f, CGROUP_A "/step_1", getuid()), 2 * GIB);
        tick(f);
        tick(f);
        tick(f);
        assert_int_equal(job->gpus.n, 1);
        assert_int_equal(other->gpus.n, 0);
        assert_string_equal(job->gpus.items[0].name, "0");
        assert_string_equal(job->gpus.items[0].uuid, UUID(0));
        assert_string_equal(job->gpus.items[0].given, "");
        assert_true(seconds(job, 0) == 2); /* from the first reading that had it */
        assert_true(job_gpus_number(&job->gpus.items[0], JOB_GPU_PROCESS_PEAK) == 3.0 * GIB);
        assert_false(job->gpus.items[0].was_shared);
}

static void a_process_that_has_ended_is_no_ones(void **state) {
        Fixture *f = *state;
        Job *job = add_job(f, "a", CGROUP_A, getuid());
        pid_t pid = start(f, CGROUP_A, getuid());

        (void)kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        f->children[0] = 0;
        put_process(f, 0, pid, GIB);
        tick(f);
        assert_int_equal(job->gpus.n, 0);

        /* its number is that of another process now */
        f->readings.gpus[0].processes[0].have = 0;
        tick(f);
        put_process(f, 0, start(f, CGROUP_A, getuid()), GIB);
        tick(f);
        assert_int_equal(job->gpus.n, 1);
}

static void a_job_without_a_cgroup_has_the_descendants_of_its_process(void **state) {
        Fixture *f = *state;
        Job *job = add_job(f, "a", NULL, getuid());

        job->info.pid = getpid();
        put_process(f, 1, start(f, "/elsewhere", getuid()), GIB);
        tick(f);
        assert_int_equal(job->gpus.n, 1);
        assert_string_equal(job->gpus.items[0].name, "1");
}

static void the_processes_of_an_inner_job_are_those_of_the_outer_too(void **state) {
        Fixture *f = *state;
        Job *outer = add_job(f, "outer", CGROUP_A, getuid());
        Job *inner = add_job(f, "inner", CGROUP_A "/step_0", getuid());

        put_process(f, 0, start(f, CGROUP_A "/step_0", getuid()), GIB);
        tick(f);
        tick(f);
        assert_int_equal(outer->gpus.n, 1);
        assert_int_equal(inner->gpus.n, 1);
        assert_false(outer->gpus.items[0].was_shared || inner->gpus.items[0].was_shared);

        put_process(f, 0, start(f, CGROUP_A "/step_1", getuid()), GIB);
        tick(f);
        assert_false(outer->gpus.items[0].was_shared);
        assert_true(inner->gpus.items[0].was_shared);
        assert_true(inner->gpus.items[0].process_peak_bytes == GIB);
        assert_true(outer->gpus.items[0].process_peak_bytes == 2 * GIB);
}

static void a_gpu_that_two_jobs_use_is_shared_by_process(void **state) {
        Fixture *f = *state;
        Job *a = add_job(f, "a", CGROUP_A, getuid()), *b = add_job(f, "b", CGROUP_B, getuid());
        GpuProcess *of_a = put_process(f, 0, start(f, CGROUP_A, getuid()), GIB);
        GpuProcess *of_b = put_process(f, 0, start(f, CGROUP_B, getuid()), 3 * GIB);

        tick(f);
        tick(f);
        of_a->share_us += 600000;
        of_b->share_us += 400000;
        tick(f);
        for (int i = 0; i < 2; i++) {
                Job *job = i == 0 ? a : b;

                assert_int_equal(job->gpus.n, 1);
                assert_true(job->gpus.items[0].was_shared);
                assert_true(isnan(job_gpus_number(&job->gpus.items[0], JOB_GPU_UTILIZATION)));
                assert_true(isnan(job_gpus_number(&job->gpus.items[0], JOB_GPU_MEMORY_PEAK)));
        }
        assert_true(job_gpus_number(&a->gpus.items[0], JOB_GPU_PROCESS_SHARE) == 0.6);
        assert_true(job_gpus_number(&b->gpus.items[0], JOB_GPU_PROCESS_SHARE) == 0.4);
        assert_true(job_gpus_number(&b->gpus.items[0], JOB_GPU_PROCESS_PEAK) == 3.0 * GIB);
}

/* Anyone can say that a GPU is theirs. */
static void a_job_that_claims_a_gpu_does_not_see_what_others_do_there(void **state) {
        Fixture *f = *state;
        uint32_t uid = getuid() > 0 ? getuid() : 65534;
        Job *job = add_job(f, "a", CGROUP_A, uid + 1);

        tick(f);
        gpu_use_give(f->use, job, &f->node, "0");
        tick(f);
        tick(f);
        assert_true(seconds(job, 0) == 1);
        put_process(f, 0, start(f, CGROUP_B, uid), GIB); /* of no job */
        tick(f);
        assert_true(job->gpus.items[0].was_shared);
        assert_true(seconds(job, 0) == 2);
        assert_true(job->gpus.items[0].values[GPU_present_us] == 1000000);
        assert_true(job->gpus.items[0].values[GPU_utilized_us] == 500000);
        assert_true(job->gpus.items[0].process_peak_bytes == 0);
}

static void a_gpu_with_more_processes_than_are_told_apart_is_shared(void **state) {
        Fixture *f = *state;
        Job *job = add_job(f, "a", CGROUP_A, getuid());

        put_process(f, 0, start(f, CGROUP_A, getuid()), GIB);
        tick(f);
        assert_false(job->gpus.items[0].was_shared);
        f->readings.gpus[0].n_left_out = 1; /* of anyone */
        tick(f);
        assert_true(job->gpus.items[0].was_shared);
}

static void assert_given(Fixture *f, const char *words, const char *names) {
        Job *job = add_job(f, "given", NULL, getuid());
        scoped(buffer_deinit) Buffer found = {};

        gpu_use_give(f->use, job, &f->node, words);
        for (size_t i = 0; i < job->gpus.n; i++) {
                const char *name = job->gpus.items[i].name;

                buffer_printf(&found, "%s%s", i > 0 ? " " : "", *name ? name : "-");
        }
        assert_string_equal(found.text ?: "", names);
        jobs_remove(&f->jobs, job);
}

static void given_gpus_are_found_by_number_and_uuid(void **state) {
        Fixture *f = *state;

        tick(f);
        assert_given(f, "0", "0");
        assert_given(f, "minor:5", "0");
        assert_given(f, UUID(0), "0");
        assert_given(f, "MIG-1111", "1/0");
        assert_given(f, "0," UUID(0) ",MIG-1111", "0 1/0"); /* the same once */
        assert_given(f, "GPU-6b1f", "-");                   /* the beginning of two */
        assert_given(f, "1", "-");                          /* has instances */
        assert_given(f, "minor:4", "-");
        f->readings.gpus[0].minor = 0;
        tick(f);
        assert_given(f, "minor:,minor:GPU-6b1f,minor:x", "- - -");
        assert_given(f, "7,minor:7,GPU-9999", "- - -");
        assert_given(f, "", "");
        assert_given(f, NULL, "");
        (void)fake_gpu(&f->node.sample, "amd0");
        (void)fake_gpu(&f->node.sample, "amd3");
        assert_given(f, "3", "amd3");
        assert_given(f, "0", "-"); /* of either maker */
        f->node.sample.have &= ~(1U << SOURCE_GPU);
        assert_given(f, "0", ""); /* a node without GPUs */
}

static void of_words_for_no_gpu_a_few_are_kept(void **state) {
        Fixture *f = *state;
        Job *job = add_job(f, "a", NULL, getuid());

        tick(f);
        gpu_use_give(f->use, job, &f->node, "90,91,92,93");
        assert_string_equal(job->info.note, "");
        job_gpus_deinit(&job->gpus);
        gpu_use_give(f->use, job, &f->node, "90,91,92,93,94,95,0");
        assert_int_equal(job->gpus.n, JOB_GPUS_UNFOUND_MAX + 1);
        assert_string_equal(job->gpus.items[JOB_GPUS_UNFOUND_MAX].name, "0");
        assert_string_equal(job->info.note, "6 of the GPUs that the job was given are none of the node: 4 are shown");
}

static void gpus_of_amd_have_names_of_their_own(void **state) {
        Fixture *f = *state;

        tick(f);
        (void)strcpy(fake_gpu(&f->node.sample, "amd0")->texts[0], "GPU-a53ed2f86b0f6a6b");
        (void)strcpy(fake_gpu(&f->node.sample, "amd4")->texts[0], "GPU-a53ed2f86b0f6a6c");
        assert_given(f, "amd0", "amd0");
        assert_given(f, "4", "amd4"); /* no other has this number */
        assert_given(f, "0", "-");
        assert_given(f, "GPU-a53ed2f86b0f6a6c", "amd4");
        assert_given(f, "minor:0", "-");
}

static void a_given_gpu_is_found_later(void **state) {
        Fixture *f = *state;
        Job *job = add_job(f, "a", CGROUP_A, getuid());

        f->readings.gpus[0].minor = 9;
        tick(f);
        gpu_use_give(f->use, job, &f->node, "minor:5");
        assert_string_equal(job->gpus.items[0].name, "");
        put_process(f, 0, start(f, CGROUP_A, getuid()), GIB);
        tick(f);
        assert_int_equal(job->gpus.n, 2);
        f->readings.gpus[0].minor = 5;
        tick(f);
        assert_int_equal(job->gpus.n, 1);
        assert_string_equal(job->gpus.items[0].name, "0");
        assert_string_equal(job->gpus.items[0].given, "minor:5");
}

static void old_readings_say_nothing(void **state) {
        Fixture *f = *state;
        Job *job = add_job(f, "a", CGROUP_A, getuid());
        char path[128];

        put_process(f, 0, start(f, CGROUP_A, getuid()), GIB);
        put_readings(f);
        f->readings.boottime_ns -= GPU_FILE_AGE_MAX_NS + SECOND;
        (void)snprintf(path, sizeof(path), "%s/" GPU_FILE_PATH, f->root);
        assert_int_equal(gpu_file_write(path, &f->readings), 0);
        gpu_use_read(f->use, &f->node);
        gpu_use_advance(f->use, &f->jobs, &f->node);
        assert_int_equal(job->gpus.n, 0);
        tree_write(f->root, GPU_FILE_PATH, "garbage");
        gpu_use_read(f->use, &f->node);
        gpu_use_advance(f->use, &f->jobs, &f->node);
        assert_int_equal(job->gpus.n, 0);
}

/* --- readings on request -------------------------------------------------------------------------------------- */

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        Fixture *f = userdata;

        (void)source;
        (void)usec;
        (void)gpu_use_is_waiting(f->use, &f->node);
        return 0;
}

static int bind_socket(Fixture *f) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/" GPU_FILE_SOCKET, f->root);
        assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        return fd;
}

static bool is_asked(int fd) {
        char byte[16];

        return recv(fd, byte, sizeof(byte), MSG_DONTWAIT) > 0;
}

static void a_reading_is_asked_for_and_waited_for(void **state) {
        scoped(closep) int fd = -1;
        Fixture *f = *state;
        uint64_t first, second;

        assert_int_equal(sd_event_new(&f->event) < 0, false);
        assert_true(gpu_use_watch(f->use, f->event, on_time, f) >= 0);
        assert_int_equal(gpu_use_ask(f->use), 0); /* nothing was read so far */
        tick(f);
        assert_int_equal(gpu_use_ask(f->use), 0); /* nobody listens */
        fd = bind_socket(f);
        first = gpu_use_ask(f->use);
        assert_true(first > 0);
        assert_true(is_asked(fd));
        assert_false(gpu_use_is_answered(f->use, first));

        /* what is asked meanwhile is asked with the next datagram */
        second = gpu_use_ask(f->use);
        assert_true(second >= first);
        assert_false(is_asked(fd));
        f->readings.boottime_ns = first;
        put_readings(f);
        assert_false(gpu_use_is_waiting(f->use, &f->node));
        assert_true(gpu_use_is_answered(f->use, first));
        assert_true(is_asked(fd));
        put_readings(f);
        assert_false(gpu_use_is_waiting(f->use, &f->node));
        assert_true(gpu_use_is_answered(f->use, second));
        assert_false(is_asked(fd));
}

static void a_reading_that_does_not_come_is_not_waited_for(void **state) {
        scoped(closep) int fd = -1;
        Fixture *f = *state;
        uint64_t asked_ns;

        assert_int_equal(sd_event_new(&f->event) < 0, false);
        assert_true(gpu_use_watch(f->use, f->event, on_time, f) >= 0);
        tick(f);
        fd = bind_socket(f);
        asked_ns = gpu_use_ask(f->use);
        assert_false(gpu_use_is_answered(f->use, asked_ns));
        while (!gpu_use_is_answered(f->use, asked_ns)) /* the timer looks until then */
                assert_true(sd_event_run(f->event, 1000000) >= 0);
        assert_true(clock_boottime_ns() - asked_ns > GPU_USE_WAIT_NS);
}

static void without_use_nothing_happens(void **state) {
        Fixture *f = *state;
        Job *job = add_job(f, "a", CGROUP_A, getuid());

        gpu_use_read(NULL, &f->node);
        gpu_use_advance(NULL, &f->jobs, &f->node);
        gpu_use_give(NULL, job, &f->node, "0");
        assert_int_equal(job->gpus.n, 0);
        assert_int_equal(gpu_use_ask(NULL), 0);
        assert_true(gpu_use_is_answered(NULL, 1));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(the_gpus_of_a_job_are_those_that_its_processes_use),
                TEST(a_process_that_has_ended_is_no_ones),
                TEST(a_job_without_a_cgroup_has_the_descendants_of_its_process),
                TEST(the_processes_of_an_inner_job_are_those_of_the_outer_too),
                TEST(a_gpu_that_two_jobs_use_is_shared_by_process),
                TEST(a_job_that_claims_a_gpu_does_not_see_what_others_do_there),
                TEST(given_gpus_are_found_by_number_and_uuid),
                TEST(of_words_for_no_gpu_a_few_are_kept),
                TEST(a_gpu_with_more_processes_than_are_told_apart_is_shared),
                TEST(gpus_of_amd_have_names_of_their_own),
                TEST(a_given_gpu_is_found_later),
                TEST(old_readings_say_nothing),
                TEST(a_reading_is_asked_for_and_waited_for),
                TEST(a_reading_that_does_not_come_is_not_waited_for),
                TEST(without_use_nothing_happens),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
