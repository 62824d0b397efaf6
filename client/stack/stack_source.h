/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stack source: the software of the environment in which a command runs
 *
 * Reads the files of package managers; only rpm, whose databases have several forms, is started as a process:
 *
 *   pip     distributions in the environment that contains the program, otherwise of $VIRTUAL_ENV, $CONDA_PREFIX, or
 *           the python3 of $PATH
 *   conda   packages in the environment of $CONDA_PREFIX
 *   dpkg    installed packages of Debian
 *   rpm     installed packages of the databases of RPM
 *   module  modules in $LOADEDMODULES
 *   container  image and digest that podman wrote to /run/.containerenv, otherwise $APPTAINER_CONTAINER: the base image
 */

#include <stdbool.h>

#include "client/stack/stack_builder.h"

/* Environment of a command. NULL: not set. */
typedef struct StackPlace {
        int root_fd; /* of the file system */
        const char *program; /* of the command, as it was given */
        const char *virtual_env, *conda_prefix, *path, *modules, *container;
        const char *cache; /* directory of copies of the lists of all but module and container; NULL: none */
} StackPlace;

/* Returns true if each word of a list, with commas between, names a source. */
bool stack_source_is_list(const char *words);

/*
 * Adds the packages of all sources of a list. Returns 0; STACK_SOURCE_NONE if a source is missing, with its word in
 * *ret_word; STACK_SOURCE_FAILED after an error was printed; or a negative errno.
 */
enum {
        STACK_SOURCE_NONE = 1,
        STACK_SOURCE_FAILED,
};
int stack_source_read(const char *words, const StackPlace *place, StackBuilder *ret, Slice *ret_word);

/*
 * Python packages: the distributions that are installed below a prefix, without starting Python
 *
 * Each has its name and version, the tag of its wheel as build, the URL that it was installed from if that was no
 * index, and as hash "files-sha256:" with the SHA-256 of the sorted lines of RECORD that have a hash. Lines of what
 * an installer adds, in the directory *.dist-info or outside of the directory of packages, are left out, so that
 * every installation of one wheel has one hash, and two builds of one version have two.
 */

enum {
        PYTHON_PACKAGES_NONE = 1, /* no directory of packages */
};

/* Adds the packages below PREFIX/lib, and sets the version of Python unless it is set. root_fd: of the file system.
 * cache: directory of stack_cache.h; NULL: none. 0, PYTHON_PACKAGES_NONE or a negative errno. */
int stack_source_read_python(int root_fd, const char *prefix, const char *cache, StackBuilder *stack);
