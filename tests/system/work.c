/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program with a known cost: work [--in DIRECTORY]... KIND [ARGUMENT]... [+ KIND [ARGUMENT]...]...
 *
 *     burn SECONDS N         use CPU time in N concurrent processes
 *     write FILE MIB         write without the page cache, one MiB at a time
 *     buffer FILE MIB        write through the page cache, and sync at the end
 *     read FILE MIB          read without the page cache
 *     eat MIB                use memory, touching all pages
 *     bomb FILE              fork in all processes until the limit, and end all processes when FILE exists; only in a
 *                            group
 *
 * A child moves itself into the control groups and does the work. Its parent, outside of the groups, prints the CPU
 * time of the child and its children from then until their exit as cpu_us=NUMBER, and exits with the child's status.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static void fail(const char *what) {
        perror(what);
        exit(1);
}

static double clock_s(clockid_t clock) {
        struct timespec ts;

        (void)clock_gettime(clock, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu_us(const struct rusage *usage) {
        return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e6 +
               (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static void enter(const char *directory) {
        char path[512];
        int fd;

        (void)snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
        fd = open(path, O_WRONLY);
        if (fd < 0 || write(fd, "0", 1) != 1)
                fail(path);
        close(fd);
}

static void burn(double seconds) {
        double end = clock_s(CLOCK_PROCESS_CPUTIME_ID) + seconds;

        while (clock_s(CLOCK_PROCESS_CPUTIME_ID) < end)
                ;
}

static void burn_together(double seconds, int n) {
        for (int i = 1; i < n; i++)
                if (fork() == 0) {
                        burn(seconds);
                        _exit(0);
                }
        burn(seconds);
        while (wait(NULL) > 0)
                ;
}

static void *block(void) {
        void *memory = NULL;

        if (posix_memalign(&memory, 4096, MIB) != 0)
                fail("memory");
        memset(memory, 'x', MIB);
        return memory;
}

static void move(const char *path, int flags, size_t n) {
        int fd = open(path, flags, 0600);
        void *memory = block();

        if (fd < 0)
                fail(path);
        for (size_t i = 0; i < n; i++)
                if (((flags & O_ACCMODE) == O_RDONLY ? read(fd, memory, MIB) : write(fd, memory, MIB)) != (ssize_t)MIB)
                        fail(path);
        if ((flags & O_ACCMODE) != O_RDONLY && fsync(fd) < 0)
                fail(path);
        close(fd);
}

static void eat(size_t n) {
        char *memory = mmap(NULL, n * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                fail("memory");
        for (size_t i = 0; i < n * MIB; i += 4096)
                memory[i] = 1;
}

#define BOMB_S 300U /* if nobody writes the file: a test that died must not leave the processes behind */

/* Use a separate process group, so that one signal ends all processes. */
static void bomb(const char *file) {
        pid_t first = fork();

        if (first < 0)
                fail("fork");
        if (first == 0) {
                (void)setpgid(0, 0);
                for (;;)
                        (void)fork();
        }
        (void)setpgid(first, first);
        for (unsigned n_left = BOMB_S * 100; n_left > 0 && access(file, F_OK) < 0; n_left--)
                (void)usleep(10000);
        (void)kill(-first, SIGKILL);
        (void)waitpid(first, NULL, 0);
}

/* --- kinds of work --------------------------------------------------------------------------- */

static void work(char **words) {
        const char *kind = words[0];

        if (strcmp(kind, "burn") == 0)
                burn_together(atof(words[1]), atoi(words[2]));
        else if (strcmp(kind, "write") == 0)
                move(words[1], O_WRONLY | O_CREAT | O_DIRECT, (size_t)atoi(words[2]));
        else if (strcmp(kind, "buffer") == 0)
                move(words[1], O_WRONLY | O_CREAT, (size_t)atoi(words[2]));
        else if (strcmp(kind, "read") == 0)
                move(words[1], O_RDONLY | O_DIRECT, (size_t)atoi(words[2]));
        else if (strcmp(kind, "eat") == 0)
                eat((size_t)atoi(words[1]));
        else if (strcmp(kind, "bomb") == 0)
                bomb(words[1]);
        else
                exit(2);
}

static void work_in_groups(int argc, char **argv, int to) {
        struct rusage before;
        int i = 1;

        for (; i + 1 < argc && strcmp(argv[i], "--in") == 0; i += 2)
                enter(argv[i + 1]);
        (void)getrusage(RUSAGE_SELF, &before);
        if (write(to, &before, sizeof(before)) != sizeof(before))
                fail("pipe");

        while (i < argc) {
                int end = i;

                while (end < argc && strcmp(argv[end], "+") != 0)
                        end++;
                /* Nothing limits the processes outside of a group. */
                if (i == end || (i == 1 && strcmp(argv[i], "bomb") == 0))
                        exit(2);
                work(argv + i);
                i = end + 1;
        }
        exit(0);
}

int main(int argc, char **argv) {
        struct rusage before = {}, usage;
        int status, pipe_fds[2];
        pid_t child;

        if (pipe(pipe_fds) < 0)
                fail("pipe");
        child = fork();
        if (child == 0)
                work_in_groups(argc, argv, pipe_fds[1]);
        if (child < 0 || read(pipe_fds[0], &before, sizeof(before)) != sizeof(before) ||
            wait4(child, &status, 0, &usage) != child)
                fail("child");

        printf("cpu_us=%.0f\n", cpu_us(&usage) - cpu_us(&before));
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
