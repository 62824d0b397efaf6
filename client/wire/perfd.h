/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PERFD_H
#define PERFD_H

/*
 * libperfd: say to perfd what a program has measured
 *
 * One PerfdClient is one connection. It may be used from several threads at once; calls
 * on it take turns. There is no global state and no thread behind the scenes. Every function
 * returns 0 or a positive status that perfd answered (PERFD_DUPLICATE counts as done), or a
 * negative errno: -ECONNREFUSED, -ENOENT, -ETIMEDOUT, … when perfd could not be asked. After
 * either, perfd_client_error() has the sentence. Nothing here waits longer than the timeout.
 * libperfd(3) has a complete example.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERFD_API __attribute__((visibility("default")))

typedef struct PerfdClient PerfdClient;

enum {
        PERFD_OK = 0,
        PERFD_DUPLICATE = 1,
        PERFD_INVALID = 2,
        PERFD_TOO_LARGE = 3,
        PERFD_QUOTA = 4,
        PERFD_UNAVAILABLE = 5,
        PERFD_DENIED = 6,
        PERFD_NOT_FOUND = 7,
        PERFD_UNSUPPORTED = 8,
};

/*
 * A client for the socket: NULL for $PERFD_SOCKET, else /run/perfd/perfd.sock. It connects when it
 * is first used, and again when the connection was lost. timeout_ms: for all of one call; 0: 5000.
 * 0, -ENAMETOOLONG or -ENOMEM.
 */
PERFD_API int perfd_client_open(PerfdClient **ret, const char *socket_path, unsigned timeout_ms);
/* Accepts NULL. */
PERFD_API void perfd_client_close(PerfdClient *client);
/* The sentence of the last call that did not return 0, or of which perfd remarked something; "" before. Valid until the next
 * call on this client in any thread. */
PERFD_API const char *perfd_client_error(const PerfdClient *client);

/*
 * Description of a job besides its id. Zeroed members are left out; rank, node and uid count only with their has_….
 * Initialize all of it, as with {} or designated initializers.
 */
typedef struct PerfdJob {
        const char *name;
        const char *command;
        const char *const *labels; /* "key=value", NULL-terminated, or NULL */
        int64_t rank;
        int has_rank;
        int32_t pid; /* process that stands for the job, 0: none; perfd closes the job when it goes away */
        /* A process in a cgroup that only this job's processes are in, 0: none; the job's own numbers are that cgroup's. */
        int32_t member_pid;
        int fresh; /* that cgroup was made for the job: whatever it has used, the job has */
        /* One run on several nodes, or of several ranks on one. */
        int has_node;
        int32_t node;           /* which node this is, from 0 */
        uint32_t nodes, ranks;  /* of the whole run */
        int has_uid;
        uint32_t uid;           /* whose job it is: for root and the administrators' group, who begin jobs for others */
        uint64_t reserved[4];   /* 0 */
} PerfdJob;

/* Begins a job. Beginning a running job of one's own again is PERFD_DUPLICATE. job may be NULL. */
PERFD_API int perfd_job_begin(PerfdClient *client, const char *id, const PerfdJob *job);
/* Ends it. exit_status: 0…255, or -1 when there is none to report. */
PERFD_API int perfd_job_end(PerfdClient *client, const char *id, int exit_status);

/*
 * Below, job may be NULL: then it is the one that this process is in, by its cgroup. Where that is not known it is the one of
 * $PERFD_JOB, which perfctl run sets, unless that job has ended; or none. Where $PERFD_JOB names another job than the one that
 * is taken, perfd_client_error() says so.
 */

/*
 * Ends one phase of a running job and begins the next, of this name (at most 64 bytes of UTF-8 without control
 * characters; "" for one without a name). A job that is never marked has no phases. PERFD_NOT_FOUND without one.
 * Not sent again when the connection is lost before the reply: -ECONNRESET, and perfd may have taken it.
 */
PERFD_API int perfd_mark(PerfdClient *client, const char *job, const char *name);

/*
 * Submits one indicator: a JSON object as in perfctl-submit's manual, checked before it is sent.
 * Returns when it is on disk. job: the job it belongs to. Sent again after a lost connection
 * under the same id, so it is stored once.
 */
PERFD_API int perfd_submit_json(PerfdClient *client, const char *job, const char *json);

/* "0.1.0" */
PERFD_API const char *perfd_version(void);

#ifdef __cplusplus
}
#endif

#endif
