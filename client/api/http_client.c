/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/http_client.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "util/clock.h"
#include "util/error_text.h"
#include "util/file.h"

#define LOOPBACK_URL "http://127.0.0.1:"
#define ANSWER_BYTES_MAX (64U * 1024U * 1024U)
#define LOGIN_BYTES_MAX 4096U
#define MOMENT_MS 100
#define WAIT_MS 1000 /* libcurl waits less if a request times out before */

/* X(member, function): functions of libcurl. */
#define FUNCTIONS(X)                              \
        X(global_init, curl_global_init)          \
        X(init, curl_easy_init)                   \
        X(cleanup, curl_easy_cleanup)             \
        X(set, curl_easy_setopt)                  \
        X(get, curl_easy_getinfo)                 \
        X(describe, curl_easy_strerror)           \
        X(perform, curl_easy_perform)             \
        X(add_header, curl_slist_append)          \
        X(free_headers, curl_slist_free_all)      \
        X(multi_init, curl_multi_init)            \
        X(multi_cleanup, curl_multi_cleanup)      \
        X(multi_add, curl_multi_add_handle)       \
        X(multi_remove, curl_multi_remove_handle) \
        X(multi_perform, curl_multi_perform)      \
        X(multi_wait, curl_multi_wait)            \
        X(multi_read, curl_multi_info_read)

struct HttpClient {
        void *library; /* owned */
        CURL *easy;    /* owned */
        CURLM *multi;  /* owned; has the connection while there is a descriptor to wake up for */
        int wake_fd;   /* -1: none */
        char *socket; /* owned; NULL: none */
        char *login;  /* owned; NULL: none */
        uint64_t timeout_ns;
        char error[CURL_ERROR_SIZE];
#define X(member, function) __typeof__(function) *member;
        FUNCTIONS(X)
#undef X
};

char *http_client_path(const char *given, const char *socket) {
        const char *path = given ? given : getenv("PERFD_HTTP_SOCKET");
        const char *slash = strrchr(socket, '/');
        char *beside;

        if (path && *path)
                return strdup(path);

        return asprintf(&beside, "%.*shttp.sock", slash ? (int)(slash + 1 - socket) : 0, socket) < 0 ? NULL : beside;
}

static int load(HttpClient *client) {
        static const char *const names[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };

        for (size_t i = 0; i < N_ELEMENTS(names) && !client->library; i++)
                client->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!client->library)
                return -ENOPKG;

#define X(member, function)                                  \
        client->member = dlsym(client->library, #function); \
        if (!client->member)                                 \
                return -ENOPKG;
        FUNCTIONS(X)
#undef X
        /* A Unix socket needs no TLS; setting up TLS would take longer than the query. */
        (void)client->global_init(client->socket ? CURL_GLOBAL_NOTHING : CURL_GLOBAL_DEFAULT);
        client->easy = client->init();
        client->multi = client->multi_init();
        return client->easy && client->multi ? 0 : -ENOMEM;
}

int http_client_new(HttpClient **ret, const char *socket, uint64_t timeout_ns) {
        scoped(http_client_freep) HttpClient *client = NULL;
        int r;

        client = calloc(1, sizeof(*client));
        if (!client)
                return -ENOMEM;

        client->timeout_ns = timeout_ns;
        client->wake_fd = -1;
        client->socket = socket ? strdup(socket) : NULL;
        if (socket && !client->socket)
                return -ENOMEM;

        r = load(client);
        if (r < 0)
                return r;

        *ret = TAKE(client);
        return 0;
}

/* Does not unload the library: libcurl registers functions that run at exit. */
HttpClient *http_client_free(HttpClient *client) {
        if (!client)
                return NULL;

        if (client->easy)
                client->cleanup(client->easy);
        if (client->multi)
                (void)client->multi_cleanup(client->multi);
        free(client->socket);
        free(client->login);
        free(client);
        return NULL;
}

void http_client_set_timeout(HttpClient *client, uint64_t timeout_ns) {
        client->timeout_ns = timeout_ns;
}

int http_client_set_login(HttpClient *client, const char *file) {
        int r;

        free(client->login);
        client->login = NULL;
        r = file_read_at(AT_FDCWD, file, LOGIN_BYTES_MAX, &client->login, NULL);
        if (r == 0)
                client->login[strcspn(client->login, "\r\n")] = '\0';
        return r;
}

void http_client_set_wake(HttpClient *client, int fd) {
        client->wake_fd = fd;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *userdata) {
        Buffer *body = userdata;

        if (size * n > ANSWER_BYTES_MAX - body->n)
                return 0;

        buffer_put(body, bytes, size * n);
        return buffer_error(body) == 0 ? size * n : 0;
}

