/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/host/filesystems.c daemon/sample/host/stat.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap.h"
#include "sample/host/filesystems.h"
#include "sample/host/sampler.h"
#include "sample/host/stat.h"
#include "tree.h"
#include "util/clock.h"

/* Those of a tree without equipment. */
#define ALL_SOURCES ((1U << SOURCE_FIRST_EQUIPMENT) - 1)
#define HOUR_NS (3600 * NS_PER_S)

typedef struct Fixture {
        char root[64];
        Sampler *sampler;
        Sample sample;
} Fixture;

static uint64_t ticks_in_all(const CpuTimes *times) {
        uint64_t total = 0;

        for (size_t i = 0; i < N_CPU_MODES; i++)
                total += times->ticks[i];
        return total;
}

static int setup(void **state) {
        *state = calloc(1, sizeof(Fixture));
        return *state ? 0 : -1;
}

static int teardown(void **state) {
        Fixture *f = *state;

        sampler_free(f->sampler);
        sample_deinit(&f->sample);
        if (f->root[0])
                tree_remove(f->root);
        free(f);
        return 0;
}

/* Starts a sampler on a copy of the tree. */
static void start(Fixture *f, const char *tree) {
        tree_copy(tree, f->root);
        assert_int_equal(sampler_new(&f->sampler, f->root, HOUR_NS), 0);
}

static void read_at(Fixture *f, uint64_t boottime_ns) {
        assert_int_equal(sampler_read(f->sampler, boottime_ns, 5 * NS_PER_S, &f->sample), 0);
}

static void assert_error(const Fixture *f, Source source, const char *expected, uint64_t n_failures) {
        const SamplerStats *stats = sampler_stats(f->sampler);

        assert_string_equal(stats->error[source], expected);
        assert_int_equal(stats->n_failures[source], n_failures);
        assert_int_equal(sample_has(&f->sample, source), expected[0] == '\0');
}

/* --- trees -------------------------------------------------------------------------------------- */

static void every_source_of_a_tree_is_read(void **state) {
        Fixture *f = *state;

        start(f, "small");
        read_at(f, 7 * NS_PER_S);
        assert_int_equal(f->sample.have, ALL_SOURCES);
        assert_int_equal(f->sample.boottime_ns, 7 * NS_PER_S);
        assert_int_equal(f->sample.realtime_ns, 5 * NS_PER_S);
        assert_int_equal(f->sample.n_online, 2);
        assert_int_equal(f->sample.memory.total_bytes, UINT64_C(8000000) * 1024);
        assert_int_equal(f->sample.counter[KERNEL_OOM_KILLS], 3);
        assert_int_equal(f->sample.n_disks, 1);
        assert_string_equal(f->sample.disks[0].name, "vda");
        assert_int_equal(f->sample.n_nets, 2);
        assert_int_equal(f->sample.nets[0].class, NET_LOOPBACK);
        assert_int_equal(f->sample.nets[1].class, NET_PHYSICAL);
        assert_int_equal(f->sample.load.n_threads, 417);
        assert_int_equal(f->sample.counter[KERNEL_PSI_CPU_SOME], 6456667);
        assert_int_equal(f->sample.counter[KERNEL_PSI_MEMORY_FULL], 2910994);
        assert_int_equal(f->sample.counter[KERNEL_PSI_IO_SOME], 5000001);
        assert_non_null(sample_root_filesystem(&f->sample));
        for (Source s = 0; s < SOURCE_FIRST_EQUIPMENT; s++)
                assert_error(f, s, "", 0);
        assert_int_equal(f->sample.equipment.n, 0);
        for (Source s = SOURCE_FIRST_EQUIPMENT; s < N_SOURCES; s++)
                assert_true(sample_lacks(&f->sample, s));
}

static void every_counter_of_the_kernel_is_read(void **state) {
        Fixture *f = *state;

        start(f, "small");
        read_at(f, 1);
        for (KernelCounter counter = 0; counter < N_KERNEL_COUNTERS; counter++)
                assert_int_not_equal(f->sample.counter[counter], 0);
}

