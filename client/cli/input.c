/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "text/encoding.h"
#include "util/error_text.h"

static bool is_standard_input(const char *file) {
        return strcmp(file, "-") == 0;
}

const char *input_name(const char *file) {
        return is_standard_input(file) ? "standard input" : file;
}

int input_read_fd(int fd, Buffer *ret) {
        ssize_t k;

        ret->n_max = INPUT_BYTES_MAX;
        do
                k = buffer_read(ret, fd);
        while (k > 0 || k == -EINTR);
        ret->n_max = 0;
        return k == 0 && ret->n > 0 && encoding_unify(ret->text, &ret->n) == ENCODING_FOREIGN ? -EILSEQ : (int)k;
}

int input_read(const char *file, Buffer *ret) {
        bool is_standard = is_standard_input(file);
        scoped(closep) int opened = is_standard ? -1 : open(file, O_RDONLY | O_CLOEXEC);
        int r;

        r = is_standard || opened >= 0 ? input_read_fd(is_standard ? STDIN_FILENO : opened, ret) : -errno;
        if (r == 0)
                return EXIT_DONE;

        if (r == -EFBIG)
                message_print("cannot read %s: more than %u MiB; split it", input_name(file), INPUT_BYTES_MAX >> 20);
        else if (r == -EILSEQ)
                message_print("%s:1: " ENCODING_FOREIGN_TEXT, input_name(file));
        else
                message_print("cannot read %s: %s", input_name(file), error_text(-r));
        return EXIT_FAILED;
}
