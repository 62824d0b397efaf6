/* SPDX-License-Identifier: Apache-2.0 */
#include "self.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdalign.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "util/clock.h"
#include "util/parse.h"
#include "util/scoped.h"

#define TICKS_PER_FD_COUNT 10
#define TIMER_SLACK_NS 1000000UL

/*
 * The soft limit protects programs that use select(2), which cannot handle a larger descriptor. perfd does not use it; each
 * followed cgroup has a dozen files open, and the descriptors that clients can take have limits of their own.
 */
static void raise_descriptor_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
                limit.rlim_cur = limit.rlim_max;
                (void)setrlimit(RLIMIT_NOFILE, &limit);
        }
}

void self_prepare_process(void) {
        (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
        (void)umask(0022);
        raise_descriptor_limit();
        /* perfd has few threads and small allocations: two arenas suffice, and memory of a burst is returned. */
        (void)mallopt(M_ARENA_MAX, 2);
        (void)mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

/* Segments that were never writable equal their file: dropping their pages loses nothing. */
static int on_object(struct dl_phdr_info *info, size_t size, void *userdata) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

        (void)size;
        (void)userdata;
        for (size_t i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
                uintptr_t begin = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);
                uintptr_t end = (info->dlpi_addr + segment->p_vaddr + segment->p_memsz + page - 1) & ~(page - 1);

                assert(end >= begin);
                if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
                        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
        }

        return 0;
}

void self_trim_memory(void) {
        (void)dl_iterate_phdr(on_object, NULL);
        (void)malloc_trim(0);
}

uint64_t self_note_tick(SelfStats *self, uint64_t deadline_us, uint64_t now_us, uint64_t interval_us) {
        uint64_t late_us = now_us > deadline_us ? now_us - deadline_us : 0;

        assert(interval_us > 0);
        self->n_ticks++;
        self->n_missed_ticks += late_us / interval_us;
        self->lateness_last_ns = late_us * NS_PER_US;
        self->lateness_sum_ns += self->lateness_last_ns;
        if (self->lateness_last_ns > self->lateness_max_ns)
                self->lateness_max_ns = self->lateness_last_ns;
        return deadline_us + (late_us / interval_us + 1) * interval_us;
}

/* Entries of a directory. opendir(3) would allocate a buffer. */
static size_t count_entries(int fd) {
        alignas(struct dirent64) char entries[4096];
        ssize_t n_bytes;
        size_t n = 0;

        while ((n_bytes = getdents64(fd, entries, sizeof(entries))) > 0)
                for (ssize_t at = 0; at < n_bytes; n++) {
                        const struct dirent64 *entry = (const void *)(entries + at);

                        assert(entry->d_reclen > 0 && at + entry->d_reclen <= n_bytes);
                        at += entry->d_reclen;
                }
        return n;
}

static void count_descriptors(SelfStats *self) {
        scoped(closep) int fd = -1;
        struct rlimit limit;
        struct stat st;
        size_t n;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
                self->n_fds_max = limit.rlim_cur;

        /* Since Linux 6.2 the size of the directory is their number; listing ten thousand takes 1 ms. */
        if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0) {
                self->n_open_fds = (size_t)st.st_size;
                return;
        }
        fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return;

        n = count_entries(fd);
        if (n >= 3)
                self->n_open_fds = n - 3; /* ".", ".." and `fd` itself */
}

/* Pages in all and pages resident. */
static void read_memory(SelfStats *self) {
        scoped(closep) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
        uint64_t virtual_pages, resident_pages, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        char text[128];
        const char *p;
        ssize_t n;

        n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
        if (n <= 0)
                return;

        text[n] = '\0';
        p = scan_u64(text, &virtual_pages);
        if (p && scan_u64(p, &resident_pages)) {
                self->virtual_bytes = virtual_pages * page_bytes;
                self->resident_bytes = resident_pages * page_bytes;
        }
}

void self_measure(SelfStats *self) {
        self->process_cpu_ns = clock_process_cpu_ns();
        read_memory(self);
        if (self->n_ticks % TICKS_PER_FD_COUNT == 0)
                count_descriptors(self);
}
