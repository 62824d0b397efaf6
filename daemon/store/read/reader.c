/* SPDX-License-Identifier: Apache-2.0 */
#include "store/read/reader.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/read/read_connection.h"

#define STATES_MAX 4

struct Reader {
        ReadConnection connection;
        struct {
                const ReaderState *kind; /* NULL: free */
                void *state;             /* owned */
        } states[STATES_MAX];
};

int reader_new(Reader **ret, const char *path, WalBarrier *barrier, uint64_t timeout_ns) {
        scoped(reader_freep) Reader *reader = calloc(1, sizeof(*reader));
        int r;

        if (!reader)
                return -ENOMEM;

        r = read_connection_init(&reader->connection, path, barrier, timeout_ns);
        if (r < 0)
                return r;

        *ret = TAKE(reader);
        return 0;
}

Reader *reader_free(Reader *reader) {
        if (!reader)
                return NULL;

        read_connection_deinit(&reader->connection);
        for (size_t i = 0; i < STATES_MAX && reader->states[i].kind; i++) {
                reader->states[i].kind->deinit(reader->states[i].state);
                free(reader->states[i].state);
        }
        free(reader);
        return NULL;
}

void reader_reset(Reader *reader) {
        read_connection_end(&reader->connection);
}

ReadConnection *reader_connection(Reader *reader) {
        return &reader->connection;
}

void *reader_state(Reader *reader, const ReaderState *kind) {
        size_t i = 0;

        while (i < STATES_MAX && reader->states[i].kind && reader->states[i].kind != kind)
                i++;
        assert(i < STATES_MAX);
        if (reader->states[i].kind)
                return reader->states[i].state;

        reader->states[i].state = calloc(1, kind->size);
        if (reader->states[i].state)
                reader->states[i].kind = kind;
        return reader->states[i].state;
}
