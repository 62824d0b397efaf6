/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/table/gpu_use.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "measure/gpu_file.h"
#include "util/clock.h"

/* perfd-gpu answers within 50 ms. */
#define FIRST_LOOK_US (60 * NS_PER_MS / NS_PER_US)
#define NEXT_LOOK_US (20 * NS_PER_MS / NS_PER_US)

/* The process at a place of a reading. perfd-gpu leaves a process at its place. */
typedef struct GpuOwner {
        int32_t pid; /* 0: none */
        bool was_running, is_known;
        uint32_t uid;
        int32_t job_pid;   /* process of a job without cgroup, from which this one descends; 0: none */
        uint64_t share_us; /* as of the last reading */
        char *groups[2];   /* owned; cgroups in v2 and in v1, in the form of JobInfo.cgroup; NULL: none */
} GpuOwner;

struct GpuUse {
        const CgroupTree *tree;
        int root_fd, socket_fd;
        bool is_current; /* the readings are of now */
        sd_event_source *timer; /* owned */
        uint64_t asked_ns;      /* of the datagram whose reading is waited for; 0: none */
        bool is_asked_again;    /* since then: one datagram at a time */
        /* memory that a node without GPUs does not touch */
        GpuReadings readings;
        GpuOwner owners[GPU_FILE_GPUS_MAX][GPU_FILE_PROCESSES_MAX]; /* of each GPU in the readings */
};

int gpu_use_new(GpuUse **ret, const char *root, const CgroupTree *tree) {
        scoped(gpu_use_freep) GpuUse *use = calloc(1, sizeof(*use));

        if (!use)
                return -ENOMEM;
        use->tree = tree;
        use->socket_fd = -1;
        use->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        use->socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (use->root_fd < 0 || use->socket_fd < 0)
                return -errno;
        *ret = TAKE(use);
        return 0;
}

static void forget_process(GpuOwner *owner) {
        free(owner->groups[0]);
        free(owner->groups[1]);
        *owner = (GpuOwner){};
}

GpuUse *gpu_use_free(GpuUse *use) {
        if (!use)
                return NULL;

        sd_event_source_disable_unref(use->timer);
        for (size_t i = 0; i < GPU_FILE_GPUS_MAX * GPU_FILE_PROCESSES_MAX; i++)
                forget_process(&use->owners[i / GPU_FILE_PROCESSES_MAX][i % GPU_FILE_PROCESSES_MAX]);
        closep(&use->root_fd);
        closep(&use->socket_fd);
        free(use);
        return NULL;
}

/* --- readings ------------------------------------------------------------------------------------- */

void gpu_use_read(GpuUse *use, const Node *node) {
        if (use)
                use->is_current = sample_has(&node->sample, SOURCE_GPU) &&
                                  gpu_file_read(use->root_fd, GPU_FILE_PATH, &use->readings) == 0 &&
                                  clock_boottime_ns() - use->readings.boottime_ns <= GPU_FILE_AGE_MAX_NS;
}

/* The path may be too long for the address of a socket. */
static bool send_request(GpuUse *use) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" GPU_FILE_SOCKET, use->root_fd);
        return sendto(use->socket_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address,
                      sizeof(address)) == 1;
}

static void look_after(GpuUse *use, uint64_t us) {
        if (sd_event_source_set_time_relative(use->timer, us) >= 0)
                (void)sd_event_source_set_enabled(use->timer, SD_EVENT_ONESHOT);
}

int gpu_use_watch(GpuUse *use, sd_event *event, sd_event_time_handler_t handler, void *userdata) {
        int r = sd_event_add_time(event, &use->timer, CLOCK_BOOTTIME, 0, NS_PER_MS / NS_PER_US, handler, userdata);

        if (r >= 0)
                r = sd_event_source_set_enabled(use->timer, SD_EVENT_OFF);
        return r < 0 ? r : sd_event_source_set_exit_on_failure(use->timer, true);
}

uint64_t gpu_use_ask(GpuUse *use) {
        uint64_t now_ns = clock_boottime_ns();

        if (!use || !use->is_current || !use->timer)
                return 0;
        if (use->asked_ns > 0) {
                use->is_asked_again = true;
                return now_ns;
        }
        if (!send_request(use))
                return 0;
        use->asked_ns = now_ns;
        look_after(use, FIRST_LOOK_US);
        return now_ns;
}

