/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Prometheus dump: the database of a Prometheus server among the files of a test, served by a server of our own
 *
 * The server has a copy, so that the dump stays as it is. It ends with this process, however that ends.
 */

#include <limits.h>
#include <sys/types.h>

#include "client/matrix/remote_values.h"

typedef struct PrometheusDump {
        pid_t pid;  /* of the shell that runs the server; 0: none */
        int in, out; /* pipes of the shell: it ends once `in` is closed */
        char scratch[PATH_MAX], url[48];
        RemoteValues remote; /* asks the server; its URL is ours */
} PrometheusDump;

#define PROMETHEUS_DUMP_NONE ((PrometheusDump){ .in = -1, .out = -1 })

/* Serves a dump: an archive of tar, or a directory; absolute. 0, REMOTE_VALUES_AWAY with the reason, or -ENOMEM. */
int prometheus_dump_open(PrometheusDump *ret, const char *path, Buffer *ret_reason);
void prometheus_dump_deinit(PrometheusDump *dump);
