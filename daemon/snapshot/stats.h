/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Statistics: internal counters of modules, exposed in /metrics
 *
 * Each module returns its struct, and a Snapshot embeds a copy. The types are here because http may not include the
 * modules.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/sample.h"
#include "request/request.h"

/* Returned by sampler_stats(). */
typedef struct SamplerStats {
        uint64_t n_failures[N_SOURCES];
        char error[N_SOURCES][96]; /* "proc/pressure/cpu: No such file or directory"; "" if the last read succeeded */
} SamplerStats;

/* Returned by finder_stats(). */
typedef struct FinderStats {
        uint64_t n_found;        /* cgroups returned to the caller */
        uint64_t n_unrecognized; /* cgroups in directories of jobs, with a name that no pattern matches */
        uint64_t n_not_watched;  /* directories that could not be watched because of a limit or a permission */
        size_t n_watches;
} FinderStats;

/* Returned by ingest_stats(). */
typedef struct IngestStats {
        uint64_t n_connections, n_connections_total, n_connections_refused, n_protocol_errors;
        uint64_t n_exhausted; /* accept() failures because no descriptors were available */
        uint64_t n_in_flight;
        uint64_t n_answers[N_STATUSES];
} IngestStats;

/* Damaged database files and the fate of their rows. */
typedef struct DamageStats {
        uint64_t n_files, n_rows_salvaged; /* since start */
        uint64_t n_texts;      /* answers with a text that is no longer JSON, since start */
        uint64_t n_log_frames; /* frames of the log with a wrong checksum and those behind, since start */
        bool is_salvaging;
        bool is_condemned; /* a damaged file could not be replaced yet; nothing is stored */
        char found[384];   /* the last damage and the location of the file; "": none */
        char salvaged[384]; /* result of the last salvage; "": none so far */
} DamageStats;

/* Rows that were removed because of their age. */
typedef struct ExpiryStats {
        uint64_t n_rows;       /* since start */
        int64_t clock_ahead_s; /* time by which the newest row is ahead of the clock; 0: the clock is trusted.
                                * Otherwise no rows expire */
        char rows[96];         /* rows by table, "3 of job, 120 of result" */
} ExpiryStats;

/* Returned by store_stats(). */
typedef struct StoreStats {
        uint64_t queue_rows, queue_bytes;
        uint64_t n_commits, n_commit_failures, commit_ns_sum, n_rows_committed, n_rows_removed;
        uint64_t size_bytes, size_max_bytes;
        ExpiryStats expiry;
        bool is_writable, is_volatile;
        const char *directory; /* borrowed until the store is closed */
        char error[160];  /* reason why the store is not writable; "" if it is writable */
        uint64_t n_sync_failures; /* checkpoints that could not write or sync the database file */
        /* error of the last checkpoint, "ENOSPC: …", or that a reader keeps the log; "" if it succeeded */
        char sync_error[128];
        char failure[160];        /* the last error, also if the store is writable again */
        DamageStats damage;
} StoreStats;

/* The TCP port of HTTP. */
typedef struct HttpPortStats {
        char listen[256];  /* as configured */
        char address[256]; /* as bound, "127.0.0.1:9847"; "": perfd does not listen */
        char error[400];   /* why perfd does not listen; "": it does, or the port is off */
} HttpPortStats;

/* Ticks, configuration and resources of perfd itself. */
typedef struct SelfStats {
        uint64_t started_realtime_ns;
        uint64_t n_ticks, n_missed_ticks;
        uint64_t lateness_sum_ns, lateness_max_ns;
        bool config_reload_ok;
        /* the last reload succeeded, all settings have an effect, and no file was edited since */
        bool is_config_in_force;
        uint64_t config_reload_realtime_ns;
        char config_error[600];   /* why the last reload failed, "FILE:LINE: …"; "": it succeeded */
        char config_restart[400]; /* settings that wait for a restart, "http.threads, …"; "": none */
        /* settings without effect, because systemd opens the sockets, "socket.path, …"; "": none */
        char config_ignored[128];
        char config_unknown[200]; /* users and groups that do not exist, "socket.admin_group: hpc, …"; "": none */
        char config_edited[256];  /* path of a file that was edited since it was read; "": none */
        uint64_t process_cpu_ns;
        uint64_t resident_bytes, virtual_bytes;
        uint64_t n_open_fds, n_fds_max;
        uint64_t n_log_messages_dropped; /* messages that journald did not accept */
} SelfStats;
