/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfd-gpu: reads the GPUs of the node for perfd
 *
 * A process of its own: the library of the driver waits for its driver, for ever if a GPU falls off the bus. perfd
 * reads the file and asks by a datagram, both without waiting; the service manager restarts this process if it hangs.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "gpu/gpu_set.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/scoped.h"

#define CONTROL_DEVICE "/dev/nvidiactl"
/* Readings are as old when perfd samples, at full seconds. */
#define LEAD_NS (100 * NS_PER_MS)
/* Requests that come within this time after a reading, or within the time that it took, are answered together. */
#define REQUEST_DISTANCE_NS (20 * NS_PER_MS)
#define DATAGRAMS_MAX 1024U

typedef struct GpuProgram {
        const char *library; /* NULL: the default */
        char path[PATH_MAX]; /* of the readings */
        int socket_fd;
        bool is_crowded; /* a GPU has more processes than a reading */
        GpuSet set;
} GpuProgram;

static int complain(const char *what, int error) {
        fprintf(stderr, "perfd-gpu: %s: %s\n", what, error_text(error));
        return EXIT_FAILURE;
}

static int open_socket(GpuProgram *program, const char *directory) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/request", directory);

        if (n < 0 || (size_t)n >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        program->socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (program->socket_fd < 0)
                return -errno;
        (void)unlink(address.sun_path);
        if (bind(program->socket_fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
            chmod(address.sun_path, 0660) < 0)
                return -errno;
        return 0;
}

/* Tells the service manager, if there is one. See sd_notify(3), whose library would be larger than this program. */
static void notify(const char *state) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const char *path = getenv("NOTIFY_SOCKET");
        scoped(closep) int fd = -1;

        if (!path || strlen(path) >= sizeof(address.sun_path))
                return;
        memcpy(address.sun_path, path, strlen(path));
        if (path[0] == '@')
                address.sun_path[0] = '\0';
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd >= 0)
                (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&address,
                             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
}

/* Returns how long to wait for the next reading: at least half a second, if no clock is set. */
static uint64_t wait_of(uint64_t realtime_ns) {
        uint64_t phase_ns = (realtime_ns + LEAD_NS) % NS_PER_S, wait_ns = NS_PER_S - phase_ns;

        return wait_ns < NS_PER_S / 2 ? wait_ns + NS_PER_S : wait_ns;
}

/* Waits for the next reading. Returns true if a datagram has come. */
static bool wait_for_request(GpuProgram *program, uint64_t next_ns) {
        struct pollfd fd = { program->socket_fd, POLLIN, 0 };
        uint64_t now_ns = clock_boottime_ns();
        bool has_come = false;
        char byte;

        if (next_ns > now_ns)
                (void)poll(&fd, 1, (int)((next_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS));
        for (unsigned n = 0; n < DATAGRAMS_MAX && recv(program->socket_fd, &byte, sizeof(byte), 0) >= 0; n++)
                has_come = true;
        return has_come;
}

static void say_crowded(GpuProgram *program) {
        const GpuReading *crowded = NULL;

        for (uint32_t i = 0; i < program->set.readings.n_gpus; i++)
                if (program->set.readings.gpus[i].n_left_out > 0)
                        crowded = &program->set.readings.gpus[i];
        if (crowded && !program->is_crowded)
                fprintf(stderr, "perfd-gpu: %u processes of %s are not told apart, beyond %u: for jobs it is shared\n",
                        crowded->n_left_out, crowded->uuid, GPU_FILE_PROCESSES_MAX);
        program->is_crowded = crowded;
}

static int run(GpuProgram *program) {
        uint64_t next_ns = 0, begin_ns, cost_ns, second;
        int r;

        notify("READY=1");
        for (;;) {
                bool is_requested = wait_for_request(program, next_ns), is_due = clock_boottime_ns() >= next_ns;

                if (!is_due && !is_requested)
                        continue;
                begin_ns = clock_boottime_ns();
                second = (clock_realtime_ns() + NS_PER_S / 2) / NS_PER_S;
                gpu_set_read(&program->set, second, is_requested);
                say_crowded(program);
                if (is_due)
                        next_ns = clock_boottime_ns() + wait_of(clock_realtime_ns());
                r = gpu_file_write(program->path, &program->set.readings);
                if (r < 0)
                        return complain(program->path, -r);
                notify("WATCHDOG=1");
                /* the unit of systemd starts this program again as soon as there is a driver */
                if (!program->library && program->set.readings.state != GPU_STATE_OK &&
                    access(CONTROL_DEVICE, F_OK) < 0)
                        return EXIT_SUCCESS;
                cost_ns = clock_boottime_ns() - begin_ns;
                if (is_requested)
                        (void)poll(NULL, 0,
                                   (int)((cost_ns > REQUEST_DISTANCE_NS ? cost_ns : REQUEST_DISTANCE_NS) / NS_PER_MS));
        }
}

int main(int argc, char *argv[]) {
        scoped(freep) GpuProgram *program = calloc(1, sizeof(*program));
        const char *directory = getenv("RUNTIME_DIRECTORY") ?: "/run/perfd-gpu";
        int r;

        if (!program)
                return complain("cannot start", ENOMEM);
        if (argc > 1) {
                fprintf(stderr, "perfd-gpu: unexpected argument '%s': see perfd-gpu(8)\n", argv[1]);
                return 2;
        }

        (void)snprintf(program->path, sizeof(program->path), "%s/readings", directory);
        if (gpu_file_read(AT_FDCWD, program->path, &program->set.readings) != 0)
                program->set.readings = (GpuReadings){};
        program->library = getenv("PERFD_NVML");
        gpu_set_init(&program->set, program->library ?: NVML_LIBRARY);
        r = open_socket(program, directory);
        if (r < 0)
                return complain(directory, -r);
        r = run(program);
        gpu_set_deinit(&program->set);
        return r;
}
