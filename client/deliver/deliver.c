/* SPDX-License-Identifier: Apache-2.0 */
#include "client/deliver/deliver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/wire/protocol.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/utf8.h"
#include "value/shorten.h"
#include "value/value_parse.h"

/*
 * Every perfd accepts frames up to this size (the minimum of [limits] frame_size), so smaller requests need not ask
 * for the limit.
 */
#define SMALL_BYTES 4096U
#define ITEMS_MAX 10000U /* maximum number of items in one request */

#define BACKOFF_FIRST_NS (10 * NS_PER_MS)
#define BACKOFF_MAX_NS (500 * NS_PER_MS)

/* --- fit ------------------------------------------------------------------------------------------- */

/*
 * perfd refuses requests above a size limit. If a result fits without the record of its run, the texts of the record
 * are shortened until the request fits.
 */
#define TEXT_BYTES_FIRST 16384U
#define TEXT_BYTES_LEAST 256U

/* Items of one delivery after shortening. */
typedef struct Fitted {
        Submission *items; /* owned; modified copy of the batch's items; NULL until a record is shortened */
        Arena *arenas;     /* owned; memory of the shortened records */
        size_t n_arenas;
} Fitted;

enum {
        FIT_TOO_LARGE = 1, /* no shortened record fits; the item is unchanged */
};

static void fitted_deinit(Fitted *fitted) {
        for (size_t i = 0; i < fitted->n_arenas; i++)
                arena_deinit(&fitted->arenas[i]);
        free(fitted->arenas);
        free(fitted->items);
}

/* Makes a copy of the batch's items that can be modified. */
static int copy_items(Fitted *fitted, Batch *batch) {
        if (fitted->items)
                return 0;

        fitted->items = calloc(batch->n_items, sizeof(*fitted->items));
        if (!fitted->items)
                return -ENOMEM;

        memcpy(fitted->items, batch->items, batch->n_items * sizeof(*fitted->items));
        batch->items = fitted->items;
        return 0;
}

static int add_arena(Fitted *fitted, size_t n_bytes, Arena **ret) {
        if (ARRAY_EXTEND(fitted->arenas, fitted->n_arenas) < 0)
                return -ENOMEM;
        *ret = &fitted->arenas[fitted->n_arenas];
        if (arena_init(*ret, n_bytes) < 0)
                return -ENOMEM;
        fitted->n_arenas++;
        return 0;
}

/* Shortens the record of item i of the batch until the item takes at most n_max bytes of a request. 0, FIT_TOO_LARGE
 * or -ENOMEM. */
static int fitted_shorten(Fitted *fitted, Batch *batch, size_t i, size_t n_max) {
        const Value *whole = batch->items[i].run;
        Arena *arena = NULL;
        size_t size;
        int r;

        if (!whole)
                return FIT_TOO_LARGE;
        r = copy_items(fitted, batch);
        if (r == 0)
                r = protocol_submission_size(&fitted->items[i], NULL, &size);
        if (r == 0)
                r = add_arena(fitted, value_parse_arena_size(size), &arena);
        if (r < 0)
                return r;

        for (size_t text_max = TEXT_BYTES_FIRST; text_max >= TEXT_BYTES_LEAST; text_max /= 2) {
                arena_reset(arena);
                r = shorten_value(whole, text_max, arena, &fitted->items[i].run);
                if (r == 0)
                        r = protocol_submission_size(&fitted->items[i], NULL, &size);
                if (r < 0 || size <= n_max)
                        return r;
        }

        fitted->items[i].run = whole;
        return FIT_TOO_LARGE;
}

/* --- the courier ----------------------------------------------------------------------------------- */

void deliver_courier_init(Courier *courier, const char *path, uint64_t timeout_ns) {
        *courier = (Courier){ .path = wire_path(path), .is_patient = true };
        wire_init(&courier->wire);
        deliver_courier_set_timeout(courier, timeout_ns);
}

void deliver_courier_deinit(Courier *courier) {
        wire_deinit(&courier->wire);
}

void deliver_courier_set_timeout(Courier *courier, uint64_t timeout_ns) {
        courier->timeout_ns = timeout_ns;
        courier->deadline_ns = clock_boottime_ns() + timeout_ns;
}

