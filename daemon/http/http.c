/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "http/caller.h"
#include "http/connection_limits.h"
#include "http/format/gzip.h"
#include "http/format/negotiate.h"
#include "http/hosts.h"
#include "http/http_thread.h"
#include "http/queries.h"
#include "http/routes.h"
#include "http/scrape.h"
#include "store/read/reader.h"
#include "util/clock.h"
#include "util/lock.h"
#include "util/thread.h"

/* Buffer of a connection, request line and headers included. The library answers a longer request with 414 or 431. */
#define CONNECTION_BYTES (16U * 1024U)
/* A request, from its first byte to the last byte of the answer, may take this many times the idle limit. */
#define REQUEST_TIMEOUTS 3U
/* Time for which a shutdown waits for clients to read their answers. */
#define STOP_STEPS 200U
#define STOP_STEP_MS 5

/* --- buffers of a thread, which answers one request at a time -------------------------------------------- */

typedef struct Worker {
        Reader *reader; /* owned; NULL: the thread never reads the store */
        Buffer body, packed;
        bool is_packed; /* packed has the body */
        Gzip gzip;
} Worker;

/* Smaller answers are not worth compressing. */
#define GZIP_BYTES_MIN 1024U
#define SENT_BYTES_PER_NS 4U
/* A worker releases the buffer of an answer longer than this. */
#define BODY_EXPORT_BYTES (256U * 1024U)

static void buffer_trim(Buffer *buffer) {
        if (buffer->n_allocated > BODY_EXPORT_BYTES)
                buffer_deinit(buffer);
}

/* Releases the memory of a long answer. */
static void worker_trim(Worker *worker) {
        if (worker->reader)
                reader_reset(worker->reader);
        buffer_trim(&worker->body);
        buffer_trim(&worker->packed);
}

static void worker_deinit(Worker *worker) {
        reader_free(worker->reader);
        buffer_deinit(&worker->body);
        buffer_deinit(&worker->packed);
        gzip_deinit(&worker->gzip);
}

