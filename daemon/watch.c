#include "watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static int on_process_gone(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Service *service = userdata;

        (void)fd;
        (void)revents;
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);

        for (Job *job = service->jobs.first; job; job = job->next)
                if (job->process == source)
                        return service_job_interrupted(service, job, "its process went away without an end");
        return 0;
}

static bool is_same_process(Service *service, const Job *job) {
        uint64_t start_ticks;
        uint32_t uid;

        return node_process_start(&service->node, job->info.pid, &start_ticks, &uid) == 0 &&
               start_ticks == job->info.pid_start_ticks;
}

int watch_job(Service *service, Job *job) {
        scoped(closep) int fd = -1;
        int r;

        if (job->info.pid == 0)
                return 0;

        fd = (int)syscall(SYS_pidfd_open, job->info.pid, 0);
        if (fd < 0)
                return errno == ESRCH ? WATCH_GONE : -errno;
        /* Opened first, then compared: from here on the descriptor is the process we mean. */
        if (!is_same_process(service, job))
                return WATCH_GONE;

        r = sd_event_add_io(service->event, &job->process, fd, EPOLLIN, on_process_gone, service);
        if (r < 0)
                return r;
        (void)sd_event_source_set_io_fd_own(job->process, true);
        (void)TAKE_FD(fd);

        /* After the sockets: an end that was sent just before the process went is read first. */
        return sd_event_source_set_priority(job->process, SD_EVENT_PRIORITY_IDLE);
}
