/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/pid_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "util/file.h"
#include "util/scan.h"

#define TEXT_BYTES_MAX 65536U
/* Processes that are read for one request. */
#define PROCESSES_MAX 256U

typedef struct NamedProcess {
        int32_t pid, parent;
        unsigned depth; /* number of namespaces in which the process has a pid */
        uint64_t inner; /* pid in the innermost */
} NamedProcess;

static const char *find_line(const char *text, const char *name, uint64_t *ret) {
        const char *line = strstr(text, name);

        return line ? scan_u64(scan_blanks(line + strlen(name)), ret) : NULL;
}

/* -ESRCH: no such process, or /proc hides it. */
static int read_process(uint64_t pid, NamedProcess *ret) {
        scoped(freep) char *text = NULL;
        char path[48];
        uint64_t parent;
        const char *p;
        int r;

        (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        r = file_read_at(AT_FDCWD, path, TEXT_BYTES_MAX, &text, NULL);
        if (r == -ENOENT || r == -EACCES || r == -EPERM || (r >= 0 && !find_line(text, "\nPPid:", &parent)))
                return -ESRCH;
        if (r < 0)
                return r;

        *ret = (NamedProcess){ .pid = (int32_t)pid, .parent = (int32_t)parent, .depth = 1, .inner = pid };
        p = find_line(text, "\nNSpid:", &ret->inner);
        while (p && *p != '\n' && (p = scan_u64(scan_blanks(p), &ret->inner)))
                ret->depth++;
        return 0;
}

static bool exists(int32_t pid) {
        return kill(pid, 0) == 0 || errno == EPERM;
}

static bool is_named(const NamedProcess *process, const NamedProcess *peer, int32_t pid) {
        return process->depth == peer->depth && process->inner == (uint64_t)pid;
}

static bool find_child(const NamedProcess *parent, const NamedProcess *peer, int32_t pid, unsigned *n_left,
                       int32_t *ret) {
        scoped(freep) char *text = NULL;
        char path[64];
        uint64_t child;

        (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent->pid, parent->pid);
        if (file_read_at(AT_FDCWD, path, TEXT_BYTES_MAX, &text, NULL) < 0)
                return false;

        for (const char *p = text; *n_left > 0 && (p = scan_u64(scan_blanks(p), &child)); (*n_left)--) {
                NamedProcess process;

                if (read_process(child, &process) < 0 || !is_named(&process, peer, pid))
                        continue;
                *ret = process.pid;
                return true;
        }
        return false;
}

int pid_namespace_find(int32_t peer_pid, int32_t pid, int32_t *ret) {
        unsigned n_left = PROCESSES_MAX;
        NamedProcess peer, at;
        int r;

        if (peer_pid <= 0)
                return PID_NAMESPACE_OTHER;
        r = read_process((uint64_t)peer_pid, &peer);
        if (r == -ESRCH && exists(peer_pid))
                return PID_NAMESPACE_HIDDEN;
        if (r == -ESRCH)
                peer.depth = 1; /* the peer has ended */
        else if (r < 0)
                return r;
        if (peer.depth == 1) {
                *ret = pid;
                r = read_process((uint64_t)pid, &at);
                return r != -ESRCH ? r : exists(pid) ? PID_NAMESPACE_HIDDEN : 0;
        }

        at = peer;
        do {
                if (is_named(&at, &peer, pid)) {
                        *ret = at.pid;
                        return 0;
                }
                if (find_child(&at, &peer, pid, &n_left, ret))
                        return 0;
        } while (at.parent > 0 && n_left-- > 1 && read_process((uint64_t)at.parent, &at) == 0 &&
                 at.depth == peer.depth);
        return PID_NAMESPACE_OTHER;
}
