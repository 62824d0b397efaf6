/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Registration: models that clients register and remove
 *
 * One request at a time: its models wait in Registry.pending until the store has them.
 */

#include "desk/desk.h"
#include "indicators/registry.h"

/* Kinds of requests; their state is a Registry. */
enum {
        REGISTRATION_REGISTER,
        REGISTRATION_UNREGISTER,
};
extern const Kind registration_kinds[2];
