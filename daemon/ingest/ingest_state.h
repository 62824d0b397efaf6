/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* State of ingest, shared by the files of ingest only */

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "ingest/connection.h"
#include "ingest/connection_table.h"
#include "ingest/decoder.h"
#include "ingest/ingest_config.h"
#include "ingest/listener.h"
#include "ingest/poller.h"
#include "ingest/turns.h"
#include "shares/shares.h"
#include "snapshot/stats.h"
#include "util/arena.h"

typedef struct Ingest Ingest;

/* Refused connections that are not closed yet. */
#define REFUSED_MAX 256U
typedef struct RefusedConnections {
        int fds[REFUSED_MAX]; /* owned */
        size_t n;
} RefusedConnections;

/* A connection in the loop. */
typedef struct IngestClient {
        Connection connection;
        Ingest *ingest;
        uint32_t place;   /* index in the table */
        uint32_t events;  /* events for which the poller waits */
        TurnEntry turn;
        Charge place_charge, input_charge;
        bool is_full;     /* not read until a frame is consumed */
        bool is_starved;  /* not read until the user has room for a larger buffer */
        bool is_unsent, is_waiting; /* is_waiting: for EPOLLOUT */
        /* State of a large frame: waits for the decoder, is there, waits decoded for the turn of the user, or is the parent's request. */
        enum { LARGE_NONE, LARGE_WAITING, LARGE_DECODING, LARGE_DECODED, LARGE_LENT } large;
        TAILQ_ENTRY(IngestClient) unsent, starved, large_order;
} IngestClient;

/* Owned sources of the event loop. */
typedef struct IngestSources {
        sd_event_source *listen, *poller, *decoder, *backoff, *wake, *refused;
} IngestSources;

/* Process of a returned request. */
typedef struct RequestPidfd {
        int lent; /* the connection's; -1: none */
        int kept; /* owned; if the connection has ended meanwhile; -1: none */
} RequestPidfd;

/* Large frames, which the decoder's thread decodes one at a time. */
typedef struct LargeFrames {
        Decoder decoder;
        IngestClient *client; /* whose frame the decoder has; NULL: none, or the connection has ended */
        bool is_lent;         /* the decoded frame is in a returned request, or no longer needed */
        TAILQ_HEAD(, IngestClient) waiting; /* for the decoder */
} LargeFrames;

/* A request that the parent keeps beyond the next one. */
typedef struct KeptRequest {
        bool is_set;
        IngestClient *client; /* NULL: the connection has ended */
        Arena arena;          /* owned; of the request. Not set: the decoder has it */
        RequestPidfd pidfd;
} KeptRequest;

/* Requests that the parent has. */
typedef struct ParentRequests {
        RequestPidfd last; /* of the last request, unless kept */
        KeptRequest kept;
} ParentRequests;

struct Ingest {
        IngestConfig config;
        IngestServer server;
        sd_event *event;
        Listener listener;
        Poller poller; /* of the connections' descriptors */
        IngestSources sources;
        RefusedConnections refused;
        bool is_draining;

        ConnectionTable table;     /* owns the IngestClients */
        Shares *shares; /* borrowed */
        Turns turns;
        TAILQ_HEAD(, IngestClient) starved;
        bool has_freed_input; /* buffers were released since starved clients last tried */
        TAILQ_HEAD(, IngestClient) unsent; /* clients with replies that were not sent yet */

        ParentRequests parent;

        LargeFrames large;
        size_t n_turn_bytes;
        Arena arena;
        Decoded decoded;
        IngestStats stats;
};
