/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler reads one file after the other; a file that fails affects only its own part of the sample.
 */

#include "sample/host/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "sample/host/diskstats.h"
#include "sample/host/equipment_readers.h"
#include "sample/host/filesystems.h"
#include "sample/host/netdev.h"
#include "sample/host/stat.h"
#include "sample/kernel_file.h"
#include "sample/kernel_text.h"
#include "sample/pressure.h"
#include "util/error_text.h"
#include "util/file.h"

struct Sampler {
        char *root; /* prefix of mount points: "" for the machine itself */
        int root_fd;
        uint64_t filesystems_interval_ns;
        KernelFile files[SOURCE_FIRST_EQUIPMENT];
        KernelText text; /* text of the file being read */
        DeviceList disks, nets;
        Filesystems filesystems;
        EquipmentReaders *equipment;
        SamplerStats stats;
};

/* --- setup -------------------------------------------------------------------------------------- */

/*
 * proc/self and proc/net are the mounts and the network of the reading process. With another root, such as the host's
 * in a container, those of process 1 are needed; a captured tree may have either.
 */
static void init_files(Sampler *sampler, bool is_machine) {
        static const char *const of_init[N_SOURCES] = {
                [SOURCE_NETDEV] = "proc/1/net/dev",
                [SOURCE_FILESYSTEMS] = "proc/1/mountinfo",
        };

        for (Source s = 0; s < SOURCE_FIRST_EQUIPMENT; s++) {
                const char *path = sample_source_paths[s];

                if (is_machine || !of_init[s])
                        kernel_file_init(&sampler->files[s], path, NULL, s == SOURCE_FILESYSTEMS);
                else
                        kernel_file_init(&sampler->files[s], of_init[s], path, s == SOURCE_FILESYSTEMS);
        }
}

int sampler_new(Sampler **ret, const char *root, uint64_t filesystems_interval_ns) {
        scoped(sampler_freep) Sampler *sampler = NULL;
        int r;

        sampler = calloc(1, sizeof(*sampler));
        if (!sampler)
                return -ENOMEM;

        sampler->root_fd = -1;
        sampler->filesystems_interval_ns = filesystems_interval_ns;
        init_files(sampler, strcmp(root, "/") == 0);

        sampler->root = strdup(strcmp(root, "/") == 0 ? "" : root);
        if (!sampler->root)
                return -ENOMEM;
        if (strlen(sampler->root) >= PATH_MAX / 2)
                return -ENAMETOOLONG;

        sampler->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (sampler->root_fd < 0)
                return -errno;

        r = equipment_readers_new(&sampler->equipment, sampler->root, sampler->root_fd);
        if (r < 0)
                return r;
        *ret = TAKE(sampler);
        return 0;
}

Sampler *sampler_free(Sampler *sampler) {
        if (!sampler)
                return NULL;

        equipment_readers_free(sampler->equipment);
        for (Source s = 0; s < SOURCE_FIRST_EQUIPMENT; s++)
                kernel_file_deinit(&sampler->files[s]);
        kernel_file_text_deinit(&sampler->text);
        device_list_deinit(&sampler->disks);
        device_list_deinit(&sampler->nets);
        filesystems_deinit(&sampler->filesystems);
        closep(&sampler->root_fd);
        free(sampler->root);
        free(sampler);
        return NULL;
}

/* --- reading ------------------------------------------------------------------------------------ */

static int parse_filesystems(Sampler *sampler, Sample *sample, const char **ret_fault) {
        int r;

        r = filesystems_update(&sampler->filesystems, sampler->text.bytes, sampler->root, sample->boottime_ns,
                               ret_fault);
        return r != 0 ? r : filesystems_copy(&sampler->filesystems, sample);
}

/* Returns 0, TEXT_MALFORMED or -ENOMEM. */
static int parse(Sampler *sampler, Source source, Sample *sample, const char **ret_fault) {
        const char *text = sampler->text.bytes;

        /* in a file with optional lines, a truncated line could be mistaken for a missing one */
        if (sampler->text.n > 0 && text[sampler->text.n - 1] != '\n')
                return kernel_text_malformed("truncated in the middle of a line", ret_fault);

        switch (source) {
        case SOURCE_STAT:
                return stat_parse(text, sample, ret_fault);
        case SOURCE_MEMINFO:
                return stat_parse_meminfo(text, &sample->memory, ret_fault);
        case SOURCE_VMSTAT:
                return stat_parse_vmstat(text, sample, ret_fault);
        case SOURCE_DISKSTATS:
                return diskstats_parse(text, sampler->root_fd, &sampler->disks, sample, ret_fault);
        case SOURCE_NETDEV:
                return netdev_parse(text, sampler->root_fd, &sampler->nets, sample, ret_fault);
        case SOURCE_FILESYSTEMS:
                return parse_filesystems(sampler, sample, ret_fault);
        case SOURCE_LOADAVG:
                return stat_parse_loadavg(text, &sample->load, ret_fault);
        case SOURCE_PSI_CPU:
                return pressure_parse(text, &sample->counter[KERNEL_PSI_CPU_SOME], NULL, ret_fault);
        case SOURCE_PSI_MEMORY:
                return pressure_parse(text, &sample->counter[KERNEL_PSI_MEMORY_SOME],
                                      &sample->counter[KERNEL_PSI_MEMORY_FULL], ret_fault);
        case SOURCE_PSI_IO:
                return pressure_parse(text, &sample->counter[KERNEL_PSI_IO_SOME], &sample->counter[KERNEL_PSI_IO_FULL],
                                      ret_fault);
        case SOURCE_GPU:
        case SOURCE_FABRIC:
        case SOURCE_NETFS:
        case SOURCE_ENERGY:
        case N_SOURCES:
                break;
        }
        return kernel_text_malformed("no such source", ret_fault);
}

