/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "client/facts/host_facts.h"
#include "tests/unit/tree.h"
#include "util/buffer.h"

static void read_root(const char *root, HostFacts *ret) {
        scoped(closep) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        host_facts_read(fd, ret);
}

static void processors_are_reported_by_model_and_number(void **state) {
        HostFacts facts;

        (void)state;
        read_root(TREES "host-x86", &facts);
        assert_string_equal(facts.cpu.model, "Example(R) Xeon(R) 8480");
        assert_string_equal(facts.cpu.vendor, "GenuineIntel");
        assert_int_equal(facts.cpu.family, 6);
        assert_int_equal(facts.cpu.model_number, 143);
        assert_int_equal(facts.cpu.stepping, 8);
        assert_string_equal(facts.cpu.flags,
                            "sse4_1 sse4_2 avx f16c fma avx2 bmi2 avx512f avx512bw avx512_vnni amx_tile popcnt");
}

static void a_thread_that_is_offline_does_not_count_but_its_core_does(void **state) {
        HostFacts facts;

        (void)state;
        read_root(TREES "host-x86", &facts);
        assert_int_equal(facts.cpu.threads, 7);
        assert_int_equal(facts.cpu.cores, 4);
        assert_int_equal(facts.cpu.sockets, 2);
        assert_int_equal(facts.cpu.smt, 1);
        assert_int_equal(facts.n_numa_nodes, 2);
}

/* Writes the files that distinguish a CPU from others. */
static void make_cpu(const char *root, unsigned cpu, const char *threads, const char *package) {
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%u/topology", root, cpu);
        assert_int_equal(file_make_dirs(path, 0700), 0);
        (void)snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
        tree_write(root, path, threads);
        (void)snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/core_siblings_list", cpu);
        tree_write(root, path, package);
}

/* A machine with SMT disabled at run time: its lists contain a comma for each core. */
static void a_long_cpu_list_is_read_completely(void **state) {
        scoped(buffer_deinit) Buffer low = {}, high = {}, online = {};
        char root[64], one[16];
        HostFacts facts;

        (void)state;
        for (unsigned cpu = 0; cpu < 1024; cpu += 2)
                buffer_printf(cpu < 512 ? &low : &high, "%s%u", cpu % 512 > 0 ? "," : "", cpu);
        buffer_printf(&online, "%s,%s\n", low.text, high.text);
        tree_copy("host-x86", root);
        tree_write(root, "sys/devices/system/cpu/online", online.text);
        for (unsigned cpu = 0; cpu < 1024; cpu += 2) {
                (void)snprintf(one, sizeof(one), "%u\n", cpu);
                make_cpu(root, cpu, one, cpu < 512 ? low.text : high.text);
        }
        read_root(root, &facts);
        tree_remove(root);
        assert_int_equal(facts.cpu.threads, 512);
        assert_int_equal(facts.cpu.cores, 512);
        assert_int_equal(facts.cpu.sockets, 2);
}

/* Two kinds of cores; the first CPU is offline and has no cache directory. */
static void a_machine_may_have_cores_of_two_kinds_and_no_first_one(void **state) {
        const char *caches = "sys/devices/system/cpu/cpu0/cache", *moved = "sys/devices/system/cpu/cpu1/cache";
        char root[64], from[128], to[128];
        HostFacts facts;

        (void)state;
        tree_copy("host-x86", root);
        tree_write(root, "sys/devices/system/cpu/online", "1-7\n");
        make_cpu(root, 1, "1\n", "1-7\n");
        make_cpu(root, 2, "2-3\n", "1-7\n");
        make_cpu(root, 3, "2-3\n", "1-7\n");
        for (unsigned cpu = 4; cpu < 8; cpu++) {
                char one[16];

                (void)snprintf(one, sizeof(one), "%u\n", cpu);
                make_cpu(root, cpu, one, "1-7\n");
        }
        (void)snprintf(from, sizeof(from), "%s/%s", root, caches);
        (void)snprintf(to, sizeof(to), "%s/%s", root, moved);
        assert_int_equal(rename(from, to), 0);
        read_root(root, &facts);
        tree_remove(root);
        assert_int_equal(facts.cpu.threads, 7);
        assert_int_equal(facts.cpu.cores, 6);
        assert_int_equal(facts.cpu.sockets, 1);
        assert_int_equal(facts.cpu.l2_bytes, 2 << 20);
}