bool gpu_use_is_answered(const GpuUse *use, uint64_t asked_ns) {
        return !use || (use->is_current && use->readings.boottime_ns >= asked_ns) ||
               clock_boottime_ns() - asked_ns > GPU_USE_WAIT_NS;
}

bool gpu_use_is_waiting(GpuUse *use, const Node *node) {
        gpu_use_read(use, node);
        if (use->asked_ns > 0 && !gpu_use_is_answered(use, use->asked_ns)) {
                look_after(use, NEXT_LOOK_US);
                return true;
        }
        use->asked_ns = 0;
        if (use->is_asked_again)
                (void)gpu_use_ask(use);
        use->is_asked_again = false;
        return false;
}

/* --- GPUs by name --------------------------------------------------------------------------------- */

static bool is_gpu(const SampleEquipment *item) {
        return item->kind == EQUIPMENT_GPU;
}

static const GpuReading *find_reading(const GpuUse *use, const char *uuid) {
        for (uint32_t i = 0; use->is_current && i < use->readings.n_gpus; i++)
                if (strcmp(use->readings.gpus[i].uuid, uuid) == 0)
                        return &use->readings.gpus[i];
        return NULL;
}

/* Returns the UUID of /dev/nvidiaN, or NULL. */
static const char *uuid_of_minor(const GpuUse *use, const char *digits) {
        int64_t minor = isdigit((unsigned char)*digits) ? strtol(digits, NULL, 10) : -1;

        for (uint32_t i = 0; minor >= 0 && use->is_current && i < use->readings.n_gpus; i++)
                if (use->readings.gpus[i].minor == minor && use->readings.gpus[i].parent < 0)
                        return use->readings.gpus[i].uuid;
        return NULL;
}

/* Each maker numbers its own GPUs: "0" is amd0 as well, unless there are GPUs of both. */
static bool is_given(const SampleEquipment *item, const char *given) {
        const size_t n_amd = strlen(JOB_GPU_AMD);
        const char *number = item->name + (strncmp(item->name, JOB_GPU_AMD, n_amd) == 0 ? n_amd : 0);

        if (isdigit((unsigned char)given[0]))
                return strcmp(number, given) == 0;
        return strcmp(item->name, given) == 0 || strncmp(item->texts[0], given, strlen(given)) == 0;
}

/* Two GPUs of a number or a beginning are none, and the number of a GPU that has instances does not say which. */
static const SampleEquipment *find_given(const GpuUse *use, const Sample *sample, const char *given) {
        const SampleEquipment *found = NULL;
        const GpuReading *reading;

        if (strncmp(given, JOB_GPU_MINOR, strlen(JOB_GPU_MINOR)) == 0)
                given = uuid_of_minor(use, given + strlen(JOB_GPU_MINOR));
        for (size_t i = 0; given && i < sample->equipment.n; i++) {
                const SampleEquipment *item = &sample->equipment.items[i];

                if (!is_gpu(item) || !is_given(item, given))
                        continue;
                if (found)
                        return NULL;
                found = item;
        }
        reading = found ? find_reading(use, found->texts[0]) : NULL;
        return reading && reading->has_instances > 0 ? NULL : found;
}

/* A GPU that was given twice, or was found by its processes before, is one. */
static void settle_given(const GpuUse *use, const Sample *sample, JobGpus *gpus) {
        for (size_t i = 0; i < gpus->n; i++) {
                const SampleEquipment *item = gpus->items[i].name[0] ? NULL
                                                                    : find_given(use, sample, gpus->items[i].given);
                JobGpu *other = item ? job_gpus_find(gpus, item) : NULL;

                if (item && !other)
                        job_gpus_set_item(&gpus->items[i], item);
                if (!other)
                        continue;
                if (!other->given[0])
                        memcpy(other->given, gpus->items[i].given, sizeof(other->given));
                gpus->n--;
                memmove(&gpus->items[i], &gpus->items[i + 1], (gpus->n - i) * sizeof(*gpus->items));
                i--;
        }
}

