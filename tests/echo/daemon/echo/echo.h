/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Echo: stores texts unchanged. */

#include "desk/desk.h"

/* Kind of request; its state is the Store. */
extern const Kind echo_room_kinds[1];