int delivery_classify(const Reply *reply) {
        switch (reply->status) {
        case STATUS_OK:
        case STATUS_DUPLICATE:
                return 0;
        case STATUS_QUOTA:
        case STATUS_UNAVAILABLE:
                return DELIVERY_UNAVAILABLE;
        case STATUS_INVALID:
        case STATUS_TOO_LARGE:
        case STATUS_DENIED:
        case STATUS_NOT_FOUND:
        case STATUS_UNSUPPORTED:
        case N_STATUSES:
                break;
        }

        return DELIVERY_REFUSED;
}

static int exchange(Courier *courier, const Buffer *frame, uint64_t sequence, Delivery *delivery) {
        int r;

        r = wire_exchange(&courier->wire, frame, sequence, courier->deadline_ns, &delivery->reply);
        delivery->error = r < 0 ? r : 0;
        r = r < 0 ? DELIVERY_UNAVAILABLE : delivery_classify(&delivery->reply);
        if (r == 0 && courier->is_by_answer)
                deliver_courier_set_timeout(courier, courier->timeout_ns);
        return r;
}

static int ask_frame_max(Courier *courier, Delivery *delivery, size_t *ret) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence = wire_next_sequence(&courier->wire);
        int r;

        r = protocol_encode_hello(sequence, "perfctl " PERFD_VERSION, &frame);
        if (r == 0)
                r = exchange(courier, &frame, sequence, delivery);
        if (r == 0)
                *ret = delivery->reply.frame_max_bytes;
        return r;
}

static int refuse_large(Delivery *delivery, size_t index, size_t n_bytes, size_t n_max) {
        delivery->reply = (Reply){ .status = STATUS_TOO_LARGE };
        delivery->refused = index;
        snprintf(delivery->reply.complaint.text, sizeof(delivery->reply.complaint.text),
                 "has %zu bytes as a request, the limit is %zu: make it smaller, or raise [limits] "
                 "frame_size", n_bytes, n_max);
        return DELIVERY_REFUSED;
}

/*
 * Checks the size of all items before the first is sent: a batch with an item that is too large is not stored in
 * part.
 */
static int check_sizes(Courier *courier, Batch *batch, Fitted *fitted, Delivery *delivery) {
        size_t n_max = SMALL_BYTES, size;
        bool is_asked = false;
        int r;

        for (size_t i = delivery->n_acked; i < batch->n_items; i++) {
                r = protocol_submission_size(&batch->items[i], NULL, &size);
                if (r == 0 && PROTOCOL_SUBMIT_OVERHEAD + size > n_max && !is_asked) {
                        r = ask_frame_max(courier, delivery, &n_max);
                        is_asked = true;
                }
                if (r != 0)
                        return r;
                if (PROTOCOL_SUBMIT_OVERHEAD + size <= n_max)
                        continue;

                r = fitted_shorten(fitted, batch, i, n_max - PROTOCOL_SUBMIT_OVERHEAD);
                if (r != 0)
                        return r < 0 ? r : refuse_large(delivery, i, PROTOCOL_SUBMIT_OVERHEAD + size, n_max);
        }

        return 0;
}

/*
 * Finds the item of the batch that perfd refused, and makes the complaint's path relative to that item. n_sent:
 * number of items in the request.
 */
static void find_refused(Delivery *delivery, size_t n_sent) {
        char *path = delivery->reply.complaint.path, item[sizeof("submit.indicators[4294967295]")];
        size_t n;

        if (!delivery->reply.has_item || delivery->reply.item >= n_sent)
                return;

        delivery->refused = delivery->n_acked + delivery->reply.item;
        n = (size_t)snprintf(item, sizeof(item), "submit.indicators[%u]", delivery->reply.item);
        if (strncmp(path, item, n) != 0)
                return;
        n += path[n] == '.';
        memmove(path, path + n, strlen(path + n) + 1);
}

