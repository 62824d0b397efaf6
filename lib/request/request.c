/* SPDX-License-Identifier: Apache-2.0 */
#include "request/request.h"

const char *request_status_name(Status status) {
        static const char *const names[N_STATUSES] = {
                [STATUS_OK] = "OK",
                [STATUS_DUPLICATE] = "DUPLICATE",
                [STATUS_INVALID] = "INVALID",
                [STATUS_TOO_LARGE] = "TOO_LARGE",
                [STATUS_QUOTA] = "QUOTA",
                [STATUS_UNAVAILABLE] = "UNAVAILABLE",
                [STATUS_DENIED] = "DENIED",
                [STATUS_NOT_FOUND] = "NOT_FOUND",
                [STATUS_UNSUPPORTED] = "UNSUPPORTED",
        };

        /* a newer daemon may send a status that is unknown here */
        return (unsigned)status < N_STATUSES ? names[status] : "UNKNOWN";
}