/* The second reading reuses the arrays, which have been cleared. */
static void every_counter_of_a_device_is_read(void **state) {
        Fixture *f = *state;

        start(f, "small");
        read_at(f, 1);
        memset(f->sample.disks, 0, f->sample.n_disks * sizeof(*f->sample.disks));
        memset(f->sample.nets, 0, f->sample.n_nets * sizeof(*f->sample.nets));
        read_at(f, 2);
        assert_string_equal(f->sample.disks[0].name, "vda");
        assert_string_equal(f->sample.nets[1].name, "eth0");
#define X(member, ...) assert_int_not_equal(f->sample.disks[0].member, 0);
        DISK_COUNTERS(X)
#undef X
#define X(member, ...) assert_int_not_equal(f->sample.nets[1].member, 0);
        NET_COUNTERS(X)
#undef X
}

static void an_old_kernel_has_fewer_sources(void **state) {
        Fixture *f = *state;

        start(f, "old");
        read_at(f, 1);
        assert_error(f, SOURCE_STAT, "", 0);
        assert_error(f, SOURCE_VMSTAT, "", 0);
        assert_error(f, SOURCE_LOADAVG, "", 0);
        assert_error(f, SOURCE_DISKSTATS, "", 0);
        assert_error(f, SOURCE_NETDEV, "", 0);
        assert_error(f, SOURCE_MEMINFO, "proc/meminfo: no MemAvailable", 1);
        assert_error(f, SOURCE_FILESYSTEMS, "proc/self/mountinfo: No such file or directory", 1);
        assert_error(f, SOURCE_PSI_CPU, "proc/pressure/cpu: No such file or directory", 1);
        assert_error(f, SOURCE_PSI_IO, "proc/pressure/io: No such file or directory", 1);
        assert_int_equal(f->sample.n_disks, 4);
        assert_int_equal(f->sample.nets[1].class, NET_PHYSICAL);
}

static void a_file_larger_than_the_first_buffer_is_read_whole(void **state) {
        Fixture *f = *state;

        start(f, "big");
        read_at(f, 1);
        assert_error(f, SOURCE_STAT, "", 0);
        assert_int_equal(f->sample.n_cpus, 128);
        assert_int_equal(f->sample.n_online, 127);
        assert_int_equal(f->sample.counter[KERNEL_CONTEXT_SWITCHES], UINT64_C(987654321012));
}

static void a_cpu_can_go_offline_and_return_between_ticks(void **state) {
        scoped(freep) char *with = tree_text("hotplug/proc/stat"), *without = tree_text("hotplug-3/proc/stat");
        Fixture *f = *state;

        start(f, "hotplug");
        read_at(f, 1);
        assert_int_equal(f->sample.n_online, 4);
        tree_write(f->root, "proc/stat", without);
        read_at(f, 2);
        assert_int_equal(f->sample.n_online, 3);
        tree_write(f->root, "proc/stat", with);
        read_at(f, 3);
        assert_int_equal(f->sample.n_online, 4);
        assert_true(f->sample.cpus[3].online);
}

static void devices_that_come_and_go_are_classified(void **state) {
        Fixture *f = *state;

        start(f, "disks");
        tree_write(f->root, "proc/diskstats", "8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n");
        read_at(f, 1);
        assert_int_equal(f->sample.n_disks, 1);

        tree_write(f->root, "proc/diskstats",
                   "253 0 dm-0 1 0 2 3 4 0 5 6 0 7 8\n8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n8 1 sda1 1 0 2 3 4 0 5 6 0 7 8\n");
        read_at(f, 2);
        assert_int_equal(f->sample.n_disks, 2);
        assert_string_equal(f->sample.disks[0].name, "dm-0");
        assert_int_equal(f->sample.disks[0].class, DISK_VIRTUAL);
        assert_string_equal(f->sample.disks[1].name, "sda");
        assert_int_equal(f->sample.disks[1].class, DISK_PHYSICAL);

        tree_write(f->root, "proc/diskstats", "");
        read_at(f, 3);
        assert_int_equal(f->sample.n_disks, 0);
        assert_error(f, SOURCE_DISKSTATS, "", 0);
}

