/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load: simulates many clients in one thread
 *
 *     load SOCKET submit|begin|end [connections=1] [window=1] [rate=0] [count=1000000]
 *          [seconds=30] [report=0] [name=load] [first=0] [pid=0]
 *
 * Each connection has up to `window` requests in flight. With `rate` (per second, over all connections), requests are
 * sent by the clock, independent of the replies, and latency is measured from the time at which the request was due,
 * so that a slow daemon cannot hide its delay. Sending ends after `count` requests or `seconds`; then all replies are
 * received. A reply other than OK ends the program with status 1.
 *
 * A frame is encoded once, as perfctl does; sequence, id and values are then overwritten in place, so that most of
 * the CPU time is used by the daemon. Prints lines of key=value.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include "client/wire/protocol.h"
#include "proto/frame.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define CONNECTIONS_MAX 1024U
#define WINDOW_MAX 1024U
/* Time to wait for replies after the last request. */
#define DRAIN_NS (30 * NS_PER_S)

/* With sequence numbers of four varint bytes, all frames and all OK replies have the same length. */
#define SEQUENCE_FIRST (UINT64_C(1) << 21)
#define SEQUENCE_END (UINT64_C(1) << 28)
#define SEQUENCE_BYTES 4U

#define ID_BYTES 16U
#define DIGITS 7U

/* An encoded frame, and the offsets of the fields that differ between requests; 0: no such field. */
typedef struct Pattern {
        Buffer frame; /* owned */
        size_t n;
        size_t sequence_at, id_at, digits_at, rate_at, elapsed_at;
} Pattern;

typedef enum Kind {
        KIND_SUBMIT,
        KIND_BEGIN,
        KIND_END,
} Kind;

typedef struct Plan {
        const char *path;
        Kind kind;
        uint64_t n_connections, window, rate, n_requests, seconds, report, first, pid;
        const char *name;
} Plan;

typedef struct Client {
        int fd;
        uint64_t n_sent, n_answered;
        uint64_t *due_ns; /* owned; due time of each request in flight, indexed by its number modulo the window */
        uint8_t *out;     /* owned; a window of frames */
        size_t out_begin, out_end;
        uint8_t in[4096];
        size_t n_in;
        bool is_waiting; /* waits until the socket is writable */
} Client;

/* Sixteen buckets per power of two of microseconds: a resolution of 6 %. */
#define BUCKETS_PER_OCTAVE 16U
#define N_BUCKETS (40U * BUCKETS_PER_OCTAVE)

typedef struct Load {
        const Plan *plan;
        Pattern pattern;
        Client *clients; /* owned */
        int epoll_fd, timer_fd;
        size_t turn; /* client of the next request with `rate` */
        uint64_t seed;
        uint64_t start_ns, report_ns;
        uint64_t n_sent, n_answered;
        uint64_t latency_max_ns;
        uint64_t histogram[N_BUCKETS];
        bool is_over; /* sending has ended */
} Load;

/* --- frames ----------------------------------------------------------------------------------- */

/* Placeholder values that occur nowhere else in an encoded frame. */
#define MARK_SEQUENCE (SEQUENCE_END - 1)
static const uint8_t mark_id[ID_BYTES] = "\xa5\x5a\xa5\x5a\xa5\x5a\xa5\x5a\xa5\x5a\xa5\x5a\xa5\x5a\xa5\x5a";
static const char mark_digits[] = "@@@@@@@";
#define MARK_RATE "223.6039559880204"
#define MARK_ELAPSED "1.199322752654552"

static size_t find(const Pattern *pattern, const void *bytes, size_t n) {
        const char *p = memmem(pattern->frame.text, pattern->frame.n, bytes, n);

        return p ? (size_t)(p - pattern->frame.text) : 0;
}

static void write_varint(uint8_t *p, uint64_t v) {
        for (unsigned i = 0; i < SEQUENCE_BYTES; i++)
                p[i] = (uint8_t)((v >> (7 * i)) & 0x7f) | (i + 1 < SEQUENCE_BYTES ? 0x80 : 0);
}

/* Output of a matrix multiplication script of Thoth. */
static const char submitted[] =
        "{\"@parameters\":{\"device\":\"cpu\",\"dtype\":\"float32\",\"matrix_size\":512,\"reps\":2000},"
        "\"@result\":{\"elapsed\":" MARK_ELAPSED ",\"rate\":" MARK_RATE
        "},\"component\":\"tensorflow\",\"name\":\"PiMatmul\","
        "\"tensorflow_aicoe_buildinfo\":null,\"tensorflow_upstream_buildinfo\":null}";

