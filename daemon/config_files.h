/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Configuration files: which files were read, and whether they have changed since
 *
 * A file is known by the hash of its path and of its content, so that a file that is written again with the same
 * content has not changed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/hash.h"

#define CONFIG_FILES_MAX 64U /* files with a hash of their own; further files share the last one */
#define CONFIG_PATH_MAX 256

typedef struct ConfigFiles {
        uint64_t hashes[CONFIG_FILES_MAX];
        size_t n;
} ConfigFiles;

/* Returns the hash of a file before its content, which hash_bytes() adds. */
uint64_t config_files_begin(const char *path);
/*
 * Opens a configuration file, which must be a regular one of at most CONFIG_BYTES_MAX, or /dev/null: reading a FIFO
 * or a device could take for ever. Returns NULL with the reason in ret_reason, and errno set to ENOENT if there is
 * no such file.
 */
#define CONFIG_BYTES_MAX (1024 * 1024)
#define CONFIG_REASON_MAX 64
FILE *config_files_open(const char *path, char ret_reason[static CONFIG_REASON_MAX]);
/* Adds the hash of a file that was read. */
bool config_files_are_same(const ConfigFiles *a, const ConfigFiles *b);
void config_files_add(ConfigFiles *files, uint64_t hash);

/*
 * Lists the files of PATH.d whose names end with .conf, in lexical order. *ret: owned by the caller, like each path;
 * n_ret of them. A directory that cannot be read has none. Returns 0 or -ENOMEM.
 */
int config_files_list(const char *path, char ***ret, size_t *n_ret);
void config_files_free(char **paths, size_t n);

/*
 * Reads the file and its drop-ins. Returns whether they differ from those that were read; then *ret is the path of a
 * file with other content, or of the file itself if another file is gone. is_optional: the file itself may be
 * absent.
 */
bool config_files_find_edited(const ConfigFiles *files, const char *path, bool is_optional,
                              char ret[static CONFIG_PATH_MAX]);
