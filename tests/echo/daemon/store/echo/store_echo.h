/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Echo subject: submitted texts. */

#include "store/read/reader.h"
#include "store/table/store_subject.h"

extern const StoreSubject store_echo;

/* Packs a text stored at `time_ms`, for store_put(). Returns NULL if out of memory. */
RowSet *store_echo_pack(const char *text, uint64_t time_ms, StoreCookie cookie);

/* Reads the stored texts, oldest first. Returns 0 or an outcome of reader.h. */
int store_echo_list(Reader *reader);
int store_echo_next(Reader *reader, const char **ret_text);