static int encode_submit(Buffer *out) {
        scoped(arena_deinit) Arena arena = {};
        Submission item = { .job = "" };
        bool is_canonical;
        ValueError error;

        if (arena_init(&arena, VALUE_PARSE_FACTOR * sizeof(submitted)) < 0 ||
            value_parse(submitted, sizeof(submitted) - 1, &arena, &item.indicator.document, &is_canonical, &error) != 0)
                return -EINVAL;

        memcpy(item.id, mark_id, ID_BYTES);
        return protocol_encode_submit(MARK_SEQUENCE, &item, 1, out);
}

static int encode_job(const Plan *plan, Buffer *out) {
        JobInfo info = {
                .command = "python3 train.py --epochs 3", .user = "bench", .node = -1, .pid = (int32_t)plan->pid
        };
        JobEnd end = { .has_exit_status = true };

        (void)snprintf(info.name, sizeof(info.name), "%.40s", plan->name);
        (void)snprintf(info.id, sizeof(info.id), "%.40s-%s", plan->name, mark_digits);
        return plan->kind == KIND_BEGIN ? protocol_encode_job_begin(MARK_SEQUENCE, &(JobBegin){ .info = &info }, out)
                                        : protocol_encode_job_end(MARK_SEQUENCE, info.id, &end, out);
}

static int pattern_init(Pattern *pattern, const Plan *plan) {
        uint8_t sequence[SEQUENCE_BYTES];
        int r;

        r = plan->kind == KIND_SUBMIT ? encode_submit(&pattern->frame) : encode_job(plan, &pattern->frame);
        if (r < 0)
                return r;

        write_varint(sequence, MARK_SEQUENCE);
        pattern->n = pattern->frame.n;
        pattern->sequence_at = find(pattern, sequence, sizeof(sequence));
        pattern->digits_at = find(pattern, mark_digits, DIGITS);
        pattern->id_at = find(pattern, mark_id, ID_BYTES);
        pattern->rate_at = find(pattern, MARK_RATE, sizeof(MARK_RATE) - 1);
        pattern->elapsed_at = find(pattern, MARK_ELAPSED, sizeof(MARK_ELAPSED) - 1);
        if (plan->kind == KIND_SUBMIT ? !pattern->id_at || !pattern->rate_at || !pattern->elapsed_at
                                      : !pattern->digits_at)
                return -EINVAL;
        return pattern->sequence_at ? 0 : -EINVAL;
}

static uint64_t random_next(Load *load) {
        uint64_t x = load->seed += UINT64_C(0x9e3779b97f4a7c15);

        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return x ^ (x >> 31);
}

/* Writes an id as perfctl does: a UUIDv7 of the current time. */
static void write_id(Load *load, uint8_t *p) {
        uint64_t time_ms = clock_realtime_ns() / NS_PER_MS, random[2] = { random_next(load), random_next(load) };

        memcpy(p, random, sizeof(random));
        for (unsigned i = 0; i < 6; i++)
                p[i] = (uint8_t)(time_ms >> (40 - 8 * i));
        p[6] = (uint8_t)(0x70 | (p[6] & 0x0f));
        p[8] = (uint8_t)(0x80 | (p[8] & 0x3f));
}

static void write_digits(uint8_t *p, uint64_t v) {
        for (unsigned i = DIGITS; i-- > 0; v /= 10)
                p[i] = (uint8_t)('0' + v % 10);
}

/* Writes the frame of request `number`, with this sequence number. */
static void write_frame(Load *load, uint64_t number, uint64_t sequence, uint8_t *p) {
        const Pattern *pattern = &load->pattern;

        memcpy(p, pattern->frame.text, pattern->n);
        write_varint(p + pattern->sequence_at, sequence);
        if (pattern->digits_at)
                write_digits(p + pattern->digits_at, load->plan->first + number);
        if (pattern->id_at) {
                char text[64];
                double rate = 100.0 + (double)(random_next(load) >> 11) * 0x1p-53 * 10.0,
                       elapsed = 268173312.0 / rate / 1e6;

                write_id(load, p + pattern->id_at);
                /* must have the length of their placeholders */
                (void)snprintf(text, sizeof(text), "%.13f%.15f", rate, elapsed);
                memcpy(p + pattern->rate_at, text, sizeof(MARK_RATE) - 1);
                memcpy(p + pattern->elapsed_at, text + sizeof(MARK_RATE) - 1, sizeof(MARK_ELAPSED) - 1);
        }
}

/* --- latency ---------------------------------------------------------------------------------- */

