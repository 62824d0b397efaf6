/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static const char usage[] =
        "Usage: perfd [OPTION]...\n"
        "Sample this node, accept results from jobs, store and serve both.\n"
        "\n"
        "  --config FILE      read FILE and FILE.d/*.conf (default: " CONFIG_DEFAULT_PATH ", if it exists)\n"
        "  --check-config     read the configuration, report errors, and exit\n"
        "  --socket PATH      listen for submissions at PATH; http.sock is in the same directory\n"
        "  --http ADDR:PORT   serve HTTP at this address; \"off\": on the Unix socket only\n"
        "  --state DIR        keep the store in DIR\n"
        "  --volatile         do not sync the store to disk: for diskless nodes\n"
        "  --root DIR         read proc and sys under DIR\n"
        "  --db check [FILE]  check the database, or FILE (perfd may be running)\n"
        "  --db backup FILE   copy the database to FILE\n"
        "  --db salvage DAMAGED FILE  copy the readable rows of a damaged database to a new FILE\n"
        "  --version          print the version and exit\n"
        "  -h, --help         print this and exit\n"
        "\n"
        "Runs in the foreground. SIGHUP reloads the configuration, SIGTERM stops perfd.\n"
        "Try it:  perfd --socket /tmp/perfd/perfd.sock --state /tmp/perfd/state\n"
        "Manuals: perfd(8), perfd.conf(5), perfctl(1)\n";

/* Makes paths independent of the working directory. */
static int make_absolute(const char *path, char ret[static CONFIG_TEXT_MAX]) {
        char cwd[PATH_MAX];
        int n;

        if (path[0] == '/')
                n = snprintf(ret, CONFIG_TEXT_MAX, "%s", path);
        else if (getcwd(cwd, sizeof(cwd)))
                n = snprintf(ret, CONFIG_TEXT_MAX, "%s/%s", cwd, path);
        else
                return -errno;

        return n >= CONFIG_TEXT_MAX ? -ENAMETOOLONG : 0;
}

static int options_finish(Options *options, int argc, char *argv[]) {
        options->db_files = argv + optind;
        if (optind < argc && !options->db) {
                fprintf(stderr, "perfd: unexpected argument '%s'\nTry 'perfd --help'.\n", argv[optind]);
                return OPTIONS_USAGE;
        }

        if ((options->socket && make_absolute(options->socket, options->socket_path) < 0) ||
            (options->state && make_absolute(options->state, options->state_path) < 0)) {
                fputs("perfd: the path of --socket or --state is too long\n", stderr);
                return OPTIONS_USAGE;
        }

        return 0;
}

int daemon_options_parse(Options *ret, int argc, char *argv[]) {
        /* An option with an argument has its index in this table as its value. */
        const char **const texts[] = { &ret->config_path, &ret->socket, &ret->http, &ret->state, &ret->root, &ret->db };
        const struct option longs[] = {
                { "config", required_argument, NULL, 0 },
                { "socket", required_argument, NULL, 1 },
                { "http", required_argument, NULL, 2 },
                { "state", required_argument, NULL, 3 },
                { "root", required_argument, NULL, 4 },
                { "db", required_argument, NULL, 5 },
                { "check-config", no_argument, NULL, 'c' },
                { "volatile", no_argument, NULL, 'm' },
                { "version", no_argument, NULL, 'V' },
                { "help", no_argument, NULL, 'h' },
                {},
        };
        int option;

        *ret = (Options){ .root = "/" };
        while ((option = getopt_long(argc, argv, "h", longs, NULL)) >= 0) {
                if (option == 'V')
                        puts("perfd " PERFD_VERSION);
                else if (option == 'h')
                        fputs(usage, stdout);
                if (option == 'V' || option == 'h')
                        return OPTIONS_DONE;

                if (option == '?') {
                        fputs("Try 'perfd --help'.\n", stderr);
                        return OPTIONS_USAGE;
                }
                ret->check_config |= option == 'c';
                ret->is_volatile |= option == 'm';
                if ((size_t)option < N_ELEMENTS(texts))
                        *texts[option] = optarg;
        }

        return options_finish(ret, argc, argv);
}

int daemon_options_apply(const Options *options, Config *config, ConfigError *ret_error) {
        const struct {
                const char *section, *key, *text; /* NULL: keep the configured value */
        } rows[] = {
                { "socket", "path", options->socket ? options->socket_path : NULL },
                { "http", "listen", options->http },
                { "store", "directory", options->state ? options->state_path : NULL },
                { "store", "volatile", options->is_volatile ? "yes" : NULL },
        };
        int r = 0;

        (void)snprintf(ret_error->file, sizeof(ret_error->file), "command line");
        ret_error->line = 0;
        for (size_t i = 0; r == 0 && i < N_ELEMENTS(rows); i++)
                if (rows[i].text)
                        r = config_set(config, rows[i].section, rows[i].key, rows[i].text, ret_error);
        return r;
}
