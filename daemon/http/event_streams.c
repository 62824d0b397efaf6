/* SPDX-License-Identifier: Apache-2.0 */
#include "http/event_streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "util/clock.h"

/* Size of the blocks in which the library asks for text. */
#define BLOCK_BYTES 4096U
/* Events that the kernel holds for a slow client. */
#define SEND_BUFFER_BYTES (16 * 1024)

struct EventStream {
        WriteEvent *write;
        Publisher *publisher; /* borrowed, as all but the text */
        EventStreams *all;
        struct MHD_Connection *connection;
        LimitedConnection *limited;
        Charge charge;
        uint64_t position; /* of the last event */
        Buffer text;       /* of the current event */
        size_t n_sent;
        bool is_listed, is_suspended;
        LIST_ENTRY(EventStream) streams;
};

static void on_released(void *userdata) {
        EventStream *stream = userdata;

        if (stream->is_listed) {
                LIST_REMOVE(stream, streams);
                atomic_fetch_sub(&stream->all->n, 1);
        }
        shares_release(&stream->charge);
        buffer_deinit(&stream->text);
        free(stream);
}

/* Writes the next event into the text; empty: there is none yet. */
static void write_next(EventStream *stream) {
        const Snapshot *snapshot = publisher_acquire(stream->publisher);

        buffer_clear(&stream->text);
        stream->n_sent = 0;
        if (snapshot)
                stream->write(snapshot, &stream->position, &stream->text);
        publisher_release(stream->publisher, snapshot);
}

/* Called by the thread of the connection alone. */
static ssize_t on_read(void *userdata, uint64_t offset, char *ret, size_t n) {
        EventStream *stream = userdata;

        (void)offset;
        stream->is_suspended = false;
        if (!stream->is_listed) {
                LIST_INSERT_HEAD(&stream->all->list, stream, streams);
                atomic_fetch_add(&stream->all->n, 1);
                stream->is_listed = true;
        }
        if (atomic_load(&stream->all->is_ending))
                return MHD_CONTENT_READER_END_OF_STREAM;

        if (stream->n_sent == stream->text.n) {
                connection_limits_renew(stream->all->limits, stream->limited, clock_boottime_ns());
                write_next(stream);
        }
        if (buffer_error(&stream->text) < 0)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (stream->text.n == 0) {
                stream->is_suspended = true;
                MHD_suspend_connection(stream->connection);
                return 0;
        }

        n = stream->text.n - stream->n_sent < n ? stream->text.n - stream->n_sent : n;
        memcpy(ret, stream->text.text + stream->n_sent, n);
        stream->n_sent += n;
        return (ssize_t)n;
}

int event_streams_respond(EventStreams *streams, WriteEvent *write, Publisher *publisher,
                          struct MHD_Connection *connection, struct MHD_Response **ret) {
        /* The library may answer all questions in one place: each answer is valid until the next question. */
        LimitedConnection *limited = MHD_get_connection_info(connection,
                                                             MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
        int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        EventStream *stream = calloc(1, sizeof(*stream));

        if (!stream)
                return -ENOMEM;
        *stream = (EventStream){ .write = write, .publisher = publisher, .all = streams, .connection = connection,
                                 .limited = limited };
        if (shares_charge(connection_limits_account(stream->limited), RESOURCE_STREAMS, 1, &stream->charge) != 0) {
                free(stream);
                return EVENT_STREAMS_REFUSED;
        }

        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BUFFER_BYTES }, sizeof(int));
        *ret = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, stream, on_released);
        if (!*ret) {
                on_released(stream);
                return -ENOMEM;
        }
        (void)MHD_add_response_header(*ret, "Connection", "close");
        (void)MHD_add_response_header(*ret, "X-Accel-Buffering", "no"); /* nginx would collect events */
        return 0;
}

void event_streams_resume(EventStreams *streams) {
        EventStream *stream;

        LIST_FOREACH(stream, &streams->list, streams)
                if (stream->is_suspended)
                        MHD_resume_connection(stream->connection);
}