/* Out of memory: they are found when they are used. */
void gpu_use_give(GpuUse *use, Job *job, const Node *node, const char *words) {
        char text[JOB_GPUS_TEXT_MAX], *rest = text, *word;
        size_t n_unfound = 0;
        uint64_t now_ns;

        if (!use || !words || !sample_has(&node->sample, SOURCE_GPU))
                return;
        now_ns = gpu_use_ask(use) ?: node->sample.boottime_ns;
        (void)snprintf(text, sizeof(text), "%s", words);
        while ((word = strsep(&rest, ","))) {
                if (*word && !find_given(use, &node->sample, word) && ++n_unfound > JOB_GPUS_UNFOUND_MAX)
                        continue;
                if (*word)
                        (void)job_gpus_add(&job->gpus, word, now_ns);
        }
        settle_given(use, &node->sample, &job->gpus);
        if (n_unfound <= JOB_GPUS_UNFOUND_MAX)
                return;
        (void)snprintf(text, sizeof(text), "%zu of the GPUs that the job was given are none of the node: %u are shown",
                       n_unfound, JOB_GPUS_UNFOUND_MAX);
        running_job_set_note(job, text);
}

/* --- processes ------------------------------------------------------------------------------------ */

#define ANCESTORS_MAX 64U

/* Returns the process of a job without cgroup from which the process descends, or 0. */
static int32_t find_job_pid(const Jobs *jobs, const Node *node, int32_t pid) {
        for (unsigned i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
                for (const Job *job = jobs->first; job; job = job->links.next)
                        if (job->info.pid == pid && !job->info.cgroup)
                                return pid;
                pid = node_process_parent(node, pid);
        }
        return 0;
}

/* A process that has ended meanwhile is no one's. */
static void look_up(const GpuUse *use, const Jobs *jobs, const Node *node, GpuOwner *owner) {
        char name[CGROUP_NAME_MAX];
        CgroupPlace place;
        uint64_t ticks;

        if (node_process_start(node, owner->pid, &ticks, &owner->uid) != 0)
                return;
        owner->is_known = true;
        if (jobs->n > jobs->stats.n_with_cgroup)
                owner->job_pid = find_job_pid(jobs, node, owner->pid);
        if (cgroup_tree_find_process(use->tree, owner->pid, &place) != 0)
                return;
        owner->groups[0] = place.v2[0] ? strdup(place.v2) : NULL;
        place.v2[0] = '\0';
        owner->groups[1] = cgroup_tree_place_name(&place, name) == 0 ? strdup(name) : NULL;
}

/* Processes of a GPU at this reading. */
typedef struct GpuCrowd {
        const SampleEquipment *item;
        const GpuReading *reading; /* NULL: none */
        uint64_t share_us;  /* counted for all since the last reading */
        uint32_t n_of_jobs; /* processes that belong to a job */
        uint32_t uid;       /* of those that belong to none, except of root; JOB_UID_UNKNOWN: there are none */
        bool has_users;     /* those are of several users */
} GpuCrowd;

/* Begins with the reading in which the process is seen first, and for energy with the next, which is asked for. */
static JobGpu *take_gpu(GpuUse *use, Job *job, const GpuCrowd *crowd) {
        JobGpu *gpu = job_gpus_find(&job->gpus, crowd->item);

        if (gpu)
                return gpu;
        (void)gpu_use_ask(use);
        gpu = job_gpus_add(&job->gpus, "", crowd->reading->boottime_ns);
        if (gpu)
                job_gpus_set_item(gpu, crowd->item);
        return gpu;
}

static bool is_counted(const Job *job) {
        return !job->final || job->final->gpus_due_ns > 0;
}

static bool add_process(GpuUse *use, Job *job, const GpuCrowd *crowd, const GpuProcess *process, uint64_t share_us) {
        JobGpu *gpu = is_counted(job) ? take_gpu(use, job, crowd) : NULL;

        if (gpu && process->have & GPU_PROCESS_RUNNING) {
                gpu->now.n++;
                gpu->now.memory_bytes += process->have & GPU_PROCESS_MEMORY ? process->memory_bytes : 0;
        }
        if (gpu)
                gpu->now.share_us += share_us;
        return gpu;
}

