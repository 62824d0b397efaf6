/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Echo subject: the texts that were submitted. */

#include "store/reader.h"
#include "store/store_subject.h"

extern const StoreSubject store_echo;

/* One text, stored at `time_ms`. For store_put(); NULL: out of memory. */
RowSet *echo_rows_pack(const char *text, uint64_t time_ms, StoreCookie cookie);

/* The stored texts, oldest first. 0 or an outcome of reader.h, as both. */
int echo_reader_list(Reader *reader);
int echo_reader_next(Reader *reader, const char **ret_text);
