/* SPDX-License-Identifier: Apache-2.0 */
#include "store/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/scoped.h"

#define MARK ".damaged"

static int path_with(const char *path, const char *suffix, char ret[static PATH_MAX]) {
        int n = snprintf(ret, PATH_MAX, "%s%s", path, suffix);

        return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int salvage_mark(const char *path) {
        scoped(closep) int fd = -1;
        char mark[PATH_MAX];
        int r;

        r = path_with(path, MARK, mark);
        if (r < 0)
                return r;

        fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        return fd < 0 ? -errno : 0;
}

bool salvage_is_marked(const char *path) {
        char mark[PATH_MAX];

        return path_with(path, MARK, mark) == 0 && access(mark, F_OK) == 0;
}

static int rename_with(const char *path, const char *target, const char *suffix) {
        char from[PATH_MAX], to[PATH_MAX];
        int r;

        r = path_with(path, suffix, from);
        if (r == 0)
                r = path_with(target, suffix, to);
        if (r < 0)
                return r;
        return rename(from, to) < 0 && errno != ENOENT ? -errno : 0;
}

static int remove_with(const char *path, const char *suffix) {
        char file[PATH_MAX];
        int r;

        r = path_with(path, suffix, file);
        if (r < 0)
                return r;
        return unlink(file) < 0 && errno != ENOENT ? -errno : 0;
}

int salvage_put_aside(const char *path, uint64_t now_realtime_ns, const char *reason, char **ret_note) {
        char when[CLOCK_TEXT_MAX], target[PATH_MAX];
        int r;

        clock_format_utc(now_realtime_ns, when);
        if (snprintf(target, sizeof(target), "%s.corrupt-%s", path, when) >= (int)sizeof(target))
                return -ENAMETOOLONG;

        /* The log first: a log that stays behind alone would be applied to the new file. */
        r = rename_with(path, target, "-wal");
        if (r == 0)
                r = rename_with(path, target, "");
        if (r == 0)
                r = remove_with(path, "-shm");
        if (r == 0)
                r = remove_with(path, MARK);
        if (r < 0)
                return r;

        if (asprintf(ret_note, "%s was damaged (%s): moved to %s; a new database was created", path, reason, target) < 0)
                return -ENOMEM;
        return 0;
}