/* Counts how many of the next items fit into one request. */
static int choose_part(Courier *courier, const Batch *batch, Delivery *delivery, size_t *ret) {
        size_t first = delivery->n_acked, n = 0, n_max = SMALL_BYTES, n_bytes = PROTOCOL_SUBMIT_OVERHEAD, size;
        size_t n_stacks = 0, n_specifications = 0;
        int r;

        for (; first + n < batch->n_items && n < ITEMS_MAX; n++, n_bytes += size) {
                const Submission *item = &batch->items[first + n], *before = n > 0 ? item - 1 : NULL;

                n_stacks += item->stack && (!before || item->stack != before->stack);
                n_specifications += item->specification && (!before || item->specification != before->specification);
                if (n_stacks > SUBMIT_STACKS_MAX || n_specifications > SUBMIT_SPECIFICATIONS_MAX)
                        break;
                r = protocol_submission_size(item, before, &size);
                if (r < 0)
                        return r;
                if (n_bytes + size <= n_max)
                        continue;

                if (n_max == SMALL_BYTES) {
                        r = ask_frame_max(courier, delivery, &n_max);
                        if (r != 0)
                                return r;
                }
                if (n_bytes + size > n_max)
                        break;
        }

        if (n == 0) /* perfd was restarted with a lower limit in the meantime */
                return refuse_large(delivery, first, n_bytes + size, n_max);

        *ret = n;
        return 0;
}

static int send_part(Courier *courier, const Batch *batch, Delivery *delivery) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence;
        size_t n;
        int r;

        r = choose_part(courier, batch, delivery, &n);
        if (r != 0)
                return r;

        sequence = wire_next_sequence(&courier->wire);
        r = protocol_encode_submit(sequence, batch->items + delivery->n_acked, n, &frame);
        if (r == 0)
                r = exchange(courier, &frame, sequence, delivery);
        if (r == DELIVERY_REFUSED)
                find_refused(delivery, n);
        if (r != 0)
                return r;

        delivery->n_requests++;
        delivery->n_acked += n;
        if (delivery->reply.status == STATUS_DUPLICATE) {
                delivery->n_duplicate += n;
                return 0;
        }

        delivery->n_stored += n;
        utf8_copy(delivery->remark, sizeof(delivery->remark), delivery->reply.complaint.text);
        return 0;
}

static int send_end(Courier *courier, const Batch *batch, Delivery *delivery) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence = wire_next_sequence(&courier->wire);

        return protocol_encode_job_end(sequence, batch->ended_job, &batch->end, &frame) ?:
               exchange(courier, &frame, sequence, delivery);
}

/* Returns true for errors that a retry cannot fix. */
static bool is_permanent(int error) {
        return error == -EACCES || error == -EPERM || error == -ENAMETOOLONG || error == -EPROTOTYPE ||
               error == -ENOTDIR;
}

static int connect_once(Courier *courier, Delivery *delivery) {
        if (wire_is_connected(&courier->wire))
                return 0;

        delivery->error = wire_connect(&courier->wire, courier->path, courier->deadline_ns);
        if (delivery->error == 0)
                return 0;

        return is_permanent(delivery->error) ? DELIVERY_UNREACHABLE : DELIVERY_UNAVAILABLE;
}

static int try_batch(Courier *courier, Batch *batch, Fitted *fitted, Delivery *delivery) {
        int r;

        delivery->refused = DELIVERY_WHOLE;
        r = connect_once(courier, delivery);
        if (r == 0)
                r = check_sizes(courier, batch, fitted, delivery);
        while (r == 0 && delivery->n_acked < batch->n_items)
                r = send_part(courier, batch, delivery);
        if (r == 0 && batch->ended_job)
                r = send_end(courier, batch, delivery);

        return r;
}

/*
 * Waits before a retry for a random time, half to all of the backoff, so that clients that were refused together do
 * not retry together. Returns false if the deadline leaves no time for a retry.
 */
static bool wait_backoff(const Courier *courier, uint64_t *backoff_ns) {
        uint64_t ns = *backoff_ns / 2 + clock_realtime_ns() % (*backoff_ns / 2);

        if (!courier->is_patient || clock_boottime_ns() + ns >= courier->deadline_ns)
                return false;

        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = (long)ns }, NULL);
        *backoff_ns = *backoff_ns * 2 < BACKOFF_MAX_NS ? *backoff_ns * 2 : BACKOFF_MAX_NS;
        return true;
}