static void sockets_are_counted_whatever_their_numbers(void **state) {
        CpuFacts facts;

        (void)state;
        host_facts_init_cpu(&facts);
        host_facts_parse_cpuinfo(
                "processor : 0\nphysical id : 0\ncpu cores : 1\n\nprocessor : 1\nphysical id : 2\ncpu cores : 1\n\n"
                "processor : 2\nphysical id : 4\ncpu cores : 1\n\nprocessor : 3\nphysical id : 99999\ncpu cores : 1\n",
                &facts);
        assert_int_equal(facts.threads, 4);
        assert_int_equal(facts.sockets, 3);
        assert_int_equal(facts.cores, 3);
}

static void caches_memory_and_governor_are_read(void **state) {
        HostFacts facts;

        (void)state;
        read_root(TREES "host-x86", &facts);
        assert_int_equal(facts.cpu.l1d_bytes, 48 << 10);
        assert_int_equal(facts.cpu.l1i_bytes, 32 << 10);
        assert_int_equal(facts.cpu.l2_bytes, 2 << 20);
        assert_int_equal(facts.cpu.l3_bytes, 105 << 20);
        assert_int_equal(facts.memory_bytes, UINT64_C(16) << 30);
        assert_string_equal(facts.cpu.governor, "performance");
        assert_string_equal(facts.hostname, "node17");
        assert_string_equal(facts.kernel, "5.14.0-427.el9.x86_64");
        assert_string_equal(facts.os_id, "rocky");
        assert_string_equal(facts.os_version, "9.4");
        assert_string_equal(facts.os_name, "Rocky Linux");
}

static void governors_that_differ_are_mixed(void **state) {
        char root[64];
        HostFacts facts;

        (void)state;
        tree_copy("host-x86", root);
        tree_write(root, "sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n");
        read_root(root, &facts);
        tree_remove(root);
        assert_string_equal(facts.cpu.governor, "mixed");
}

static void cards_of_both_lists_are_there_once(void **state) {
        HostFacts facts;

        (void)state;
        read_root(TREES "host-x86", &facts);
        assert_int_equal(facts.n_gpus, 4);
        assert_string_equal(facts.gpus[0].vendor, "aspeed");
        assert_string_equal(facts.gpus[1].pci_address, "0000:3b:00.0");
        assert_string_equal(facts.gpus[1].pci_id, "10de:20b5");
        assert_string_equal(facts.gpus[1].model, "NVIDIA A100 80GB PCIe");
        assert_string_equal(facts.gpus[2].pci_id, "");
        assert_string_equal(facts.gpus[2].driver, "nvidia");
        assert_string_equal(facts.gpus[2].driver_version, "535.104.05");
        assert_string_equal(facts.gpus[3].driver_version, ""); /* the kernel's own driver */
        assert_string_equal(facts.gpus[3].model, "AMD Instinct MI210");
        assert_string_equal(facts.gpus[3].driver, "amdgpu");
        assert_int_equal(facts.gpus[3].memory_bytes, 68702699520);
}

static void arm_ids_are_converted_to_names(void **state) {
        HostFacts facts;

        (void)state;
        read_root(TREES "host-arm", &facts);
        assert_string_equal(facts.cpu.vendor, "ARM");
        assert_string_equal(facts.cpu.model, "Neoverse-V1");
        assert_int_equal(facts.cpu.model_number, 0xd40);
        assert_int_equal(facts.cpu.stepping, 1);
        assert_int_equal(facts.cpu.threads, 4);
        assert_int_equal(facts.cpu.cores, 0);
        assert_int_equal(facts.cpu.smt, -1);
        assert_string_equal(facts.cpu.flags, "asimd aes atomics asimdhp asimddp sve");
        assert_string_equal(facts.os_id, "debian");
        assert_int_equal(facts.memory_bytes, 0);
}

