/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cgroup/bus.h"

#include <assert.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-bus.h>

#include "util/buffer.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/scoped.h"

#define DESTINATION "org.freedesktop.systemd1"
#define OBJECT "/org/freedesktop/systemd1"
#define INTERFACE "org.freedesktop.systemd1.Manager"

#define FUNCTIONS(X)                                                                                            \
        X(sd_bus_new) X(sd_bus_set_address) X(sd_bus_set_bus_client) X(sd_bus_start) X(sd_bus_close_unref)      \
        X(sd_bus_is_ready) X(sd_bus_process) X(sd_bus_wait) X(sd_bus_call) X(sd_bus_match_signal_async)         \
        X(sd_bus_message_new_method_call) X(sd_bus_message_append) X(sd_bus_message_open_container)             \
        X(sd_bus_message_close_container) X(sd_bus_message_read) X(sd_bus_message_unref) X(sd_bus_error_free)   \
        X(sd_bus_error_has_name)

typedef struct Bus {
        void *library; /* stays loaded: it has data of its own in every thread */
#define X(name) __typeof__(name) *name;
        FUNCTIONS(X)
#undef X
        sd_bus *bus;       /* owned */
        bool is_direct;    /* with the manager itself, not over a bus */
        uint64_t deadline_ns;
        char *job;         /* owned; path of the manager's own job, that of starting the unit */
        char result[32];   /* how that ended, "" before */
        char *reason;      /* of BUS_REASON_MAX */
} Bus;

static void bus_deinit(Bus *bus) {
        if (bus->bus)
                bus->sd_bus_close_unref(bus->bus);
        free(bus->job);
}

static int fail(Bus *bus, int outcome, const char *reason) {
        snprintf(bus->reason, BUS_REASON_MAX, "%s", reason);
        return outcome;
}

static int bus_load(Bus *bus) {
        bool is_whole = true;

        bus->library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
        if (!bus->library)
                return fail(bus, BUS_ABSENT, dlerror());

#define X(name) bus->name = dlsym(bus->library, #name), is_whole &= bus->name != NULL;
        FUNCTIONS(X)
#undef X
        return is_whole ? 0 : fail(bus, BUS_ABSENT, "libsystemd.so.0 is older than systemd 237");
}

static uint64_t left_us(const Bus *bus) {
        uint64_t now_ns = clock_boottime_ns();

        return now_ns < bus->deadline_ns ? (bus->deadline_ns - now_ns) / NS_PER_US : 0;
}

/* --- the connection ------------------------------------------------------------------------------- */

/* Escapes other bytes as D-Bus does (%20). */
static void put_address(Buffer *out, const char *path) {
        buffer_puts(out, "unix:path=");
        for (; *path; path++) {
                if (isalnum((unsigned char)*path) || strchr("-_/.\\*", *path))
                        buffer_putc(out, *path);
                else
                        buffer_printf(out, "%%%02x", (unsigned char)*path);
        }
}

/* Processes one message or waits for more. 0, BUS_LATE, or a negative errno. */
static int bus_turn(Bus *bus) {
        int r;

        r = bus->sd_bus_process(bus->bus, NULL);
        if (r != 0)
                return r < 0 ? r : 0;
        if (left_us(bus) == 0)
                return BUS_LATE;

        r = bus->sd_bus_wait(bus->bus, left_us(bus));
        return r < 0 && r != -EINTR ? r : 0;
}

/* 0, BUS_LATE, or a negative errno if the connection fails. */
static int bus_connect_to(Bus *bus, const char *path) {
        scoped(buffer_deinit) Buffer address = {};
        int r;

        if (bus->bus)
                bus->sd_bus_close_unref(bus->bus);
        bus->bus = NULL;

        put_address(&address, path);
        r = buffer_error(&address);
        if (r == 0)
                r = bus->sd_bus_new(&bus->bus);
        if (r >= 0)
                r = bus->sd_bus_set_address(bus->bus, address.text);
        if (r >= 0)
                r = bus->sd_bus_set_bus_client(bus->bus, !bus->is_direct);
        if (r >= 0)
                r = bus->sd_bus_start(bus->bus);
        while (r >= 0 && r != BUS_LATE) {
                r = bus->sd_bus_is_ready(bus->bus);
                if (r > 0)
                        return 0;
                if (r == 0)
                        r = bus_turn(bus);
        }

        return r;
}

