/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/codec_echo.h"

#include "client/wire/codec_frame.h"

int codec_encode_echo(uint64_t sequence, const char *text, Buffer *out) {
        Perfd__V1__Echo echo = PERFD__V1__ECHO__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;

        echo.text = (char *)text;
        request.sequence = sequence;
        request.body_case = PERFD__V1__REQUEST__BODY_ECHO;
        request.echo = &echo;
        return codec_put_frame(&request, out);
}
