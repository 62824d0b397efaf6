/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/decoder.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "util/lock.h"
#include "util/scoped.h"
#include "util/thread.h"

static void *on_start(void *userdata) {
        Decoder *decoder = userdata;

        pthread_setname_np(pthread_self(), "perfd-decoder");
        pthread_mutex_lock(&decoder->mutex);
        while (!decoder->is_stopping) {
                if (decoder->state != DECODER_BUSY) {
                        (void)pthread_cond_wait(&decoder->changed, &decoder->mutex);
                        continue;
                }

                pthread_mutex_unlock(&decoder->mutex);
                decoder->outcome = codec_decode(&decoder->arena, &decoder->frame, &decoder->peer, decoder->limits,
                                                &decoder->decoded);
                pthread_mutex_lock(&decoder->mutex);
                decoder->state = DECODER_DONE;
                (void)eventfd_write(decoder->done_fd, 1);
        }
        pthread_mutex_unlock(&decoder->mutex);
        return NULL;
}

int decoder_init(Decoder *decoder) {
        *decoder = (Decoder){ .done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) };
        if (decoder->done_fd < 0)
                return -errno;

        (void)pthread_mutex_init(&decoder->mutex, NULL);
        (void)pthread_cond_init(&decoder->changed, NULL);
        return 0;
}

void decoder_deinit(Decoder *decoder) {
        if (decoder->done_fd < 0)
                return;
        if (decoder->is_running) {
                pthread_mutex_lock(&decoder->mutex);
                decoder->is_stopping = true;
                (void)pthread_cond_signal(&decoder->changed);
                pthread_mutex_unlock(&decoder->mutex);
                (void)pthread_join(decoder->thread, NULL);
        }
        (void)pthread_cond_destroy(&decoder->changed);
        (void)pthread_mutex_destroy(&decoder->mutex);
        closep(&decoder->done_fd);
        free(decoder->bytes);
        arena_deinit(&decoder->arena);
        *decoder = (Decoder){ .done_fd = -1 };
}

static void set_state(Decoder *decoder, int from, int to) {
        LOCKED(&decoder->mutex);
        assert((int)decoder->state == from);
        decoder->state = to;
        (void)pthread_cond_signal(&decoder->changed);
}

bool decoder_is_free(Decoder *decoder) {
        LOCKED(&decoder->mutex);
        return decoder->state == DECODER_FREE;
}

static int start_thread(Decoder *decoder) {
        int r = decoder->is_running ? 0 : thread_start(&decoder->thread, on_start, decoder);

        decoder->is_running = r == 0;
        return r;
}

int decoder_put(Decoder *decoder, const Frame *frame, const Peer *peer, DocumentLimits limits) {
        uint8_t *bytes;
        int r;

        r = start_thread(decoder);
        if (r == 0)
                r = codec_fit_arena(&decoder->arena, frame->n);
        if (r < 0)
                return r;
        bytes = malloc(frame->n);
        if (!bytes)
                return -ENOMEM;

        decoder->bytes = memcpy(bytes, frame->data, frame->n);
        decoder->frame = (Frame){ .data = bytes, .n = frame->n, .n_consumed = frame->n_consumed };
        decoder->peer = *peer;
        decoder->limits = limits;
        set_state(decoder, DECODER_FREE, DECODER_BUSY);
        return 0;
}

int decoder_take(Decoder *decoder, const Decoded **ret) {
        LOCKED(&decoder->mutex);
        assert(decoder->state == DECODER_DONE);
        *ret = &decoder->decoded;
        return decoder->outcome;
}

void decoder_release(Decoder *decoder) {
        free(TAKE(decoder->bytes));
        arena_reset(&decoder->arena);
        set_state(decoder, DECODER_DONE, DECODER_FREE);
}