static const char *const content_types[] = {
        [CONTENT_JSON] = "application/json",
        [CONTENT_TEXT] = "text/plain; charset=utf-8",
        [CONTENT_HTML] = "text/html; charset=utf-8",
        [CONTENT_CSV] = "text/csv; charset=utf-8; header=present",
        [CONTENT_METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
        [CONTENT_EVENTS] = "text/event-stream",
        [CONTENT_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

static void add_headers(struct MHD_Response *response, const Response *answer, bool is_packed) {
        const Asset *file = answer->file;

        (void)MHD_add_response_header(response, "Content-Type", file ? file->type : content_types[answer->type]);
        (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        /* A file is kept by the client, which asks each time whether it has changed. */
        (void)MHD_add_response_header(response, "Cache-Control", file ? "no-cache" : "no-store");
        if (file)
                (void)MHD_add_response_header(response, "ETag", file->etag);
        (void)MHD_add_response_header(response, "Vary", "Accept-Encoding, Accept");
        if (answer->next[0])
                (void)MHD_add_response_header(response, "Perfd-Next-Page", answer->next);
        if (is_packed)
                (void)MHD_add_response_header(response, "Content-Encoding", "gzip");
        if (answer->type == CONTENT_HTML)
                (void)MHD_add_response_header(response, "Content-Security-Policy",
                                              "default-src 'self'; object-src 'none'; base-uri 'self'; "
                                              "form-action 'none'; frame-ancestors 'none'; "
                                              "require-trusted-types-for 'script'");
        if (answer->status == 405)
                (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
        if (answer->status == 503 || answer->status == 429)
                (void)MHD_add_response_header(response, "Retry-After", "1");
}

/* Compresses the body, and ends the answer that begins with the texts of the scrape. 0 or -ENOMEM. */
static int pack_end(Worker *worker, const Response *answer) {
        GzipSum sum = answer->scrape.sum, rest;
        int r;

        r = gzip_pack_part(&worker->gzip, worker->body.text, worker->body.n, &worker->packed, &rest);
        if (r < 0)
                return r;

        gzip_sum_add(&sum, &rest);
        gzip_put_end(&sum, &worker->packed);
        return buffer_error(&worker->packed);
}

/* 0 or -ENOMEM. */
static int pack_body(Worker *worker, const Response *answer) {
        if (answer->scrape.n > 0)
                return pack_end(worker, answer);
        return gzip_pack(&worker->gzip, worker->body.text, worker->body.n, &worker->packed);
}

/* Compresses the body of the answer, worker->body, if the client accepts that. Returns the size of the answer. */
static size_t worker_pack(Worker *worker, Response *answer) {
        const Scrape *scrape = &answer->scrape;
        int r = 0;

        buffer_clear(&worker->packed);
        worker->is_packed = scrape->gzip && (scrape->n > 0 || worker->body.n > GZIP_BYTES_MIN);
        if (worker->is_packed)
                r = pack_body(worker, answer);
        if (r < 0 && scrape->n > 0)
                (void)exchange_error(answer, 503, "out of memory"); /* the texts are compressed: the body has to be */
        if (r < 0)
                worker->is_packed = false;
        return scrape_size(scrape) + (worker->is_packed ? worker->packed.n : worker->body.n);
}

/* Makes the response, which takes the texts of the answer. NULL: out of memory. */
static struct MHD_Response *worker_make_response(Worker *worker, Response *answer) {
        Buffer *body = worker->is_packed ? &worker->packed : &worker->body;
        struct MHD_Response *response;

        buffer_shrink(body);
        if (answer->scrape.n > 0)
                response = scrape_respond(&answer->scrape, worker->is_packed, body);
        else
                response = MHD_create_response_from_buffer(body->n, body->text, MHD_RESPMEM_MUST_FREE);
        if (!response)
                return NULL;

        *body = (Buffer){}; /* the response has the text */
        add_headers(response, answer, worker->is_packed);
        return response;
}

/* Makes the response with a file of web/, which is static: it is neither compressed here nor charged to a user. */
static struct MHD_Response *respond_file(const char *known, Response *answer) {
        const Asset *file = answer->file;
        bool is_packed = answer->scrape.gzip, is_known = answer->status == 200 && known && strstr(known, file->etag);
        struct MHD_Response *response;

        response = MHD_create_response_from_buffer(is_known ? 0 : is_packed ? file->n_packed : file->n,
                                                   (void *)(is_packed ? file->packed : file->bytes),
                                                   MHD_RESPMEM_PERSISTENT);
        if (response)
                add_headers(response, answer, is_packed && !is_known);
        if (is_known)
                answer->status = 304;
        return response;
}

/* --- the server ------------------------------------------------------------------------------------------- */

/* A listening socket, served by one thread. */
typedef struct HttpListener {
        Http *http;
        struct MHD_Daemon *daemon;
        HttpThread thread; /* if retired, each connection is closed after its answer */
        Worker worker;     /* its address is the context of a request that has waited for its turn */
        struct HttpListener *next;
} HttpListener;

/* A thread that answers queries. */
typedef struct Querier {
        Http *http;
        pthread_t thread;
        bool is_running;
        Worker worker;
} Querier;

typedef struct HttpCounters {
        atomic_uint_fast64_t n_requests_by_class[6], n_bytes_sent, n_exhausted, cpu_ns;
} HttpCounters;

struct Http {
        HttpListener *listeners; /* owned: that of the Unix socket, tcp, and retired ones */
        HttpListener *tcp;       /* NULL: off */
        Publisher *publisher; /* borrowed, as is shares */
        Shares *shares;
        ConnectionLimits *limits;
        ScrapeCache *scrapes;
        Hosts hosts;
        uint64_t timeout_ns, query_timeout_ns;

        Queries queries;
        Querier *queriers;
        size_t n_queriers;
        atomic_uint n_suspended; /* queries whose response is not sent yet */

        atomic_bool is_ready;
        atomic_uint privacy; /* a Privacy */
        atomic_uint_fast32_t admin_gid;
        pthread_mutex_t mutex; /* for the lists of users */
        SharesWeights readers, proxies;
        HttpCounters counters;
};

/* Sends a response and releases it. */
static enum MHD_Result send_response(HttpListener *listener, struct MHD_Connection *connection,
                                     HttpResponse *response) {
        Http *http = listener->http;
        enum MHD_Result result;

        if (!response->response)
                return MHD_NO;

        if (atomic_load(&listener->thread.is_retired))
                (void)MHD_add_response_header(response->response, "Connection", "close");
        result = MHD_queue_response(connection, response->status, response->response);
        MHD_destroy_response(TAKE(response->response));
        assert(response->status / 100 < N_ELEMENTS(http->counters.n_requests_by_class));
        atomic_fetch_add(&http->counters.n_requests_by_class[response->status / 100], 1);
        return result;
}

static bool is_read(const char *method) {
        return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static enum MHD_Result on_parameter(void *userdata, enum MHD_ValueKind kind, const char *key, const char *value) {
        Exchange *exchange = userdata;

        (void)kind;
        return exchange_add_parameter(&exchange->target, &exchange->response, key, value) == 0 ? MHD_YES : MHD_NO;
}

static LimitedConnection *find_connection(struct MHD_Connection *connection) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

        assert(info && info->socket_context);
        return info->socket_context;
}

/* Values of a header that names a user. */
typedef struct ForwardedUser {
        const char *name; /* the last */
        unsigned n;
} ForwardedUser;

static enum MHD_Result on_forwarded(void *userdata, enum MHD_ValueKind kind, const char *key, const char *value) {
        ForwardedUser *user = userdata;

        (void)kind;
        if (strcasecmp(key, CALLER_HEADER) == 0) {
                user->name = value;
                user->n++;
        }
        return MHD_YES;
}

/* Returns the value of a header of the request, or NULL. */
static const char *find_header(const HttpRequest *request, const char *name) {
        return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* Refuses a request whose Host is not a name of this node. 0 or EXCHANGE_ANSWERED. */
static int check_host(const Http *http, Response *response, const HttpRequest *request, const Caller *caller) {
        const char *host = find_header(request, "Host") ?: "";

        if (caller->is_local || hosts_allow(&http->hosts, host))
                return 0;
        return exchange_error(
                response, 421,
                "'%.200s' is not a name of this node: use localhost, an address or the host name, or add the "
                "name to hosts= in [http] of perfd.conf",
                host);
}

/* 0 or EXCHANGE_ANSWERED. */
static int read_request(Exchange *exchange, const HttpRequest *request) {
        int r;

        exchange->target.is_read = is_read(request->method);
        exchange->target.wants_html = negotiate_html(find_header(request, "Accept"));
        exchange->response.scrape.is_openmetrics = negotiate_openmetrics(find_header(request, "Accept"));

        r = exchange_set_path(&exchange->target, &exchange->response, request->path);
        if (r > 0)
                return r;

        (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, on_parameter, exchange);
        return exchange->response.status == 200 ? 0 : EXCHANGE_ANSWERED;
}

static void prepare(Http *http, const HttpRequest *request, const Snapshot *snapshot, Worker *worker, Exchange *ret) {
        exchange_init(ret, &worker->body);
        ret->response.scrape.cache = http->scrapes;
        ret->response.scrape.gzip = negotiate_gzip(find_header(request, "Accept-Encoding")) ? &worker->gzip : NULL;
        ret->sources.snapshot = snapshot;
        ret->sources.reader = worker->reader;
        ret->sources.shares = http->shares;
        ret->response.query_timeout_ns = http->query_timeout_ns;
        ret->sources.is_ready = atomic_load(&http->is_ready);
        http_stats(http, &ret->sources.http);
}

/* Packs the answer and charges it to its user, or says that the share is used up. Returns the size. */
static size_t pack_answer(const HttpRequest *request, Worker *worker, Response *response) {
        LimitedConnection *connection = find_connection(request->connection);
        size_t n = worker_pack(worker, response);
        char reason[SHARES_REASON_MAX];

        if (connection_limits_charge_answer(connection, n) == 0)
                return n;
        shares_explain(connection_limits_account(connection), RESOURCE_ANSWERS, reason);
        (void)exchange_error(response, 429, "%s", reason);
        return worker_pack(worker, response);
}

/* Makes a stream, or the answer says why not. */
static struct MHD_Response *respond_stream(Http *http, const HttpRequest *request, Response *response) {
        struct MHD_Response *made = NULL;
        char reason[SHARES_REASON_MAX] = "out of memory";
        int r;

        r = http_thread_respond_stream(request->thread, response->events, http->publisher, request->connection, &made);
        if (r == 0) {
                response->type = CONTENT_EVENTS;
                add_headers(made, response, false);
                return made;
        }
        if (r == HTTP_THREAD_REFUSED)
                shares_explain(connection_limits_account(find_connection(request->connection)), RESOURCE_STREAMS,
                               reason);
        (void)exchange_error(response, r == HTTP_THREAD_REFUSED ? 429 : 503, "%s", reason);
        return NULL;
}

/* Returns the size of the answer; 0: it is not made for this request. */
static size_t make_response(Http *http, const HttpRequest *request, Worker *worker, Response *response,
                            HttpResponse *ret) {
        size_t n = 0;

        if (response->events)
                ret->response = respond_stream(http, request, response);
        (void)exchange_check_body(response);
        if (response->file)
                ret->response = respond_file(find_header(request, "If-None-Match"), response);
        else if (!ret->response) {
                n = pack_answer(request, worker, response);
                atomic_fetch_add(&http->counters.n_bytes_sent, n);
                ret->response = worker_make_response(worker, response);
        }
        ret->status = response->status;
        scrape_clear(&response->scrape);
        worker_trim(worker);
        return n;
}

static bool is_listed(Http *http, const SharesWeights *users, const Caller *caller) {
        LOCKED(&http->mutex);
        return caller->is_local && caller->owner.type == OWNER_USER && shares_weights_have(users, caller->owner.uid);
}

static bool has_proxies(Http *http) {
        LOCKED(&http->mutex);
        return http->proxies.n > 0;
}

/*
 * Replaces a proxy by the user for whom it asks, who never is an administrator. may_wait: the thread may ask a
 * directory service. 0, EXCHANGE_ANSWERED, or ANSWER_WAITS.
 */
enum {
        ANSWER_WAITS = EXCHANGE_ANSWERED + 1,
};
static int take_forwarded(Http *http, const HttpRequest *request, bool may_wait, Caller *caller, Response *response) {
        ForwardedUser user = {};
        uint32_t uid;

        if (!has_proxies(http))
                return 0;
        (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, on_forwarded, &user);
        if (!is_listed(http, &http->proxies, caller))
                return user.n == 0 ? 0 : exchange_error(response, 403,
                                                        CALLER_HEADER " is accepted only from the users in proxies= "
                                                        "in [http] of perfd.conf, on the Unix socket");
        caller->owner = (Owner){ .type = OWNER_UNKNOWN };
        if (user.n == 0)
                return 0;
        if (user.n > 1 || !caller_name_is_valid(user.name))
                return exchange_error(response, 400,
                                      CALLER_HEADER " must be given once, with the name of a user, not a number");
        if (!may_wait)
                return ANSWER_WAITS;
        if (caller_find_name(user.name, &uid) != 0)
                return exchange_error(response, 403, "the user that " CALLER_HEADER " names is not known here");
        caller->owner = OWNER_OF_UID(uid);
        caller->is_forwarded = true;
        return 0;
}

/* 0: *ret is the response. ANSWER_NEEDS_STORE: the worker has no reader, but the answer needs the store. */
enum {
        ANSWER_NEEDS_STORE = 1,
};
static int answer(Http *http, const HttpRequest *request, Worker *worker, HttpResponse *ret) {
        Caller caller = connection_limits_caller(find_connection(request->connection),
                                                       (uint32_t)atomic_load(&http->admin_gid));
        uint64_t begin_ns = clock_thread_cpu_ns(), ns;
        const Snapshot *snapshot = publisher_acquire(http->publisher);
        Exchange exchange;
        bool needs_store;
        size_t n;
        int r;

        prepare(http, request, snapshot, worker, &exchange);
        r = take_forwarded(http, request, worker->reader, &caller, &exchange.response);
        exchange.target.viewer = privacy_viewer(atomic_load(&http->privacy), &caller);
        exchange.target.viewer.hides_names &= !is_listed(http, &http->readers, &caller);
        needs_store = r == ANSWER_WAITS;
        if (r == 0 && check_host(http, &exchange.response, request, &caller) == 0 &&
            read_request(&exchange, request) == 0)
                needs_store = routes_answer(&exchange) == ROUTES_NEEDS_STORE;
        publisher_release(http->publisher, snapshot);
        if (needs_store)
                return ANSWER_NEEDS_STORE;

        n = make_response(http, request, worker, &exchange.response, ret);
        ns = clock_thread_cpu_ns() - begin_ns;
        atomic_fetch_add(&http->counters.cpu_ns, ns);
        if (!worker->reader)
                http_thread_note_answer(request->thread,
                                        connection_limits_account(find_connection(request->connection)),
                                        ns + n / SENT_BYTES_PER_NS);
        return 0;
}

/* Makes an answer that does not depend on the request. */
static void answer_error(Http *http, const HttpRequest *request, Worker *worker, unsigned status, const char *reason,
                         HttpResponse *ret) {
        Exchange exchange;

        prepare(http, request, NULL, worker, &exchange);
        (void)exchange_error(&exchange.response, status, "%s", reason);
        (void)make_response(http, request, worker, &exchange.response, ret);
}

/* --- queries --------------------------------------------------------------------------------------- */

static void query_free(Http *http, Query *query) {
        atomic_fetch_sub(&http->n_suspended, 1);
        if (query->response.response)
                MHD_destroy_response(query->response.response);
        shares_release(&query->charge);
        free(query);
}

static void answer_query(Http *http, Query *query, Worker *worker) {
        const HttpRequest request = query->request;

        if (queries_is_stopping(&http->queries))
                answer_error(http, &query->request, worker, 503, "perfd is shutting down: try again later",
                             &query->response);
        else
                (void)answer(http, &query->request, worker, &query->response);
        queries_done(&http->queries, query);
        /* from here on, the connection's thread may free the query */
        http_thread_resume(request.thread, request.connection);
}

static void *on_querier(void *userdata) {
        Querier *querier = userdata;
        Query *query;

        while ((query = queries_take(&querier->http->queries)))
                answer_query(querier->http, query, &querier->worker);
        return NULL;
}

/* 0: *ret is charged to the user. Otherwise the status of the answer, with the reason. */
static unsigned charge_query(ShareAccount *account, const HttpRequest *request, Query **ret,
                             char ret_reason[SHARES_REASON_MAX]) {
        Query *query = calloc(1, sizeof(*query));

        (void)snprintf(ret_reason, SHARES_REASON_MAX, "out of memory");
        if (!query)
                return 503;

        query->request = *request;
        if (shares_charge(account, RESOURCE_QUERIES, 1, &query->charge) != 0) {
                shares_explain(account, RESOURCE_QUERIES, ret_reason);
                free(query);
                return 429;
        }
        *ret = query;
        return 0;
}

/* Leaves a request to the threads that query the store, and suspends its connection until the answer exists. 0, or
 * the status of the answer with the reason. */
static unsigned put_query(Http *http, const HttpRequest *request, void **context, char ret_reason[SHARES_REASON_MAX]) {
        void *before = *context;
        Query *query = NULL;
        unsigned status;

        status = charge_query(connection_limits_account(find_connection(request->connection)), request, &query,
                              ret_reason);
        if (status != 0)
                return status;

        /* The connection is suspended first: from queries_put() on, a thread may resume it. */
        atomic_fetch_add(&http->n_suspended, 1);
        *context = query;
        MHD_suspend_connection(request->connection);
        if (queries_put(&http->queries, query) == 0)
                return 0;

        *context = before;
        query_free(http, query);
        http_thread_resume(request->thread, request->connection);
        (void)snprintf(ret_reason, SHARES_REASON_MAX, "perfd is shutting down: try again later");
        return 503;
}

static enum MHD_Result answer_request(HttpListener *listener, const HttpRequest *request, void **context) {
        char reason[SHARES_REASON_MAX];
        HttpResponse response = {};
        unsigned status;

        if (*context != &listener->worker &&
            http_thread_wait_turn(&listener->thread,
                                  connection_limits_account(find_connection(request->connection)),
                                  request->connection)) {
                *context = &listener->worker;
                return MHD_YES;
        }
        if (answer(listener->http, request, &listener->worker, &response) == ANSWER_NEEDS_STORE) {
                status = put_query(listener->http, request, context, reason);
                if (status == 0)
                        return MHD_YES;
                answer_error(listener->http, request, &listener->worker, status, reason, &response);
        }
        return send_response(listener, request->connection, &response);
}

/* Headers that say where a request ends and for whom it is. */
typedef struct Framing {
        unsigned n_lengths, n_hosts, n_encodings;
        bool is_foreign;  /* a field that others may read in another way, or a transfer encoding that is not known */
        const char *next; /* place of the next field, which ends with CRLF; NULL: it does not matter */
} Framing;

/* The rules of RFC 9110, section 5: others may read "Transfer-Encoding : chunked", or a NUL, in another way. */
static bool is_field(const char *name, size_t n_name, const char *value, size_t n_value) {
        for (size_t i = 0; i < n_name; i++)
                if (!isalnum((unsigned char)name[i]) && !memchr("!#$%&'*+-.^_`|~", name[i], 15))
                        return false;
        for (size_t i = 0; i < n_value; i++)
                if (iscntrl((unsigned char)value[i]) && value[i] != '\t')
                        return false;
        return n_name > 0;
}

static enum MHD_Result on_header(void *userdata, enum MHD_ValueKind kind, const char *key, size_t n_key,
                                 const char *value, size_t n_value) {
        Framing *framing = userdata;

        (void)kind;
        framing->is_foreign |= !is_field(key, n_key, value, n_value);
        framing->is_foreign |= framing->next && key != framing->next;
        if (framing->next)
                framing->next = value + n_value + strlen("\r\n");
        framing->n_lengths += strcasecmp(key, "Content-Length") == 0;
        framing->n_hosts += strcasecmp(key, "Host") == 0;
        if (strcasecmp(key, "Transfer-Encoding") == 0) {
                framing->n_encodings++;
                framing->is_foreign |= !value || strcasecmp(value, "chunked") != 0;
        }
        return MHD_YES;
}

/*
 * A proxy may take another of several headers than the library, and see the end of the request elsewhere: RFC 9112,
 * section 6.3. Libraries before 1.0 leave out what follows a NUL, and lines without a name or that continue others, in
 * silence: their fields, which are in the buffer of the request, do not follow one another then.
 */
static bool is_ambiguous(struct MHD_Connection *connection, const char *method, const char *version) {
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
        Framing framing = {};

        /* Older ones have other places. */
        if (info && strverscmp(MHD_get_version(), "0.9.75") >= 0 && strverscmp(MHD_get_version(), "1.0") < 0)
                framing.next = version + strlen(version) + strlen("\r\n");
        if (MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_header, &framing) > 0 && framing.next)
                framing.is_foreign |= framing.next + strlen("\r\n") != method + info->header_size;
        return framing.n_lengths + framing.n_encodings > 1 || framing.n_hosts > 1 || framing.is_foreign;
}

/* An answer to a request whose body was not read closes the connection. */
static enum MHD_Result refuse_ambiguous(HttpListener *listener, const HttpRequest *request) {
        HttpResponse response = {};

        answer_error(listener->http, request, &listener->worker, 400,
                     "expected lines of the form 'Name: value', one Host, and one Content-Length or "
                     "Transfer-Encoding: chunked at most",
                     &response);
        if (response.response)
                (void)MHD_add_response_header(response.response, "Connection", "close");
        return send_response(listener, request->connection, &response);
}

static bool is_query(const HttpListener *listener, const void *context) {
        return context && context != listener && context != &listener->worker;
}

/* The library calls once after the headers, for each piece of a body, and at the end; and again when a suspended
 * connection is resumed. An answer in the first call closes the connection: right for methods with a body, wrong for
 * GET. */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload, size_t *n_upload,
                                  void **context) {
        HttpListener *listener = userdata;
        const HttpRequest request = { connection, method, path, &listener->thread };
        bool is_first = !*context;

        (void)upload;
        if (is_query(listener, *context))
                return send_response(listener, connection, &((Query *)*context)->response);

        *context = *context ?: listener;
        if (is_first && is_ambiguous(connection, method, version))
                return refuse_ambiguous(listener, &request);
        if (is_first && is_read(method))
                return MHD_YES;
        if (*n_upload > 0) {
                *n_upload = 0; /* an unexpected body */
                return MHD_YES;
        }
        return answer_request(listener, &request, context);
}

/* The exchange decodes the URL: the library's own decoding cuts text at an encoded NUL. */
static size_t on_unescape(void *userdata, struct MHD_Connection *connection, char *text) {
        (void)userdata, (void)connection;
        return strlen(text);
}

/* Cuts a query with too many arguments behind the first argument that the exchange refuses. Otherwise, if the
 * arguments do not fit into CONNECTION_BYTES, the library would leave the connection without an answer until the
 * timeout (0.9.75). */
static void *on_target(void *userdata, const char *target, struct MHD_Connection *connection) {
        const char *end = target ? strchr(target, '?') : NULL;

        (void)userdata, (void)connection;
        for (unsigned n = 0; end && n <= PARAMETERS_MAX; n++)
                end = strchr(end + 1, '&');
        if (end)
                /* points into the library's own buffer, which the library is about to cut at each & */
                *(char *)end = '\0';
        return NULL;
}

static void on_connection(void *userdata, struct MHD_Connection *connection, void **limited,
                          enum MHD_ConnectionNotificationCode code) {
        const union MHD_ConnectionInfo *info;
        HttpListener *listener = userdata;

        switch (code) {
        case MHD_CONNECTION_NOTIFY_STARTED:
                info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
                *limited = http_thread_note_added(&listener->thread, info->connect_fd);
                return;
        case MHD_CONNECTION_NOTIFY_CLOSED:
                http_thread_note_closed(&listener->thread, TAKE(*limited));
                return;
        }
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        HttpListener *listener = userdata;

        if (is_query(listener, *context))
                query_free(listener->http, *context);
        *context = NULL;
        connection_limits_release_answer(info ? info->socket_context : NULL);
        if (info && code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
                connection_limits_renew(listener->http->limits, info->socket_context, clock_boottime_ns());
}

static struct MHD_Daemon *start_daemon(HttpListener *listener, unsigned timeout_s, size_t n_max) {
        return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
                                on_request, listener, MHD_OPTION_CONNECTION_LIMIT, (unsigned)n_max,
                                MHD_OPTION_CONNECTION_TIMEOUT, timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                (size_t)CONNECTION_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
                                on_target, NULL, MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL,
                                MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener, MHD_OPTION_NOTIFY_COMPLETED,
                                on_completed, listener, MHD_OPTION_END);
}

static HttpListener *listener_free(HttpListener *listener) {
        http_thread_stop(&listener->thread);
        if (listener->daemon)
                MHD_stop_daemon(listener->daemon);
        worker_deinit(&listener->worker);
        free(listener);
        return NULL;
}
DEFINE_SCOPED(HttpListener, listener_free);

static int start_listener(Http *http, int fd_owned, HttpListener **ret) {
        const HttpThreadParts parts = { http->limits, &http->admin_gid, &http->counters.n_exhausted };
        scoped(closep) int fd = fd_owned;
        scoped(listener_freep) HttpListener *listener = calloc(1, sizeof(*listener));
        int flags = fcntl(fd, F_GETFL), r;

        if (!listener)
                return -ENOMEM;
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;

        listener->http = http;
        listener->daemon = start_daemon(listener, (unsigned)(http->timeout_ns / NS_PER_S),
                                        connection_limits_max(http->limits));
        if (!listener->daemon)
                return -EIO;
        r = http_thread_start(&listener->thread, listener->daemon, TAKE_FD(fd), &parts);
        if (r < 0)
                return r;

        listener->next = http->listeners;
        *ret = http->listeners = TAKE(listener);
        return 0;
}

/* Ends retired listeners whose last connection is closed: the library aborts when it ends with a suspended one. */
static void free_retired(Http *http) {
        for (HttpListener **at = &http->listeners; *at;) {
                HttpListener *listener = *at;

                if (!atomic_load(&listener->thread.is_retired) || !http_thread_is_idle(&listener->thread)) {
                        at = &listener->next;
                        continue;
                }
                *at = listener->next;
                listener_free(listener);
        }
}

int http_listen(Http *http, int fd) {
        HttpListener *former = TAKE(http->tcp);

        if (former) {
                http_thread_retire(&former->thread);
                /* frees the port; the thread may still use the number */
                (void)shutdown(former->thread.listen_fd, SHUT_RDWR);
        }
        return fd < 0 ? 0 : start_listener(http, fd, &http->tcp);
}

static int start_queriers(Http *http, size_t n, const HttpSources *sources) {
        int r = 0;

        http->queriers = calloc(n, sizeof(*http->queriers));
        if (!http->queriers)
                return -ENOMEM;

        http->n_queriers = n;
        for (size_t i = 0; i < n && r == 0; i++) {
                Querier *querier = &http->queriers[i];

                querier->http = http;
                r = reader_new(&querier->worker.reader, sources->store_path, sources->store_wal_barrier,
                               http->query_timeout_ns);
                if (r == 0)
                        r = thread_start(&querier->thread, on_querier, querier);
                querier->is_running = r == 0;
        }
        return r;
}

int http_new(Http **ret, const HttpConfig *config, int unix_fd, const HttpSources *sources) {
        scoped(http_freep) Http *http = NULL;
        HttpListener *local;
        int r;

        http = calloc(1, sizeof(*http));
        if (!http)
                return -ENOMEM;

        http->timeout_ns = config->timeout_ns;
        http->query_timeout_ns = config->query_timeout_ns;
        http->publisher = sources->publisher;
        http->shares = sources->shares;
        (void)pthread_mutex_init(&http->mutex, NULL);
        http_configure(http, config);
        queries_init(&http->queries, config->n_threads);

        r = hosts_init(&http->hosts, config->hosts, sources->hostname, "/etc/resolv.conf");
        if (r >= 0)
                r = connection_limits_new(&http->limits, sources->shares);
        if (r >= 0)
                r = scrape_cache_new(&http->scrapes);
        if (r >= 0)
                r = start_queriers(http, config->n_threads + 1, sources);
        if (r >= 0)
                r = start_listener(http, unix_fd, &local);
        if (r < 0)
                return r;

        *ret = TAKE(http);
        return 0;
}

/* Answers the waiting queries, and resumes their connections: the library aborts when stopped with suspended
 * connections. */
static void stop_queriers(Http *http) {
        queries_stop(&http->queries);
        for (size_t i = 0; i < http->n_queriers; i++) {
                if (http->queriers[i].is_running)
                        (void)pthread_join(http->queriers[i].thread, NULL);
                worker_deinit(&http->queriers[i].worker);
        }
        free(http->queriers);

        for (unsigned i = 0; i < STOP_STEPS && atomic_load(&http->n_suspended) > 0; i++)
                (void)poll(NULL, 0, STOP_STEP_MS); /* the library sends the responses */
}

Http *http_free(Http *http) {
        if (!http)
                return NULL;

        stop_queriers(http);
        for (HttpListener *listener = http->listeners, *next; listener; listener = next) {
                next = listener->next;
                listener_free(listener);
        }
        queries_deinit(&http->queries);
        connection_limits_free(http->limits);
        scrape_cache_free(http->scrapes);
        hosts_deinit(&http->hosts);
        (void)pthread_mutex_destroy(&http->mutex);
        free(http);
        return NULL;
}

void http_configure(Http *http, const HttpConfig *config) {
        atomic_store(&http->privacy, config->privacy);
        atomic_store(&http->admin_gid, config->admin_gid);
        LOCKED(&http->mutex);
        http->readers = config->readers;
        http->proxies = config->proxies;
}

void http_tick(Http *http) {
        const Snapshot *snapshot = publisher_acquire(http->publisher);
        uint64_t now_ns = clock_boottime_ns(), limit_ns = REQUEST_TIMEOUTS * http->timeout_ns;

        if (snapshot)
                scrape_cache_expire(http->scrapes, snapshot->serial);
        publisher_release(http->publisher, snapshot);
        free_retired(http);
        for (HttpListener *listener = http->listeners; listener; listener = listener->next)
                http_thread_wake_streams(&listener->thread);
        if (now_ns > limit_ns && limit_ns > 0)
                connection_limits_close_slow(http->limits, now_ns - limit_ns);
}

void http_set_ready(Http *http, bool ready) {
        atomic_store(&http->is_ready, ready);
}

void http_stats(const Http *http, HttpStats *ret) {
        *ret = (HttpStats){
                .n_bytes_sent = atomic_load(&http->counters.n_bytes_sent),
                .n_connections = connection_limits_count(http->limits),
                .n_exhausted = atomic_load(&http->counters.n_exhausted),
                .cpu_ns = atomic_load(&http->counters.cpu_ns),
        };
        for (size_t i = 0; i < N_ELEMENTS(http->counters.n_requests_by_class); i++)
                ret->n_requests_by_class[i] = atomic_load(&http->counters.n_requests_by_class[i]);
}
