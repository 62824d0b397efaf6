/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/gpu_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"
#include "util/utf8.h"

#define HEAD_BYTES offsetof(GpuReadings, gpus)

static size_t bytes_of(uint32_t n_gpus) {
        return HEAD_BYTES + n_gpus * sizeof(GpuReading);
}

/* A process that was killed may have left the other file. */
int gpu_file_write(const char *path, const GpuReadings *readings) {
        scoped(closep) int fd = -1;
        char other[PATH_MAX];
        int r;

        if (snprintf(other, sizeof(other), "%s.new", path) >= (int)sizeof(other))
                return -ENAMETOOLONG;
        fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
        if (fd < 0)
                return -errno;
        r = file_write_all(fd, readings, bytes_of(readings->n_gpus));
        return r < 0 ? r : rename(other, path) < 0 ? -errno : 0;
}

static void check_text(char *text, size_t n) {
        text[n - 1] = '\0';
        if (!utf8_is_line(text))
                text[0] = '\0';
}

static void check_gpu(GpuReading *gpu, int32_t place) {
        size_t n = 0;

        check_text(gpu->uuid, sizeof(gpu->uuid));
        check_text(gpu->model, sizeof(gpu->model));
        check_text(gpu->bus, sizeof(gpu->bus));
        if (gpu->state >= N_GPU_STATES)
                gpu->state = GPU_STATE_FAILED;
        if (gpu->parent >= place || gpu->parent < 0)
                gpu->parent = -1;
        gpu->have &= (UINT32_C(1) << N_GPU_VALUES) - 1;

        for (size_t i = 0; i < gpu->n_processes && i < GPU_FILE_PROCESSES_MAX; i++)
                if (gpu->processes[i].pid > 0)
                        gpu->processes[n++] = gpu->processes[i];
        gpu->n_processes = (uint32_t)n;
}

static int check(GpuReadings *readings, size_t n) {
        if (n < HEAD_BYTES || readings->magic != GPU_FILE_MAGIC || readings->n_bytes_gpu != sizeof(GpuReading) ||
            readings->n_values != N_GPU_VALUES || readings->state >= N_GPU_STATES ||
            readings->n_gpus > GPU_FILE_GPUS_MAX || n != bytes_of(readings->n_gpus))
                return GPU_FILE_INVALID;

        check_text(readings->driver, sizeof(readings->driver));
        check_text(readings->reason, sizeof(readings->reason));
        for (uint32_t i = 0; i < readings->n_gpus; i++)
                check_gpu(&readings->gpus[i], (int32_t)i);
        return 0;
}

/* The writer owns the directory: a FIFO or a link to another file must neither block nor be followed. */
int gpu_file_read(int dir_fd, const char *path, GpuReadings *ret) {
        scoped(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct stat st;
        ssize_t n;

        if (fd < 0)
                return errno == ENOENT ? GPU_FILE_NONE : errno == ELOOP ? GPU_FILE_INVALID : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size > (off_t)sizeof(*ret))
                return GPU_FILE_INVALID;

        n = pread(fd, ret, sizeof(*ret), 0);
        return n < 0 ? -errno : check(ret, (size_t)n);
}
