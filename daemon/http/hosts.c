/* SPDX-License-Identifier: Apache-2.0 */
#include "http/hosts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>

#include "util/file.h"

#define RESOLVER_BYTES_MAX (64U * 1024U)
#define HOST_BYTES_MAX 256U

static const char blanks[] = " \t\r";

/* Adds the host's short name in each domain of "search a.example b.example" or "domain a.example". */
static void add_domains(Hosts *hosts, const char *host, char *line) {
        char *rest = NULL, *word = strtok_r(line, blanks, &rest);

        if (!word || (strcmp(word, "search") != 0 && strcmp(word, "domain") != 0))
                return;
        while ((word = strtok_r(NULL, blanks, &rest)))
                buffer_printf(&hosts->names, " %.*s.%s", (int)strcspn(host, "."), host, word);
}

int hosts_init(Hosts *ret, const char *configured, const char *hostname, const char *resolver) {
        scoped(freep) char *text = NULL;
        char *rest;

        *ret = (Hosts){};
        buffer_printf(&ret->names, " localhost %s %s", hostname, configured);
        if (*hostname)
                buffer_printf(&ret->names, " %.*s", (int)strcspn(hostname, "."), hostname);
        if (*hostname && file_read_at(AT_FDCWD, resolver, RESOLVER_BYTES_MAX, &text, NULL) == 0) {
                rest = text;
                for (char *line; (line = strsep(&rest, "\n"));)
                        add_domains(ret, hostname, line);
        }
        return buffer_error(&ret->names);
}

void hosts_deinit(Hosts *hosts) {
        buffer_deinit(&hosts->names);
}

/* Host names are not case-sensitive. */
static bool has_name(const Hosts *hosts, const char *name) {
        size_t n = strlen(name);

        for (const char *p = hosts->names.text + strspn(hosts->names.text, blanks); *p; p += strspn(p, blanks)) {
                size_t n_word = strcspn(p, blanks);

                if (n_word == n && strncasecmp(p, name, n) == 0)
                        return true;
                p += n_word;
        }
        return false;
}

/* "NAME", "NAME:PORT", "[IPV6]" or "[IPV6]:PORT": copies the part before the port. Returns false if malformed. */
static bool cut_port(const char *host, char ret[static HOST_BYTES_MAX]) {
        const char *end = host + strcspn(host, *host == '[' ? "]" : ":");
        size_t n = (size_t)(end - host) + (*end == ']');

        end = host + n;
        if (n == 0 || n >= HOST_BYTES_MAX || (*end && (*end != ':' || end[1 + strspn(end + 1, "0123456789")])))
                return false;
        *(char *)mempcpy(ret, host, n) = '\0';
        return true;
}

bool hosts_allow(const Hosts *hosts, const char *host) {
        struct in6_addr address;
        char name[HOST_BYTES_MAX];
        size_t n;

        if (!*host)
                return true;
        if (!cut_port(host, name))
                return false;

        n = strlen(name);
        if (name[0] == '[') {
                name[n - 1] = '\0';
                return host[n - 1] == ']' && inet_pton(AF_INET6, name + 1, &address) == 1;
        }
        if (inet_pton(AF_INET, name, &address) == 1)
                return true;
        if (n > 1 && name[n - 1] == '.')
                name[n - 1] = '\0'; /* the dot of the root domain */
        return has_name(hosts, name);
}
