/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/prometheus_dump.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error_text.h"
#include "util/scoped.h"

#define START_NS (120 * NS_PER_S)
#define ANSWER_NS (30 * NS_PER_S)
#define PAUSE_MS 50
#define LOG_BYTES_MAX (64U * 1024U)

/*
 * $1: the dump, $2: a new directory, $3: address. Links are removed: the server writes into its database. The pipe of
 * the output is closed when the server has ended; what it has said is the reason. limits: 16 GiB of a file, 100 s.
 */
static const char script[] =
        "umask 077; ulimit -f 33554432\n"
        "serve() {\n"
        "  cd -- \"$2\" && mkdir data || exit\n"
        "  command -v prometheus >/dev/null || { echo prometheus is not installed; exit; }\n"
        "  if [ -d \"$1\" ]; then timeout 100 cp -R -P -- \"$1/.\" data\n"
        "  else timeout 100 tar --extract --file \"$1\" --force-local --directory data --no-same-owner; fi || exit\n"
        "  find data ! -type f ! -type d -delete; chmod -R u+rwX data\n"
        "  found=$(find data -name wal -type d -o -name meta.json -type f | head -n 1)\n"
        "  case $found in\n"
        "  '') echo the dump has no database of Prometheus; exit;;\n"
        "  */meta.json) found=${found%/*};;\n"
        "  esac\n"
        "  exec prometheus --config.file=/dev/null --storage.tsdb.path=\"$2/${found%/*}\" --log.level=error \\\n"
        "    --storage.tsdb.retention.time=100y --web.listen-address=\"$3\"\n"
        "}\n"
        "serve \"$@\" 2>&1 </dev/null & exec >/dev/null 2>&1; read -r line; kill -KILL $!; wait; rm -rf -- \"$2\"\n";

void prometheus_dump_deinit(PrometheusDump *dump) {
        closep(&dump->in);
        closep(&dump->out);
        while (dump->pid > 0 && waitpid(dump->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        remote_values_deinit(&dump->remote);
}

/* A port that is free now. */
static int choose_address(char ret[static 48]) {
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t n = sizeof(address);
        scoped(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (struct sockaddr *)&address, n) < 0 ||
            getsockname(fd, (struct sockaddr *)&address, &n) < 0)
                return -errno;
        (void)snprintf(ret, 48, "http://127.0.0.1:%u", ntohs(address.sin_port));
        return 0;
}

static int start(PrometheusDump *dump, const char *path) {
        char *const command[] = { (char[]){ "sh" },    (char[]){ "-c" }, (char *)script, (char[]){ "sh" },
                                  (char *)path, dump->scratch, dump->url + strlen("http://"), NULL };
        scoped(closep) int in = -1, out = -1;
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        in = ends[0];
        dump->in = ends[1];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        dump->out = ends[0];
        out = ends[1];
        (void)posix_spawn_file_actions_init(&actions);
        (void)posix_spawnattr_init(&attributes);
        (void)posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
        (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); /* the terminal's signals are not for it */
        r = -posix_spawnp(&dump->pid, command[0], &actions, &attributes, command, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        (void)posix_spawnattr_destroy(&attributes);
        return r;
}

/* Waits until our server answers, which knows its directory: another program may have taken the port. */
static int await(PrometheusDump *dump, Buffer *log) {
        JsonServer *server = &dump->remote.prometheus;
        uint64_t deadline = clock_boottime_ns() + START_NS;

        for (;;) {
                struct pollfd poller = { .fd = dump->out, .events = POLLIN };
                const char *directory = NULL;
                ssize_t k = poll(&poller, 1, PAUSE_MS) > 0 ? buffer_read(log, dump->out) : 1;
                int r;

                if (k == 0 || clock_boottime_ns() >= deadline)
                        return REMOTE_VALUES_AWAY;
                if (k < 0 && k != -EINTR)
                        return (int)k;
                r = json_server_open(server, dump->url, "", ANSWER_NS);
                if (r == 0)
                        r = json_server_ask(server, "/api/v1/status/flags", NULL);
                if (r == 0)
                        directory = value_get_string(value_get(server->answer, "data"), "storage.tsdb.path");
                if (r < 0 || (directory && strncmp(directory, dump->scratch, strlen(dump->scratch)) == 0))
                        return r;
                json_server_deinit(server);
                *server = (JsonServer){};
        }
}

int prometheus_dump_open(PrometheusDump *ret, const char *path, Buffer *ret_reason) {
        scoped(buffer_deinit) Buffer log = { .n_max = LOG_BYTES_MAX };
        const char *line;
        int r;

        *ret = PROMETHEUS_DUMP_NONE;
        r = snprintf(ret->scratch, sizeof(ret->scratch), "%s/perfd-prometheus-XXXXXX", getenv("TMPDIR") ?: "/tmp");
        r = r >= (int)sizeof(ret->scratch) ? -ENAMETOOLONG : mkdtemp(ret->scratch) ? 0 : -errno;
        if (r == 0)
                r = choose_address(ret->url);
        if (r == 0)
                r = start(ret, path);
        if (r == 0)
                r = await(ret, &log);
        if (r == 0 || r == -ENOMEM)
                return r;
        while (log.n > 0 && log.text[log.n - 1] == '\n')
                log.text[--log.n] = '\0';
        line = log.text ? strrchr(log.text, '\n') : NULL;
        buffer_printf(ret_reason, "the dump is not served: %.300s",
                      r < 0 ? error_text(-r) : log.n == 0 ? "no answer within 120 s" : line ? line + 1 : log.text);
        return REMOTE_VALUES_AWAY;
}