static void equipment_is_read_as_a_whole_or_not_at_all(void **state) {
        Fixture *f = *state;

        start(f, "rapl");
        read_at(f, 1);
        assert_error(f, SOURCE_ENERGY, "", 0);
        assert_int_equal(f->sample.equipment.n, 6);
        tree_write(f->root, "sys/class/powercap/intel-rapl:1/energy_uj", "much\n");
        read_at(f, 2);
        assert_error(f, SOURCE_ENERGY,
                     "sys/class/powercap: intel-rapl:1/energy_uj: not a number within its range", 1);
        assert_false(sample_lacks(&f->sample, SOURCE_ENERGY));
        assert_int_equal(f->sample.equipment.n, 0);
}

/* GPUs of NVIDIA without their reader, beside those of AMD, which are there at the second reading. */
static void a_reader_that_fails_does_not_hide_another(void **state) {
        uint64_t deadline_ns = clock_boottime_ns() + 20 * NS_PER_S, n = 0;
        Fixture *f = *state;
        char command[160];

        start(f, "amdgpu");
        (void)snprintf(command, sizeof(command), "mkdir -p %s/proc/driver/nvidia", f->root);
        assert_int_equal(system(command), 0);
        do {
                assert_true(clock_boottime_ns() < deadline_ns);
                read_at(f, ++n * NS_PER_MS);
                assert_false(sample_lacks(&f->sample, SOURCE_GPU));
                assert_int_equal(sampler_stats(f->sampler)->n_failures[SOURCE_GPU], n);
                assert_non_null(strstr(sampler_stats(f->sampler)->error[SOURCE_GPU], "perfd-gpu does not run"));
        } while (!sample_has(&f->sample, SOURCE_GPU));
        assert_int_equal(f->sample.equipment.n, 2);
        assert_string_equal(f->sample.equipment.items[0].name, "amd0");
}

/* --- failures ----------------------------------------------------------------------------------- */

static void a_truncated_file_affects_only_its_part_of_the_sample(void **state) {
        static const Source cut[] = {
                SOURCE_STAT, SOURCE_MEMINFO, SOURCE_VMSTAT, SOURCE_DISKSTATS, SOURCE_NETDEV,
                SOURCE_FILESYSTEMS, SOURCE_LOADAVG, SOURCE_PSI_CPU, SOURCE_PSI_MEMORY, SOURCE_PSI_IO,
        };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(cut); i++) {
                scoped(freep) char *text = NULL;
                char path[96], expected[96];

                start(f, "small");
                read_at(f, 1);

                (void)snprintf(path, sizeof(path), "cut/%s", sample_source_paths[cut[i]]);
                text = tree_text(path);
                tree_write(f->root, sample_source_paths[cut[i]], text);
                read_at(f, 1 + HOUR_NS);
                assert_int_equal(f->sample.have, ALL_SOURCES & ~(1U << cut[i]));
                (void)snprintf(expected, sizeof(expected), "%s: truncated in the middle of a line",
                               sample_source_paths[cut[i]]);
                assert_error(f, cut[i], expected, 1);

                f->sampler = sampler_free(f->sampler);
                tree_remove(f->root);
                f->root[0] = '\0';
        }
}

static void garbage_is_refused_source_by_source(void **state) {
        Fixture *f = *state;

        start(f, "garbage");
        read_at(f, 1);
        read_at(f, 2);
        assert_int_equal(f->sample.have, 0);
        assert_error(f, SOURCE_STAT, "proc/stat: a cpu line that is not numbers", 2);
        assert_error(f, SOURCE_MEMINFO, "proc/meminfo: a line that is not a number of kB", 2);
        assert_error(f, SOURCE_VMSTAT, "proc/vmstat: no pgmajfault", 2);
        assert_error(f, SOURCE_DISKSTATS, "proc/diskstats: a line that is not eleven counters", 2);
        assert_error(f, SOURCE_NETDEV, "proc/net/dev: no headings", 2);
        assert_error(f, SOURCE_FILESYSTEMS, "proc/self/mountinfo: a line that is not a mount", 2);
        assert_error(f, SOURCE_LOADAVG, "proc/loadavg: a load that is not a number", 2);
        assert_error(f, SOURCE_PSI_CPU, "proc/pressure/cpu: no some line", 2);
        assert_error(f, SOURCE_PSI_MEMORY, "proc/pressure/memory: a some line without a total", 2);
        assert_error(f, SOURCE_PSI_IO, "proc/pressure/io: a full line without a total", 2);
}

