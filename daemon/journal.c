/* SPDX-License-Identifier: Apache-2.0 */
#include "journal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "base/log.h"
#include "util/scan.h"

typedef struct JournalRecord {
        char *text; /* owned */
        size_t n;
} JournalRecord;

struct Journal {
        int fd;
        struct sockaddr_un address;
        FILE *stream;        /* owned; replaces stderr. The lock of the stream protects all members below */
        FILE *former_stream; /* borrowed; the original stderr */
        JournalRecord queue[JOURNAL_QUEUE_MAX];
        size_t first, n;
        uint64_t n_dropped, n_dropped_reported;
};

bool journal_is_connected(void) {
        const char *text = getenv("JOURNAL_STREAM");
        uint64_t device, inode;
        struct stat st;

        if (!text || fstat(STDERR_FILENO, &st) < 0)
                return false;

        text = scan_u64(text, &device);
        if (!text || *text != ':' || !(text = scan_u64(text + 1, &inode)) || *text != '\0')
                return false;
        return st.st_dev == device && st.st_ino == inode;
}

/*
 * Returns false if journald has no space for the record, or is being restarted. A record that can never be sent
 * counts as dropped.
 */
static bool journal_send(Journal *journal, const char *text, size_t n) {
        static const char identifier[] = "SYSLOG_IDENTIFIER=perfd\n";
        struct iovec parts[] = { { (void *)identifier, sizeof(identifier) - 1 }, { (void *)text, n } };
        const struct msghdr message = {
                .msg_name = &journal->address, .msg_namelen = sizeof(journal->address),
                .msg_iov = parts, .msg_iovlen = N_ELEMENTS(parts),
        };

        if (sendmsg(journal->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
                return true;
        if (errno == EAGAIN || errno == ENOBUFS || errno == ECONNREFUSED || errno == ENOENT)
                return false;

        journal->n_dropped++;
        return true;
}

static void journal_enqueue(Journal *journal, const char *text, size_t n) {
        JournalRecord record = { .text = journal->n < JOURNAL_QUEUE_MAX ? malloc(n) : NULL, .n = n };

        if (!record.text) {
                journal->n_dropped++;
                return;
        }
        memcpy(record.text, text, n);
        journal->queue[(journal->first + journal->n++) % JOURNAL_QUEUE_MAX] = record;
}

/* Reports dropped messages after journald accepts messages again. */
static void journal_report_dropped(Journal *journal) {
        char text[200];
        int n;

        n = snprintf(text, sizeof(text),
                     LOG_RECORD_PREFIX "%d\nMESSAGE=Dropped %lu log messages because journald did not accept them.\n"
                                       "PERFD_DROPPED=%lu\n",
                     (int)LOG_LEVEL_WARNING, (unsigned long)(journal->n_dropped - journal->n_dropped_reported),
                     (unsigned long)journal->n_dropped);
        assert(n > 0 && (size_t)n < sizeof(text));
        if (journal_send(journal, text, (size_t)n))
                journal->n_dropped_reported = journal->n_dropped;
}

static void journal_send_queued(Journal *journal) {
        uint64_t n_dropped = journal->n_dropped;

        assert(journal->n <= JOURNAL_QUEUE_MAX && journal->first < JOURNAL_QUEUE_MAX);
        while (journal->n > 0) {
                JournalRecord *record = &journal->queue[journal->first];

                if (!journal_send(journal, record->text, record->n))
                        return;
                free(TAKE(record->text));
                journal->first = (journal->first + 1) % JOURNAL_QUEUE_MAX;
                journal->n--;
        }

        if (journal->n_dropped == n_dropped && journal->n_dropped > journal->n_dropped_reported)
                journal_report_dropped(journal);
}

/* Called by the C library for each write to the stream, with the stream locked. */
static ssize_t on_write(void *cookie, const char *text, size_t n) {
        Journal *journal = cookie;

        assert(journal->fd >= 0);
        if (n < strlen(LOG_RECORD_PREFIX) || memcmp(text, LOG_RECORD_PREFIX, strlen(LOG_RECORD_PREFIX)) != 0)
                return write(STDERR_FILENO, text, n);

        journal_send_queued(journal);
        if (journal->n > 0 || !journal_send(journal, text, n))
                journal_enqueue(journal, text, n);
        return (ssize_t)n;
}

int journal_new(Journal **ret, const char *socket_path) {
        scoped(journal_freep) Journal *journal = NULL;

        assert(strlen(socket_path) < sizeof(journal->address.sun_path));
        if (access(socket_path, W_OK) < 0)
                return -errno;
        journal = calloc(1, sizeof(*journal));
        if (!journal)
                return -ENOMEM;

        journal->address.sun_family = AF_UNIX;
        memcpy(journal->address.sun_path, socket_path, strlen(socket_path) + 1);
        journal->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (journal->fd < 0)
                return -errno;

        journal->stream = fopencookie(journal, "w", (cookie_io_functions_t){ .write = on_write });
        if (!journal->stream)
                return -ENOMEM;
        (void)setvbuf(journal->stream, NULL, _IONBF, 0);

        journal->former_stream = stderr;
        stderr = journal->stream;
        *ret = TAKE(journal);
        return 0;
}

Journal *journal_free(Journal *journal) {
        if (!journal)
                return NULL;

        if (journal->former_stream) {
                assert(stderr == journal->stream);
                journal_flush(journal);
                stderr = journal->former_stream;
        }
        if (journal->stream)
                (void)fclose(journal->stream);
        while (journal->n > 0)
                free(journal->queue[(journal->first + --journal->n) % JOURNAL_QUEUE_MAX].text);
        closep(&journal->fd);
        free(journal);
        return NULL;
}

void journal_flush(Journal *journal) {
        flockfile(journal->stream);
        journal_send_queued(journal);
        funlockfile(journal->stream);
}

uint64_t journal_n_dropped(const Journal *journal) {
        uint64_t n;

        flockfile(journal->stream);
        n = journal->n_dropped;
        funlockfile(journal->stream);
        return n;
}