static void cores_of_other_makers_have_their_names(void **state) {
        static const struct {
                const char *implementer, *part, *model;
        } cores[] = {
                { "0xc0", "0xac3", "Ampere-1" }, { "0x46", "0x001", "A64FX" }, { "0x4e", "0x010", "Olympus" },
                { "0x48", "0xd01", "TaiShan-v110" }, { "0x41", "0x001", "ARM part 0x001" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cores); i++) {
                CpuFacts facts;
                char text[128];

                (void)snprintf(text, sizeof(text), "processor : 0\nCPU implementer : %s\nCPU part : %s\n",
                               cores[i].implementer, cores[i].part);
                host_facts_init_cpu(&facts);
                host_facts_parse_cpuinfo(text, &facts);
                assert_string_equal(facts.model, cores[i].model);
        }
}

/* Grace: 72 cores of one thread each. */
static void a_machine_of_72_cores_of_arm_is_described(void **state) {
        scoped(buffer_deinit) Buffer cpuinfo = {};
        HostFacts facts;
        char root[64];

        (void)state;
        tree_copy("host-arm", root);
        for (unsigned cpu = 0; cpu < 72; cpu++) {
                char number[16];

                buffer_printf(&cpuinfo,
                              "processor\t: %u\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd aes atomics sve sve2 i8mm "
                              "bf16\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
                              "CPU part\t: 0xd4f\nCPU revision\t: 0\n\n",
                              cpu);
                (void)snprintf(number, sizeof(number), "%u\n", cpu);
                make_cpu(root, cpu, number, "0-71\n");
        }
        tree_write(root, "proc/cpuinfo", cpuinfo.text);
        tree_write(root, "sys/devices/system/cpu/online", "0-71\n");
        read_root(root, &facts);
        assert_string_equal(facts.cpu.vendor, "ARM");
        assert_string_equal(facts.cpu.model, "Neoverse-V2");
        assert_int_equal(facts.cpu.threads, 72);
        assert_int_equal(facts.cpu.cores, 72);
        assert_int_equal(facts.cpu.sockets, 1);
        assert_string_equal(facts.cpu.flags, "asimd aes atomics sve sve2 i8mm bf16");
        tree_remove(root);
}

static void a_core_without_a_name_keeps_its_number(void **state) {
        CpuFacts facts;

        (void)state;
        host_facts_init_cpu(&facts);
        host_facts_parse_cpuinfo("processor : 0\nCPU implementer : 0x48\nCPU part : 0xd02\n", &facts);
        assert_string_equal(facts.model, "HiSilicon part 0xd02");
        host_facts_init_cpu(&facts);
        host_facts_parse_cpuinfo("processor : 0\nCPU implementer : 0x99\nCPU part : 0x1\n", &facts);
        assert_string_equal(facts.vendor, "implementer 0x99");
        host_facts_init_cpu(&facts);
        host_facts_parse_cpuinfo("processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t: 2300MHz\n", &facts);
        assert_string_equal(facts.model, "POWER9, altivec supported");
}

static void implausible_values_are_unknown(void **state) {
        HostFacts facts;
        CpuFacts cpu;

        (void)state;
        host_facts_init_cpu(&cpu);
        host_facts_parse_cpuinfo(
                ":\n: :\nprocessor\nmodel name\t: \xff\x01\nmodel\t: -3\nstepping: 99999999999999999999\nflags", &cpu);
        assert_string_equal(cpu.model, "");
        assert_int_equal(cpu.model_number, -1);
        assert_int_equal(cpu.stepping, -1);
        read_root(TREES "garbage", &facts);
        read_root(TREES "cut", &facts);
        read_root("tests/data", &facts);
        assert_int_equal(facts.cpu.threads, 0);
        assert_int_equal(facts.n_gpus, 0);
        assert_string_equal(facts.os_id, "");
}

static void unknown_values_are_omitted(void **state) {
        scoped(arena_deinit) Arena arena = {};
        HostFacts facts;
        ObjectBuilder run;
        Value value;

        (void)state;
        assert_int_equal(arena_init(&arena, HOST_FACTS_ARENA_BYTES + 4096), 0);
        object_builder_init(&run, &arena, 3);
        read_root("tests/data", &facts);
        host_facts_put(&facts, &run);
        assert_int_equal(object_builder_end(&run, &value), 0);
        assert_int_equal(value.n_members, 0);

        read_root(TREES "host-x86", &facts);
        object_builder_init(&run, &arena, 3);
        host_facts_put(&facts, &run);
        assert_int_equal(object_builder_end(&run, &value), 0);
        assert_string_equal(value_get_string(&value, "kernel"), "5.14.0-427.el9.x86_64");
        assert_int_equal(value_get(value_get(&value, "host"), "gpus")->n_items, 4);
        assert_int_equal(value_get(value_get(value_get(&value, "host"), "cpu"), "flags")->n_items, 12);
        assert_string_equal(value_get_string(value_get(&value, "os"), "id"), "rocky");
}