/* Adds the process to all jobs that contain it. */
static void add_to_jobs(GpuUse *use, const Jobs *jobs, const GpuOwner *owner, const GpuProcess *process,
                        uint64_t share_us, GpuCrowd *crowd) {
        bool is_of_job = false, is_running = process->have & GPU_PROCESS_RUNNING;
        char name[CGROUP_NAME_MAX];

        for (Job *job = owner->job_pid ? jobs->first : NULL; job; job = job->links.next)
                if (job->info.pid == owner->job_pid && !job->info.cgroup && job->info.uid == owner->uid)
                        is_of_job |= add_process(use, job, crowd, process, share_us);
        for (size_t i = 0; i < N_ELEMENTS(owner->groups); i++) {
                if (!owner->groups[i])
                        continue;
                (void)snprintf(name, sizeof(name), "%s", owner->groups[i]);
                for (Job *job; (job = jobs_next_around(jobs, owner->uid, name));)
                        is_of_job |= add_process(use, job, crowd, process, share_us);
        }
        crowd->n_of_jobs += is_of_job && is_running;
        if (is_of_job || !is_running || !owner->is_known || owner->uid == 0)
                return;
        crowd->has_users |= crowd->uid != JOB_UID_UNKNOWN && crowd->uid != owner->uid;
        crowd->uid = owner->uid;
}

static void add_processes(GpuUse *use, const Jobs *jobs, const Node *node, GpuCrowd *crowd) {
        const GpuReading *reading = crowd->reading;
        GpuOwner *owners = use->owners[reading - use->readings.gpus];

        for (uint32_t i = 0; i < reading->n_processes; i++) {
                const GpuProcess *process = &reading->processes[i];
                GpuOwner *owner = &owners[i];
                bool is_running = process->have & GPU_PROCESS_RUNNING;
                uint64_t share_us = 0;

                if (owner->pid != process->pid || (is_running && !owner->was_running)) {
                        uint64_t former_us = owner->pid == process->pid ? owner->share_us : process->share_us;

                        forget_process(owner);
                        *owner = (GpuOwner){ .pid = process->pid, .share_us = former_us };
                }
                if (is_running && !owner->is_known)
                        look_up(use, jobs, node, owner);
                owner->was_running = is_running;
                if (process->have & GPU_PROCESS_SHARE && process->share_us > owner->share_us)
                        share_us = process->share_us - owner->share_us;
                owner->share_us = process->share_us;
                crowd->share_us += share_us;
                if (is_running || share_us > 0)
                        add_to_jobs(use, jobs, owner, process, share_us, crowd);
        }
        for (uint32_t i = reading->n_processes; i < GPU_FILE_PROCESSES_MAX; i++)
                forget_process(&owners[i]);
}

/* --- counting ------------------------------------------------------------------------------------- */

static void advance(const Jobs *jobs, const GpuCrowd *crowd, uint64_t read_ns) {
        const GpuReading *reading = crowd->reading;
        const JobGpuTimes times = { reading ? reading->boottime_ns : read_ns,
                                    reading ? reading->energy_boottime_ns : read_ns };

        for (Job *job = jobs->first; job; job = job->links.next) {
                JobGpu *gpu = is_counted(job) ? job_gpus_find(&job->gpus, crowd->item) : NULL;

                if (!gpu)
                        continue;
                gpu->now.all_share_us = crowd->share_us;
                gpu->now.are_others = crowd->n_of_jobs > gpu->now.n || crowd->has_users ||
                                      (reading && reading->n_left_out > 0) ||
                                      (crowd->uid != JOB_UID_UNKNOWN && crowd->uid != job->info.uid);
                job_gpus_advance(gpu, crowd->item, &times);
        }
}

void gpu_use_advance(GpuUse *use, const Jobs *jobs, const Node *node) {
        const Sample *sample = &node->sample;

        for (Job *job = use ? jobs->first : NULL; job; job = job->links.next)
                for (size_t i = 0; i < job->gpus.n; i++)
                        job->gpus.items[i].now = (JobGpuProcesses){};
        if (!use || !jobs->first || !sample_has(sample, SOURCE_GPU))
                return;
        for (Job *job = jobs->first; job; job = job->links.next)
                if (is_counted(job))
                        settle_given(use, sample, &job->gpus);
        for (size_t i = 0; i < sample->equipment.n; i++) {
                GpuCrowd crowd = { .item = &sample->equipment.items[i], .uid = JOB_UID_UNKNOWN };

                if (!is_gpu(crowd.item))
                        continue;
                crowd.reading = find_reading(use, crowd.item->texts[0]);
                if (crowd.reading)
                        add_processes(use, jobs, node, &crowd);
                advance(jobs, &crowd, sample_read_ns(sample, SOURCE_GPU));
        }
}
