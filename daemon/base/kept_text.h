/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kept text: a text or other bytes in a file that survives the end of the process, even by SIGKILL
 *
 * The file is mapped, and has two slots. A text replaces the older of the two, so that a process that is killed while it writes
 * leaves the other one. Each slot has a sequence number and a checksum. Nothing is synced: the kernel has the text as soon as it is
 * written, but it is lost with the machine. The file belongs into a directory in memory (tmpfs), where writing waits for no disk.
 */

#include <stddef.h>

#include "util/scoped.h"

/* Maximum size of a text. */
#define KEPT_TEXT_BYTES_MAX (16U * 1024U * 1024U)

typedef struct KeptText KeptText;

/*
 * Opens or creates the file, with the texts of its last process. Caller frees. 0; -EBUSY: another process has the file open; or another
 * negative errno.
 */
int kept_text_open(KeptText **ret, const char *path);
/* Closes the file, which stays. */
KeptText *kept_text_free(KeptText *kept);
DEFINE_SCOPED(KeptText, kept_text_free);

/*
 * Copies the latest text, followed by a NUL; caller frees *ret. ret_n: set to the size without the NUL; may be NULL. 0; KEPT_TEXT_NONE:
 * nothing has been written; KEPT_TEXT_DAMAGED: no slot has a text as it was written; -ENOMEM.
 */
enum {
        KEPT_TEXT_NONE = 1,
        KEPT_TEXT_DAMAGED,
};
int kept_text_read(const KeptText *kept, char **ret, size_t *ret_n);

/*
 * Replaces the text, without waiting for a disk. A text that does not fit replaces the file by a larger one. 0, -EFBIG, or another
 * negative errno; then the former text stays.
 */
int kept_text_put(KeptText *kept, const char *text, size_t n);
