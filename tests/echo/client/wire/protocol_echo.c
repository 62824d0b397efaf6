/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/protocol_echo.h"

#include "client/wire/protocol_frame.h"

int protocol_echo_encode(uint64_t sequence, const char *text, Buffer *out) {
        Perfd__V1__Echo echo = PERFD__V1__ECHO__INIT;

        echo.text = (char *)text;
        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_ECHO, &echo, out);
}