int deliver(Courier *courier, const Batch *batch, Delivery *ret) {
        scoped(fitted_deinit) Fitted fitted = {};
        uint64_t backoff_ns = BACKOFF_FIRST_NS;
        Batch sent = *batch;
        int r;

        *ret = (Delivery){};
        do
                r = try_batch(courier, &sent, &fitted, ret);
        while (r == DELIVERY_UNAVAILABLE && wait_backoff(courier, &backoff_ns));

        return r;
}

static int try_frame(Courier *courier, const Buffer *frame, uint64_t sequence, Delivery *delivery) {
        size_t n_max = SMALL_BYTES;
        int r;

        delivery->refused = DELIVERY_WHOLE;
        r = connect_once(courier, delivery);
        if (r == 0 && frame->n > n_max)
                r = ask_frame_max(courier, delivery, &n_max);
        if (r == 0 && frame->n > n_max)
                return refuse_large(delivery, DELIVERY_WHOLE, frame->n, n_max);
        if (r != 0)
                return r;

        r = exchange(courier, frame, sequence, delivery);
        delivery->may_be_taken |= delivery->error < 0 && delivery->error != -EPIPE;
        return r;
}

/*
 * Delivers a single request. r: result of its encoder. is_repeatable: the request has no effect if perfd receives it
 * a second time.
 */
static int deliver_frame(Courier *courier, int r, const Buffer *frame, uint64_t sequence, bool is_repeatable,
                         Delivery *ret) {
        uint64_t backoff_ns = BACKOFF_FIRST_NS;

        *ret = (Delivery){};
        if (r < 0)
                return r;

        assert(buffer_error(frame) == 0 && frame->n > 0);
        do
                r = try_frame(courier, frame, sequence, ret);
        while (r == DELIVERY_UNAVAILABLE && (is_repeatable || !ret->may_be_taken) &&
               wait_backoff(courier, &backoff_ns));

        return r;
}

int deliver_begin(Courier *courier, const JobBegin *begin, Delivery *ret) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence = wire_next_sequence(&courier->wire);

        return deliver_frame(courier, protocol_encode_job_begin(sequence, begin, &frame), &frame, sequence, true, ret);
}

int deliver_models(Courier *courier, const Value *const *models, size_t n_models, Delivery *ret) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence = wire_next_sequence(&courier->wire);

        return deliver_frame(courier, protocol_encode_register(sequence, models, n_models, &frame), &frame, sequence,
                             true, ret);
}

int deliver_model_removal(Courier *courier, const char *name, const char *component, Delivery *ret) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence = wire_next_sequence(&courier->wire);

        return deliver_frame(courier, protocol_encode_unregister(sequence, name, component, &frame), &frame, sequence,
                             true, ret);
}

static int deliver_pipeline_report(Courier *courier, const PipelineReport *report, Delivery *ret) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence = wire_next_sequence(&courier->wire);
        int r;

        r = deliver_frame(courier, protocol_encode_pipeline_report(sequence, report, &frame), &frame, sequence, true,
                          ret);
        if (r == 0)
                utf8_copy(ret->remark, sizeof(ret->remark), ret->reply.complaint.text);
        return r;
}

int deliver_pipeline_pending(Courier *courier, const JobRef *job, PipelinePending *pending, uint64_t *n_sent,
                             Delivery *ret) {
        PipelineReport report = pipeline_pending_report(pending);
        int r;

        report.job = job->id;
        report.is_job_inherited = job->is_inherited;
        r = deliver_pipeline_report(courier, &report, ret);
        if (r == 0)
                *n_sent += report.n_intervals + report.n_events;
        if (r == 0)
                pipeline_pending_remove(pending, &report);
        else if (r == DELIVERY_REFUSED)
                pipeline_pending_remove_refused(pending, &report, ret->reply.complaint.path);
        return r;
}

int deliver_reload(Courier *courier, Delivery *ret) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence = wire_next_sequence(&courier->wire);

        return deliver_frame(courier, protocol_encode_reload(sequence, &frame), &frame, sequence, true, ret);
}

