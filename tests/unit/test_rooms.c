/* SPDX-License-Identifier: Apache-2.0 */

/* All parts of the daemon on real sockets with a real store; the test runs the loop and acts as a client. */

#include "store_fixture.h"
#include "tree.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "proto/frame.h"
#include "proto/perfd.pb-c.h"
#include "rooms.h"
#include "store/jobs/job_reader.h"
#include "store/node/store_node.h"

#define MIB (UINT64_C(1) << 20)

typedef struct Fixture {
        Place place; /* its store is used by the rooms */
        char root[64];
        sd_event *event;
        Sockets sockets;
        Rooms rooms;
        int client_fd;
        uint64_t n_requests;
} Fixture;

static int connect_client(const Fixture *f) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->sockets.submit_path);
        assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        return fd;
}

/* The caller of rooms_open() serves this kind. */
static int place_reload(void *state, const Request *request, Ticket ticket, Answer *ret) {
        (void)state, (void)request, (void)ticket;
        return desk_answer(ret, STATUS_OK, "", "");
}

static const Kind own_kinds[] = { { REQUEST_RELOAD, "reload", place_reload, NULL, NULL } };

static void open_rooms(Fixture *f) {
        char error[SOCKETS_ERROR_MAX];

        assert_int_equal(sockets_open(&f->sockets, &f->rooms.config.sockets, error), 0);
        assert_int_equal(shares_new(&f->rooms.shares, &f->rooms.config.shares), 0);
        f->rooms.config.store.shares = f->rooms.shares;
        place_open_with(&f->place, &f->rooms.config.store);
        f->rooms.store = f->place.store;
        self_init(&f->rooms.self);
        assert_int_equal(rooms_open(&f->rooms, f->event, f->root, "", &f->sockets, &DESK_ROW(own_kinds, NULL)), 0);
        f->client_fd = connect_client(f);
}

static void close_rooms(Fixture *f) {
        Config config = f->rooms.config;

        close(f->client_fd);
        f->place.reader = reader_free(f->place.reader);
        f->place.store = NULL; /* rooms_close() frees the store */
        sockets_close(&f->sockets);
        rooms_close(&f->rooms);
        f->rooms = (Rooms){ .config = config };
}

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));
        Config *config = &f->rooms.config;

        assert_non_null(f);
        *state = f;
        place_make(&f->place);
        tree_copy("small", f->root);
        config_defaults(config);
        config->store = place_config(&f->place);
        config->store.is_volatile = true; /* these tests do not depend on syncing */
        config->patterns = (PatternsConfig){}; /* ignore the jobs of this machine */
        (void)snprintf(config->sockets.path, sizeof(config->sockets.path), "%s/perfd.sock", f->place.directory);
        (void)snprintf(config->sockets.http_path, sizeof(config->sockets.http_path), "%s/perfd-http.sock",
                       f->place.directory);
        strcpy(config->sockets.http_listen, "off");
        (void)snprintf(config->indicators.directory, sizeof(config->indicators.directory), "%s/models", f->root);
        assert_int_equal(mkdir(config->indicators.directory, 0755), 0);
        assert_true(sd_event_new(&f->event) >= 0);
        open_rooms(f);
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        close_rooms(f);
        sd_event_unref(f->event);
        place_remove(&f->place);
        tree_remove(f->root);
        free(f);
        return 0;
}

/* --- daemon -------------------------------------------------------------------------------------- */

/* Runs one iteration of the daemon's loop. */
static void turn(Fixture *f) {
        struct pollfd fd = { .fd = store_fd(f->rooms.store), .events = POLLIN };
        int r;

        do {
                assert_int_equal(rooms_take_requests(&f->rooms), 0);
                r = sd_event_run(f->event, 0);
                assert_true(r >= 0);
        } while (r > 0);
        if (poll(&fd, 1, 1) > 0)
                assert_int_equal(rooms_take_completions(&f->rooms), 0);
}

static const Snapshot *acquire(const Fixture *f) {
        const Snapshot *snapshot = publisher_acquire(f->rooms.publisher);

        assert_non_null(snapshot);
        return snapshot;
}

static void release(const Fixture *f, const Snapshot *snapshot) {
        publisher_release(f->rooms.publisher, snapshot);
}

/* --- client -------------------------------------------------------------------------------------- */

