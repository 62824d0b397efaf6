#pragma once

/*
 * Guests: the open connections, whose they are, and since when each owes us a request
 *
 * The library closes a connection on which nothing moves, and limits those from one IP address. A peer that
 * sends one byte now and then would keep its place for ever, and on the Unix socket one user could take all
 * places: that is what is missing, and is here.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/scoped.h"

typedef struct Guests Guests;
typedef struct Guest Guest;

/* n_per_uid_max: of connections whose user is known. Caller frees. */
int guests_new(Guests **ret, size_t n_max, size_t n_per_uid_max);
Guests *guests_free(Guests *guests);
DEFINE_SCOPED(Guests, guests_free);

/*
 * fd: a connected socket, borrowed until guests_remove(). NULL when there is no place left or the user has too
 * many: then the connection has been ended, and its owner will notice.
 */
Guest *guests_add(Guests *guests, int fd, uint64_t now_ns);
/* It completed a request. NULL is fine for both. */
void guests_renew(Guests *guests, Guest *guest, uint64_t now_ns);
/* To be called before its descriptor is closed. */
void guests_remove(Guests *guests, Guest *guest);

/* Ends every connection that has completed nothing since then. Never waits: when a guest comes or goes just now, does nothing. */
void guests_cut(Guests *guests, uint64_t since_ns);
size_t guests_count(Guests *guests);
