/* SPDX-License-Identifier: Apache-2.0 */
#include "self.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdalign.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "util/clock.h"
#include "util/scan.h"
#include "util/scoped.h"

/*
 * Memory and descriptors are read at each tenth tick: the kernel sums counters of all CPUs for the memory of a
 * process, and before Linux 6.2, counting descriptors requires a directory listing.
 */
#define TICKS_PER_READING 10

#define TIMER_SLACK_NS 1000000UL

/*
 * The default soft limit exists for programs that use select(2), which fails for larger descriptors; perfd uses
 * epoll(7).
 */
static void raise_descriptor_limit(SelfStats *stats) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        if (limit.rlim_cur < limit.rlim_max) {
                struct rlimit raised = { limit.rlim_max, limit.rlim_max };

                if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
                        limit = raised;
        }
        stats->n_fds_max = limit.rlim_cur;
}

/* Without journald's socket, the service manager reads plain lines from stderr. */
static Journal *open_journal(void) {
        Journal *journal = NULL;
        int r;

        if (!journal_is_connected())
                return NULL;
        r = journal_new(&journal, JOURNAL_SOCKET);
        if (r < 0)
                log_warning("Cannot reach journald, logging plain lines without fields: %s", strerror(-r));
        return journal;
}

void self_init(Self *self) {
        uint64_t now_ns = clock_realtime_ns();

        *self = (Self){
                .stats = { .started_realtime_ns = now_ns, .config_reload_ok = true, .is_config_in_force = true,
                           .config_reload_realtime_ns = now_ns },
        };
        (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
        (void)umask(0077); /* the store has what all users submit */
        /* perfd has few threads and small allocations: two arenas suffice, and return memory after a burst */
        (void)mallopt(M_ARENA_MAX, 2);
        (void)mallopt(M_TRIM_THRESHOLD, 128 * 1024);
        raise_descriptor_limit(&self->stats);
        self->journal = open_journal();
        self->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

void self_deinit(Self *self) {
        closep(&self->statm_fd);
        self->statm_fd = -1;
        self->journal = journal_free(self->journal);
}

/* Segments that were never writable are identical to the file: their pages can be dropped without loss. */
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
}

uint64_t self_count_tick(Self *self, uint64_t deadline_us, uint64_t now_us, uint64_t interval_us) {
        uint64_t late_us = now_us > deadline_us ? now_us - deadline_us : 0;
        SelfStats *stats = &self->stats;

        assert(interval_us > 0);

        stats->lateness_sum_ns += late_us * NS_PER_US;
        if (late_us * NS_PER_US > stats->lateness_max_ns)
                stats->lateness_max_ns = late_us * NS_PER_US;

        stats->n_ticks++;
        stats->n_missed_ticks += late_us / interval_us;
        return deadline_us + (late_us / interval_us + 1) * interval_us;
}

static void judge_config(SelfStats *stats) {
        stats->is_config_in_force = !stats->config_error[0] && !stats->config_restart[0] && !stats->config_ignored[0] &&
                                    !stats->config_edited[0] && !stats->config_unknown[0];
}

void self_count_reload(Self *self, const char *error, const char *restart) {
        SelfStats *stats = &self->stats;

        stats->config_reload_realtime_ns = clock_realtime_ns();
        stats->config_reload_ok = !error[0];
        (void)snprintf(stats->config_error, sizeof(stats->config_error), "%s", error);
        (void)snprintf(stats->config_restart, sizeof(stats->config_restart), "%s", restart);
        judge_config(stats);
}

bool self_note_ignored(Self *self, const char *settings) {
        SelfStats *stats = &self->stats;
        bool is_new = strcmp(stats->config_ignored, settings) != 0;

        (void)snprintf(stats->config_ignored, sizeof(stats->config_ignored), "%s", settings);
        judge_config(stats);
        return is_new;
}

void self_note_unknown(Self *self, const char *names) {
        (void)snprintf(self->stats.config_unknown, sizeof(self->stats.config_unknown), "%s", names);
        judge_config(&self->stats);
}

void self_note_edited(Self *self, const char *path) {
        if (strcmp(self->stats.config_edited, path) == 0)
                return;
        (void)snprintf(self->stats.config_edited, sizeof(self->stats.config_edited), "%s", path);
        judge_config(&self->stats);
}

/* Uses a buffer on the stack: opendir(3) would allocate memory. */
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

static void count_open_fds(SelfStats *stats) {
        scoped(closep) int fd = -1;
        struct stat st;
        size_t n;

        /* since Linux 6.2, the size of the directory is the number of descriptors; listing ten thousand takes 1 ms */
        if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0) {
                stats->n_open_fds = (size_t)st.st_size;
                return;
        }
        fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return;

        n = count_entries(fd);
        if (n >= 3)
                stats->n_open_fds = n - 3; /* ".", "..", and the descriptor of the listing */
}

/* Reads the total and the resident number of pages. */
static void read_memory(int statm_fd, SelfStats *stats) {
        uint64_t virtual_pages, resident_pages, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        const char *p;
        char text[128];
        ssize_t n;

        n = pread(statm_fd, text, sizeof(text) - 1, 0);
        if (n <= 0)
                return;

        text[n] = '\0';
        p = scan_u64(text, &virtual_pages);
        if (p && scan_u64(p, &resident_pages)) {
                stats->virtual_bytes = virtual_pages * page_bytes;
                stats->resident_bytes = resident_pages * page_bytes;
        }
}

void self_read(Self *self) {
        self->stats.process_cpu_ns = clock_process_cpu_ns();
        if (self->journal) {
                journal_flush(self->journal);
                self->stats.n_log_messages_dropped = journal_n_dropped(self->journal);
        }
        if (self->stats.n_ticks % TICKS_PER_READING <= 1) {
                read_memory(self->statm_fd, &self->stats);
                count_open_fds(&self->stats);
        }
}
