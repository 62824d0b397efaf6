/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/announcement.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/message.h"
#include "client/wire/id.h"
#include "util/clock.h"

/* Maximum delay of a job, whatever the state of perfd. */
#define BEGIN_TIMEOUT_NS (200 * NS_PER_MS)

/* An attempt costs little, but a node that never gets a perfd should not wake up forever. */
#define BACKOFF_FIRST_NS (100 * NS_PER_MS)
#define BACKOFF_MAX_NS (4 * NS_PER_S)

void announcement_init(Announcement *announcement) {
        *announcement = (Announcement){};
        wire_init(&announcement->wire);
}

void announcement_deinit(Announcement *announcement) {
        wire_deinit(&announcement->wire);
}

static JobBegin job_begin(const Announcement *announcement, uint64_t now_ns) {
        assert(now_ns >= announcement->begin_ns);
        return (JobBegin){
                .info = announcement->info,
                .member_pid = announcement->has_group ? announcement->info->pid : 0,
                .is_fresh = announcement->has_group,
                .client_cpu = announcement->client_cpu,
                .sample_ns = announcement->sample_ns,
                .late_ms = (now_ns - announcement->begin_ns) / NS_PER_MS,
        };
}

static int begin_once(Announcement *announcement, uint64_t now_ns, Delivery *delivery) {
        const JobBegin begin = job_begin(announcement, now_ns);

        deliver_courier_set_timeout(announcement->courier, BEGIN_TIMEOUT_NS);
        announcement->courier->is_patient = false;
        return deliver_begin(announcement->courier, &begin, delivery);
}

/* Returns true if the id was already used: a task may run several commands in turn, and its id belongs to the first. */
static bool is_used(const Announcement *announcement, const Delivery *delivery, int r) {
        if (announcement->is_id_given)
                return false;

        return (r == 0 && delivery->reply.status == STATUS_DUPLICATE) ||
               (r == DELIVERY_REFUSED && delivery->reply.status == STATUS_INVALID);
}

static int extend_id(JobInfo *info) {
        char id[JOB_ID_TEXT_MAX];
        size_t n = strlen(info->id);
        int r;

        r = id_make_job(clock_realtime_ns() / NS_PER_MS, id);
        if (r == 0)
                snprintf(info->id + n, sizeof(info->id) - n, ".%s", id);
        return r;
}

/* Waits between half and all of the backoff, so that the ranks of a node do not retry at the same time. */
static void schedule_retry(Announcement *announcement, uint64_t now_ns) {
        uint64_t half_ns = announcement->backoff_ns / 2;

        assert(half_ns > 0);
        announcement->next_ns = now_ns + half_ns + clock_realtime_ns() % half_ns;
        announcement->backoff_ns = announcement->backoff_ns * 2 < BACKOFF_MAX_NS ? announcement->backoff_ns * 2
                                                                                 : BACKOFF_MAX_NS;
}

int announcement_begin(Announcement *announcement) {
        char reason[DELIVERY_TEXT_MAX];
        Delivery delivery;
        bool is_waiting;
        int r;

        announcement->begin_ns = clock_boottime_ns();
        r = begin_once(announcement, announcement->begin_ns, &delivery);
        if (is_used(announcement, &delivery, r)) {
                r = extend_id(announcement->info);
                if (r == 0)
                        r = begin_once(announcement, announcement->begin_ns, &delivery);
        }
        if (r == 0) {
                announcement->is_begun = announcement->is_begin_known = true;
                return 0;
        }
        if (r < 0)
                return r;

        /* The request is already in the socket: perfd reads it before any later request. */
        is_waiting = delivery.error == -ETIMEDOUT && wire_is_connected(&announcement->courier->wire);
        announcement->is_begun = r == DELIVERY_UNAVAILABLE && delivery.may_be_taken; /* possibly */
        delivery_explain(&delivery, announcement->courier, reason);
        if (is_waiting)
                message_print("perfd does not respond; continuing without waiting");
        else
                message_print("%s; the %s", reason,
                              r == DELIVERY_UNAVAILABLE ? "job is recorded only if perfd can be reached before it ends"
                                                        : "command runs unrecorded");
        if (r == DELIVERY_UNAVAILABLE && !is_waiting) {
                announcement->backoff_ns = BACKOFF_FIRST_NS;
                schedule_retry(announcement, clock_boottime_ns());
        }
        return 0;
}

