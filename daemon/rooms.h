/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rooms: everything perfd is made of, connected
 *
 * Embeds the rooms of the subjects and owns the store, the sockets of clients and HTTP. daemon.c calls it from timers and
 * descriptors; only the loop's thread does. Rooms get the parts that they need, never this struct.
 */

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
        Store *store;         /* owned, as the following */
        Ingest *ingest;
        Publisher *publisher;
        Http *http;           /* reads what is published */
        bool was_writable;    /* the store, at the last tick */
} Rooms;

/*
 * With the configuration and the store in place: resumes the jobs of the last perfd, takes the first sample, and takes over the
 * sockets. 0 or < 0.
 */
int rooms_open(Rooms *rooms, sd_event *event, const char *root, Sockets *sockets);
void rooms_close(Rooms *rooms);

/* Applies rooms->config after a reload. 0, or < 0: some of it could not be applied, which was logged. */
int rooms_configure(Rooms *rooms);

/* At each tick: samples, does what is due, and publishes. 0 or a negative errno. */
int rooms_tick(Rooms *rooms);
/* At each checkpoint interval, and when perfd stops, with is_last: puts the node's history and the jobs' progress. 0 or < 0. */
int rooms_checkpoint(Rooms *rooms, bool is_last);
/* After every turn of the loop: places the requests that have arrived. 0 or < 0. */
int rooms_take_requests(Rooms *rooms);
/* When store_fd() is readable: answers the requests whose rows are stored. 0 or < 0. */
int rooms_take_completions(Rooms *rooms);
