/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * State: everything the loop owns
 *
 * Built by daemon.c, worked on by service, lifecycle, recovery and publish. Only the loop's thread touches it.
 */

#include <systemd/sd-event.h>

#include "config.h"
#include "http/http.h"
#include "indicators/models.h"
#include "indicators/tally.h"
#include "ingest/ingest.h"
#include "jobs/jobs.h"
#include "node/node.h"
#include "sample/finder.h"
#include "snapshot/publisher.h"
#include "store/store.h"
#include "util/log.h"
#include "util/scoped.h"

/* identity.h: where the peers of connections are. */
typedef struct IdentityEntry IdentityEntry;
typedef struct Identity {
        IdentityEntry *entries; /* owned; by number of the connection */
        size_t n_entries;
} Identity;

/* phases.h: a mark whose phase is on its way to the disk. */
typedef struct PendingMark PendingMark;

typedef struct Service {
        sd_event *event; /* borrowed */
        Config config;
        Node node;
        CgroupTree *cgroups; /* owned */
        Finder *finder;      /* owned; NULL: no patterns */
        sd_event_source *found; /* something for the finder to look at */
        FoundGroup *postponed;  /* owned; made anew while the end of their job is on its way to the disk */
        size_t n_postponed;
        Jobs jobs;
        Identity identity;
        PendingMark *marks; /* owned */
        Models models;
        Model *pending_model; /* owned; on its way to the disk, or off it, or NULL */
        bool is_pending_removal;
        char *models_json;    /* owned; of all, as HTTP answers */
        uint64_t models_version; /* of that text */
        bool must_tell_store; /* which models there are in files */
        Tally tally;
        Store *store;   /* owned */
        Ingest *ingest; /* owned */
        Publisher *publisher; /* owned */
        Http *http;           /* owned; reads what is published */
        SelfStats self;
        Recording node_point; /* the interval of node history that is being collected */
        /* A request the store had no room for: first in line at the next completion. Borrowed from ingest until its next one. */
        Request held;
        Ticket held_ticket;
        char held_job[JOB_ID_MAX]; /* whose its results are */
        bool is_held_other; /* which is not the job that the request names */
        bool has_held;
        bool is_draining;
        bool store_was_writable;
        uint32_t checkpoint_round;  /* jobs whose own is another have not been put in it */
        bool is_checkpoint_under_way;
        LogLimit log_limit; /* of what clients can bring about */
        int statm_fd;
} Service;
