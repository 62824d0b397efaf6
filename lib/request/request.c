/* SPDX-License-Identifier: Apache-2.0 */
#include "request/request.h"

const char *request_status_name(Status status) {
#define X(id) #id,
        static const char *const names[N_STATUSES] = { STATUSES(X) };
#undef X

        /* a newer daemon may send a status that is unknown here */
        return (unsigned)status < N_STATUSES ? names[status] : "UNKNOWN";
}
