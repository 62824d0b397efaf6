/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "http/connection_limits.h"
#include "http/exchange.h"
#include "http/gzip.h"
#include "http/negotiate.h"
#include "http/routes.h"
#include "store/reader.h"
#include "util/clock.h"

/* Buffer of a connection, request line and headers included. The library answers a longer request with 414 or 431. */
#define CONNECTION_BYTES (16U * 1024U)
/* Smaller answers are not worth compressing. */
#define GZIP_BYTES_MIN 1024U
/* A worker gives back what it took for an answer longer than this. */
#define BODY_KEPT_BYTES (256U * 1024U)
/* A connection may take this many times the idle limit for one request, from its first byte to the last of the answer. */
#define REQUEST_TIMEOUTS 3U
#define EXHAUSTED_WAIT_MS 100

/* Resources of one request; each thread of the library has one Worker. */
typedef struct Worker {
        Reader *reader;
        Buffer body, packed;
        Gzip gzip;
        struct Worker *next; /* when idle */
} Worker;

struct Http {
        struct MHD_Daemon *tcp, *local;
        Publisher *publisher; /* borrowed */
        ConnectionLimits *limits;
        uint64_t request_limit_ns, query_timeout_ns;

        size_t n_workers;
        Worker *workers;
        pthread_mutex_t idle_mutex;
        Worker *idle;

        atomic_bool is_ready;
        atomic_uint_fast64_t n_requests_by_class[6];
        atomic_uint_fast64_t n_bytes_sent, n_exhausted, cpu_ns;
};

static Worker *worker_take(Http *http) {
        Worker *worker;

        pthread_mutex_lock(&http->idle_mutex);
        worker = http->idle;
        if (worker)
                http->idle = worker->next;
        pthread_mutex_unlock(&http->idle_mutex);

        return worker;
}

static void buffer_trim(Buffer *buffer) {
        if (buffer->n_allocated > BODY_KEPT_BYTES)
                buffer_deinit(buffer);
}

static void worker_put(Http *http, Worker *worker) {
        assert(worker >= http->workers && worker < http->workers + http->n_workers);
        reader_reset(worker->reader);
        buffer_trim(&worker->body);
        buffer_trim(&worker->packed);

        pthread_mutex_lock(&http->idle_mutex);
        worker->next = http->idle;
        http->idle = worker;
        pthread_mutex_unlock(&http->idle_mutex);
}

