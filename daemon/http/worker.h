/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Worker: buffers of one thread, which answers one request at a time and makes the responses of the HTTP library. */

#include "http/exchange.h"
#include "http/format/gzip.h"
#include "store/read/reader.h"
#include "util/buffer.h"

struct MHD_Response;

typedef struct Worker {
        Reader *reader; /* owned; NULL: the thread never reads the store */
        Buffer body, packed;
        bool is_packed; /* packed has the body */
        Gzip gzip;
} Worker;

void worker_deinit(Worker *worker);
/* Releases the memory of a long answer. */
void worker_trim(Worker *worker);

/* Compresses the body of the answer, worker->body, if the client accepts that. Returns the size of the answer. */
size_t worker_pack(Worker *worker, Response *answer);
/* Makes the response, which takes the texts of the answer. NULL: out of memory. */
struct MHD_Response *worker_make_response(Worker *worker, Response *answer);
