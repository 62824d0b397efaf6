/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Worker: buffers of one thread, which answers one request at a time and makes the responses of the HTTP library. */

#include "http/exchange.h"
#include "http/gzip.h"
#include "store/reader.h"
#include "util/buffer.h"

struct MHD_Connection;
struct MHD_Response;

typedef struct Worker {
        Reader *reader; /* owned; NULL: the thread never reads the store */
        Buffer body, packed;
        Gzip gzip;
} Worker;

void worker_deinit(Worker *worker);
/* Releases the memory of a long answer. */
void worker_trim(Worker *worker);

/* Makes the response of an exchange from worker->body, compressed if the client accepts that. NULL: out of memory. */
struct MHD_Response *worker_pack_response(Worker *worker, struct MHD_Connection *connection, const Exchange *exchange);
