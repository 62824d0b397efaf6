/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The account as text
 *
 *   totals boottime_ns=… realtime_ns=… have=… CPU_USER=…     see totals.h
 *   known sources=stat,meminfo online=8                       whose counters follow
 *   raw CPU_USER=… CONTEXT_SWITCHES=…
 *   disks read_ns=…
 *   disk name=sda class=physical read_bytes=… write_bytes=… reads=… writes=…
 *   nets read_ns=…
 *   net name=eth0 class=physical sent_bytes=… received_bytes=…
 *
 * Lines of another kind are somebody else's: one reader skips what another wrote.
 */

#include "measure/account.h"
#include "measure/words.h"
#include "util/buffer.h"

void account_text_put(const Account *account, Buffer *out);
/* One line: `kind` is its first word, the rest is at `text`. 0, PARSE_MALFORMED, or -ENOMEM. */
int account_text_parse_line(Account *account, const Word *kind, const char *text);
