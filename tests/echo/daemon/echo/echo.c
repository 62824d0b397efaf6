/* SPDX-License-Identifier: Apache-2.0 */
#include "echo/echo.h"

#include "store/echo/store_echo.h"
#include "util/clock.h"

static int place(void *state, const Request *request, Ticket ticket, Answer *ret) {
        const StoreCookie cookie = { .kind = &echo_room_kinds[0], .ticket = ticket };

        (void)ret;
        return desk_pending(
                store_put(state, store_echo_pack(request->echo.text, clock_realtime_ns() / NS_PER_MS, cookie)));
}

static int complete(void *state, const StoreDone *done, Answer *ret) {
        return done->outcome == STORE_DONE ? desk_answer(ret, STATUS_OK, "", "") : desk_answer_store_failed(ret, state);
}

const Kind echo_room_kinds[] = { { REQUEST_ECHO, "echo", place, complete, NULL } };
