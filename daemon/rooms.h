/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rooms: creates and connects all subsystems of perfd
 *
 * Embeds the rooms of the subjects and owns the store, the sockets of clients and the HTTP server. daemon.c calls these functions from
 * timers and descriptors, in the loop's thread only. Rooms get the parts that they need, never this struct.
 */

#include "base/log.h"
#include "config.h"
#include "desk/desk.h"
#include "indicators/indicator_room.h"
#include "jobs/job_room.h"
#include "self.h"
#include "snapshot/publisher.h"
#include "sockets.h"

typedef struct Rooms {
        Config config;
        Self self;
        Node node;
        JobRoom jobs;
        IndicatorRoom indicators;
        Desk desk;
        Shares *shares;       /* owned, as the following */
        Store *store;
        Ingest *ingest;
        Publisher *publisher;
        Http *http;           /* reads published snapshots */
        HttpPortStats http_port;
        StoreStats stored;    /* state of the store at the last tick */
        ExpiryStats expiry;   /* as logged */
        uint64_t expiry_logging_ns; /* no message about expired rows before */
        uint64_t n_exhausted; /* IngestStats' and HttpStats', as logged */
        LogLimit exhaustion_limit;
} Rooms;

/*
 * Resumes the jobs of the last perfd, takes the first sample, and takes ownership of the sockets. The configuration, the
 * shares and the store are open already. 0 or < 0.
 */
int rooms_open(Rooms *rooms, sd_event *event, const char *root, Sockets *sockets);
void rooms_close(Rooms *rooms);

/* Applies rooms->config after a reload. 0, or < 0: some settings could not be applied, and errors were logged. */
int rooms_configure(Rooms *rooms);

/* Shows the state to HTTP: the other functions call this as needed, except after rooms_configure(). */
void rooms_publish(Rooms *rooms);

/* Takes a sample, performs the periodic work, and publishes, at each tick. 0 or a negative errno. */
int rooms_tick(Rooms *rooms);
/* Puts the node's history and the jobs' progress, at each checkpoint interval and, with is_last, when perfd stops. 0 or < 0. */
int rooms_checkpoint(Rooms *rooms, bool is_last);
/* Places the requests that have arrived, after every turn of the loop. 0 or < 0. */
int rooms_take_requests(Rooms *rooms);
/* Answers the requests whose rows are stored, when store_fd() is readable. 0 or < 0. */
int rooms_take_completions(Rooms *rooms);