static void values_of_the_previous_tick_are_cleared_when_a_source_fails(void **state) {
        Fixture *f = *state;

        start(f, "small");
        read_at(f, 1);
        tree_write(f->root, "proc/stat", "");
        tree_write(f->root, "proc/meminfo", "");
        tree_write(f->root, "proc/net/dev", "");
        tree_write(f->root, "proc/pressure/cpu", "");
        read_at(f, 2);
        assert_int_equal(f->sample.n_cpus, 0);
        assert_int_equal(f->sample.n_online, 0);
        assert_int_equal(f->sample.counter[KERNEL_CONTEXT_SWITCHES], 0);
        assert_int_equal(f->sample.memory.total_bytes, 0);
        assert_int_equal(f->sample.n_nets, 0);
        assert_int_equal(f->sample.counter[KERNEL_PSI_CPU_SOME], 0);
        assert_int_equal(f->sample.n_disks, 1);
}

static void a_source_that_recovers_is_read_again_without_its_error(void **state) {
        scoped(freep) char *good = tree_text("small/proc/loadavg");
        Fixture *f = *state;

        start(f, "small");
        tree_write(f->root, "proc/loadavg", "what?\n");
        read_at(f, 1);
        assert_error(f, SOURCE_LOADAVG, "proc/loadavg: a load that is not a number", 1);
        tree_write(f->root, "proc/loadavg", good);
        read_at(f, 2);
        assert_error(f, SOURCE_LOADAVG, "", 1);
}

static void a_missing_file_is_tried_once_a_minute(void **state) {
        Fixture *f = *state;

        start(f, "old");
        read_at(f, NS_PER_S);
        read_at(f, 2 * NS_PER_S);
        read_at(f, 60 * NS_PER_S);
        assert_error(f, SOURCE_PSI_CPU, "proc/pressure/cpu: No such file or directory", 1);
        read_at(f, 61 * NS_PER_S);
        assert_error(f, SOURCE_PSI_CPU, "proc/pressure/cpu: No such file or directory", 2);
}

static void a_root_that_is_no_directory_is_refused(void **state) {
        Sampler *sampler = NULL;

        (void)state;
        assert_true(sampler_new(&sampler, TREES "no-such-tree", HOUR_NS) < 0);
        assert_true(sampler_new(&sampler, TREES "README", HOUR_NS) < 0);
        assert_null(sampler);
}

/* --- file systems ------------------------------------------------------------------------------- */

static void file_systems_are_asked_below_the_root(void **state) {
        Fixture *f = *state;
        char command[256];
        struct statvfs st;

        start(f, "mounts");
        (void)snprintf(command, sizeof(command), "mkdir -p %s/boot/efi %s/home/scratch \"%s/with blank\\\\and\t%s\"",
                       f->root, f->root, f->root, "tab");
        assert_int_equal(system(command), 0);
        assert_int_equal(statvfs(f->root, &st), 0);

        read_at(f, 9);
        assert_int_equal(f->sample.n_filesystems, 4); /* /srv and /srvx do not exist */
        assert_string_equal(f->sample.filesystems[0].mount_point, "/");
        assert_string_equal(f->sample.filesystems[0].type, "ext4");
        assert_int_equal(f->sample.filesystems[0].size_bytes, (uint64_t)st.f_blocks * st.f_frsize);
        assert_true(f->sample.filesystems[0].available_bytes <= f->sample.filesystems[0].size_bytes);
        assert_string_equal(f->sample.filesystems[1].mount_point, "/with blank\\and\ttab");
        assert_string_equal(f->sample.filesystems[1].type, "btrfs");
        assert_string_equal(f->sample.filesystems[2].mount_point, "/boot");
        assert_string_equal(f->sample.filesystems[3].mount_point, "/boot/efi");
        assert_int_equal(f->sample.filesystems_boottime_ns, 9);
}