static CURLcode prepare(HttpClient *client, const char *url, Buffer *body) {
        long timeout_ms = (long)(client->timeout_ns / NS_PER_MS) + 1; /* a timeout of 0 would mean no timeout */
        CURL *easy = client->easy;
        CURLcode r = CURLE_OK;

        r = r ? r : client->set(easy, CURLOPT_URL, url);
        r = r ? r : client->set(easy, CURLOPT_PATH_AS_IS, 1L); /* a job id may be ".." */
        if (client->socket)
                r = r ? r : client->set(easy, CURLOPT_UNIX_SOCKET_PATH, client->socket);
        if (client->socket || strncmp(url, LOOPBACK_URL, strlen(LOOPBACK_URL)) == 0)
                r = r ? r : client->set(easy, CURLOPT_NOPROXY, "*"); /* $http_proxy is for other machines */
        if (client->login)
                r = r ? r : client->set(easy, CURLOPT_USERPWD, client->login);
        r = r ? r : client->set(easy, CURLOPT_NOSIGNAL, 1L);
        r = r ? r : client->set(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
        r = r ? r : client->set(easy, CURLOPT_USERAGENT, "perfctl/" PERFD_VERSION);
        r = r ? r : client->set(easy, CURLOPT_ERRORBUFFER, client->error);
        r = r ? r : client->set(easy, CURLOPT_WRITEFUNCTION, on_body);
        r = r ? r : client->set(easy, CURLOPT_WRITEDATA, body);
        return r;
}

/* Replaces libcurl's "Couldn't connect to server", which does not say why a Unix socket failed. */
static void format_error(HttpClient *client, CURLcode code) {
        long os_error = 0;
        const char *text = client->error[0] ? client->error : client->describe(code);
        char copy[CURL_ERROR_SIZE];

        (void)client->get(client->easy, CURLINFO_OS_ERRNO, &os_error);
        if (code == CURLE_COULDNT_CONNECT && os_error > 0)
                text = error_text((int)os_error);
        if (code == CURLE_OPERATION_TIMEDOUT || code == CURLE_ABORTED_BY_CALLBACK)
                text = "Connection timed out";

        snprintf(copy, sizeof(copy), "%s", text);
        memcpy(client->error, copy, sizeof(copy));
}

/* Waits for the answer. CURLE_ABORTED_BY_CALLBACK: the descriptor to wake up for was readable before. */
static CURLcode wait_answer(HttpClient *client) {
        uint64_t begin_ns = clock_boottime_ns();
        struct curl_waitfd wake = { .fd = client->wake_fd, .events = CURL_WAIT_POLLIN };
        int n_running = 1, n_messages;
        CURLMsg *message;

        while (client->multi_perform(client->multi, &n_running) == CURLM_OK && n_running > 0) {
                bool is_late = clock_boottime_ns() - begin_ns >= MOMENT_MS * NS_PER_MS;

                if (is_late && wake.revents)
                        return CURLE_ABORTED_BY_CALLBACK;
                (void)client->multi_wait(client->multi, &wake, is_late, is_late ? WAIT_MS : MOMENT_MS, NULL);
        }
        message = client->multi_read(client->multi, &n_messages);
        return message ? message->data.result : CURLE_FAILED_INIT;
}

static CURLcode exchange(HttpClient *client) {
        CURLcode code;

        if (client->wake_fd < 0)
                return client->perform(client->easy);
        if (client->multi_add(client->multi, client->easy) != CURLM_OK)
                return CURLE_FAILED_INIT;
        code = wait_answer(client);
        (void)client->multi_remove(client->multi, client->easy);
        return code;
}

/* headers: of the content; NULL: there is none, and the method is GET. */
static CURLcode prepare_content(HttpClient *client, const HttpContent *content, struct curl_slist *headers) {
        CURL *easy = client->easy;
        CURLcode r = client->set(easy, CURLOPT_HTTPGET, 1L);

        r = r ? r : client->set(easy, CURLOPT_CUSTOMREQUEST, content ? content->method : NULL);
        r = r ? r : client->set(easy, CURLOPT_HTTPHEADER, headers);
        if (!content)
                return r;
        r = r ? r : client->set(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)content->body->n);
        return r ? r : client->set(easy, CURLOPT_POSTFIELDS, content->body->text ?: "");
}

static CURLcode perform(HttpClient *client, const char *url, const HttpContent *content, Buffer *body) {
        struct curl_slist *headers = NULL;
        char type[80];
        CURLcode code;

        if (content) {
                (void)snprintf(type, sizeof(type), "Content-Type: %s", content->type);
                headers = client->add_header(NULL, type);
                if (!headers)
                        return CURLE_OUT_OF_MEMORY;
        }
        code = prepare(client, url, body);
        if (code == CURLE_OK)
                code = prepare_content(client, content, headers);
        if (code == CURLE_OK)
                code = exchange(client);
        client->free_headers(headers);
        return code;
}

int http_client_send(HttpClient *client, const char *path, const HttpContent *content, unsigned *ret_status,
                     Buffer *body) {
        scoped(freep) char *url = NULL;
        CURLcode code;
        long status;

        if (asprintf(&url, "%s%s", client->socket ? "http://localhost" : "", path) < 0)
                return -ENOMEM;

        client->error[0] = '\0';
        code = perform(client, url, content, body);
        if (code == CURLE_OK)
                code = client->get(client->easy, CURLINFO_RESPONSE_CODE, &status);
        if (buffer_error(body) < 0)
                return -ENOMEM;
        if (code != CURLE_OK) {
                format_error(client, code);
                return HTTP_CLIENT_UNREACHABLE;
        }

        *ret_status = (unsigned)status;
        return 0;
}

int http_client_get(HttpClient *client, const char *path, unsigned *ret_status, Buffer *body) {
        return http_client_send(client, path, NULL, ret_status, body);
}

const char *http_client_error(const HttpClient *client) {
        return client->error;
}