static void note_failure(Sampler *sampler, Source source, const char *why) {
        sampler->stats.n_failures[source]++;
        snprintf(sampler->stats.error[source], sizeof(sampler->stats.error[source]), "%s: %s",
                 sample_source_paths[source], why);
}

static void note_success(Sampler *sampler, Source source, Sample *sample) {
        sampler->stats.error[source][0] = '\0';
        sample_set(sample, source);
}

static int read_source(Sampler *sampler, Source source, Sample *sample) {
        const char *fault;
        int r, error;

        r = kernel_file_read(&sampler->files[source], sampler->root_fd, sample->boottime_ns, &sampler->text,
                             &error);
        if (r < 0)
                return r;
        if (r == KERNEL_FILE_WAITING)
                return 0;
        if (r == KERNEL_FILE_FAILED) {
                note_failure(sampler, source, error_text(error));
                return 0;
        }

        r = parse(sampler, source, sample, &fault);
        if (r < 0)
                return r;
        if (r == 0)
                note_success(sampler, source, sample);
        else
                note_failure(sampler, source, fault);
        return 0;
}

/* Uses the values of the last read until they are too old, except for those of "/". */
static int read_filesystems(Sampler *sampler, Sample *sample) {
        Filesystems *filesystems = &sampler->filesystems;
        int r;

        if (filesystems->boottime_ns == 0 ||
            sample->boottime_ns - filesystems->boottime_ns >= sampler->filesystems_interval_ns)
                return read_source(sampler, SOURCE_FILESYSTEMS, sample);

        filesystems_update_root(filesystems, sampler->root);
        r = filesystems_copy(filesystems, sample);
        if (r == 0)
                sample_set(sample, SOURCE_FILESYSTEMS);
        return r;
}

static int read_equipment(Sampler *sampler, Sample *sample) {
        for (Source source = SOURCE_FIRST_EQUIPMENT; source < N_SOURCES; source++) {
                const char *fault = NULL;
                int r;

                r = equipment_readers_read(sampler->equipment, source, sample, &fault);
                if (r < 0)
                        return r;
                if (r == 0) {
                        note_success(sampler, source, sample);
                        if (fault)
                                note_failure(sampler, source, fault);
                } else if (r == EQUIPMENT_NONE) {
                        sampler->stats.error[source][0] = '\0';
                        sample->equipment.none |= 1U << source;
                } else
                        note_failure(sampler, source, fault);
        }
        return 0;
}

/* Clears the sample, but keeps the allocated arrays. */
static void clear(Sample *sample) {
        *sample = (Sample){
                .cpus = sample->cpus,
                .disks = sample->disks,
                .nets = sample->nets,
                .filesystems = sample->filesystems,
                .equipment = { .items = sample->equipment.items, .n_allocated = sample->equipment.n_allocated },
                .allocated = sample->allocated,
        };
}

int sampler_read(Sampler *sampler, uint64_t boottime_ns, uint64_t realtime_ns, Sample *sample) {
        clear(sample);
        sample->boottime_ns = boottime_ns;
        sample->realtime_ns = realtime_ns;

        equipment_readers_ask(sampler->equipment, boottime_ns);
        for (Source s = 0; s < SOURCE_FIRST_EQUIPMENT; s++) {
                int r;

                r = s == SOURCE_FILESYSTEMS ? read_filesystems(sampler, sample) : read_source(sampler, s, sample);
                if (r < 0)
                        return r;
        }
        return read_equipment(sampler, sample);
}

int sampler_read_cpus(Sampler *sampler, uint64_t boottime_ns, Sample *sample) {
        clear(sample);
        sample->boottime_ns = boottime_ns;
        return read_source(sampler, SOURCE_STAT, sample);
}

const SamplerStats *sampler_stats(const Sampler *sampler) {
        return &sampler->stats;
}

/* --- other queries ------------------------------------------------------------------------------ */

void sampler_boot_id(const Sampler *sampler, char ret[static BOOT_ID_MAX]) {
        scoped(freep) char *text = NULL;
        size_t n;

        ret[0] = '\0';
        if (file_read_at(sampler->root_fd, "proc/sys/kernel/random/boot_id", 4096, &text, NULL) != 0)
                return;

        n = strspn(text, "0123456789abcdef-");
        if (n >= BOOT_ID_MAX || (text[n] && text[n] != '\n'))
                return;
        memcpy(ret, text, n);
        ret[n] = '\0';
}

int sampler_process_start(const Sampler *sampler, int32_t pid, uint64_t *ret_ticks, uint32_t *ret_uid) {
        scoped(closep) int dir_fd = -1;
        scoped(freep) char *text = NULL;
        char path[32];
        struct stat st;
        uint64_t ticks;
        int r;

        /*
         * The directory always belongs to the user of the process; its files belong to root if the process is not
         * dumpable.
         */
        snprintf(path, sizeof(path), "proc/%d", pid);
        dir_fd = openat(sampler->root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0 || fstat(dir_fd, &st) < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        r = file_read_at(dir_fd, "stat", 4096, &text, NULL);
        if (r < 0)
                return r == -ENOENT ? -ESRCH : r;
        if (stat_parse_process(text, &ticks) != 0)
                return -ESRCH;

        *ret_ticks = ticks;
        *ret_uid = st.st_uid;
        return 0;
}

int32_t sampler_process_parent(const Sampler *sampler, int32_t pid) {
        scoped(freep) char *text = NULL;
        char path[32];

        snprintf(path, sizeof(path), "proc/%d/stat", pid);
        return file_read_at(sampler->root_fd, path, 4096, &text, NULL) < 0 ? 0 : stat_parse_parent(text);
}