static void the_root_of_a_chroot_is_asked_although_it_is_no_mount(void **state) {
        static const char proc[] = "1 0 0:5 / /proc rw - proc proc rw\n";
        static const char nfs[] = "1 0 0:6 / / rw - nfs4 server:/ rw\n";
        Filesystems filesystems = {};
        const char *fault;
        struct statvfs st;

        (void)state;
        assert_int_equal(statvfs("/", &st), 0);
        assert_int_equal(filesystems_update(&filesystems, nfs, "", 9, &fault), 0);
        assert_int_equal(filesystems.n, 0);

        assert_int_equal(filesystems_update(&filesystems, proc, "", 10, &fault), 0);
        if (filesystems.n == 0) {
                filesystems_deinit(&filesystems);
                skip(); /* the type of the machine's root file system is not one that perfd reads */
        }
        assert_int_equal(filesystems.n, 1);
        assert_string_equal(filesystems.items[0].mount_point, "/");
        assert_int_equal(filesystems.items[0].size_bytes, (uint64_t)st.f_blocks * st.f_frsize);
        filesystems_update_root(&filesystems, "");
        assert_int_equal(filesystems.n, 1);
        filesystems_deinit(&filesystems);
}

static void file_systems_are_asked_again_when_they_are_too_old(void **state) {
        Sample second = {};
        Fixture *f = *state;

        start(f, "small");
        read_at(f, 10);
        tree_write(f->root, "proc/self/mountinfo", "1 0 8:1 / /proc rw - ext4 /dev/sda rw\n");

        assert_int_equal(sampler_read(f->sampler, 9 + HOUR_NS, 5, &second), 0);
        assert_true(sample_has(&second, SOURCE_FILESYSTEMS));
        assert_int_equal(second.n_filesystems, 1);
        assert_string_equal(second.filesystems[0].mount_point, "/");
        assert_int_equal(second.filesystems_boottime_ns, 10);

        assert_int_equal(sampler_read(f->sampler, 10 + HOUR_NS, 5, &second), 0);
        assert_int_equal(second.n_filesystems, 1);
        assert_string_equal(second.filesystems[0].mount_point, "/proc");
        assert_int_equal(second.filesystems_boottime_ns, 10 + HOUR_NS);
        sample_deinit(&second);
}

static void the_root_is_asked_for_each_sample(void **state) {
        Fixture *f = *state;
        char moved[80];

        start(f, "small");
        read_at(f, 10);
        assert_non_null(sample_root_filesystem(&f->sample));

        (void)snprintf(moved, sizeof(moved), "%s.moved", f->root);
        assert_int_equal(rename(f->root, moved), 0);
        read_at(f, 11);
        assert_null(sample_root_filesystem(&f->sample));
        assert_true(sample_has(&f->sample, SOURCE_FILESYSTEMS));

        assert_int_equal(rename(moved, f->root), 0);
        read_at(f, 10 + HOUR_NS);
        assert_non_null(sample_root_filesystem(&f->sample));
}

/* --- other queries ------------------------------------------------------------------------------ */

static void the_boot_id_is_one_word_or_nothing(void **state) {
        Fixture *f = *state;
        char id[BOOT_ID_MAX];

        start(f, "small");
        sampler_boot_id(f->sampler, id);
        assert_string_equal(id, "2f1c8a0e-5b7d-4c3e-9a64-0d9e8b7c6f51");
        tree_write(f->root, "proc/sys/kernel/random/boot_id", "no hexadecimal\n");
        sampler_boot_id(f->sampler, id);
        assert_string_equal(id, "");
        tree_write(f->root, "proc/sys/kernel/random/boot_id", "2f1c8a0e-5b7d-4c3e-9a64-0d9e8b7c6f510\n");
        sampler_boot_id(f->sampler, id);
        assert_string_equal(id, "");
}

