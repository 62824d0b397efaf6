#pragma once

/*
 * State: everything the loop owns
 *
 * Built by daemon.c, worked on by service, lifecycle, recovery and publish. Only the loop's thread touches it.
 */

#include <systemd/sd-event.h>

#include "config.h"
#include "http/http.h"
#include "ingest/ingest.h"
#include "jobs.h"
#include "node.h"
#include "store/store.h"
#include "util/log.h"
#include "util/scoped.h"

typedef struct Service {
        sd_event *event; /* borrowed */
        Config config;
        Node node;
        Jobs jobs;
        Store *store;   /* owned */
        Ingest *ingest; /* owned */
        Http *http;     /* owned */
        SelfStats self; /* what the loop counts itself; the rest is filled in when published */
        Timeline node_point; /* the interval of node history that is being collected */
        /* A request the store had no room for: first in line at the next completion. Borrowed from ingest until its next one. */
        Request held;
        Ticket held_ticket;
        bool has_held;
        bool is_draining;
        bool store_was_writable;
        LogLimit log_limit; /* of what clients can bring about */
        int statm_fd;
        char hostname[65], machine[65], kernel[65];
} Service;

IngestConfig service_ingest_config(const Service *service);
StoreConfig service_store_config(const Service *service);
