/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Limits of ingest, and the server's identity. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator.h"

typedef struct IngestConfig {
        size_t frame_max_bytes;
        unsigned in_flight_max; /* limit of unanswered requests of one connection */
        DocumentLimits documents;
        uint32_t admin_gid;     /* group whose members may act for the jobs of others, as root may */
} IngestConfig;

#define INGEST_NO_ADMIN_GID UINT32_MAX /* no group: only root acts for others */

/* Identity of this server in its reply to hello. */
typedef struct IngestServer {
        const char *name, *node; /* borrowed */
        bool durable;            /* an acknowledged row survives a power failure */
} IngestServer;