static void a_tree_without_boot_id_has_none(void **state) {
        Fixture *f = *state;
        char id[BOOT_ID_MAX] = "x";

        start(f, "old");
        sampler_boot_id(f->sampler, id);
        assert_string_equal(id, "");
}

static void a_process_may_be_called_anything(void **state) {
        Fixture *f = *state;
        uint64_t ticks = 0;
        uint32_t uid = 42;

        start(f, "small");
        assert_int_equal(sampler_process_start(f->sampler, 4242, &ticks, &uid), 0); /* "(train) S 1) R 1 4242 …" */
        assert_int_equal(ticks, 123456);
        assert_int_equal(uid, getuid());
        assert_int_equal(sampler_process_start(f->sampler, 1, &ticks, &uid), 0);
        assert_int_equal(ticks, 4);
        assert_int_equal(sampler_process_parent(f->sampler, 4242), 1);
        assert_int_equal(sampler_process_parent(f->sampler, 99), 0);
        assert_int_equal(stat_parse_parent("1 (init) S 0 1 1 0 -1\n"), 0);
        assert_int_equal(stat_parse_parent("7 (a b) c) R 4294967296 1\n"), 0);
        for (const char *const *text = (const char *const[]){ "", ")", ") ", ") S", ") S x", "1 2 3", NULL }; *text;
             text++)
                assert_int_equal(stat_parse_parent(*text), 0);
}

static void a_process_that_is_not_there_has_no_start(void **state) {
        Fixture *f = *state;
        uint64_t ticks = 42;
        uint32_t uid = 42;

        start(f, "small");
        assert_int_equal(sampler_process_start(f->sampler, 99, &ticks, &uid), -ESRCH);
        assert_int_equal(sampler_process_start(f->sampler, -1, &ticks, &uid), -ESRCH);
        tree_write(f->root, "proc/1/stat", "1 (init) S 0 1 1 0 -1\n");
        assert_int_equal(sampler_process_start(f->sampler, 1, &ticks, &uid), -ESRCH);
        assert_int_equal(ticks, 42);
        assert_int_equal(uid, 42);
}

/* --- this machine ------------------------------------------------------------------------------- */

static void start_here(Fixture *f) {
        assert_int_equal(sampler_new(&f->sampler, "/", HOUR_NS), 0);
}

