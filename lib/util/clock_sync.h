/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * Returns true if a time service, such as chrony or systemd-timesyncd, keeps the wall clock synchronised; see
 * adjtimex(2).
 */
bool clock_sync_is_on(void);
