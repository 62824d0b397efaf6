/* SPDX-License-Identifier: Apache-2.0 */
#include "base/runtime_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "util/hash.h"

#define N_SLOTS 2U
#define SLOT_BYTES_MIN 8192U
#define CHECKSUM_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* odd, with bits all over: 2^64 divided by the golden ratio */

typedef struct Slot {
        uint64_t sequence; /* 0: no text */
        uint64_t n;
        uint64_t checksum; /* of the members above and the text */
        char text[];
} Slot;

typedef struct Mapping {
        int fd;
        char *bytes; /* N_SLOTS slots */
        size_t slot_bytes;
} Mapping;

struct RuntimeFile {
        char *path;
        Mapping mapping;
        uint64_t sequence; /* of the latest text */
        size_t latest;     /* its slot */
        bool is_damaged;   /* the file of the last process had another size */
};

static void mapping_deinit(Mapping *mapping) {
        if (mapping->bytes)
                (void)munmap(mapping->bytes, N_SLOTS * mapping->slot_bytes);
        if (mapping->fd >= 0)
                (void)close(mapping->fd);
        *mapping = (Mapping){ .fd = -1 };
}

static Slot *slot_at(const Mapping *mapping, size_t i) {
        assert(mapping->bytes && i < N_SLOTS);
        return (Slot *)(mapping->bytes + i * mapping->slot_bytes);
}

/* Eight bytes at a time, unlike hash.h: the text of the node changes at each tick. */
static uint64_t checksum_of(const Slot *slot) {
        uint64_t sum = (HASH_BEGIN ^ slot->sequence) * CHECKSUM_FACTOR ^ slot->n, word;
        size_t i = 0;

        for (; i + sizeof(word) <= slot->n; i += sizeof(word)) {
                memcpy(&word, slot->text + i, sizeof(word));
                sum = (sum ^ word) * CHECKSUM_FACTOR;
                sum ^= sum >> 32; /* a product alone would move no bit down */
        }
        return hash_bytes(sum, slot->text + i, slot->n - i);
}

static bool is_valid(const Mapping *mapping, const Slot *slot) {
        return slot->sequence > 0 && slot->n <= mapping->slot_bytes - sizeof(*slot) &&
               slot->checksum == checksum_of(slot);
}

/* --- the file ------------------------------------------------------------------------------------ */

/* Reserves the space first: a write into a mapping of a full file system raises SIGBUS. */
static int map(Mapping *mapping, size_t slot_bytes) {
        size_t n = N_SLOTS * slot_bytes;
        void *bytes;
        int r;

        r = posix_fallocate(mapping->fd, 0, (off_t)n);
        if (r != 0)
                return -r;
        bytes = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, mapping->fd, 0);
        if (bytes == MAP_FAILED)
                return -errno;

        mapping->bytes = bytes;
        mapping->slot_bytes = slot_bytes;
        return 0;
}

