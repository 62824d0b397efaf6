/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/rpm_list.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/message.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/scoped.h"

#define PROGRAM "rpm"
#define FORMAT "%{NAME}\t%{EVR}\t%{VENDOR}\t%{ARCH}\n"
#define NOT_THERE "(none)" /* written by rpm for a tag that a package lacks */
#define KEYS "gpg-pubkey"  /* key that signs packages, listed as a package */
#define DEADLINE_NS (UINT64_C(30) * NS_PER_S) /* a query waits as long as another rpm holds the lock of an old database */
#define OUTPUT_BYTES_MAX (64U << 20)
#define REASON_BYTES_MAX 200
#define WORD(text) (char[]){ text } /* posix_spawn() takes words that may be changed */

/* --- the program ------------------------------------------------------------------------------------ */

typedef struct Listing {
        pid_t pid;  /* 0: not running */
        int out_fd; /* read end of its standard output */
        int error_fd; /* file of its standard error */
        Buffer text;
} Listing;

static void listing_deinit(Listing *listing) {
        if (listing->pid > 0) {
                (void)kill(listing->pid, SIGKILL);
                (void)waitpid(listing->pid, NULL, 0);
        }
        closep(&listing->out_fd);
        closep(&listing->error_fd);
        buffer_deinit(&listing->text);
}

/* Starts rpm without the macros of the user, which may name another database. */
static int start(const char *directory, Listing *listing) {
        scoped(buffer_deinit) Buffer path = {};
        char *words[] = { WORD(PROGRAM), WORD("--dbpath"), (char *)directory, WORD("-qa"), WORD("--queryformat"), WORD(FORMAT), NULL };
        char *environment[] = { WORD("LC_ALL=C"), WORD("HOME=/"), NULL, NULL };
        posix_spawn_file_actions_t actions;
        int fds[2], r;

        buffer_printf(&path, "PATH=%s", getenv("PATH") ?: "/usr/bin:/bin");
        environment[2] = path.text;
        listing->error_fd = memfd_create(PROGRAM, MFD_CLOEXEC);
        if (buffer_error(&path) < 0 || listing->error_fd < 0 || pipe2(fds, O_CLOEXEC) < 0)
                return buffer_error(&path) < 0 ? -ENOMEM : -errno;

        listing->out_fd = fds[0];
        r = posix_spawn_file_actions_init(&actions);
        if (r == 0) {
                (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
                (void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
                (void)posix_spawn_file_actions_adddup2(&actions, listing->error_fd, STDERR_FILENO);
                r = posix_spawnp(&listing->pid, PROGRAM, &actions, NULL, words, environment);
                listing->pid = r == 0 ? listing->pid : 0;
                (void)posix_spawn_file_actions_destroy(&actions);
        }
        close(fds[1]);
        return -r;
}

/* Reads the output until its end. 0 or a negative errno; -ETIME after the deadline. */
static int read_output(Listing *listing) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;

        for (;;) {
                uint64_t now_ns = clock_boottime_ns();
                struct pollfd pollfd = { .fd = listing->out_fd, .events = POLLIN };
                ssize_t n;

                if (now_ns >= deadline_ns)
                        return -ETIME;
                if (poll(&pollfd, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1) <= 0)
                        continue;
                n = buffer_read(&listing->text, listing->out_fd);
                if (n == -EINTR)
                        continue;
                if (n <= 0)
                        return (int)n;
        }
}

/* Waits for the program, whose output has ended. Returns false and the first line of its messages if it failed. */
static bool has_succeeded(Listing *listing, char ret_reason[static REASON_BYTES_MAX]) {
        ssize_t n = pread(listing->error_fd, ret_reason, REASON_BYTES_MAX - 1, 0);
        int status = 0;

        ret_reason[n > 0 ? n : 0] = '\0';
        ret_reason[strcspn(ret_reason, "\n")] = '\0';
        while (waitpid(listing->pid, &status, 0) < 0 && errno == EINTR)
                ;
        listing->pid = 0;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* --- its output ------------------------------------------------------------------------------------- */

static Slice take_column(const char **at, char stop) {
        size_t n = strcspn(*at, "\t\n");
        Slice slice = { *at, n };

        *at += n + ((*at)[n] == stop);
        return n == strlen(NOT_THERE) && memcmp(slice.text, NOT_THERE, n) == 0 ? (Slice){} : slice;
}

static void add_packages(const char *text, StackBuilder *stack) {
        DraftPackage package = { .kind = PROGRAM };

        for (const char *at = text; *at;) {
                const char *begin = at;

                package.name = take_column(&at, '\t');
                package.version = take_column(&at, '\t');
                package.source = take_column(&at, '\t');
                package.build = take_column(&at, '\n');
                if (package.name.n != strlen(KEYS) || memcmp(package.name.text, KEYS, strlen(KEYS)) != 0)
                        stack_builder_add_valid(stack, &package);
                if (at == begin)
                        return;
        }
}

int rpm_list_read(const char *directory, StackBuilder *stack) {
        scoped(listing_deinit) Listing listing = { .out_fd = -1, .error_fd = -1, .text.n_max = OUTPUT_BYTES_MAX };
        char reason[REASON_BYTES_MAX];
        int r;

        r = start(directory, &listing);
        if (r == 0)
                r = read_output(&listing);
        if (r == -ENOMEM)
                return r;
        if (r == -ETIME)
                message_print("--stack rpm: rpm did not list %s within %u seconds", directory, (unsigned)(DEADLINE_NS / NS_PER_S));
        else if (r == -ENOENT)
                message_print("--stack rpm: %s has a database of packages, but rpm, which reads the database, is not installed", directory);
        else if (r < 0)
                message_print("--stack rpm: cannot run rpm to list %s: %s", directory, strerrordesc_np(-r));
        else if (!has_succeeded(&listing, reason))
                message_print("--stack rpm: rpm cannot list %s%s%s", directory, reason[0] ? ": " : "", reason);
        else {
                add_packages(listing.text.text ?: "", stack);
                return stack->failed ? -ENOMEM : 0;
        }
        return RPM_LIST_FAILED;
}