/* --- while the command runs ----------------------------------------------------------------------- */

int announcement_fd(const Announcement *announcement) {
        return announcement && announcement->sequence > 0 ? announcement->wire.fd : -1;
}

int announcement_timeout_ms(const Announcement *announcement) {
        uint64_t now_ns;

        if (!announcement || announcement->next_ns == 0)
                return -1;

        now_ns = clock_boottime_ns();
        return announcement->next_ns > now_ns ? (int)((announcement->next_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

static void handle_reply(Announcement *announcement, const Reply *reply, uint64_t now_ns) {
        int r = delivery_classify(reply);

        assert(announcement->sequence > 0);
        announcement->sequence = 0;
        wire_deinit(&announcement->wire);

        /* A duplicate is this job, or another command of the task has the id. The id is not changed any more, since
         * results carry it. */
        if (r == 0)
                announcement->is_begun = announcement->is_begin_known = announcement->is_begun ||
                                                                        reply->status == STATUS_OK;
        else if (r == DELIVERY_UNAVAILABLE)
                schedule_retry(announcement, now_ns);
        else
                announcement->is_begun = false;
}

/* r: outcome of the request; only the reply may still be missing. */
static void handle_exchange(Announcement *announcement, int r, const Reply *reply, uint64_t now_ns) {
        if (r == 0)
                handle_reply(announcement, reply, now_ns);
        else if (!wire_is_connected(&announcement->wire)) {
                announcement->is_begun = true; /* possibly: the request may have been processed */
                announcement->sequence = 0;
                schedule_retry(announcement, now_ns);
        }
}

/* Does not block: a local connection succeeds or fails at once, and the first request fits the socket buffer. */
static void retry_begin(Announcement *announcement, uint64_t now_ns) {
        scoped(buffer_deinit) Buffer frame = {};
        const JobBegin begin = job_begin(announcement, now_ns);
        Wire *wire = &announcement->wire;
        uint64_t sequence = wire_next_sequence(wire);
        Reply reply;

        announcement->next_ns = 0;
        if (protocol_encode_job_begin(sequence, &begin, &frame) < 0 ||
            wire_connect(wire, announcement->courier->path, now_ns) < 0) {
                schedule_retry(announcement, now_ns);
                return;
        }

        announcement->sequence = sequence;
        handle_exchange(announcement, wire_exchange(wire, &frame, announcement->sequence, now_ns, &reply), &reply,
                        now_ns);
}

void announcement_go_on(Announcement *announcement) {
        uint64_t now_ns;
        Reply reply;
        int r;

        if (!announcement || (announcement->sequence == 0 && announcement->next_ns == 0))
                return;

        now_ns = clock_boottime_ns();
        if (announcement->sequence > 0) {
                r = wire_receive(&announcement->wire, announcement->sequence, now_ns, &reply);
                handle_exchange(announcement, r, &reply, now_ns);
        } else if (now_ns >= announcement->next_ns)
                retry_begin(announcement, now_ns);
}

/* --- the end -------------------------------------------------------------------------------------- */

/* Sends the begin request once more if unconfirmed. If perfd has an earlier request, the reply says so. */
int announcement_end(Announcement *announcement) {
        uint64_t begin_ns = clock_boottime_ns();
        Delivery delivery;
        int r;

        if (announcement->is_begin_known || announcement->begin_ns == 0)
                return 0;

        /* perfd reads the earlier request in the socket first. */
        if (announcement->sequence > 0) {
                wire_deinit(&announcement->courier->wire);
                announcement->courier->wire = announcement->wire;
                wire_init(&announcement->wire);
                announcement->sequence = 0;
                announcement->is_begun = true; /* possibly */
        }
        announcement->next_ns = 0;
        r = begin_once(announcement, begin_ns, &delivery);
        announcement->spent_ns = clock_boottime_ns() - begin_ns;
        if (r < 0)
                return r;
        /* The id of another command of the task is not changed any more, since results carry it. */
        if (r == 0 && (announcement->is_begun || delivery.reply.status == STATUS_OK))
                announcement->is_begun = announcement->is_begin_known = true;
        else if (r == DELIVERY_REFUSED)
                announcement->is_begun = false;
        return 0;
}
