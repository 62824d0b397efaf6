/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reply: answers to requests, and what a row of the store must come back with to get one
 */

#include "state.h"

/* What a completion is for; behind StoreCookie.kind. */
typedef enum CookieKind {
        COOKIE_RESULTS, /* carries a ticket */
        COOKIE_AMEND,   /* likewise */
        COOKIE_BEGIN,   /* carries a Job, which stays where it is until then */
        COOKIE_END,     /* likewise */
        COOKIE_MARK,    /* carries a PendingMark */
        COOKIE_MODEL,   /* carries a ticket */
        COOKIE_OTHER_RESULTS, /* likewise; results of another job than the one named */
        COOKIE_ADOPT,   /* likewise */
        N_COOKIES,
} CookieKind;

StoreCookie cookie_of_ticket(Ticket ticket, CookieKind kind);
StoreCookie cookie_of_owner(void *owner, CookieKind kind);
CookieKind cookie_kind(StoreCookie cookie);

/* path and text: what to complain of and the fix; with STATUS_OK "", or what is remarkable. */
void reply(Service *service, Ticket ticket, Status status, const char *path, const char *text);
/* UNAVAILABLE, with the store's own reason. */
void reply_store_failed(Service *service, Ticket ticket);
