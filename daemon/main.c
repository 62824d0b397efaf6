/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

int main(int argc, char *argv[]) {
        Options options;

        switch (daemon_options_parse(&options, argc, argv)) {
        case 0:
                return daemon_run(&options);
        case OPTIONS_DONE:
                return 0;
        default:
                return EXIT_USAGE;
        }
}
