#pragma once

/*
 * Service: what perfd does, without the event loop's wiring
 *
 * Takes requests from ingest, decides, puts rows into the store, and answers when they are
 * on disk. Owns the node, the jobs and the modules around them; daemon.c calls it from timers
 * and descriptors. Nothing in here waits.
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
        LogLimit log_limit;
        int statm_fd;
        char hostname[65], machine[65], kernel[65];
} Service;

/* Everything is opened by daemon.c and handed over in *service (store, ingest, http); then: */
int service_start(Service *service); /* recovers jobs, takes the first sample, publishes */
void service_deinit(Service *service);

/* At each tick: sample, observe, publish. 0 or a negative errno. */
int service_tick(Service *service);
/* At each checkpoint interval: windows, the meter's account and the node's history to the store. */
int service_checkpoint(Service *service);
/* After every turn of the loop: places the requests that have arrived. */
int service_take_requests(Service *service);
/* When store_fd() is readable: answers what is on disk. */
int service_take_completions(Service *service);

/* A job's process is gone without an end. */
int service_job_interrupted(Service *service, Job *job, const char *note);

/* Limits and intervals from service->config to the modules. */
void service_configure(Service *service);
IngestConfig service_ingest_config(const Service *service);
StoreConfig service_store_config(const Service *service);