static size_t bucket_of(uint64_t ns) {
        uint64_t us = ns / NS_PER_US;
        unsigned octave;

        if (us < BUCKETS_PER_OCTAVE)
                return us;
        octave = 63U - (unsigned)__builtin_clzll(us) - 3U; /* sixteen is the first value of octave 1 */
        return octave * BUCKETS_PER_OCTAVE + ((us >> (octave - 1)) & (BUCKETS_PER_OCTAVE - 1));
}

/* Returns the upper limit of a bucket. */
static uint64_t bucket_us(size_t bucket) {
        size_t octave = bucket / BUCKETS_PER_OCTAVE;

        if (octave == 0)
                return bucket + 1;
        return (BUCKETS_PER_OCTAVE + bucket % BUCKETS_PER_OCTAVE + 1) << (octave - 1);
}

static void note_latency(Load *load, uint64_t ns) {
        load->histogram[bucket_of(ns)]++;
        if (ns > load->latency_max_ns)
                load->latency_max_ns = ns;
}

static uint64_t percentile_us(const Load *load, double share) {
        uint64_t n = 0, wanted = (uint64_t)((double)load->n_answered * share);

        for (size_t i = 0; i < N_BUCKETS; i++) {
                n += load->histogram[i];
                if (n > wanted || n == load->n_answered)
                        return bucket_us(i) * NS_PER_US < load->latency_max_ns ? bucket_us(i)
                                                                               : load->latency_max_ns / NS_PER_US;
        }
        return 0;
}

/* --- connections ------------------------------------------------------------------------------ */

static int client_open(Client *client, const Load *load, uint32_t index) {
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = index };
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(load->plan->path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, load->plan->path, strlen(load->plan->path));

        client->due_ns = calloc(load->plan->window, sizeof(*client->due_ns));
        client->out = malloc(load->plan->window * load->pattern.n);
        if (!client->due_ns || !client->out)
                return -ENOMEM;

        client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (client->fd < 0 || connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        return epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, client->fd, &event) < 0 ? -errno : 0;
}

static void client_close(Client *client) {
        closep(&client->fd);
        free(client->due_ns);
        free(client->out);
}

static bool client_is_full(const Client *client, const Load *load) {
        return client->n_sent - client->n_answered >= load->plan->window;
}

/* Appends a request to the output. The window limits the size: the output fits after the sent part is removed. */
static void client_add(Client *client, Load *load, uint64_t due_ns) {
        if (client->out_begin > 0) {
                memmove(client->out, client->out + client->out_begin, client->out_end - client->out_begin);
                client->out_end -= client->out_begin;
                client->out_begin = 0;
        }

        write_frame(load, load->n_sent, SEQUENCE_FIRST + client->n_sent, client->out + client->out_end);
        client->out_end += load->pattern.n;
        client->due_ns[client->n_sent % load->plan->window] = due_ns;
        client->n_sent++;
        load->n_sent++;
        load->is_over = load->n_sent >= load->plan->n_requests;
}

static int client_write(Client *client, const Load *load) {
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)(client - load->clients) };
        bool must_wait;

        while (client->out_begin < client->out_end) {
                ssize_t n = send(client->fd, client->out + client->out_begin, client->out_end - client->out_begin,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);

                if (n < 0 && errno == EAGAIN)
                        break;
                if (n < 0)
                        return -errno;
                client->out_begin += (size_t)n;
        }

        must_wait = client->out_begin < client->out_end;
        if (must_wait == client->is_waiting)
                return 0;
        client->is_waiting = must_wait;
        event.events = must_wait ? EPOLLIN | EPOLLOUT : EPOLLIN;
        return epoll_ctl(load->epoll_fd, EPOLL_CTL_MOD, client->fd, &event) < 0 ? -errno : 0;
}

/* --- replies ---------------------------------------------------------------------------------- */

static int refuse_reply(const Client *client, const Frame *frame) {
        Reply reply;

        if (protocol_decode_reply(frame, &reply) == 0)
                fprintf(stderr, "load: request %" PRIu64 " of a connection got reply %" PRIu64 ", %s %s: %s\n",
                        client->n_answered, reply.sequence - SEQUENCE_FIRST, request_status_name(reply.status),
                        reply.complaint.path, reply.complaint.text);
        else
                fprintf(stderr, "load: a reply that cannot be decoded\n");
        return -EPROTO;
}

static void print_report(Load *load, uint64_t now_ns) {
        if (load->plan->report == 0 || load->n_answered % load->plan->report != 0)
                return;

        printf("progress=%" PRIu64 " per_second=%.0f\n", load->n_answered,
               (double)load->plan->report * (double)NS_PER_S / (double)(now_ns - load->report_ns));
        load->report_ns = now_ns;
}