int deliver_forget(Courier *courier, uint32_t uid, uint64_t before_ms, bool copies, Delivery *ret) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence = wire_next_sequence(&courier->wire);
        int r = protocol_encode_forget(sequence, uid, before_ms, copies, &frame);

        *ret = (Delivery){};
        return r < 0 ? r : try_frame(courier, &frame, sequence, ret);
}

/*
 * A mark that perfd receives twice would end the phase that it started; it is not repeated once perfd may have read
 * it.
 */
int deliver_mark(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret,
                 Delivery *ret_delivery) {
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence = wire_next_sequence(&courier->wire);
        int r;

        r = deliver_frame(courier, protocol_encode_mark(sequence, job, name, wall_seconds, &frame), &frame, sequence,
                          false, ret_delivery);
        if (r != 0)
                return r;

        utf8_copy(ret->job, sizeof(ret->job), ret_delivery->reply.job);
        utf8_copy(ret->previous, sizeof(ret->previous), ret_delivery->reply.phase);
        utf8_copy(ret->remark, sizeof(ret->remark), ret_delivery->reply.complaint.text);
        return 0;
}

_Static_assert(DELIVERY_TEXT_MAX >= WIRE_ERROR_MAX, "both texts fit");

#define AFTER_REFUSED_MAX 64U /* results of a request after a refused one: all of it is sent again */

int deliver_parts(Courier *courier, DeliveryParts *parts) {
        Batch *rest = &parts->rest;
        Delivery *last = &parts->last;
        size_t n_max = rest->n_items;

        for (;;) {
                bool is_last = n_max >= rest->n_items;
                Batch part = { .items = rest->items, .n_items = n_max };
                int r = deliver(courier, is_last ? rest : &part, last);

                parts->n_stored += last->n_stored;
                parts->n_duplicate += last->n_duplicate;
                rest->items += last->n_acked;
                rest->n_items -= last->n_acked;
                if (r != DELIVERY_REFUSED || last->refused == DELIVERY_WHOLE) {
                        if (r != 0 || is_last)
                                return r;
                        continue;
                }
                n_max = last->refused - last->n_acked; /* those before it go first */
                if (n_max > 0)
                        continue;
                parts->on_refused(rest->items++, last, parts->userdata);
                rest->n_items--;
                parts->n_refused++;
                n_max = AFTER_REFUSED_MAX;
        }
}

void delivery_explain(const Delivery *delivery, const Courier *courier, char ret[static DELIVERY_TEXT_MAX]) {
        const Complaint *complaint = &delivery->reply.complaint;
        const char *member = protocol_find_member(complaint->path);
        char which[40] = "";

        if (strcmp(member, "sample_ms") == 0)
                member = "--interval";
        if (delivery->refused != DELIVERY_WHOLE)
                snprintf(which, sizeof(which), "indicator %zu: ", delivery->refused + 1);
        if (delivery->error == -ETIMEDOUT && wire_is_connected(&courier->wire))
                snprintf(ret, DELIVERY_TEXT_MAX, "perfd did not answer in time: the request may still be carried out");
        else if (delivery->error < 0)
                wire_explain(courier->path, delivery->error, ret);
        else
                snprintf(ret, DELIVERY_TEXT_MAX, "%s%s%s%s", which, member, member[0] ? ": " : "",
                         complaint->text[0] ? complaint->text : request_status_name(delivery->reply.status));
}

/* --- spool ---------------------------------------------------------------------------------------- */

static int reject(const char *directory, const char *name, const char *reason, Flush *flush) {
        int r;

        r = spool_reject(directory, name, reason);
        if (r == 0)
                flush->n_rejected++;
        return r;
}

static bool is_unknown_end(const DeliveryParts *parts) {
        return parts->rest.ended_job && parts->rest.n_items == 0 && parts->last.reply.status == STATUS_NOT_FOUND;
}

/* A file that is being sent. */
typedef struct Spooled {
        DeliveryParts parts;
        Submission *refused; /* owned */
        size_t n_refused;
        Buffer reasons;      /* a line for each refused result */
        const Courier *courier;
        Flush *flush;
} Spooled;

