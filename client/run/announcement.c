#include "client/run/announcement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/say.h"
#include "client/wire/id.h"
#include "util/clock.h"

/* What perfd may delay a job by, whatever state it is in. */
#define BEGIN_TIMEOUT_NS (200 * NS_PER_MS)

static int begin_once(Announcement *announcement, uint64_t late_ms, Delivery *delivery) {
        const JobBegin job_begin = {
                .info = announcement->info,
                .member_pid = announcement->has_group ? announcement->info->pid : 0,
                .is_fresh = announcement->has_group,
                .late_ms = late_ms,
        };

        courier_allow(announcement->courier, BEGIN_TIMEOUT_NS);
        announcement->courier->is_patient = false;
        return deliver_begin(announcement->courier, &job_begin, delivery);
}

/* A task may run one command after the other; then its id is that of the first. */
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

        r = job_id_make(clock_realtime_ns() / NS_PER_MS, id);
        if (r == 0)
                snprintf(info->id + n, sizeof(info->id) - n, ".%s", id);
        return r;
}

int announcement_begin(Announcement *announcement) {
        char reason[DELIVERY_TEXT_MAX];
        Delivery delivery;
        int r;

        announcement->begin_ns = clock_boottime_ns();
        r = begin_once(announcement, 0, &delivery);
        if (is_used(announcement, &delivery, r)) {
                r = extend_id(announcement->info);
                if (r == 0)
                        r = begin_once(announcement, 0, &delivery);
        }
        if (r == 0) {
                announcement->is_begun = announcement->is_begin_known = true;
                return 0;
        }
        if (r < 0)
                return r;

        /* In its socket already: it will take it up before anything that is sent later. */
        announcement->is_begun = delivery.error == -ETIMEDOUT && wire_is_connected(&announcement->courier->wire);
        delivery_explain(&delivery, announcement->courier, reason);
        if (announcement->is_begun)
                say("perfd does not answer: going on without waiting for it");
        else
                say("%s. Running without it", reason);
        return 0;
}

/*
 * Where perfd was away, or full, and is back when the command has ended: what its group counted is there still, and so are its end
 * and the rusage. Where it has the first request, it says so.
 */
int announcement_end(Announcement *announcement) {
        uint64_t begin_ns = clock_boottime_ns();
        Delivery delivery;
        int r;

        if (announcement->is_begin_known || announcement->begin_ns == 0)
                return 0;

        r = begin_once(announcement, (begin_ns - announcement->begin_ns) / NS_PER_MS, &delivery);
        announcement->spent_ns = clock_boottime_ns() - begin_ns;
        if (r < 0)
                return r;
        /* An id that another command of the task has is not changed any more: results have it. */
        if (r == 0 && (announcement->is_begun || delivery.reply.status == STATUS_OK))
                announcement->is_begun = announcement->is_begin_known = true;
        else if (r == DELIVERY_REFUSED)
                announcement->is_begun = false;
        return 0;
}
