/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/counter.h"

#include <math.h>

#include "util/clock.h"

#define HALF_OF_32_BITS (UINT64_C(1) << 31)
#define ALL_OF_32_BITS (UINT64_C(1) << 32)
/* Time in doubt follows what passes, and nothing that is counted late: ticks of a CPU, and the time between two
 * counters. */
#define PROMPT_LAG_S 0.1

void counter_begin(Counter *counter, uint64_t now, uint64_t now_ns) {
        uint64_t shown = counter->believed_ns > 0 ? counter->shown : now;

        *counter = (Counter){ .believed = now, .believed_ns = now_ns, .last = now, .last_ns = now_ns, .shown = shown };
}

void counter_resume(Counter *counter, uint64_t read_ns) {
        if (counter->shown == 0)
                counter->shown = counter->believed;
        counter->last = counter->believed;
        counter->believed_ns = counter->last_ns = read_ns;
}

static bool is_possible(uint64_t amount, uint64_t since_ns, uint64_t now_ns, const CounterLimit *limit) {
        return (double)amount <= ((double)(now_ns - since_ns) / (double)NS_PER_S + limit->lag_s) * limit->max_per_s;
}

static bool is_wrap(const Counter *counter, uint64_t now, uint64_t now_ns, const CounterLimit *limit) {
        uint64_t unit = limit->wrap_unit, old, new;

        if (unit == 0)
                return false;
        old = counter->believed / unit;
        new = now / unit;
        return old >= HALF_OF_32_BITS && old < ALL_OF_32_BITS && new < HALF_OF_32_BITS &&
               (double)(now + ALL_OF_32_BITS * unit - counter->believed) <=
                       (double)(now_ns - counter->believed_ns) / (double)NS_PER_S * (double)limit->wrap_max_per_s;
}

/* The value before the doubt. */
static uint64_t value_before(const Counter *counter) {
        return counter->believed - counter->counted;
}

/* A value below the one before the doubt, but only slightly. */
static bool is_slight(const Counter *counter, uint64_t value, const CounterLimit *limit) {
        uint64_t before = value_before(counter);

        return value < before && before - value < (limit->slight > 0 ? limit->slight : before - before / 2);
}

static void settle(Counter *counter, uint64_t now, uint64_t now_ns, uint64_t amount) {
        counter->believed = counter->last = now;
        counter->believed_ns = counter->last_ns = now_ns;
        counter->counted = 0;
        counter->is_doubted = counter->is_wrapped = counter->is_uncertain = false;
        counter->shown += amount;
}

/* Counts an amount, and keeps the value before. */
static void doubt(Counter *counter, uint64_t now, uint64_t now_ns, uint64_t amount) {
        counter->is_doubted = true;
        counter->believed += amount;
        counter->counted += amount;
        counter->shown += amount;
        counter->last = now;
        counter->last_ns = now_ns;
}

/* A time that grows from a lower value passes the value before in many readings; one that was misread, in one. */
static bool has_returned(const Counter *counter, uint64_t now, uint64_t now_ns, const CounterLimit *limit, bool grows) {
        uint64_t before = value_before(counter);

        if (now < before || !is_possible(now - before, counter->believed_ns, now_ns, limit))
                return false;
        if (counter->last >= before)
                return now < counter->last;
        return limit->kind != COUNTER_TIME || !grows || is_slight(counter, counter->last, limit) ||
               (counter->counted == 0 && !counter->is_wrapped);
}

/* Growth since the last reading; the first growth confirms what was counted before: since the device started at 0,
 * or over a wrap. */
static uint64_t follow(const Counter *counter, uint64_t now, uint64_t now_ns, const CounterLimit *limit) {
        uint64_t growth = now - counter->last;

        if (counter->counted > 0 || counter->last >= counter->believed)
                return growth;
        if (counter->is_wrapped)
                return now + ALL_OF_32_BITS * limit->wrap_unit - counter->believed;
        return limit->kind == COUNTER_DEVICE && is_possible(counter->last, counter->believed_ns, now_ns, limit)
                       ? now
                       : growth;
}

static CounterStep advance_doubted(Counter *counter, uint64_t now, uint64_t now_ns, const CounterLimit *limit,
                                   uint64_t *ret) {
        const CounterLimit prompt = { .max_per_s = limit->max_per_s, .lag_s = fmin(limit->lag_s, PROMPT_LAG_S) };
        bool grows = now > counter->last && is_possible(now - counter->last, counter->last_ns, now_ns,
                                                        limit->kind == COUNTER_TIME ? &prompt : limit);
        bool can_wrap_again = counter->is_wrapped && grows && now / limit->wrap_unit >= HALF_OF_32_BITS;
        bool is_over = now_ns - counter->believed_ns > COUNTER_DOUBT_NS || can_wrap_again;

        if (has_returned(counter, now, now_ns, limit, grows)) {
                *ret = now > counter->believed ? now - counter->believed : 0;
                settle(counter, now, now_ns, *ret);
                return COUNTER_COUNTED;
        }

        if (grows && ((limit->kind == COUNTER_TIME && counter->is_uncertain) || !is_slight(counter, now, limit)))
                *ret = follow(counter, now, now_ns, limit);
        if (is_over) {
                settle(counter, now, now_ns, *ret);
                return COUNTER_IN_DOUBT;
        }

        doubt(counter, now, now_ns, *ret);
        return COUNTER_IN_DOUBT;
}

static CounterStep advance_wide(Counter *counter, uint64_t now, uint64_t now_ns, const CounterLimit *limit,
                                uint64_t *ret) {
        uint64_t growth = now >= counter->believed ? now - counter->believed : now + limit->width - counter->believed;
        bool is_known = is_possible(growth, counter->believed_ns, now_ns, limit) &&
                        !is_possible(limit->width, counter->believed_ns, now_ns, limit);

        *ret = is_known ? growth : 0;
        settle(counter, now, now_ns, *ret);
        return is_known ? COUNTER_COUNTED : COUNTER_LOST;
}

CounterStep counter_advance(Counter *counter, uint64_t now, uint64_t now_ns, const CounterLimit *limit, uint64_t *ret) {
        /* growth that a 32-bit counter can reach is no return from a wrap */
        const CounterLimit wrapped = { .kind = COUNTER_TIME, .max_per_s = (double)limit->wrap_max_per_s, .slight = 1,
                                       .wrap_unit = limit->wrap_unit };

        *ret = 0;
        if (counter->believed_ns == 0) {
                counter_begin(counter, now, now_ns);
                return COUNTER_COUNTED;
        }
        if (limit->width > 0)
                return advance_wide(counter, now, now_ns, limit, ret);
        if (counter->is_doubted)
                return advance_doubted(counter, now, now_ns, counter->is_wrapped ? &wrapped : limit, ret);

        if (now >= counter->believed && is_possible(now - counter->believed, counter->believed_ns, now_ns, limit)) {
                *ret = now - counter->believed;
                settle(counter, now, now_ns, *ret);
                return COUNTER_COUNTED;
        }
        counter->is_wrapped = now < counter->believed && is_wrap(counter, now, now_ns, limit);
        doubt(counter, now, now_ns, 0);
        if (counter->is_wrapped || is_slight(counter, now, limit))
                return COUNTER_IN_DOUBT;
        counter->is_uncertain = true;
        return now < counter->believed ? COUNTER_FELL : COUNTER_LEAPT;
}