static const char *runtime_directory(const ScopeRequest *request, char ret[static 64]) {
        const char *given = getenv("XDG_RUNTIME_DIR");

        if (request->manager == SCOPE_MANAGER_SYSTEM)
                return "/run";
        snprintf(ret, 64, "/run/user/%u", request->uid);
        return given && given[0] == '/' ? given : ret;
}

static int bus_connect(Bus *bus, const ScopeRequest *request) {
        scoped(freep) char *direct = NULL, *shared = NULL;
        char own[64];
        const char *directory = runtime_directory(request, own);
        int r;

        if (asprintf(&direct, "%s/systemd/private", directory) < 0 ||
            asprintf(&shared, "%s/%s", directory,
                     request->manager == SCOPE_MANAGER_SYSTEM ? "dbus/system_bus_socket" : "bus") < 0)
                return -ENOMEM;

        bus->is_direct = true;
        r = bus_connect_to(bus, direct);
        if (r < 0) {
                bus->is_direct = false;
                r = bus_connect_to(bus, shared);
        }

        if (r < 0)
                return fail(bus, BUS_ABSENT, request->manager == SCOPE_MANAGER_SYSTEM ? "systemd cannot be reached" :
                                             "the user's systemd is not running");
        return r;
}

/* --- the unit ------------------------------------------------------------------------------------- */

/* Calls of libsystemd return 0 or more on success. */
#define CHAIN(r, call)          \
        do {                    \
                if ((r) >= 0)   \
                        (r) = (call); \
        } while (0)

/* PIDs: 0 stands for the calling process, which systemd identifies by the kernel's credentials in any PID namespace. */
static int put_properties(const Bus *bus, const ScopeRequest *request, bool has_oom_policy, sd_bus_message *message) {
        int r = 0;

        CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "PIDs", "au", 1, UINT32_C(0)));
        CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "Description", "s", request->description));
        CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "CollectMode", "s", "inactive-or-failed"));
        CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "CPUAccounting", "b", 1));
        CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "MemoryAccounting", "b", 1));
        CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "IOAccounting", "b", 1));
        CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "TasksAccounting", "b", 1));
        /* By default a unit, unlike a session, is limited to a part of the machine's tasks. */
        CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "TasksMax", "t", request->tasks_max));
        if (request->slice[0])
                CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "Slice", "s", request->slice));
        if (request->limits->cpus > 0)
                CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "CPUQuotaPerSecUSec", "t",
                                                    (uint64_t)(request->limits->cpus * 1e6)));
        if (request->limits->memory_bytes > 0) {
                CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "MemoryMax", "t", request->limits->memory_bytes));
                CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "MemorySwapMax", "t", UINT64_C(0)));
        }
        /* systemd 253 and later would otherwise end the whole scope when the kernel kills one process. */
        if (has_oom_policy)
                CHAIN(r, bus->sd_bus_message_append(message, "(sv)", "OOMPolicy", "s", "continue"));
        return r;
}

static int make_request(Bus *bus, const ScopeRequest *request, bool has_oom_policy, sd_bus_message **ret) {
        int r;

        r = bus->sd_bus_message_new_method_call(bus->bus, ret, DESTINATION, OBJECT, INTERFACE, "StartTransientUnit");
        CHAIN(r, bus->sd_bus_message_append(*ret, "ss", request->name, "fail"));
        CHAIN(r, bus->sd_bus_message_open_container(*ret, 'a', "(sv)"));
        CHAIN(r, put_properties(bus, request, has_oom_policy, *ret));
        CHAIN(r, bus->sd_bus_message_close_container(*ret));
        CHAIN(r, bus->sd_bus_message_append(*ret, "a(sa(sv))", 0));
        return r;
}

