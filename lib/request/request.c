/* SPDX-License-Identifier: Apache-2.0 */
#include "request/request.h"

const char *status_name(Status status) {
        switch (status) {
        case STATUS_OK:
                return "OK";
        case STATUS_DUPLICATE:
                return "DUPLICATE";
        case STATUS_INVALID:
                return "INVALID";
        case STATUS_TOO_LARGE:
                return "TOO_LARGE";
        case STATUS_QUOTA:
                return "QUOTA";
        case STATUS_UNAVAILABLE:
                return "UNAVAILABLE";
        case STATUS_DENIED:
                return "DENIED";
        case STATUS_NOT_FOUND:
                return "NOT_FOUND";
        case STATUS_UNSUPPORTED:
                return "UNSUPPORTED";
        case N_STATUSES:
                break;
        }

        return "UNKNOWN"; /* a newer daemon's */
}
