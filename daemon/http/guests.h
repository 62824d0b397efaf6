#pragma once

/*
 * Guests: the open connections, and since when each owes us a request
 *
 * The library closes a connection on which nothing moves. A peer that sends one byte now and then would
 * keep its place for ever, and a few hundred of them everybody else's: those are cut off here.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/scoped.h"

typedef struct Guests Guests;
typedef struct Guest Guest;

int guests_new(Guests **ret, size_t n_max);
Guests *guests_free(Guests *guests);
DEFINE_SCOPED(Guests, guests_free);

/* NULL when there is no place left: such a one is not watched. */
Guest *guests_add(Guests *guests, int fd, uint64_t now_ns);
/* It completed a request. NULL is fine for both. */
void guests_renew(Guests *guests, Guest *guest, uint64_t now_ns);
/* To be called before its descriptor is closed. */
void guests_remove(Guests *guests, Guest *guest);

/* Ends every connection that has completed nothing since then. Never waits: when a guest comes or goes just now, does nothing. */
void guests_cut(Guests *guests, uint64_t since_ns);
size_t guests_count(Guests *guests);
