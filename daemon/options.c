/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

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
        "  --db check [FILE]  check the database, or FILE; perfd may run, as for the next two\n"
        "  --db backup FILE   copy the database to FILE\n"
        "  --db salvage DAMAGED FILE  move the readable rows of a damaged database to a new FILE\n"
        "  --version          print the version and exit\n"
        "  -h, --help         print this and exit\n"
        "\n"
        "Runs in the foreground. SIGHUP reloads the configuration, SIGTERM stops perfd.\n"
        "Try it:  perfd --socket /tmp/perfd/perfd.sock --state /tmp/perfd/state\n"
        "Manuals: perfd(8), perfd.conf(5), perfctl(1)\n";

/* Paths must not depend on the working directory of perfd's start. */
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

enum {
        OPT_CONFIG = 256,
        OPT_CHECK,
        OPT_SOCKET,
        OPT_HTTP,
        OPT_STATE,
        OPT_VOLATILE,
        OPT_ROOT,
        OPT_DB,
        OPT_VERSION,
};

static int options_take(Options *options, int option) {
        switch (option) {
        case OPT_CONFIG:
                options->config_path = optarg;
                return 0;
        case OPT_CHECK:
                options->check_config = true;
                return 0;
        case OPT_SOCKET:
                options->socket = optarg;
                return 0;
        case OPT_HTTP:
                options->http = optarg;
                return 0;
        case OPT_STATE:
                options->state = optarg;
                return 0;
        case OPT_VOLATILE:
                options->is_volatile = true;
                return 0;
        case OPT_ROOT:
                options->root = optarg;
                return 0;
        case OPT_DB:
                options->db = optarg;
                return 0;
        case OPT_VERSION:
                puts("perfd " PERFD_VERSION);
                return OPTIONS_DONE;
        case 'h':
                fputs(usage, stdout);
                return OPTIONS_DONE;
        default:
                fputs("Try 'perfd --help'.\n", stderr);
                return OPTIONS_USAGE;
        }
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

int options_from_arguments(Options *ret, int argc, char *argv[]) {
        static const struct option longs[] = {
                { "config", required_argument, NULL, OPT_CONFIG },   { "check-config", no_argument, NULL, OPT_CHECK },
                { "socket", required_argument, NULL, OPT_SOCKET },   { "http", required_argument, NULL, OPT_HTTP },
                { "state", required_argument, NULL, OPT_STATE },     { "volatile", no_argument, NULL, OPT_VOLATILE },
                { "root", required_argument, NULL, OPT_ROOT },       { "db", required_argument, NULL, OPT_DB },
                { "version", no_argument, NULL, OPT_VERSION },       { "help", no_argument, NULL, 'h' },
                {},
        };
        int option;

        *ret = (Options){ .root = "/" };
        while ((option = getopt_long(argc, argv, "h", longs, NULL)) >= 0) {
                int r = options_take(ret, option);

                if (r != 0)
                        return r;
        }

        return options_finish(ret, argc, argv);
}

int options_apply(const Options *options, Config *config, ConfigError *ret_error) {
        const struct {
                const char *section, *key, *text; /* NULL: as configured */
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
