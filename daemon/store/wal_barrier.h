#pragma once

/*
 * Gate: between questions and a log that grows
 *
 * The write-ahead log can begin anew only in a moment when no question reads it. The writer does not wait for that: it
 * closes the gate, so that new questions wait outside while those inside end, and looks again after its next batch, or when
 * the last one left.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/queue.h"

typedef struct Gate {
        Queue *writers; /* borrowed; poked when the last question left a closed gate */
        pthread_mutex_t mutex;
        pthread_cond_t opened;
        bool is_initialised;

        /* Under the mutex. */
        size_t n_inside;
        bool is_closed;
} Gate;

void gate_init(Gate *gate, Queue *writers);
/* Nobody may be inside any more. */
void gate_deinit(Gate *gate);

/* For a question: waits while the gate is closed, at most so long, and goes in then in any case. */
void gate_enter(Gate *gate, uint64_t wait_max_ns);
void gate_leave(Gate *gate);

/* For the writer: true when nobody is inside, nor can come in until it opens the gate. */
bool gate_close(Gate *gate);
void gate_open(Gate *gate);
