/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/codec_echo.h"

#include "client/wire/codec_frame.h"

int codec_echo_encode(uint64_t sequence, const char *text, Buffer *out) {
        Perfd__V1__Echo echo = PERFD__V1__ECHO__INIT;

        echo.text = (char *)text;
        return codec_frame_put(sequence, PERFD__V1__REQUEST__BODY_ECHO, &echo, out);
}
