/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/libexec.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "util/error_text.h"

int libexec_run(const char *program, const char *package, char *const *argv) {
        static const char *const places[] = { "", "../libexec/perfd/" };
        char own[PATH_MAX] = "", path[2 * PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
        char *slash = n > 0 ? strrchr(own, '/') : NULL;

        for (size_t i = 0; slash && i < N_ELEMENTS(places); i++) {
                (void)snprintf(path, sizeof(path), "%.*s%s%s", (int)(slash - own) + 1, own, places[i], program);
                (void)execv(path, argv);
        }
        message_print("cannot run %s: %s (package %s)", program, error_text(errno), package);
        return EXIT_FAILED;
}
