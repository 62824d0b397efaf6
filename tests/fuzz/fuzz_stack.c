/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: lock files for `perfctl run --stack`
 *
 * perfd accepts the stack of an accepted file, within the limits of lib/stack. A refused file changes nothing.
 */

#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/stack/lock_file.h"
#include "stack/stack.h"
#include "util/scoped.h"

#define TEXT_MAX 65536U
#define ARENA_BYTES (64U << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the file without its messages: libFuzzer prints to the same descriptor. */
static int read_quietly(const char *file, Arena *arena, const Value **ret) {
        int kept = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC), r;

        assert(kept >= 0 && null >= 0 && dup2(null, STDERR_FILENO) >= 0);
        r = lock_file_read(file, arena, ret);
        assert(dup2(kept, STDERR_FILENO) >= 0);
        close(kept);
        close(null);
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        scoped(closep) int fd = memfd_create("lock", MFD_CLOEXEC);
        scoped(arena_deinit) Arena arena = {}, checked = {};
        const Value *document = NULL;
        Complaint complaint;
        char file[64];
        Stack stack;
        int r;

        if (size > TEXT_MAX)
                return 0;
        assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
        (void)snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
        r = read_quietly(file, &arena, &document);
        assert(r == 0 || r == LOCK_FILE_WRONG);
        if (r != 0)
                return 0;

        assert(document && arena_init(&checked, ARENA_BYTES) == 0);
        assert(stack_from_value(document, &checked, &stack, &complaint) == 0);
        assert(stack.n_packages <= STACK_PACKAGES_MAX);
        return 0;
}
