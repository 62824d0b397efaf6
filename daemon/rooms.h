/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rooms: creates and connects all subsystems of perfd
 *
 * Embeds the rooms of the subsystems and owns the store, the client sockets and the HTTP server. daemon.c calls these
 * functions from timers and descriptors, in the loop's thread only. Each room gets the parts that it needs, never
 * this struct.
 */

#include "base/log.h"
#include "config.h"
#include "desk/desk.h"
#include "forget/forget.h"
#include "indicators/results.h"
#include "jobs/job_room.h"
#include "pipelines/pipeline_room.h"
#include "self.h"
#include "snapshot/publisher.h"
#include "sockets.h"

/* State at the last messages of the log. */
typedef struct RoomsSaid {
        LogLimit exhaustion_limit, writable_limit, failure_limit;
        bool is_unwritable;   /* of the store */
        uint64_t n_failures;  /* failed transactions and checkpoints */
        uint64_t n_exhausted; /* sum of IngestStats' and HttpStats' counters */
} RoomsSaid;

typedef struct Rooms {
        Config config;
        Self self;
        Node node;
        JobRoom jobs;
        Results indicators;
        PipelineRoom pipelines;
        Forget forget;
        Desk desk;
        Shares *shares;       /* owned, like the following */
        Store *store;
        Ingest *ingest;
        Publisher *publisher;
        Http *http;           /* reads published snapshots */
        HttpPortStats http_port;
        StoreStats stored;    /* state of the store at the last tick */
        ExpiryStats expiry;   /* values at the last log message */
        uint64_t expiry_logging_ns; /* earliest time of the next message about expired rows */
        RoomsSaid said;
} Rooms;

/*
 * Resumes the jobs of the previous perfd, takes the first sample, and takes ownership of the sockets. The
 * configuration, the shares and the store must be open. own: kinds of requests that the caller serves.
 * runtime_directory: for files that outlive perfd in this boot; "" for none. Returns 0 or a negative errno.
 */
int rooms_open(Rooms *rooms, sd_event *event, const char *root, const char *runtime_directory, Sockets *sockets,
               const DeskRow *own);
void rooms_close(Rooms *rooms);

#define ROOMS_ERROR_MAX 200
/* Applies `next` after a reload, with the models that were read. Returns 0, or a negative errno with ret_error: then
 * nothing has changed. */
int rooms_configure(Rooms *rooms, const Config *next, Models *models, char ret_error[static ROOMS_ERROR_MAX]);

/* Shows the state to HTTP: the other functions call this as needed, except after rooms_configure(). */
void rooms_publish(Rooms *rooms);

/* Called at each tick: takes a sample, performs periodic work, and publishes. Returns 0 or a negative errno. */
int rooms_tick(Rooms *rooms);
/*
 * Stores the node's history and the progress of jobs; called at each checkpoint interval, and with is_last at
 * shutdown. Returns 0 or a negative errno.
 */
int rooms_checkpoint(Rooms *rooms, bool is_last);
/* Places the requests that have arrived; called after each iteration of the loop. Returns 0 or a negative errno. */
int rooms_take_requests(Rooms *rooms);
/* Answers the requests whose rows are stored; called when store_fd() is readable. Returns 0 or a negative errno. */
int rooms_take_completions(Rooms *rooms);
