/* SPDX-License-Identifier: Apache-2.0 */
#include "db.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon_options.h"
#include "store/maintenance.h"
#include "util/error_text.h"

static int refuse(void) {
        fputs("perfd: expected --db check [FILE], --db backup FILE, or --db salvage DAMAGED FILE\n", stderr);
        return EXIT_USAGE;
}

static int finish(int r, const Buffer *text) {
        if (r < 0 || buffer_error(text) < 0) {
                fprintf(stderr, "perfd: %s\n", error_text(r < 0 ? -r : ENOMEM));
                return EXIT_FAILURE;
        }
        fputs(text->text ? text->text : "", r == MAINTENANCE_FAILED ? stderr : stdout);
        return r == 0 && fflush(stdout) == 0 ? 0 : EXIT_FAILURE;
}

int db_run(const char *directory, const char *command, char *const *files) {
        scoped(buffer_deinit) Buffer text = {};
        char path[PATH_MAX];
        int n = 0, r;

        while (files[n])
                n++;
        if (snprintf(path, sizeof(path), "%s/perfd.db", directory) >= (int)sizeof(path))
                return finish(-ENAMETOOLONG, &text);

        /* a copy contains the results of all users */
        umask(0077);
        if (strcmp(command, "check") == 0 && n <= 1)
                r = maintenance_check(n == 1 ? files[0] : path, &text);
        else if (strcmp(command, "backup") == 0 && n == 1)
                r = maintenance_backup(path, files[0], &text);
        else if (strcmp(command, "salvage") == 0 && n == 2)
                r = maintenance_salvage(files[0], files[1], &text);
        else
                return refuse();
        return finish(r, &text);
}