static int open_locked(const char *path, int flags) {
        scoped(closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

        if (fd < 0)
                return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;
        return TAKE_FD(fd);
}

/* Returns the size of a slot in a file that this module made, or 0. */
static size_t slot_bytes_of(const struct stat *st) {
        size_t n = (size_t)st->st_size / N_SLOTS;
        bool is_power = n >= SLOT_BYTES_MIN && n <= 2 * (size_t)RUNTIME_FILE_BYTES_MAX && (n & (n - 1)) == 0;

        return is_power && st->st_size % N_SLOTS == 0 ? n : 0;
}

static int open_file(RuntimeFile *file) {
        struct stat st;
        size_t slot_bytes;

        file->mapping.fd = open_locked(file->path, O_NONBLOCK);
        if (file->mapping.fd < 0)
                return file->mapping.fd;
        if (fstat(file->mapping.fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;

        slot_bytes = slot_bytes_of(&st);
        file->is_damaged = slot_bytes == 0 && st.st_size > 0;
        if (file->is_damaged && ftruncate(file->mapping.fd, 0) < 0)
                return -errno;
        return map(&file->mapping, slot_bytes > 0 ? slot_bytes : SLOT_BYTES_MIN);
}

int runtime_file_open(RuntimeFile **ret, const char *path) {
        scoped(runtime_file_freep) RuntimeFile *file = calloc(1, sizeof(*file));
        int r;

        if (!file)
                return -ENOMEM;

        file->mapping.fd = -1;
        file->path = strdup(path);
        r = file->path ? open_file(file) : -ENOMEM;
        if (r < 0)
                return r;

        for (size_t i = 0; i < N_SLOTS; i++) {
                const Slot *slot = slot_at(&file->mapping, i);

                if (!is_valid(&file->mapping, slot) || slot->sequence <= file->sequence)
                        continue;
                file->sequence = slot->sequence;
                file->latest = i;
        }
        *ret = TAKE(file);
        return 0;
}

RuntimeFile *runtime_file_free(RuntimeFile *file) {
        if (!file)
                return NULL;

        mapping_deinit(&file->mapping);
        free(file->path);
        free(file);
        return NULL;
}

/* --- the text ------------------------------------------------------------------------------------ */

/* A slot whose writer was killed has the sequence number 0. */
static bool has_traces(const RuntimeFile *file) {
        for (size_t i = 0; i < N_SLOTS; i++)
                if (slot_at(&file->mapping, i)->sequence > 0)
                        return true;
        return file->is_damaged;
}

int runtime_file_read(const RuntimeFile *file, char **ret, size_t *ret_n) {
        const Slot *slot = slot_at(&file->mapping, file->latest);
        char *text;

        if (file->sequence == 0)
                return has_traces(file) ? RUNTIME_FILE_DAMAGED : RUNTIME_FILE_NONE;

        text = malloc(slot->n + 1);
        if (!text)
                return -ENOMEM;

        memcpy(text, slot->text, slot->n);
        text[slot->n] = '\0';
        if (ret_n)
                *ret_n = slot->n;
        *ret = text;
        return 0;
}

/* Makes a larger file beside the present one. */
static int open_larger(const RuntimeFile *file, size_t n, const char *path, Mapping *ret) {
        size_t slot_bytes = file->mapping.slot_bytes;
        int r;

        while (slot_bytes < sizeof(Slot) + n)
                slot_bytes *= 2;
        if (unlink(path) < 0 && errno != ENOENT)
                return -errno;
        ret->fd = open_locked(path, O_EXCL);
        if (ret->fd < 0)
                return ret->fd;

        r = map(ret, slot_bytes);
        if (r < 0)
                mapping_deinit(ret);
        return r;
}

/* Nothing of the former text stays behind a shorter one. */
static void write_slot(const Mapping *mapping, size_t i, uint64_t sequence, const char *text, size_t n) {
        Slot *slot = slot_at(mapping, i);
        size_t n_max = mapping->slot_bytes - sizeof(*slot), n_former = slot->n < n_max ? slot->n : n_max;

        slot->sequence = 0;
        atomic_signal_fence(memory_order_seq_cst); /* a SIGKILL finds the stores in this order */
        memcpy(slot->text, text, n);
        if (n_former > n)
                memset(slot->text + n, 0, n_former - n);
        slot->n = n;
        atomic_signal_fence(memory_order_seq_cst);
        slot->sequence = sequence;
        slot->checksum = checksum_of(slot);
}

/* Writes the text into a larger file, which replaces the present one. */
static int grow(RuntimeFile *file, const char *text, size_t n) {
        scoped(mapping_deinit) Mapping larger = { .fd = -1 };
        scoped(freep) char *path = NULL;
        int r;

        if (asprintf(&path, "%s.new", file->path) < 0)
                return -ENOMEM;
        r = open_larger(file, n, path, &larger);
        if (r < 0)
                return r;

        write_slot(&larger, 0, file->sequence + 1, text, n);
        if (rename(path, file->path) < 0) {
                r = -errno;
                (void)unlink(path);
                return r;
        }

        mapping_deinit(&file->mapping);
        file->mapping = larger;
        larger = (Mapping){ .fd = -1 };
        file->latest = 0;
        file->sequence++;
        return 0;
}

int runtime_file_write(RuntimeFile *file, const char *text, size_t n) {
        size_t next = file->sequence > 0 ? (file->latest + 1) % N_SLOTS : 0;

        if (n > RUNTIME_FILE_BYTES_MAX)
                return -EFBIG;
        if (n > file->mapping.slot_bytes - sizeof(Slot))
                return grow(file, text, n);

        write_slot(&file->mapping, next, file->sequence + 1, text, n);
        file->latest = next;
        file->sequence++;
        return 0;
}