static void this_machine_makes_sense(void **state) {
        Fixture *f = *state;
        const Sample *s = &f->sample;

        start_here(f);
        read_at(f, clock_boottime_ns());
        assert_true(sample_has(s, SOURCE_STAT) && sample_has(s, SOURCE_MEMINFO) && sample_has(s, SOURCE_VMSTAT));
        assert_true(sample_has(s, SOURCE_NETDEV) && sample_has(s, SOURCE_LOADAVG) && sample_has(s, SOURCE_DISKSTATS));
        assert_true(s->n_online >= 1 && s->n_online <= s->n_cpus);
        assert_true(s->n_online == (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
        assert_true(s->memory.total_bytes > s->memory.free_bytes && s->memory.total_bytes < UINT64_C(1) << 50);
        assert_true(s->load.n_threads >= 1);
        assert_true(s->n_nets >= 1);
}

/* Uses CPU until the kernel has charged at least one tick to this thread. */
static void use_cpu(uint64_t thread_ns) {
        uint64_t end_ns = clock_thread_cpu_ns() + thread_ns;

        while (clock_thread_cpu_ns() < end_ns)
                ;
}

static void counters_of_this_machine_go_on(void **state) {
        Fixture *f = *state;
        Sample second = {};

        start_here(f);
        read_at(f, clock_boottime_ns());
        use_cpu(100 * NS_PER_MS);
        assert_int_equal(sampler_read(f->sampler, clock_boottime_ns(), clock_realtime_ns(), &second), 0);

        assert_true(ticks_in_all(&second.cpu) - second.cpu.ticks[CPU_IDLE] - second.cpu.ticks[CPU_IOWAIT] >
                    ticks_in_all(&f->sample.cpu) - f->sample.cpu.ticks[CPU_IDLE] - f->sample.cpu.ticks[CPU_IOWAIT]);
        assert_true(ticks_in_all(&second.cpu) > ticks_in_all(&f->sample.cpu));
        assert_true(ticks_in_all(&second.cpu) - ticks_in_all(&f->sample.cpu) < 6000ULL * second.n_cpus);
        assert_true(second.counter[KERNEL_CONTEXT_SWITCHES] >= f->sample.counter[KERNEL_CONTEXT_SWITCHES]);
        assert_int_equal(second.memory.total_bytes, f->sample.memory.total_bytes);
        sample_deinit(&second);
}

static void the_steady_state_allocates_nothing(void **state) {
        Fixture *f = *state;
        Heap before, after;

        start_here(f);
        for (size_t i = 0; i < 3; i++)
                read_at(f, clock_boottime_ns());

        before = heap_look();
        for (size_t i = 0; i < 200; i++)
                read_at(f, clock_boottime_ns());
        after = heap_look();
        assert_int_equal(after.uordblks, before.uordblks);
        assert_int_equal(after.fordblks, before.fordblks);
        assert_int_equal(after.hblkhd, before.hblkhd);
}

static void this_process_has_started_and_is_ours(void **state) {
        Fixture *f = *state;
        uint64_t ticks, ppid_ticks;
        uint32_t uid;
        char id[BOOT_ID_MAX];

        start_here(f);
        assert_int_equal(sampler_process_start(f->sampler, getpid(), &ticks, &uid), 0);
        assert_int_equal(uid, geteuid());
        assert_true(ticks <= clock_boottime_ns() / (NS_PER_S / TICKS_PER_S));
        assert_int_equal(sampler_process_parent(f->sampler, getpid()), getppid());
        if (getppid() > 0 && sampler_process_start(f->sampler, getppid(), &ppid_ticks, &uid) == 0)
                assert_true(ppid_ticks <= ticks);
        sampler_boot_id(f->sampler, id);
        assert_int_equal(strlen(id), BOOT_ID_MAX - 1);
}

static void a_zombie_counts_as_ended(void **state) {
        Fixture *f = *state;
        siginfo_t info = {};
        uint64_t ticks;
        uint32_t uid;
        pid_t pid;

        start_here(f);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(0);

        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        assert_int_equal(sampler_process_start(f->sampler, pid, &ticks, &uid), -ESRCH);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                test(every_source_of_a_tree_is_read),
                test(every_counter_of_the_kernel_is_read),
                test(every_counter_of_a_device_is_read),
                test(an_old_kernel_has_fewer_sources),
                test(a_file_larger_than_the_first_buffer_is_read_whole),
                test(a_cpu_can_go_offline_and_return_between_ticks),
                test(devices_that_come_and_go_are_classified),
                test(equipment_is_read_as_a_whole_or_not_at_all),
                test(a_reader_that_fails_does_not_hide_another),
                test(a_truncated_file_affects_only_its_part_of_the_sample),
                test(garbage_is_refused_source_by_source),
                test(values_of_the_previous_tick_are_cleared_when_a_source_fails),
                test(a_source_that_recovers_is_read_again_without_its_error),
                test(a_missing_file_is_tried_once_a_minute),
                test(a_root_that_is_no_directory_is_refused),
                test(file_systems_are_asked_below_the_root),
                test(the_root_of_a_chroot_is_asked_although_it_is_no_mount),
                test(file_systems_are_asked_again_when_they_are_too_old),
                test(the_root_is_asked_for_each_sample),
                test(the_boot_id_is_one_word_or_nothing),
                test(a_tree_without_boot_id_has_none),
                test(a_process_may_be_called_anything),
                test(a_process_that_is_not_there_has_no_start),
                test(this_machine_makes_sense),
                test(counters_of_this_machine_go_on),
                test(the_steady_state_allocates_nothing),
                test(this_process_has_started_and_is_ours),
                test(a_zombie_counts_as_ended),
        };

        return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