static int client_take_replies(Client *client, Load *load) {
        uint64_t now_ns = clock_boottime_ns();
        size_t n = 0;
        Frame frame;
        int r;

        while ((r = frame_read(client->in + n, client->n_in - n, sizeof(client->in), &frame, NULL)) == 0) {
                uint8_t ok[1 + SEQUENCE_BYTES] = { 0x08 };

                write_varint(ok + 1, SEQUENCE_FIRST + client->n_answered);
                if (client->n_answered == client->n_sent || frame.n != sizeof(ok) ||
                    memcmp(frame.data, ok, sizeof(ok)) != 0)
                        return refuse_reply(client, &frame);

                note_latency(load, now_ns - client->due_ns[client->n_answered % load->plan->window]);
                client->n_answered++;
                load->n_answered++;
                print_report(load, now_ns);
                n += frame.n_consumed;
        }
        if (r != FRAME_PENDING)
                return -EPROTO;

        memmove(client->in, client->in + n, client->n_in - n);
        client->n_in -= n;
        return 0;
}

static int client_read(Client *client, Load *load) {
        ssize_t n = recv(client->fd, client->in + client->n_in, sizeof(client->in) - client->n_in, MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
                return 0;
        if (n <= 0)
                return n < 0 ? -errno : -ECONNRESET;
        client->n_in += (size_t)n;
        return client_take_replies(client, load);
}

/* --- when to send ----------------------------------------------------------------------------- */

static int fill_window(Client *client, Load *load) {
        uint64_t now_ns = clock_boottime_ns();

        while (!load->is_over && !client_is_full(client, load))
                client_add(client, load, now_ns);
        return client_write(client, load);
}

static Client *next_free_client(Load *load) {
        for (size_t i = 0; i < load->plan->n_connections; i++) {
                Client *client = &load->clients[load->turn];

                load->turn = (load->turn + 1) % load->plan->n_connections;
                if (!client_is_full(client, load))
                        return client;
        }
        return NULL;
}

static uint64_t due_ns(const Load *load, uint64_t number) {
        return load->start_ns + (uint64_t)((double)number * ((double)NS_PER_S / (double)load->plan->rate));
}

static int set_timer(const Load *load) {
        uint64_t ns = due_ns(load, load->n_sent);
        struct itimerspec spec = { .it_value = { .tv_sec = (time_t)(ns / NS_PER_S),
                                                 .tv_nsec = (long)(ns % NS_PER_S) } };

        return timerfd_settime(load->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) < 0 ? -errno : 0;
}

/* Sends all requests that are due. If all windows are full, requests wait and their latency grows. */
static int send_due(Load *load) {
        uint64_t now_ns = clock_boottime_ns();

        while (!load->is_over && due_ns(load, load->n_sent) <= now_ns) {
                Client *client = next_free_client(load);
                int r;

                if (!client)
                        break;
                client_add(client, load, due_ns(load, load->n_sent));
                r = client_write(client, load);
                if (r < 0)
                        return r;
        }
        return load->is_over ? 0 : set_timer(load);
}

static int send_first(Load *load) {
        if (load->plan->rate > 0)
                return send_due(load);

        for (size_t i = 0; i < load->plan->n_connections; i++) {
                int r = fill_window(&load->clients[i], load);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int handle(Load *load, const struct epoll_event *event) {
        Client *client;
        int r = 0;

        if (event->data.u32 == CONNECTIONS_MAX) {
                uint64_t n;

                (void)!read(load->timer_fd, &n, sizeof(n));
                return send_due(load);
        }

        client = &load->clients[event->data.u32];
        if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                r = client_read(client, load);
        if (r < 0)
                return r;
        return load->plan->rate > 0 ? client_write(client, load) : fill_window(client, load);
}

static int run(Load *load) {
        uint64_t end_ns = load->start_ns + load->plan->seconds * NS_PER_S;
        struct epoll_event events[256];
        int r;

        r = send_first(load);
        while (r == 0 && !(load->is_over && load->n_answered == load->n_sent)) {
                uint64_t now_ns = clock_boottime_ns();
                int n;

                if (now_ns >= end_ns)
                        load->is_over = true;
                if (now_ns >= end_ns + DRAIN_NS)
                        return -ETIMEDOUT;

                n = epoll_wait(load->epoll_fd, events, N_ELEMENTS(events), 100);
                if (n < 0 && errno != EINTR)
                        return -errno;
                for (int i = 0; i < n && r == 0; i++)
                        r = handle(load, &events[i]);
        }
        return r;
}

/* --- the program ------------------------------------------------------------------------------ */

static int load_open(Load *load) {
        const Plan *plan = load->plan;
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = CONNECTIONS_MAX };
        int r;

        if (getrandom(&load->seed, sizeof(load->seed), 0) != sizeof(load->seed))
                return -errno;
        r = pattern_init(&load->pattern, plan);
        if (r < 0)
                return r;

        load->clients = calloc(plan->n_connections, sizeof(*load->clients));
        if (!load->clients)
                return -ENOMEM;
        for (size_t i = 0; i < plan->n_connections; i++)
                load->clients[i].fd = -1;

        load->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        load->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        if (load->epoll_fd < 0 || load->timer_fd < 0 ||
            epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, load->timer_fd, &event) < 0)
                return -errno;

        for (uint32_t i = 0; i < plan->n_connections && r == 0; i++)
                r = client_open(&load->clients[i], load, i);
        return r;
}

static void load_close(Load *load) {
        for (size_t i = 0; load->clients && i < load->plan->n_connections; i++)
                client_close(&load->clients[i]);
        free(load->clients);
        buffer_deinit(&load->pattern.frame);
        closep(&load->epoll_fd);
        closep(&load->timer_fd);
}

static void print_result(const Load *load) {
        double seconds = (double)(clock_boottime_ns() - load->start_ns) / (double)NS_PER_S;

        printf("ok=%" PRIu64 " seconds=%.3f per_second=%.0f frame_bytes=%zu client_cpu_seconds=%.3f"
               " p50_us=%" PRIu64 " p90_us=%" PRIu64 " p99_us=%" PRIu64 " p999_us=%" PRIu64 " max_us=%" PRIu64 "\n",
               load->n_answered, seconds, (double)load->n_answered / seconds, load->pattern.n,
               (double)clock_process_cpu_ns() / (double)NS_PER_S, percentile_us(load, 0.5), percentile_us(load, 0.9),
               percentile_us(load, 0.99), percentile_us(load, 0.999), load->latency_max_ns / NS_PER_US);
}

/* Parses a word such as "connections=64". */
static bool read_word(const char *word, Plan *plan) {
        const struct {
                const char *key;
                uint64_t min, max, *ret;
        } settings[] = {
                { "connections=", 1, CONNECTIONS_MAX, &plan->n_connections },
                { "window=", 1, WINDOW_MAX, &plan->window },
                { "rate=", 0, 1000000, &plan->rate },
                { "count=", 1, 100000000, &plan->n_requests },
                { "seconds=", 1, 3600, &plan->seconds },
                { "report=", 0, 100000000, &plan->report },
                { "first=", 0, 9999999, &plan->first },
                { "pid=", 0, INT32_MAX, &plan->pid },
        };

        for (size_t i = 0; i < N_ELEMENTS(settings); i++) {
                size_t n = strlen(settings[i].key);

                if (strncmp(word, settings[i].key, n) == 0)
                        return parse_u64(word + n, settings[i].ret) == 0 && *settings[i].ret >= settings[i].min &&
                               *settings[i].ret <= settings[i].max;
        }
        if (strncmp(word, "name=", 5) == 0)
                plan->name = word + 5;
        return plan->name == word + 5;
}

static bool read_words(char **words, Plan *plan) {
        static const char *const kinds[] = { [KIND_SUBMIT] = "submit", [KIND_BEGIN] = "begin", [KIND_END] = "end" };

        if (!words[0] || !words[1])
                return false;

        plan->path = words[0];
        plan->kind = 0;
        while (plan->kind < N_ELEMENTS(kinds) && strcmp(words[1], kinds[plan->kind]) != 0)
                plan->kind++;
        for (words += 2; *words; words++)
                if (!read_word(*words, plan))
                        return false;
        return plan->kind < N_ELEMENTS(kinds);
}

int main(int argc, char **argv) {
        Plan plan = { .n_connections = 1, .window = 1, .n_requests = 1000000, .seconds = 30, .name = "load" };
        Load load = { .plan = &plan, .epoll_fd = -1, .timer_fd = -1 };
        int r;

        if (argc < 3 || !read_words(argv + 1, &plan)) {
                fprintf(stderr, "load: wrong arguments, see the head of its source\n");
                return 2;
        }

        r = load_open(&load);
        if (r == 0) {
                load.start_ns = load.report_ns = clock_boottime_ns();
                r = run(&load);
        }
        if (r == 0)
                print_result(&load);
        else
                fprintf(stderr, "load: %s after %" PRIu64 " of %" PRIu64 " replies\n", strerror(-r), load.n_answered,
                        load.n_sent);

        load_close(&load);
        return r == 0 ? 0 : 1;
}