static Perfd__V1__Status take_status(const Fixture *f, const Frame *frame) {
        Perfd__V1__Reply *reply = perfd__v1__reply__unpack(NULL, frame->n, frame->data);
        Perfd__V1__Status status;

        assert_non_null(reply);
        assert_int_equal(reply->sequence, f->n_requests);
        status = reply->status;
        if (status != PERFD__V1__STATUS__OK)
                print_message("request %lu: %s: %s\n", (unsigned long)reply->sequence, reply->path, reply->message);
        perfd__v1__reply__free_unpacked(reply, NULL);
        return status;
}

/* Sends a request and waits for its reply. */
static Perfd__V1__Status ask(Fixture *f, Perfd__V1__Request *request) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_MS * NS_PER_MS;
        uint8_t bytes[4096];
        size_t n_held = 0, n_header, n;
        Frame frame;

        request->sequence = ++f->n_requests;
        n = perfd__v1__request__get_packed_size(request);
        assert_true(n + FRAME_HEADER_MAX <= sizeof(bytes));
        n_header = frame_write_header(bytes, (uint32_t)n);
        (void)perfd__v1__request__pack(request, bytes + n_header);
        assert_int_equal(send(f->client_fd, bytes, n_header + n, MSG_NOSIGNAL), (ssize_t)(n_header + n));

        for (;;) {
                ssize_t n_read;

                turn(f);
                n_read = recv(f->client_fd, bytes + n_held, sizeof(bytes) - n_held, 0);
                assert_true(n_read > 0 || (n_read < 0 && errno == EAGAIN));
                n_held += n_read > 0 ? (size_t)n_read : 0;
                if (n_held > 0 && frame_read(bytes, n_held, sizeof(bytes), &frame, NULL) == 0)
                        return take_status(f, &frame);
                assert_true(clock_boottime_ns() < deadline_ns);
        }
}

static Perfd__V1__Status submit(Fixture *f, unsigned char id) {
        char document[] = "{\"name\": \"PiMatmul\", \"component\": \"tensorflow\", "
                          "\"@parameters\": {\"reps\": 30}, \"@result\": {\"rate\": 7.5}}";
        Perfd__V1__Indicator indicator = PERFD__V1__INDICATOR__INIT, *indicators = &indicator;
        Perfd__V1__Submit message = PERFD__V1__SUBMIT__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;
        uint8_t bytes[16];

        memset(bytes, id, sizeof(bytes));
        indicator.id = (ProtobufCBinaryData){ .len = sizeof(bytes), .data = bytes };
        indicator.document = (ProtobufCBinaryData){ .len = strlen(document), .data = (uint8_t *)document };
        message.n_indicators = 1;
        message.indicators = &indicators;
        request.body_case = PERFD__V1__REQUEST__BODY_SUBMIT;
        request.submit = &message;
        return ask(f, &request);
}

static Perfd__V1__Status begin_job(Fixture *f, const char *id) {
        Perfd__V1__JobBegin message = PERFD__V1__JOB_BEGIN__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;

        message.job = (char *)(uintptr_t)id; /* only read */
        message.pid = getpid(); /* the job is running as long as the test */
        request.body_case = PERFD__V1__REQUEST__BODY_JOB_BEGIN;
        request.job_begin = &message;
        return ask(f, &request);
}

static Perfd__V1__Status mark_job(Fixture *f, const char *id) {
        Perfd__V1__Mark message = PERFD__V1__MARK__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;

        message.job = (char *)(uintptr_t)id; /* only read */
        request.body_case = PERFD__V1__REQUEST__BODY_MARK;
        request.mark = &message;
        return ask(f, &request);
}

