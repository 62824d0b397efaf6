/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Program version: identifies the build of a program
 *
 * The build-id that the linker has noted in an ELF file; a file without one is identified by its SHA-256, which a
 * thread computes while the program runs. The digest is kept in a file of the user's cache until the device, inode,
 * size or times of the program change.
 */

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>

#include "util/sha256.h"

typedef struct ProgramVersion {
        char text[SHA256_TEXT_MAX]; /* hexadecimal digits; "": unknown, or not known yet */
        char cache[PATH_MAX];       /* file of the cache; "": nothing is kept */
        int fd;                     /* of the program, while it is read; else -1 */
        pthread_t thread;
        bool is_read; /* by the thread */
} ProgramVersion;

#define PROGRAM_VERSION_NONE ((ProgramVersion){ .fd = -1 })

/* Looks for the build-id, else for the digest in the cache, else starts the thread. *version: PROGRAM_VERSION_NONE. */
void program_version_begin(ProgramVersion *version, const char *program);
/* Waits for the thread. Returns the digits, which live as long as *version, or NULL. */
const char *program_version_get(ProgramVersion *version);
void program_version_deinit(ProgramVersion *version);
