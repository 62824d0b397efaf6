/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "daemon.h"

/* Every followed cgroup has a dozen of them open; what is allowed by default is for programs that use select(2). */
static void allow_descriptors(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char *argv[]) {
        Options options;

        switch (options_from_arguments(&options, argc, argv)) {
        case 0:
                allow_descriptors();
                return daemon_run(&options);
        case OPTIONS_DONE:
                return 0;
        default:
                return EXIT_USAGE;
        }
}
