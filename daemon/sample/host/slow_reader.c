/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/slow_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/error_text.h"
#include "util/scoped.h"
#include "util/thread.h"

#define NONE_NS (10 * NS_PER_S)
#define AGE_MAX_NS (3 * NS_PER_S)
#define FAULT_BYTES 160

/* Belongs to the thread while it runs. */
typedef struct SlowReading {
        const EquipmentReader *reader;
        int root_fd; /* owned */
        void *state; /* of the reader, owned */
        pthread_t thread;
        atomic_flag is_left; /* by the thread, or by perfd, which does not wait for it: the second one frees it */
        Sample sample;       /* its time, and the items */
        int outcome;
        char fault[FAULT_BYTES]; /* copied in the thread: the text of an unknown error ends with it */
} SlowReading;

struct SlowReader {
        SlowReading *reading; /* owned */
        bool is_running;
        uint64_t asked_ns, next_ns; /* time of the last reading, and earliest time of the next */
        /* of the last reading that ended */
        EquipmentList taken;
        uint64_t taken_ns;
        int outcome;
        char fault[FAULT_BYTES];
};

static void free_reading(SlowReading *reading) {
        if (reading->state)
                reading->reader->free(reading->state);
        sample_deinit(&reading->sample);
        closep(&reading->root_fd);
        free(reading);
}

int slow_reader_new(SlowReader **ret, const EquipmentReader *reader, const char *root, int root_fd) {
        SlowReader *slow = calloc(1, sizeof(*slow));
        SlowReading *reading = slow ? calloc(1, sizeof(*reading)) : NULL;
        int r = -ENOMEM;

        if (reading) {
                *slow = (SlowReader){ .reading = reading, .outcome = EQUIPMENT_NONE };
                *reading = (SlowReading){ .reader = reader, .root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3) };
                r = reading->root_fd < 0 ? -errno
                                         : equipment_reader_new(reader, &reading->state, root, reading->root_fd);
        }
        if (r < 0) {
                if (reading)
                        free_reading(reading);
                free(slow);
                return r;
        }
        *ret = slow;
        return 0;
}

/* --- the thread ----------------------------------------------------------------------------------- */

static void leave(SlowReading *reading) {
        if (atomic_flag_test_and_set(&reading->is_left))
                free_reading(reading);
}

static void *on_start(void *userdata) {
        SlowReading *reading = userdata;
        const char *fault = "";

        pthread_setname_np(pthread_self(), "perfd-driver");
        reading->sample.equipment.n = 0;
        reading->outcome = reading->reader->read(reading->state, &reading->sample, &fault);
        (void)snprintf(reading->fault, sizeof(reading->fault), "%s", fault);
        leave(reading);
        return NULL;
}

/* Takes what a thread that has ended has read. Its list is exchanged for the one before. */
static void take(SlowReader *slow) {
        SlowReading *reading = slow->reading;
        EquipmentList list = slow->taken;

        if (!slow->is_running || pthread_tryjoin_np(reading->thread, NULL) != 0)
                return;
        slow->is_running = false;
        slow->taken = reading->sample.equipment;
        reading->sample.equipment = list;
        slow->taken_ns = slow->asked_ns;
        slow->outcome = reading->outcome;
        slow->next_ns = slow->asked_ns + (slow->outcome == EQUIPMENT_NONE ? NONE_NS : reading->reader->distance_ns);
        if (slow->outcome == EQUIPMENT_FAILED)
                memcpy(slow->fault, reading->fault, sizeof(slow->fault));
}

SlowReader *slow_reader_free(SlowReader *slow) {
        if (!slow)
                return NULL;
        take(slow);
        if (slow->is_running) {
                (void)pthread_detach(slow->reading->thread);
                leave(slow->reading);
        } else
                free_reading(slow->reading);
        free(slow->taken.items);
        free(slow);
        return NULL;
}

/* --- reading -------------------------------------------------------------------------------------- */

void slow_reader_ask(SlowReader *slow, uint64_t now_ns) {
        int r;

        take(slow);
        if (slow->is_running || now_ns < slow->next_ns)
                return;
        slow->asked_ns = slow->reading->sample.boottime_ns = now_ns;
        atomic_flag_clear(&slow->reading->is_left);
        r = thread_start(&slow->reading->thread, on_start, slow->reading);
        slow->is_running = r == 0;
        if (r < 0) {
                slow->outcome = EQUIPMENT_FAILED;
                (void)snprintf(slow->fault, sizeof(slow->fault), "no thread: %s", error_text(-r));
        }
}

static int add_items(SlowReader *slow, Sample *sample) {
        for (size_t i = 0; i < slow->taken.n; i++) {
                const SampleEquipment *item = &slow->taken.items[i];
                SampleEquipment *added;
                int r = equipment_add(&sample->equipment, item->kind, item->name, &added);

                if (r != 0)
                        return r;
                *added = *item;
        }
        return 0;
}

int slow_reader_read(SlowReader *slow, Sample *sample, uint64_t *ret_read_ns, const char **ret_fault) {
        uint64_t age_ns;
        int r;

        take(slow);
        age_ns = sample->boottime_ns - slow->asked_ns;
        *ret_fault = slow->fault;
        *ret_read_ns = slow->taken_ns;
        if (slow->is_running && age_ns > AGE_MAX_NS) {
                (void)snprintf(slow->fault, sizeof(slow->fault), "%s has not answered for %" PRIu64 " s",
                               slow->reading->reader->driver, age_ns / NS_PER_S);
                return EQUIPMENT_FAILED;
        }
        if (slow->outcome != 0)
                return slow->outcome;
        r = add_items(slow, sample);
        if (r == EQUIPMENT_FULL)
                *ret_fault = "too many items";
        return r == EQUIPMENT_FULL ? EQUIPMENT_FAILED : r;
}
