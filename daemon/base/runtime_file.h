/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runtime file: a text or other bytes in a file that survives the end of the process, even by SIGKILL
 *
 * The file is mapped, and has two slots. A text replaces the older of the two, so that a process that is killed
 * while it writes leaves the other one. Each slot has a sequence number and a checksum. Nothing is synced: the
 * kernel has the text as soon as it is written, but it is lost with the machine. The file belongs into a directory
 * in memory (tmpfs), where writing waits for no disk.
 */

#include <stddef.h>

#include "util/scoped.h"

/* Maximum size of a text. */
#define RUNTIME_FILE_BYTES_MAX (16U * 1024U * 1024U)

typedef struct RuntimeFile RuntimeFile;

/*
 * Opens or creates the file, with the texts of its last process. Caller frees. 0; -EBUSY: another process has the
 * file open; or another negative errno.
 */
int runtime_file_open(RuntimeFile **ret, const char *path);
/* Closes the file, which stays. */
RuntimeFile *runtime_file_free(RuntimeFile *file);
DEFINE_SCOPED(RuntimeFile, runtime_file_free);

/*
 * Copies the latest text, followed by a NUL; caller frees *ret. ret_n: set to the size without the NUL; may be NULL.
 * 0; RUNTIME_FILE_NONE: nothing has been written; RUNTIME_FILE_DAMAGED: no slot has a text as it was written;
 * -ENOMEM.
 */
enum {
        RUNTIME_FILE_NONE = 1,
        RUNTIME_FILE_DAMAGED,
};
int runtime_file_read(const RuntimeFile *file, char **ret, size_t *ret_n);

/*
 * Replaces the text, without waiting for a disk. A text that does not fit replaces the file by a larger one. 0,
 * -EFBIG, or another negative errno; then the former text stays.
 */
int runtime_file_write(RuntimeFile *file, const char *text, size_t n);