/* Converts a D-Bus error into an outcome. */
static int outcome_of_error(Bus *bus, const sd_bus_error *error, int r) {
        if (r == -ETIMEDOUT || left_us(bus) == 0)
                return fail(bus, BUS_LATE, "systemd did not answer in time");

        return fail(bus, BUS_REFUSED, error->message ? error->message : error_text(-r));
}

static int ask(Bus *bus, const ScopeRequest *request, bool has_oom_policy) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *message = NULL, *reply = NULL;
        bool is_unknown = false;
        const char *job;
        int r;

        assert(bus->bus && !bus->job);
        r = make_request(bus, request, has_oom_policy, &message);
        CHAIN(r, left_us(bus) > 0 ? bus->sd_bus_call(bus->bus, message, left_us(bus), &error, &reply) : -ETIMEDOUT);
        CHAIN(r, bus->sd_bus_message_read(reply, "o", &job));
        if (r >= 0) {
                bus->job = strdup(job);
                r = bus->job ? 0 : -ENOMEM;
        } else if (r != -ENOMEM) {
                is_unknown = bus->sd_bus_error_has_name(&error, SD_BUS_ERROR_PROPERTY_READ_ONLY);
                r = outcome_of_error(bus, &error, r);
        }

        bus->sd_bus_error_free(&error);
        bus->sd_bus_message_unref(message);
        bus->sd_bus_message_unref(reply);
        return is_unknown && has_oom_policy ? ask(bus, request, false) : r;
}

static void take_removed(Bus *bus, sd_bus_message *message) {
        const char *job, *unit, *result;
        uint32_t id;

        if (bus->sd_bus_message_read(message, "uoss", &id, &job, &unit, &result) >= 0 && bus->job &&
            strcmp(job, bus->job) == 0)
                snprintf(bus->result, sizeof(bus->result), "%s", result);
}

static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)error;
        assert(userdata);
        take_removed(userdata, message);
        return 0;
}

/* D-Bus signals stay queued in the connection until processed; the path of the systemd job is known by then. */
static int start(Bus *bus, const ScopeRequest *request) {
        int r;

        r = bus->sd_bus_match_signal_async(bus->bus, NULL, bus->is_direct ? NULL : DESTINATION, OBJECT, INTERFACE,
                                           "JobRemoved", on_job_removed, NULL, bus);
        if (r < 0)
                return r == -ENOMEM ? r : outcome_of_error(bus, &SD_BUS_ERROR_NULL, r);

        r = ask(bus, request, true);
        while (r == 0 && !bus->result[0])
                r = bus_turn(bus);

        if (r == BUS_LATE || r == -ETIMEDOUT)
                return fail(bus, BUS_LATE, "systemd did not answer in time");
        if (r < 0 && r != -ENOMEM)
                return outcome_of_error(bus, &SD_BUS_ERROR_NULL, r);
        if (r == 0 && strcmp(bus->result, "done") != 0)
                return fail(bus, BUS_REFUSED, "systemd could not start the scope; see journalctl");
        return r;
}

int bus_start_scope(const ScopeRequest *request, uint64_t timeout_ns, char ret_reason[static BUS_REASON_MAX]) {
        scoped(bus_deinit) Bus bus = { .deadline_ns = clock_boottime_ns() + timeout_ns, .reason = ret_reason };
        int r;

        ret_reason[0] = '\0';
        r = bus_load(&bus);
        if (r == 0)
                r = bus_connect(&bus, request);
        if (r == 0)
                r = start(&bus, request);
        if (r == BUS_LATE)
                return fail(&bus, BUS_LATE, "systemd did not answer in time");

        return r;
}
