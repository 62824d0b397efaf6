/* SPDX-License-Identifier: Apache-2.0 */
#include "reply.h"

#include <assert.h>

typedef struct Kind {
        CookieKind kind;
} Kind;

static const Kind *find_kind(CookieKind kind) {
        static const Kind kinds[N_COOKIES] = {
                { COOKIE_RESULTS }, { COOKIE_AMEND }, { COOKIE_BEGIN },         { COOKIE_END },
                { COOKIE_MARK },    { COOKIE_MODEL }, { COOKIE_OTHER_RESULTS }, { COOKIE_ADOPT },
        };

        assert(kinds[kind].kind == kind);
        return &kinds[kind];
}

StoreCookie cookie_of_ticket(Ticket ticket, CookieKind kind) {
        return (StoreCookie){ .kind = find_kind(kind), .ticket = ticket };
}

StoreCookie cookie_of_owner(void *owner, CookieKind kind) {
        return (StoreCookie){ .kind = find_kind(kind), .owner = owner };
}

CookieKind cookie_kind(StoreCookie cookie) {
        return cookie.kind->kind;
}

void reply(Service *service, Ticket ticket, Status status, const char *path, const char *text) {
        Answer answer = { .status = status };

        (void)snprintf(answer.complaint.path, sizeof(answer.complaint.path), "%s", path);
        (void)snprintf(answer.complaint.text, sizeof(answer.complaint.text), "%s", text);
        ingest_answer(service->ingest, ticket, &answer);
}

void reply_store_failed(Service *service, Ticket ticket) {
        StoreStats stats;
        char text[256];

        store_stats(service->store, &stats);
        (void)snprintf(text, sizeof(text), "the store cannot write: %s", stats.error[0] ? stats.error : "unknown reason");
        reply(service, ticket, STATUS_UNAVAILABLE, "", text);
}
