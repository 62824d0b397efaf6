/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/descendants.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/parse.h"

typedef struct DescendantEntry {
        pid_t pid, parent;
        char state;
        uint64_t user_ticks, system_ticks;
} DescendantEntry;

typedef struct DescendantTable {
        DescendantEntry *items; /* owned; by pid */
        size_t n, n_allocated;
} DescendantTable;

static void table_deinit(DescendantTable *table) {
        free(table->items);
}

/* The name of a process may contain any character, brackets included. */
static bool stat_parse(const char *text, DescendantEntry *ret) {
        const char *bracket = strrchr(text, ')');
        uint64_t user, system, waited_user, waited_system;

        if (!bracket ||
            sscanf(bracket, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                   &ret->state, &ret->parent, &user, &system, &waited_user, &waited_system) != 6)
                return false;

        ret->user_ticks = user + waited_user;
        ret->system_ticks = system + waited_system;
        return true;
}

/* Ignores a process that has ended meanwhile. */
static int table_add(DescendantTable *table, int proc_fd, const char *name) {
        scoped(freep) char *text = NULL;
        char path[64];
        DescendantEntry entry = {};
        uint64_t pid;

        if (parse_u64(name, &pid) != 0 || pid > INT32_MAX)
                return 0;
        snprintf(path, sizeof(path), "%" PRIu64 "/stat", pid);
        if (file_read_at(proc_fd, path, 4096, &text, NULL) != 0 || !stat_parse(text, &entry))
                return 0;

        if (table->n == table->n_allocated) {
                size_t n = table->n_allocated ? table->n_allocated * 2 : 256;
                DescendantEntry *items = realloc(table->items, n * sizeof(*items));

                if (!items)
                        return -ENOMEM;
                table->items = items;
                table->n_allocated = n;
        }

        assert(table->n < table->n_allocated);
        entry.pid = (pid_t)pid;
        table->items[table->n++] = entry;
        return 0;
}

static int by_pid(const void *a, const void *b) {
        const DescendantEntry *left = a, *right = b;

        return left->pid < right->pid ? -1 : left->pid > right->pid;
}

/* Follows the parents up to `root`. The entries were read one after the other, and may therefore contain a cycle. */
static bool is_below(const DescendantTable *table, const DescendantEntry *entry, pid_t root, pid_t except) {
        for (size_t i = 0; i < table->n && entry && entry->pid != except; i++) {
                if (entry->parent == root)
                        return true;
                entry = bsearch(&(DescendantEntry){ .pid = entry->parent }, table->items, table->n,
                                sizeof(*table->items), by_pid);
        }
        return false;
}

int descendants_read(int proc_fd, pid_t root, pid_t except, Descendants *ret) {
        scoped(table_deinit) DescendantTable table = {};
        scoped(closedirp) DIR *dir = file_open_list(proc_fd, ".");
        Descendants all = {};
        struct dirent *entry;
        int r;

        if (!dir)
                return -errno;

        while ((entry = readdir(dir))) {
                r = table_add(&table, proc_fd, entry->d_name);
                if (r < 0)
                        return r;
        }
        if (table.n > 0)
                qsort(table.items, table.n, sizeof(*table.items), by_pid);

        for (size_t i = 0; i < table.n; i++) {
                if (!is_below(&table, &table.items[i], root, except))
                        continue;
                all.n_living += !strchr("ZX", table.items[i].state);
                all.user_ticks += table.items[i].user_ticks;
                all.system_ticks += table.items[i].system_ticks;
        }

        *ret = all;
        return 0;
}
