/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Python packages: the distributions that are installed below a prefix, without starting Python
 *
 * Each has its name and version, the tag of its wheel as build, the URL that it was installed from if that was no
 * index, and as hash "files-sha256:" with the SHA-256 of the sorted lines of RECORD that have a hash. Lines of what
 * an installer adds, in the directory *.dist-info or outside of the directory of packages, are left out, so that
 * every installation of one wheel has one hash, and two builds of one version have two.
 */

#include "client/stack/stack_builder.h"

enum {
        PYTHON_PACKAGES_NONE = 1, /* no directory of packages */
};

/* Adds the packages below PREFIX/lib, and sets the version of Python unless it is set. root_fd: of the file system.
 * cache: directory of stack_cache.h; NULL: none. 0, PYTHON_PACKAGES_NONE or a negative errno. */
int python_packages_read(int root_fd, const char *prefix, const char *cache, StackBuilder *stack);
