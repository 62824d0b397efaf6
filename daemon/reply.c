/* SPDX-License-Identifier: Apache-2.0 */
#include "reply.h"

#define KIND_BITS 3U
#define KIND_MASK ((1U << KIND_BITS) - 1)

StoreCookie cookie_of_ticket(Ticket ticket, CookieKind kind) {
        return (StoreCookie){
                .a = ((uint64_t)ticket.connection << 32) | ticket.generation,
                .b = (ticket.number << KIND_BITS) | kind,
        };
}

StoreCookie cookie_of_job(const Job *job, CookieKind kind) {
        return (StoreCookie){ .a = (uintptr_t)job, .b = kind };
}

StoreCookie cookie_of_mark(const PendingMark *mark) {
        return (StoreCookie){ .a = (uintptr_t)mark, .b = COOKIE_MARK };
}

CookieKind cookie_kind(StoreCookie cookie) {
        return (CookieKind)(cookie.b & KIND_MASK);
}

Ticket cookie_ticket(StoreCookie cookie) {
        return (Ticket){
                .connection = (uint32_t)(cookie.a >> 32),
                .generation = (uint32_t)cookie.a,
                .number = cookie.b >> KIND_BITS,
        };
}

Job *cookie_job(StoreCookie cookie) {
        return (Job *)(uintptr_t)cookie.a;
}

PendingMark *cookie_mark(StoreCookie cookie) {
        return (PendingMark *)(uintptr_t)cookie.a;
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
