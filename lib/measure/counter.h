/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counter: what of a kernel counter's readings is believed
 *
 * A counter should only grow, and no faster than the hardware behind it can. A reading that contradicts this is in
 * doubt: nothing is counted, and the value before it is kept for COUNTER_DOUBT_NS.
 *
 *   returned   at or above the value before the doubt, at a rate that is possible since then: the readings between were
 *              wrong, and the difference to the value before is counted, less what was counted in between
 *   fell       below the value before, and grows from there: the counter started again, and the growth is counted. The
 *              counter of a device started at 0: its first reading is counted as well, when the second is higher. A
 *              slight fall is none: nothing is counted until the value before is exceeded
 *   leapt      further than possible: growth from the new value is counted
 *   wrapped    a 32-bit counter (of sectors, for a disk's bytes) went from its upper half to its lower half, at a rate
 *              that such hardware can reach, and grows from there: the difference modulo 2^32
 *
 * After COUNTER_DOUBT_NS, the new value is believed.
 *
 * A counter with a width wraps in normal use: a lower reading is no doubt. The growth, modulo the width, is counted if
 * it is possible and no whole turn is; otherwise it is lost, and nothing is counted.
 */

#include <stdbool.h>
#include <stdint.h>

#define COUNTER_DOUBT_NS (UINT64_C(300) * 1000000000)

typedef enum CounterKind {
        COUNTER_TIME,   /* cannot grow by more than time passes: growth in step with time is no return */
        COUNTER_NUMBER, /* of events or bytes */
        COUNTER_DEVICE, /* as COUNTER_NUMBER, and starts again at 0 with its device */
} CounterKind;

typedef struct CounterLimit {
        CounterKind kind;
        double max_per_s;
        double lag_s;                       /* what was counted in this time may come at once */
        uint64_t slight;                    /* a smaller fall is slight; 0: one to no less than half the value */
        /* of a 32-bit counter: size of its unit, and its highest rate; 0: it does not wrap */
        uint64_t wrap_unit, wrap_max_per_s;
        uint64_t width; /* of a counter that wraps there; 0: another */
} CounterLimit;

/* Initialize with zeros. */
typedef struct Counter {
        uint64_t believed;           /* value up to which was counted; in doubt: the value before, and `counted` */
        uint64_t shown;              /* the first reading, and all that was counted since: never decreases */
        uint64_t believed_ns;        /* time of the last reading without doubt; 0: none yet */
        uint64_t last, last_ns;      /* last reading */
        uint64_t counted;            /* while in doubt */
        bool is_doubted, is_wrapped;
        bool is_uncertain;           /* in doubt, after a fall that was not slight, or after a leap */
} Counter;

typedef enum CounterStep {
        COUNTER_COUNTED,
        COUNTER_IN_DOUBT, /* or believed after COUNTER_DOUBT_NS */
        COUNTER_FELL,  /* a doubt begins: more than slightly below the value before */
        COUNTER_LEAPT, /* a doubt begins: above what is possible */
        COUNTER_LOST,  /* of a counter with a width: what it counted since the last reading is unknown */
} CounterStep;

/* Begins at a reading; what is shown continues. */
void counter_begin(Counter *counter, uint64_t now, uint64_t now_ns);
/* Continues a counter of which only `believed` and `shown` are known, read at that time. */
void counter_resume(Counter *counter, uint64_t read_ns);
/* Takes the next reading; the first one counts nothing. *ret: the amount counted. */
CounterStep counter_advance(Counter *counter, uint64_t now, uint64_t now_ns, const CounterLimit *limit, uint64_t *ret);
