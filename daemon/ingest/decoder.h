/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decoder: a thread that decodes large frames
 *
 * A frame of 1 MB takes up to 50 ms to decode, and a sample must not be late because of a frame. The event loop
 * therefore decodes frames of up to DECODER_BYTES_MIN itself, and puts a larger frame here. The decoder has one
 * frame at a time, so that large frames take the memory of one more arena only.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ingest/codec/codec.h"

#define DECODER_BYTES_MIN 65536U

typedef struct Decoder {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        pthread_t thread;
        bool is_running; /* from the first large frame on: most perfd never get one */
        int done_fd; /* owned; an eventfd, readable after a frame was decoded */

        /* Under the mutex. */
        bool is_stopping;
        enum { DECODER_FREE, DECODER_BUSY, DECODER_DONE } state;

        /* Used by the thread while DECODER_BUSY, else by the caller. */
        uint8_t *bytes; /* owned; a copy of the frame */
        Frame frame;
        Peer peer;
        DocumentLimits limits;
        Arena arena;
        Decoded decoded;
        int outcome;
} Decoder;

int decoder_init(Decoder *decoder);
/* Waits until the thread has ended. */
void decoder_deinit(Decoder *decoder);

bool decoder_is_free(Decoder *decoder);
/* Copies a frame and the peer to a free decoder. 0 or a negative errno. */
int decoder_put(Decoder *decoder, const Frame *frame, const Peer *peer, DocumentLimits limits);
/* The outcome of codec_decode() for the frame that is decoded. *ret is borrowed until decoder_release(). */
int decoder_take(Decoder *decoder, const Decoded **ret);
/* Makes the decoder free after decoder_take(), and returns the memory to the kernel. */
void decoder_release(Decoder *decoder);