static Perfd__V1__Status end_job(Fixture *f, const char *id) {
        Perfd__V1__JobEnd message = PERFD__V1__JOB_END__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;

        message.job = (char *)(uintptr_t)id; /* only read */
        request.body_case = PERFD__V1__REQUEST__BODY_JOB_END;
        request.job_end = &message;
        return ask(f, &request);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void the_first_snapshot_is_there_before_the_first_tick(void **state) {
        Fixture *f = *state;
        const Snapshot *snapshot = acquire(f);

        assert_int_equal(snapshot_node_memory_bytes(&snapshot->node), UINT64_C(8000000) << 10); /* from the tree */
        assert_true(snapshot->store.is_writable);
        assert_true(snapshot->self.resident_bytes > 0);
        assert_int_equal(snapshot->jobs.n_running, 0);
        release(f, snapshot);
}

static void a_tick_publishes_a_new_sample(void **state) {
        Fixture *f = *state;
        const Snapshot *before = acquire(f), *after;

        tree_write(f->root, "proc/loadavg", "7.25 1.05 10.50 3/417 8123\n");
        assert_int_equal(rooms_tick(&f->rooms), 0);
        after = acquire(f);
        assert_true(after->node.boottime_ns > before->node.boottime_ns);
        assert_true(after->node.sample.load.average1 == 7.25);
        assert_true(before->node.sample.load.average1 == 0.12);
        release(f, before);
        release(f, after);
}

static void requests_of_each_kind_reach_their_room_and_the_snapshot(void **state) {
        Fixture *f = *state;
        const Snapshot *snapshot;
        const JobRecord *record;

        assert_int_equal(begin_job(f, "a"), PERFD__V1__STATUS__OK);
        assert_int_equal(rooms_tick(&f->rooms), 0);
        snapshot = acquire(f);
        assert_int_equal(snapshot->jobs.n_running, 1);
        assert_non_null(snapshot_jobs_find(&snapshot->jobs, "a"));
        release(f, snapshot);

        assert_int_equal(mark_job(f, "a"), PERFD__V1__STATUS__OK);
        assert_int_equal(submit(f, 1), PERFD__V1__STATUS__OK);
        assert_int_equal(submit(f, 1), PERFD__V1__STATUS__DUPLICATE);
        assert_int_equal(end_job(f, "a"), PERFD__V1__STATUS__OK);
        assert_int_equal(end_job(f, "b"), PERFD__V1__STATUS__NOT_FOUND);
        assert_int_equal(rooms_tick(&f->rooms), 0);

        snapshot = acquire(f);
        record = snapshot_jobs_find(&snapshot->jobs, "a");
        assert_non_null(record);
        assert_int_equal(record->state, JOB_FINISHED);
        assert_int_equal(snapshot->jobs.n_running, 0);
        assert_int_equal(snapshot->indicators.stats.n_stored, 1);
        assert_int_equal(snapshot->ingest.n_answers[STATUS_OK], 4);
        assert_int_equal(snapshot->ingest.n_answers[STATUS_DUPLICATE], 1);
        release(f, snapshot);
}

static void running_jobs_are_resumed_by_the_next_rooms(void **state) {
        Fixture *f = *state;
        const Snapshot *snapshot;

        assert_int_equal(begin_job(f, "kept"), PERFD__V1__STATUS__OK);
        assert_int_equal(begin_job(f, "ended"), PERFD__V1__STATUS__OK);
        assert_int_equal(end_job(f, "ended"), PERFD__V1__STATUS__OK);
        assert_int_equal(rooms_checkpoint(&f->rooms, true), 0);
        close_rooms(f);
        assert_int_equal(access(f->sockets.submit_path, F_OK), -1);

        open_rooms(f);
        snapshot = acquire(f);
        assert_int_equal(snapshot->jobs.n_running, 1);
        assert_non_null(snapshot_jobs_find(&snapshot->jobs, "kept"));
        assert_null(snapshot_jobs_find(&snapshot->jobs, "ended"));
        release(f, snapshot);
        assert_int_equal(end_job(f, "kept"), PERFD__V1__STATUS__OK);
}

static void a_checkpoint_stores_a_point_of_the_history(void **state) {
        Fixture *f = *state;
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_MS * NS_PER_MS;
        StoreStats stats;
        NodeSampleRow row;

        assert_int_equal(store_node_list(f->place.reader, 0, 0), 0);
        assert_int_equal(store_node_next(f->place.reader, &row), READER_END);
        do { /* samples at too short an interval make no observation */
                assert_int_equal(rooms_tick(&f->rooms), 0);
                assert_true(clock_boottime_ns() < deadline_ns);
        } while (f->rooms.node.observation.end_ns == 0);
        assert_int_equal(rooms_checkpoint(&f->rooms, false), 0);
        do {
                turn(f);
                store_stats(f->rooms.store, &stats);
                assert_true(clock_boottime_ns() < deadline_ns);
        } while (stats.queue_rows > 0);
        assert_int_equal(store_node_list(f->place.reader, 0, 0), 0);
        assert_int_equal(store_node_next(f->place.reader, &row), 0);
        /* it was cut short */
        assert_in_range(row.interval_ms, 1, f->rooms.config.jobs.checkpoint_interval_ns / NS_PER_MS - 1);
        assert_int_equal(store_node_next(f->place.reader, &row), READER_END);
}

/* The writer's thread applies new limits in its next iteration. */
static void await_size_limit(Fixture *f, uint64_t size_max_bytes) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_MS * NS_PER_MS;
        StoreStats stats;

        do {
                turn(f);
                store_stats(f->rooms.store, &stats);
                assert_true(clock_boottime_ns() < deadline_ns);
        } while (stats.size_max_bytes != size_max_bytes);
}

