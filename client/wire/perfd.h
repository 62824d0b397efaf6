/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PERFD_H
#define PERFD_H

/*
 * libperfd: client library of perfd, the performance daemon
 *
 * A PerfdClient is one connection to the daemon. Several threads may use one client; their calls are serialized. The
 * library keeps no global state and starts no threads. Functions that return int return 0 on success, a positive
 * PERFD_… status from perfd or from the library's own checks (PERFD_DUPLICATE is not a failure), or a negative errno
 * if perfd could not be reached: -ECONNREFUSED, -ENOENT, -ETIMEDOUT, … In both cases, perfd_client_error() returns a
 * message. No call takes longer than the client's timeout. libperfd(3) has a complete example.
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
 * Creates a client. socket_path: path of the submission socket; NULL for $PERFD_SOCKET, else /run/perfd/perfd.sock.
 * timeout_ms: timeout of each later call, including the time to connect; 0 means 5000. Does not connect: the first
 * call that needs a connection connects, and later calls reconnect if the connection was lost. Returns 0,
 * -ENAMETOOLONG or -ENOMEM.
 */
PERFD_API int perfd_client_open(PerfdClient **ret, const char *socket_path, unsigned timeout_ms);
/* Closes the connection and releases the client, which may be NULL. */
PERFD_API void perfd_client_close(PerfdClient *client);
/*
 * Returns a message about the last call that did not return 0, or that returned 0 with a remark from perfd; "" if
 * there was none. Valid until the next call on this client from any thread.
 */
PERFD_API const char *perfd_client_error(const PerfdClient *client);

/*
 * Description of a job. Members that are zero are not sent; rank, node and uid are used only if the corresponding
 * has_… member is set. Initialize the whole structure, with {} or designated initializers.
 */
typedef struct PerfdJob {
        const char *name;
        const char *command;
        const char *const *labels; /* "key=value", NULL-terminated, or NULL */
        int64_t rank;
        int has_rank;
        int32_t pid; /* process that represents the job, 0: none; if the process ends first, the job is interrupted */
        /*
         * Process in a cgroup that belongs to this job only, 0: none. The job's own numbers are read from that
         * cgroup.
         */
        int32_t member_pid;
        int fresh; /* the cgroup was created for the job: all resources it has used belong to the job */
        /* For a run on several nodes, or with several ranks on one node. */
        int has_node;
        int32_t node;           /* index of this node, from 0 */
        uint32_t nodes, ranks;  /* number of nodes and of ranks in the whole run */
        int has_uid;
        uint32_t uid;           /* owner, if root or a member of the administrators' group begins the job for another
                                 * user */
        uint64_t reserved[4];   /* must be 0 */
} PerfdJob;

/*
 * Begins a job. id: 1 to 128 characters from A-Z a-z 0-9 _ . : -, unique on the node. job may be NULL. Returns
 * PERFD_DUPLICATE if this job of the same user is already running.
 */
PERFD_API int perfd_job_begin(PerfdClient *client, const char *id, const PerfdJob *job);
/* Ends a job. exit_status: 0 to 255, or -1 if no exit status is known. */
PERFD_API int perfd_job_end(PerfdClient *client, const char *id, int exit_status);

/*
 * If job is NULL in the functions below, perfd determines the job by the cgroup of this process; otherwise the job is
 * the one in $PERFD_JOB, which perfctl run sets, unless that job has ended. If another job than the one in $PERFD_JOB
 * is used, the function returns 0 and perfd_client_error() names the job.
 */

/*
 * Ends the current phase of a running job and starts a phase with this name: at most 64 bytes of UTF-8 without
 * control characters; may be empty. A job without marks has no phases. Returns PERFD_NOT_FOUND if there is no such
 * job. A mark is not repeated if the connection is lost before the reply: the call returns -ECONNRESET, and perfd may
 * or may not have accepted the mark.
 */
PERFD_API int perfd_mark(PerfdClient *client, const char *job, const char *name);

/*
 * Submits one indicator, a JSON object as described in perfctl-submit(1), which is checked before it is sent. On 0,
 * the indicator has been written to disk. job: the job that produced it. After a lost connection, the indicator is
 * sent again with the same id, and is stored once.
 */
PERFD_API int perfd_submit_json(PerfdClient *client, const char *job, const char *json);

/* --- data pipelines, which feed the training loop ------------------------------------------------- */

/* Tasks of a stage over an interval. Times in seconds; a percentile of 0 was not measured. */
typedef struct PerfdTaskStats {
        double elapsed;         /* length of the interval; 0: not measured */
        uint64_t num_tasks;     /* completed, including failed tasks */
        uint64_t num_failures;
        double ave_time, p90_time, p99_time; /* of the tasks that succeeded */
        uint64_t reserved[2];   /* must be 0 */
} PerfdTaskStats;

/* Queue into which a stage puts its items, over an interval. */
typedef struct PerfdQueueStats {
        double elapsed;         /* length of the interval, above 0 */
        uint64_t num_items;     /* taken by the next stage, or by the training loop */
        double ave_put_time, p90_put_time, p99_put_time; /* for which a call was blocked */
        double ave_get_time, p90_get_time, p99_get_time;
        double occupancy_rate;  /* share of the interval in which the queue had an item, 0 to 1; negative: not known */
        uint32_t buffer_size;   /* 0: not known */
        uint32_t reserved_0;    /* must be 0 */
        uint64_t reserved[2];   /* must be 0 */
} PerfdQueueStats;

/*
 * An interval of a stage. Intervals of a stage must be in order of time; an interval that was stored before is not
 * stored again.
 */
typedef struct PerfdInterval {
        const char *stage;      /* "PIPELINE:POSITION:NAME[CONCURRENCY]", such as "0:1:decode[4]", or "POSITION:NAME" */
        uint64_t end_ms;        /* end of the interval, Unix time in milliseconds; 0: now */
        const PerfdTaskStats *tasks;  /* or NULL */
        const PerfdQueueStats *queue; /* or NULL */
        uint64_t reserved[2];   /* must be 0 */
} PerfdInterval;

#define PERFD_INTERVALS_MAX 1000U /* of a call */

/*
 * Submits intervals that the caller measured. A large report that fails may be stored in part; submit the same
 * intervals again. producer: name and version of the library that measured, such as "spdl 0.8.0", or NULL; the
 * occupancy of an interval without items counts only if the producer is known. Returns PERFD_DUPLICATE if all
 * intervals were stored before.
 */
PERFD_API int perfd_submit_intervals(PerfdClient *client, const char *job, const char *producer,
                                     const PerfdInterval *intervals, size_t n);

/* Returns the version of the library, for example "0.1.0". */
PERFD_API const char *perfd_version(void);

#ifdef __cplusplus
}
#endif

#endif
