/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/http_client.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/clock.h"

#define ANSWER_BYTES_MAX (64U * 1024U * 1024U)

struct HttpClient {
        void *library; /* owned */
        CURL *easy;    /* owned */
        char *socket;
        uint64_t timeout_ns;
        char error[CURL_ERROR_SIZE];

        __typeof__(curl_global_init) *global_init;
        __typeof__(curl_easy_init) *init;
        __typeof__(curl_easy_cleanup) *cleanup;
        __typeof__(curl_easy_setopt) *set;
        __typeof__(curl_easy_getinfo) *get;
        __typeof__(curl_easy_perform) *perform;
        __typeof__(curl_easy_strerror) *describe;
};

char *http_client_path(const char *given, const char *socket) {
        const char *path = given ? given : getenv("PERFD_HTTP_SOCKET");
        const char *slash = strrchr(socket, '/');
        char *beside;

        if (path && *path)
                return strdup(path);

        return asprintf(&beside, "%.*shttp.sock", slash ? (int)(slash + 1 - socket) : 0, socket) < 0 ? NULL : beside;
}

static int load(HttpClient *asker) {
        static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

        for (size_t i = 0; i < N_ELEMENTS(names) && !asker->library; i++)
                asker->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!asker->library)
                return -ENOPKG;

        asker->global_init = dlsym(asker->library, "curl_global_init");
        asker->init = dlsym(asker->library, "curl_easy_init");
        asker->cleanup = dlsym(asker->library, "curl_easy_cleanup");
        asker->set = dlsym(asker->library, "curl_easy_setopt");
        asker->get = dlsym(asker->library, "curl_easy_getinfo");
        asker->perform = dlsym(asker->library, "curl_easy_perform");
        asker->describe = dlsym(asker->library, "curl_easy_strerror");
        if (!asker->global_init || !asker->init || !asker->cleanup || !asker->set || !asker->get || !asker->perform || !asker->describe)
                return -ENOPKG;

        /* A Unix socket needs no TLS, whose set-up would take longer than the question. */
        (void)asker->global_init(CURL_GLOBAL_NOTHING);
        asker->easy = asker->init();
        return asker->easy ? 0 : -ENOMEM;
}

int http_client_new(HttpClient **ret, const char *socket, uint64_t timeout_ns) {
        scoped(http_client_freep) HttpClient *asker = NULL;
        int r;

        asker = calloc(1, sizeof(*asker));
        if (!asker)
                return -ENOMEM;

        asker->timeout_ns = timeout_ns;
        asker->socket = strdup(socket);
        if (!asker->socket)
                return -ENOMEM;

        r = load(asker);
        if (r < 0)
                return r;

        *ret = TAKE(asker);
        return 0;
}

/* The library stays loaded: it has registered functions that run at exit. */
HttpClient *http_client_free(HttpClient *asker) {
        if (!asker)
                return NULL;

        if (asker->easy)
                asker->cleanup(asker->easy);
        free(asker->socket);
        free(asker);
        return NULL;
}

void http_client_allow(HttpClient *asker, uint64_t timeout_ns) {
        asker->timeout_ns = timeout_ns;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *userdata) {
        Buffer *body = userdata;

        if (size * n > ANSWER_BYTES_MAX - body->n)
                return 0;

        buffer_put(body, bytes, size * n);
        return buffer_error(body) == 0 ? size * n : 0;
}

static CURLcode prepare(HttpClient *asker, const char *url, Buffer *body) {
        long timeout_ms = (long)(asker->timeout_ns / NS_PER_MS) + 1; /* 0 would mean for ever */
        CURL *easy = asker->easy;
        CURLcode r = CURLE_OK;

        r = r ? r : asker->set(easy, CURLOPT_URL, url);
        r = r ? r : asker->set(easy, CURLOPT_PATH_AS_IS, 1L); /* a job's id may be .. */
        r = r ? r : asker->set(easy, CURLOPT_UNIX_SOCKET_PATH, asker->socket);
        r = r ? r : asker->set(easy, CURLOPT_NOPROXY, "*"); /* $http_proxy is not for this */
        r = r ? r : asker->set(easy, CURLOPT_NOSIGNAL, 1L);
        r = r ? r : asker->set(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
        r = r ? r : asker->set(easy, CURLOPT_USERAGENT, "perfctl/" PERFD_VERSION);
        r = r ? r : asker->set(easy, CURLOPT_ERRORBUFFER, asker->error);
        r = r ? r : asker->set(easy, CURLOPT_WRITEFUNCTION, on_body);
        r = r ? r : asker->set(easy, CURLOPT_WRITEDATA, body);
        return r;
}

/* "Couldn't connect to server" is not what anybody needs to know of a Unix socket. */
static void explain(HttpClient *asker, CURLcode code) {
        long os_error = 0;
        const char *text = asker->error[0] ? asker->error : asker->describe(code);
        char copy[CURL_ERROR_SIZE];

        (void)asker->get(asker->easy, CURLINFO_OS_ERRNO, &os_error);
        if (code == CURLE_COULDNT_CONNECT && os_error > 0)
                text = strerrordesc_np((int)os_error);
        if (code == CURLE_OPERATION_TIMEDOUT)
                text = "Connection timed out";

        snprintf(copy, sizeof(copy), "%s", text);
        memcpy(asker->error, copy, sizeof(copy));
}

int http_client_get(HttpClient *asker, const char *path, unsigned *ret_status, Buffer *body) {
        scoped(freep) char *url = NULL;
        CURLcode code;
        long status;

        if (asprintf(&url, "http://localhost%s", path) < 0)
                return -ENOMEM;

        asker->error[0] = '\0';
        code = prepare(asker, url, body);
        if (code == CURLE_OK)
                code = asker->perform(asker->easy);
        if (code == CURLE_OK)
                code = asker->get(asker->easy, CURLINFO_RESPONSE_CODE, &status);
        if (buffer_error(body) < 0)
                return -ENOMEM;
        if (code != CURLE_OK) {
                explain(asker, code);
                return ASK_UNREACHABLE;
        }

        *ret_status = (unsigned)status;
        return 0;
}

const char *http_client_error(const HttpClient *asker) {
        return asker->error;
}
