/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/mountstats.h"

#include <errno.h>
#include <string.h>

#include "sample/kernel_text.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/scan.h"

/* --- mounts --------------------------------------------------------------------------------------- */

static bool is_word(Word word, const char *text) {
        return word.n == strlen(text) && memcmp(word.text, text, word.n) == 0;
}

/* Returns the position after a word and the literal behind it, or NULL. */
static const char *scan_word(const char *p, const char *behind, Word *ret) {
        *ret = (Word){ p, strcspn(p, " \n") };
        p += ret->n;
        return ret->n > 0 && strncmp(p, behind, strlen(behind)) == 0 ? p + strlen(behind) : NULL;
}

/* Parses "device server:/home mounted on /home with fstype nfs4 statvers=1.1". Returns false for all other lines. */
static bool scan_mount(const char *line, MountStats *ret) {
        const char *p = kernel_text_skip(line, "device ");

        p = p ? scan_word(p, " mounted on ", &ret->source) : NULL;
        p = p ? scan_word(p, " with fstype ", &ret->point) : NULL;
        p = p ? scan_word(p, "", &ret->type) : NULL;
        return p;
}

static bool is_kept(Word type) {
        return is_word(type, "nfs") || is_word(type, "nfs4") || is_word(type, "lustre") || is_word(type, "ceph");
}

int mountstats_parse(const char *text, MountStatsList *list, const char **ret_fault) {
        list->n = 0;
        list->hash = HASH_BEGIN;
        if (strncmp(text, "device ", 7) != 0 && strncmp(text, "no device ", 10) != 0)
                return kernel_text_malformed("no mounts", ret_fault);
        for (const char *p = text; *p;) {
                const char *next = kernel_text_next_line(p);
                const char *age = kernel_text_skip(p, "\tage:");
                MountStats mount = { .age_s = UINT64_MAX };

                if (!next)
                        return kernel_text_malformed("truncated in the middle of a line", ret_fault);
                if (scan_mount(p, &mount) && is_kept(mount.type)) {
                        if (ARRAY_RESERVE(list->items, list->n_allocated, list->n + 1) < 0)
                                return -ENOMEM;
                        mount.statistics = next;
                        list->items[list->n++] = mount;
                        list->hash = hash_bytes(list->hash, p, (size_t)(next - p));
                } else if (age && list->n > 0)
                        (void)scan_u64(age, &list->items[list->n - 1].age_s);
                p = next;
        }
        return 0;
}

/* --- statistics of NFS ---------------------------------------------------------------------------- */

/* Columns of "bytes:", and of a line of an operation. */
enum { BYTES_SERVER_READ = 4, BYTES_SERVER_WRITTEN, N_BYTES };
enum { OPERATION_COUNT, OPERATION_SENT, OPERATION_MS = 7, N_OPERATION };

static bool scan_numbers(const char *p, uint64_t *ret, size_t n) {
        for (size_t i = 0; i < n && p; i++)
                p = scan_u64(p, &ret[i]);
        return p;
}

/*
 * Adds a line such as "READ: operations transmissions timeouts bytes bytes ms-queued ms-answered ms", of which the last
 * is the whole time.
 */
static bool add_operation(const char *line, uint64_t sums[static N_NETFS_VALUES]) {
        const char *name = scan_blanks(line), *colon = strchrnul(name, ':');
        Word word = { name, (size_t)(colon - name) };
        bool is_read = is_word(word, "READ") || is_word(word, "READ_PLUS"), is_write = is_word(word, "WRITE");
        uint64_t v[N_OPERATION];

        if (!*colon || !scan_numbers(colon + 1, v, N_OPERATION))
                return false;
        if (is_word(word, "NULL"))
                return true;
        sums[is_read ? NETFS_reads : is_write ? NETFS_writes : NETFS_metadata_operations] += v[OPERATION_COUNT];
        if (v[OPERATION_SENT] > v[OPERATION_COUNT])
                sums[NETFS_retransmissions] += v[OPERATION_SENT] - v[OPERATION_COUNT];
        if (is_read || is_write)
                sums[is_read ? NETFS_read_us : NETFS_write_us] += v[OPERATION_MS] * 1000;
        return true;
}

void mountstats_parse_nfs(const char *statistics, SampleEquipment *item) {
        static const size_t of_operations[] = { NETFS_reads, NETFS_writes, NETFS_metadata_operations,
                                                NETFS_retransmissions, NETFS_read_us, NETFS_write_us };
        uint64_t sums[N_NETFS_VALUES] = {}, bytes[N_BYTES];
        bool has_operations = false;

        for (const char *line = statistics; *line == '\t'; line = scan_line_end(line)) {
                const char *p = line + 1, *numbers = kernel_text_skip(p, "bytes:");

                if (numbers && scan_numbers(numbers, bytes, N_BYTES)) {
                        equipment_set(item, NETFS_read_bytes, bytes[BYTES_SERVER_READ]);
                        equipment_set(item, NETFS_write_bytes, bytes[BYTES_SERVER_WRITTEN]);
                }
                if (has_operations && !add_operation(p, sums))
                        return;
                has_operations |= strncmp(p, "per-op statistics\n", 18) == 0;
        }
        for (size_t i = 0; has_operations && i < N_ELEMENTS(of_operations); i++)
                equipment_set(item, of_operations[i], sums[of_operations[i]]);
}
