/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/perfctl.h"

#include <fcntl.h>
#include <unistd.h>

/*
 * Started with a standard descriptor closed, the next one we open would take its place, and a command would write into
 * our connection. What is opened here instead can neither be read nor written, and is closed for the command again.
 */
static void hold_standard_descriptors(void) {
        int fd;

        do
                fd = open("/", O_PATH | O_CLOEXEC);
        while (fd >= 0 && fd <= STDERR_FILENO);

        if (fd >= 0)
                (void)close(fd);
}

int main(int argc, char **argv) {
        hold_standard_descriptors();
        return perfctl_main(argc, argv);
}