/* The description of the largest possible machine fits. */
static void the_largest_machine_fits_its_arena(void **state) {
        scoped(arena_deinit) Arena arena = {};
        HostFacts facts;
        ObjectBuilder run;
        Value value;

        (void)state;
        host_facts_init(&facts);
        memset(facts.cpu.model, 'x', FACT_TEXT_MAX - 1);
        for (size_t i = 0; i + 1 < CPU_FLAGS_MAX - 1; i += 2)
                memcpy(facts.cpu.flags + i, "a ", 3);
        facts.n_gpus = GPUS_MAX;
        for (size_t i = 0; i < GPUS_MAX; i++) {
                memset(facts.gpus[i].model, 'x', sizeof(facts.gpus[i].model) - 1);
                (void)strcpy(facts.gpus[i].pci_id, "10de:1db1");
                (void)strcpy(facts.gpus[i].pci_address, "0000:3b:00.0");
                (void)strcpy(facts.gpus[i].driver, "amdgpu");
                memset(facts.gpus[i].driver_version, '9', sizeof(facts.gpus[i].driver_version) - 1);
                (void)strcpy(facts.gpus[i].vendor, "amd");
        }
        assert_int_equal(arena_init(&arena, HOST_FACTS_ARENA_BYTES), 0);
        object_builder_init(&run, &arena, 3);
        host_facts_put(&facts, &run);
        assert_int_equal(object_builder_end(&run, &value), 0);
}

static void a_version_is_what_a_link_leads_to(void **state) {
        char directory[] = "/tmp/perfd-test-XXXXXX", path[128], file[128], version[PROGRAM_VERSION_MAX] = "";

        (void)state;
        assert_non_null(mkdtemp(directory));
        (void)snprintf(path, sizeof(path), "/nonexistent::%s", directory);
        (void)snprintf(file, sizeof(file), "%s/python3.11", directory);
        assert_true(close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755)) == 0);
        (void)snprintf(file, sizeof(file), "%s/python3", directory);
        assert_int_equal(symlink("python3.11", file), 0);
        (void)snprintf(file, sizeof(file), "%s/gcc", directory);
        assert_true(close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755)) == 0);

        assert_true(host_facts_program_version(path, "python3", version));
        assert_string_equal(version, "3.11");
        assert_false(host_facts_program_version(path, "gcc", version)); /* not a link: the name contains no version */
        (void)strcpy(version, "");
        assert_true(host_facts_program_version(path, "python3.11", version)); /* the name contains the version */
        assert_string_equal(version, "3.11");
        (void)snprintf(file, sizeof(file), "%s/python3", directory);
        (void)strcpy(version, "");
        assert_true(host_facts_program_version("", file, version));
        assert_string_equal(version, "3.11");
        assert_false(host_facts_program_version("", "python3", version));
        tree_remove(directory);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(processors_are_reported_by_model_and_number),
                cmocka_unit_test(a_thread_that_is_offline_does_not_count_but_its_core_does),
                cmocka_unit_test(a_long_cpu_list_is_read_completely),
                cmocka_unit_test(a_machine_may_have_cores_of_two_kinds_and_no_first_one),
                cmocka_unit_test(sockets_are_counted_whatever_their_numbers),
                cmocka_unit_test(caches_memory_and_governor_are_read),
                cmocka_unit_test(governors_that_differ_are_mixed),
                cmocka_unit_test(cards_of_both_lists_are_there_once),
                cmocka_unit_test(arm_ids_are_converted_to_names),
                cmocka_unit_test(cores_of_other_makers_have_their_names),
                cmocka_unit_test(a_machine_of_72_cores_of_arm_is_described),
                cmocka_unit_test(a_core_without_a_name_keeps_its_number),
                cmocka_unit_test(implausible_values_are_unknown),
                cmocka_unit_test(unknown_values_are_omitted),
                cmocka_unit_test(the_largest_machine_fits_its_arena),
                cmocka_unit_test(a_version_is_what_a_link_leads_to),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
