/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/stack_stamp.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "util/clock.h"

/* A file that changed less than this before it was read could change again without another time or size. */
#define SETTLED_NS (UINT64_C(2) * NS_PER_S)

void stack_stamp_init(StackStamp *stamp, const char *subject) {
        *stamp = (StackStamp){ .is_settled = true };
        buffer_puts(&stamp->text, subject);
}

void stack_stamp_deinit(StackStamp *stamp) {
        buffer_deinit(&stamp->text);
}

bool stack_stamp_add(StackStamp *stamp, int dir_fd, const char *path) {
        uint64_t changed_ns;
        struct stat st;

        if (fstatat(dir_fd, path, &st, 0) < 0)
                return false;
        changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
        stamp->is_settled &= changed_ns + SETTLED_NS <= clock_realtime_ns();
        buffer_printf(&stamp->text, " %s %ju:%ju %" PRIu64 " %jd", path, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, changed_ns,
                      (intmax_t)st.st_size);
        return true;
}