static void a_reload_applies_to_all_parts(void **state) {
        char error[ROOMS_ERROR_MAX];
        Fixture *f = *state;
        Config next = f->rooms.config, *config = &next;
        scoped(buffer_deinit) Buffer models = {};
        const Snapshot *snapshot;
        char byte;
        int fd;

        tree_write(f->root, "models/PiMatmul.yaml", "name: PiMatmul\nresults:\n  rate: {type: float}\n");
        config->shares.limits[RESOURCE_CONNECTIONS] = 1;
        config->node.interval_ns = 7 * NS_PER_S;
        config->store.size_max_bytes = 77 * MIB;
        assert_int_equal(rooms_configure(&f->rooms, config, NULL, error), 0);
        await_size_limit(f, 77 * MIB);
        assert_int_equal(rooms_tick(&f->rooms), 0);

        snapshot = acquire(f);
        assert_int_equal(snapshot->node.interval_ns, 7 * NS_PER_S);
        assert_int_equal(snapshot->store.size_max_bytes, 77 * MIB);
        assert_non_null(snapshot->indicators.models);
        shared_texts_write(snapshot->indicators.models, &models);
        assert_non_null(strstr(models.text, "PiMatmul"));
        release(f, snapshot);

        assert_int_equal(submit(f, 1), PERFD__V1__STATUS__OK); /* over the only connection */
        fd = connect_client(f);
        for (unsigned i = 0; i < 10; i++)
                turn(f);
        while (recv(fd, &byte, 1, 0) == 1) /* the reply contains the reason */
                ;
        assert_int_equal(recv(fd, &byte, 1, 0), 0);
        close(fd);
        assert_int_equal(ingest_stats(f->rooms.ingest)->n_connections_refused, 1);
}

/* Stores a row that is larger than the store's limit. */
static void put_too_large(Fixture *f) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_MS * NS_PER_MS;
        scoped(buffer_deinit) Buffer bytes = {};
        StoreStats stats;

        assert_true(buffer_reserve(&bytes, 3 * MIB));
        memset(bytes.text, 'x', 3 * MIB);
        bytes.n = 3 * MIB;
        assert_int_equal(store_put(f->rooms.store, store_node_pack(1, 1, &bytes)), 0);
        do {
                turn(f);
                store_stats(f->rooms.store, &stats);
                assert_true(clock_boottime_ns() < deadline_ns);
        } while (stats.is_writable);
}

static void a_store_that_cannot_be_written_is_published_and_heals(void **state) {
        char error[ROOMS_ERROR_MAX];
        Fixture *f = *state;
        const Snapshot *snapshot;
        Config next = f->rooms.config;

        next.store.size_max_bytes = 2 * MIB;
        assert_int_equal(rooms_configure(&f->rooms, &next, NULL, error), 0);
        put_too_large(f);
        assert_int_equal(rooms_tick(&f->rooms), 0);
        assert_false(f->rooms.stored.is_writable);
        snapshot = acquire(f);
        assert_false(snapshot->store.is_writable);
        assert_true(snapshot->store.error[0] != '\0');
        release(f, snapshot);

        next.store.size_max_bytes = 100 * MIB;
        assert_int_equal(rooms_configure(&f->rooms, &next, NULL, error), 0);
        assert_int_equal(submit(f, 1), PERFD__V1__STATUS__OK);
        assert_int_equal(rooms_tick(&f->rooms), 0);
        assert_true(f->rooms.stored.is_writable);
        snapshot = acquire(f);
        assert_true(snapshot->store.is_writable);
        assert_int_equal(snapshot->indicators.stats.n_stored, 1);
        release(f, snapshot);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_first_snapshot_is_there_before_the_first_tick),
                TEST(a_tick_publishes_a_new_sample),
                TEST(requests_of_each_kind_reach_their_room_and_the_snapshot),
                TEST(running_jobs_are_resumed_by_the_next_rooms),
                TEST(a_checkpoint_stores_a_point_of_the_history),
                TEST(a_reload_applies_to_all_parts),
                TEST(a_store_that_cannot_be_written_is_published_and_heals),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