static void spooled_deinit(Spooled *spooled) {
        free(spooled->refused);
        buffer_deinit(&spooled->reasons);
}

static void set_aside(const Submission *item, Delivery *delivery, void *userdata) {
        Spooled *spooled = userdata;
        char *reason = spooled->flush->reason;

        delivery->refused = spooled->n_refused; /* its index in the file of the refused ones */
        delivery_explain(delivery, spooled->courier, reason);
        buffer_printf(&spooled->reasons, "%s%s", spooled->n_refused > 0 ? "\n" : "", reason);
        spooled->refused[spooled->n_refused++] = *item;
}

/* Sends all but the results that perfd refuses. */
static int send_spooled(Courier *courier, Spooled *spooled, Flush *flush) {
        DeliveryParts *parts = &spooled->parts;
        int r = deliver_parts(courier, parts);

        flush->n_stored += parts->n_stored;
        flush->n_duplicate += parts->n_duplicate;
        flush->n_ends += r == 0 && parts->rest.ended_job;
        if (r == DELIVERY_REFUSED && is_unknown_end(parts)) {
                flush->n_unknown++;
                return 0;
        }
        if (r > 0)
                delivery_explain(&parts->last, courier, flush->reason);
        return r;
}

static int flush_file(Courier *courier, const char *directory, const char *name, Flush *flush) {
        scoped(spool_close) SpoolFile file = { .fd = -1 };
        scoped(spooled_deinit) Spooled spooled = { .courier = courier, .flush = flush };
        scoped(arena_deinit) Arena arena = {};
        Batch *rest = &spooled.parts.rest;
        size_t n_items;
        int r;

        r = spool_open(directory, name, &file);
        if (r == SPOOL_ODD) {
                size_t n = strlen(flush->skipped);

                flush->n_skipped++;
                if (n + strlen(name) + SPOOL_REASON_MAX + 4 < sizeof(flush->skipped))
                        (void)snprintf(flush->skipped + n, sizeof(flush->skipped) - n, "%s: %s\n", name, file.reason);
        }
        if (r != 0)
                return r == SPOOL_GONE || r == SPOOL_ODD ? 0 : r;

        r = arena_init(&arena, spool_batch_arena_size(file.n));
        if (r == 0)
                r = spool_parse_batch(file.text, file.n, &arena, rest);
        if (r == SPOOL_MALFORMED) {
                snprintf(flush->reason, sizeof(flush->reason), "not a spool file of this version of perfctl");
                return reject(directory, name, flush->reason, flush);
        }
        if (r < 0)
                return r;

        n_items = rest->n_items;
        spooled.parts.on_refused = set_aside;
        spooled.parts.userdata = &spooled;
        spooled.refused = calloc(n_items + 1, sizeof(*spooled.refused));
        if (!spooled.refused)
                return -ENOMEM;
        r = send_spooled(courier, &spooled, flush);
        if (r == 0 && spooled.n_refused == 0)
                return spool_remove(directory, name);

        if (r == 0) {
                *rest = (Batch){ .items = spooled.refused, .n_items = spooled.n_refused };
                r = buffer_error(&spooled.reasons) ?: spool_replace(directory, name, rest);
                return r < 0 ? r : reject(directory, name, spooled.reasons.text, flush);
        }
        /* otherwise sent again from the start, which is harmless */
        if (r > 0 && r != DELIVERY_REFUSED && spooled.n_refused == 0 && rest->n_items < n_items)
                (void)spool_replace(directory, name, rest);
        return r == DELIVERY_REFUSED ? reject(directory, name, flush->reason, flush) : r;
}

int deliver_spool(Courier *courier, const char *directory, Flush *ret) {
        Flush flush = {};
        struct dirent **entries;
        size_t n, i;
        int r;

        r = spool_list(directory, &entries, &n);
        if (r < 0)
                return r;

        for (i = 0; i < n && r == 0; i++)
                r = flush_file(courier, directory, entries[i]->d_name, &flush);
        if (r != 0)
                flush.n_left = n - (i - 1);

        spool_entries_free(entries, n);
        *ret = flush;
        return r > 0 ? 0 : r;
}
