/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"

static bool is_standard_input(const char *file) {
        return strcmp(file, "-") == 0;
}

const char *input_name(const char *file) {
        return is_standard_input(file) ? "standard input" : file;
}

int input_read_fd(int fd, Buffer *ret) {
        ssize_t k;

        while ((k = buffer_read(ret, fd)) != 0) {
                if (k < 0 && k != -EINTR)
                        return (int)k;
                if (ret->n > INPUT_BYTES_MAX)
                        return -EFBIG;
        }

        return 0;
}

int input_read(const char *file, Buffer *ret) {
        bool is_standard = is_standard_input(file);
        scoped(closep) int opened = is_standard ? -1 : open(file, O_RDONLY | O_CLOEXEC);
        int r;

        r = is_standard || opened >= 0 ? input_read_fd(is_standard ? STDIN_FILENO : opened, ret) : -errno;
        if (r == 0)
                return EXIT_DONE;

        message_print("cannot read %s: %s", input_name(file), strerrordesc_np(-r));
        return EXIT_FAILED;
}