static const char *const content_types[] = {
        [CONTENT_JSON] = "application/json",
        [CONTENT_TEXT] = "text/plain; charset=utf-8",
        [CONTENT_HTML] = "text/html; charset=utf-8",
        [CONTENT_CSV] = "text/csv; charset=utf-8; header=present",
        [CONTENT_METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
        [CONTENT_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

static void add_headers(struct MHD_Response *response, const Exchange *exchange, bool is_packed) {
        (void)MHD_add_response_header(response, "Content-Type", content_types[exchange->type]);
        (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        (void)MHD_add_response_header(response, "Cache-Control", "no-store");
        (void)MHD_add_response_header(response, "Vary", "Accept-Encoding, Accept");
        if (is_packed)
                (void)MHD_add_response_header(response, "Content-Encoding", "gzip");
        if (exchange->type == CONTENT_HTML)
                (void)MHD_add_response_header(response, "Content-Security-Policy",
                                              "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                                              "form-action 'none'; frame-ancestors 'none'");
        if (exchange->status == 405)
                (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
        if (exchange->status == 503)
                (void)MHD_add_response_header(response, "Retry-After", "1");
}

static enum MHD_Result send_answer(Http *http, struct MHD_Connection *connection, Worker *worker, const Exchange *exchange) {
        const char *encodings = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept-Encoding");
        const Buffer *body = &worker->body;
        struct MHD_Response *response;
        enum MHD_Result result;
        bool is_packed;

        buffer_clear(&worker->packed);
        is_packed = body->n > GZIP_BYTES_MIN && negotiate_gzip(encodings) &&
                    gzip_pack(&worker->gzip, body->text, body->n, &worker->packed) == 0;
        if (is_packed)
                body = &worker->packed;

        response = MHD_create_response_from_buffer(body->n, body->text, MHD_RESPMEM_MUST_COPY);
        if (!response)
                return MHD_NO;

        add_headers(response, exchange, is_packed);
        result = MHD_queue_response(connection, exchange->status, response);
        MHD_destroy_response(response);

        assert(exchange->status / 100 < N_ELEMENTS(http->n_requests_by_class));
        atomic_fetch_add(&http->n_requests_by_class[exchange->status / 100], 1);
        atomic_fetch_add(&http->n_bytes_sent, body->n);
        return result;
}

static bool is_read(const char *method) {
        return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static enum MHD_Result on_parameter(void *userdata, enum MHD_ValueKind kind, const char *key, const char *value) {
        (void)kind;
        return exchange_add_parameter(userdata, key, value) == 0 ? MHD_YES : MHD_NO;
}

/* 0 or EXCHANGE_ANSWERED. */
static int read_request(Exchange *exchange, struct MHD_Connection *connection, const char *method, const char *path) {
        int r;

        exchange->is_read = is_read(method);
        exchange->wants_openmetrics = negotiate_openmetrics(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"));

        r = exchange_set_path(exchange, path);
        if (r > 0)
                return r;

        (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, on_parameter, exchange);
        return exchange->status == 200 ? 0 : EXCHANGE_ANSWERED;
}

static enum MHD_Result answer(Http *http, struct MHD_Connection *connection, const char *method, const char *path, Worker *worker) {
        const Snapshot *snapshot = publisher_acquire(http->publisher);
        Exchange exchange;

        exchange_init(&exchange, &worker->body);
        exchange.snapshot = snapshot;
        exchange.reader = worker->reader;
        exchange.query_timeout_ns = http->query_timeout_ns;
        exchange.is_ready = atomic_load(&http->is_ready);
        http_stats(http, &exchange.http);

        if (read_request(&exchange, connection, method, path) == 0)
                routes_answer(&exchange);
        publisher_release(http->publisher, snapshot);

        if (buffer_error(&worker->body) < 0) {
                buffer_deinit(&worker->body);
                (void)exchange_error(&exchange, 503, "out of memory");
        }

        return send_answer(http, connection, worker, &exchange);
}

static enum MHD_Result answer_with_worker(Http *http, struct MHD_Connection *connection, const char *method, const char *path) {
        uint64_t begin_ns = clock_thread_cpu_ns();
        Worker *worker = worker_take(http);
        enum MHD_Result result;

        if (!worker)
                return MHD_NO;

        result = answer(http, connection, method, path, worker);
        worker_put(http, worker);
        atomic_fetch_add(&http->cpu_ns, clock_thread_cpu_ns() - begin_ns);
        return result;
}

/*
 * The library calls once when the headers are there, for each piece of a body, and at the end. What is answered
 * at the first call costs the connection: right for methods that bring a body, wrong for a GET.
 */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, const char *upload, size_t *n_upload, void **request) {
        bool is_first = !*request;

        (void)version, (void)upload;
        *request = userdata;
        if (is_first && is_read(method))
                return MHD_YES;

        if (*n_upload > 0) {
                *n_upload = 0; /* a body nobody asked for */
                return MHD_YES;
        }

        return answer_with_worker(userdata, connection, method, path);
}

/* The exchange decodes for itself: the library's own way cuts text short at an encoded NUL. */
static size_t on_unescape(void *userdata, struct MHD_Connection *connection, char *text) {
        (void)userdata, (void)connection;
        return strlen(text);
}

/*
 * Cuts a query with too many arguments behind the first that the exchange refuses. Without that, the library leaves a connection
 * without an answer until its time is over when the arguments do not fit into CONNECTION_BYTES (0.9.75).
 */
static void *on_target(void *userdata, const char *target, struct MHD_Connection *connection) {
        const char *end = target ? strchr(target, '?') : NULL;

        (void)userdata, (void)connection;
        for (unsigned n = 0; end && n <= PARAMETERS_MAX; n++)
                end = strchr(end + 1, '&');
        if (end)
                *(char *)end = '\0'; /* in the library's own buffer, which it is about to cut at each & itself */
        return NULL;
}

static void on_connection(void *userdata, struct MHD_Connection *connection, void **limited, enum MHD_ConnectionNotificationCode code) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        Http *http = userdata;

        switch (code) {
        case MHD_CONNECTION_NOTIFY_STARTED:
                *limited = info ? connection_limits_add(http->limits, info->connect_fd, clock_boottime_ns()) : NULL;
                return;
        case MHD_CONNECTION_NOTIFY_CLOSED:
                connection_limits_remove(http->limits, TAKE(*limited));
                return;
        }
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode code) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        Http *http = userdata;

        (void)request;
        if (info && code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
                connection_limits_renew(http->limits, info->socket_context, clock_boottime_ns());
}

/*
 * A thread of the library that cannot accept its first connection, for lack of descriptors, tries again at once and without end. The
 * message about it is a place to wait; other messages are about invalid requests, which the statistics count.
 */
static void on_message(void *userdata, const char *format, va_list arguments) {
        Http *http = userdata;

        (void)format, (void)arguments;
        if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
                return;

        atomic_fetch_add(&http->n_exhausted, 1);
        (void)poll(NULL, 0, EXHAUSTED_WAIT_MS);
}

/* Signals are the loop's business: the library's threads are born with all of them blocked. */
static struct MHD_Daemon *start(Http *http, const HttpConfig *config, int fd, unsigned n_threads, unsigned per_ip_max) {
        unsigned connections_max = config->connections_max > n_threads ? config->connections_max : n_threads;
        struct MHD_Daemon *daemon;
        sigset_t all, before;

        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, http,
                                  MHD_OPTION_EXTERNAL_LOGGER, on_message, http,
                                  MHD_OPTION_LISTEN_SOCKET, fd,
                                  MHD_OPTION_THREAD_POOL_SIZE, n_threads > 1 ? n_threads : 0U,
                                  MHD_OPTION_CONNECTION_LIMIT, connections_max,
                                  MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_ip_max,
                                  MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(config->timeout_ns / NS_PER_S),
                                  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                                  MHD_OPTION_STRICT_FOR_CLIENT, 1,
                                  MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL,
                                  MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL,
                                  MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
                                  MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
                                  MHD_OPTION_END);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        return daemon;
}

static int start_listener(Http *http, const HttpConfig *config, int fd, bool is_local, struct MHD_Daemon **ret) {
        int flags;

        if (fd < 0)
                return 0;

        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;

        *ret = start(http, config, fd, is_local ? 1 : config->n_threads, is_local ? 0 : config->connections_per_ip_max);
        return *ret ? 0 : -EIO;
}

static int workers_new(Http *http, size_t n, const HttpSources *sources) {
        http->workers = calloc(n, sizeof(*http->workers));
        if (!http->workers)
                return -ENOMEM;

        http->n_workers = n;
        for (size_t i = 0; i < n; i++) {
                int r;

                r = reader_new(&http->workers[i].reader, sources->store_path, sources->store_wal_barrier, http->query_timeout_ns);
                if (r < 0)
                        return r;
                worker_put(http, &http->workers[i]);
        }

        return 0;
}

int http_new(Http **ret, const HttpConfig *config, int tcp_fd, int unix_fd, const HttpSources *sources) {
        scoped(http_freep) Http *http = NULL;
        size_t n_threads = config->n_threads + 1;
        int r;

        http = calloc(1, sizeof(*http));
        if (!http)
                return -ENOMEM;

        http->request_limit_ns = REQUEST_TIMEOUTS * config->timeout_ns;
        http->query_timeout_ns = config->query_timeout_ns;
        http->publisher = sources->publisher;
        (void)pthread_mutex_init(&http->idle_mutex, NULL);

        r = connection_limits_new(&http->limits, 2 * (size_t)config->connections_max + n_threads, config->connections_per_ip_max);
        if (r < 0)
                return r;

        r = workers_new(http, n_threads, sources);
        if (r < 0)
                return r;

        r = start_listener(http, config, tcp_fd, false, &http->tcp);
        if (r < 0)
                return r;

        r = start_listener(http, config, unix_fd, true, &http->local);
        if (r < 0)
                return r;

        *ret = TAKE(http);
        return 0;
}

static void workers_free(Http *http) {
        for (size_t i = 0; i < http->n_workers; i++) {
                reader_free(http->workers[i].reader);
                buffer_deinit(&http->workers[i].body);
                buffer_deinit(&http->workers[i].packed);
                gzip_deinit(&http->workers[i].gzip);
        }
        free(http->workers);
}

/*
 * The library shuts its listening socket down when it ends, for every process that has it: what the service manager keeps
 * for the next perfd would be dead. So the socket is taken back first.
 */
static void stop(struct MHD_Daemon *daemon) {
        scoped(closep) int fd = -1;

        if (!daemon)
                return;

        fd = MHD_quiesce_daemon(daemon);
        MHD_stop_daemon(daemon);
}

Http *http_free(Http *http) {
        if (!http)
                return NULL;

        stop(http->tcp);
        stop(http->local);
        workers_free(http);
        connection_limits_free(http->limits);
        (void)pthread_mutex_destroy(&http->idle_mutex);
        free(http);
        return NULL;
}

void http_close_slow(Http *http) {
        uint64_t now_ns = clock_boottime_ns();

        if (now_ns > http->request_limit_ns && http->request_limit_ns > 0)
                connection_limits_close_slow(http->limits, now_ns - http->request_limit_ns);
}

void http_set_ready(Http *http, bool ready) {
        atomic_store(&http->is_ready, ready);
}

void http_stats(const Http *http, HttpStats *ret) {
        *ret = (HttpStats){
                .n_bytes_sent = atomic_load(&http->n_bytes_sent),
                .n_connections = connection_limits_count(http->limits),
                .n_exhausted = atomic_load(&http->n_exhausted),
                .cpu_ns = atomic_load(&http->cpu_ns),
        };
        for (size_t i = 0; i < N_ELEMENTS(http->n_requests_by_class); i++)
                ret->n_requests_by_class[i] = atomic_load(&http->n_requests_by_class[i]);
}
