/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/run_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/stack/lock_file.h"
#include "client/stack/stack_source.h"
#include "util/scoped.h"

#define ARENA_BYTES (256U << 20) /* untouched pages take no memory */

void run_stack_deinit(RunStack *stack) {
        arena_deinit(&stack->arena);
        *stack = (RunStack){};
}

/* Finds the directory for copies of lists of packages. A home may be shared by many nodes, each with its packages. */
static const char *find_cache(char ret[static PATH_MAX]) {
        const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
        char host[HOST_NAME_MAX + 1] = "localhost";
        int n;

        (void)gethostname(host, sizeof(host) - 1);
        if (cache && cache[0] == '/')
                n = snprintf(ret, PATH_MAX, "%s/perfd/packages/%s", cache, host);
        else if (home && home[0] == '/')
                n = snprintf(ret, PATH_MAX, "%s/.cache/perfd/packages/%s", home, host);
        else
                return NULL;
        return n > 0 && n < PATH_MAX ? ret : NULL;
}

static int read_sources(const char *words, const char *program, RunStack *ret) {
        scoped(closep) int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char cache[PATH_MAX];
        const StackPlace place = { .root_fd = root_fd, .program = program, .virtual_env = getenv("VIRTUAL_ENV"),
                                   .conda_prefix = getenv("CONDA_PREFIX"), .path = getenv("PATH"), .modules = getenv("LOADEDMODULES"),
                                   .container = getenv("APPTAINER_CONTAINER") ?: getenv("SINGULARITY_CONTAINER"),
                                   .cache = find_cache(cache) };
        scoped(stack_builder_deinit) StackBuilder stack = { .arena = &ret->arena };
        Slice word;
        int r;

        if (root_fd < 0)
                return -errno;
        r = arena_init(&ret->arena, ARENA_BYTES);
        if (r == 0)
                r = stack_source_read(words, &place, &stack, &word);
        if (r == STACK_SOURCE_NONE) {
                message_print("--stack %.*s: the environment of the command has no such packages", (int)word.n, word.text);
                return EXIT_USAGE;
        }
        if (r == STACK_SOURCE_FAILED)
                return EXIT_USAGE;
        return r == 0 ? stack_builder_end(&stack, &ret->stack.document) : r;
}

int run_stack_read(const char *words, const char *program, RunStack *ret) {
        const char *given = words ?: getenv("PERFD_STACK");
        int r;

        *ret = (RunStack){};
        if (!given || !given[0])
                return EXIT_DONE;
        r = stack_source_is_list(given) ? read_sources(given, program, ret) : lock_file_read(given, &ret->arena, &ret->stack.document);
        if (r < 0)
                message_print("--stack %s: %s", given, strerrordesc_np(-r));
        ret->is_known = r == 0;
        return r == 0 || !words ? EXIT_DONE : EXIT_USAGE;
}
