/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/ingest: CPU time of the daemon's loop per submission
 *
 * A second thread writes small realistic indicators as fast as the socket accepts them, and reads the replies; this
 * thread runs the daemon's loop and answers at once. The result includes reading, framing, decoding, checking and
 * answering, but not the store. Only the CPU time of this thread is counted.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ingest/ingest.h"
#include "tests/unit/wire.h"
#include "util/clock.h"
#include "util/file.h"

#define N_REQUESTS (1600U * N_PER_WRITE)
#define N_PER_WRITE 256U
#define STALLED_US 10000000U

/* Builds the output of a convolution test of an ML framework: 14 parameters, 2 results. */
static Buffer make_convolution(void) {
        static const char *const sizes[] = {
                "batch", "filter_height", "filter_width", "input_channels", "input_height", "input_width",
                "mini_batch", "output_channels", "reps", "strides",
        };
        Buffer document = {}, parameters = {}, result = {};

        for (size_t i = 0; i < N_ELEMENTS(sizes); i++)
                put_member_int(&parameters, sizes[i], (int64_t)(i * i * 37));
        put_member_string(&parameters, "data_format", "NHWC");
        put_member_string(&parameters, "device", "cpu");
        put_member_string(&parameters, "dtype", "float32");
        put_member_string(&parameters, "padding", "SAME");
        put_member_double(&result, "elapsed", 91.80921246297657);
        put_member_double(&result, "rate", 7.856292202602945);
        put_member_object(&document, "@parameters", &parameters);
        put_member_object(&document, "@result", &result);
        put_member_string(&document, "name", "PiConv2D");
        put_member_string(&document, "component", "tensorflow");
        return document;
}

typedef struct Sender {
        struct sockaddr_un address; /* abstract address: the length is significant */
        socklen_t n_address;
        size_t n_bytes; /* size of one request */
        uint64_t cpu_ns;
} Sender;

static void *send_all(void *userdata) {
        Sender *sender = userdata;
        scoped(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        scoped(buffer_deinit) Buffer stream = {};
        char replies[65536];

        for (unsigned i = 0; i < N_PER_WRITE; i++) {
                Buffer document = make_convolution(), request = make_submit(1, &document);

                put_frame(&stream, &request);
        }
        sender->n_bytes = stream.n / N_PER_WRITE;

        if (fd < 0 || connect(fd, (struct sockaddr *)&sender->address, sender->n_address) < 0)
                return (void *)"connect";

        for (unsigned i = 0; i < N_REQUESTS / N_PER_WRITE; i++) {
                if (file_write_all(fd, stream.text, stream.n) < 0)
                        return (void *)"write";
                while (recv(fd, replies, sizeof(replies), MSG_DONTWAIT) > 0)
                        ;
        }

        shutdown(fd, SHUT_WR);
        while (recv(fd, replies, sizeof(replies), 0) > 0)
                ;
        sender->cpu_ns = clock_thread_cpu_ns();
        return NULL;
}

static int listen_anywhere(struct sockaddr_un *ret, socklen_t *ret_n) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
        *ret_n = sizeof(*ret);
        if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(ret->sun_family)) < 0 || listen(fd, 16) < 0 ||
            getsockname(fd, (struct sockaddr *)ret, ret_n) < 0)
                return -1;

        return fd;
}

/* Runs one iteration of the loop, as the daemon does. */
static int serve(sd_event *event, Ingest *ingest) {
        static const Answer answer = { .status = STATUS_OK };
        Request request;
        Ticket ticket;
        int r;

        while ((r = ingest_next(ingest, &request, &ticket)) == 0)
                ingest_answer(ingest, ticket, &answer);
        if (r < 0)
                return r;

        ingest_flush(ingest);
        r = sd_event_run(event, STALLED_US);
        return r == 0 ? -ETIMEDOUT : r;
}

static int measure(sd_event *event, Ingest *ingest, Sender *sender) {
        uint64_t begin_ns = clock_boottime_ns(), begin_cpu_ns = clock_thread_cpu_ns(), ns, cpu_ns;
        const IngestStats *stats = ingest_stats(ingest);
        pthread_t thread;
        void *failure;
        int r = 0;

        r = pthread_create(&thread, NULL, send_all, sender);
        if (r != 0)
                return -r;

        while (r >= 0 && (stats->n_answers[STATUS_OK] < N_REQUESTS || stats->n_connections > 0))
                r = serve(event, ingest);
        ns = clock_boottime_ns() - begin_ns;
        cpu_ns = clock_thread_cpu_ns() - begin_cpu_ns;

        pthread_join(thread, &failure);
        if (r < 0 || failure) {
                fprintf(stderr, "Cannot measure: %s\n", failure ? (const char *)failure : strerror(-r));
                return -1;
        }

        printf("ingest: %.0f requests/s, %.0f ns of CPU of the loop per request of %zu bytes, %.0f ns of the "
               "sender's\n",
               N_REQUESTS * 1e9 / (double)ns, (double)cpu_ns / N_REQUESTS, sender->n_bytes,
               (double)sender->cpu_ns / N_REQUESTS);
        return 0;
}

int main(void) {
        IngestConfig config = {
                .frame_max_bytes = 1048576,
                .in_flight_max = 1024, .documents = DOCUMENT_LIMITS_DEFAULT, .admin_gid = INGEST_NO_ADMIN_GID,
        };
        const IngestServer server = { .name = "bench", .node = "bench" };
        sd_event *event = NULL;
        Ingest *ingest = NULL;
        const SharesConfig shares_config = { .limits = {
                [RESOURCE_CONNECTIONS] = 64, [RESOURCE_INPUT] = 16U << 20, [RESOURCE_REQUESTS] = 8U << 20,
        } };
        Shares *shares = NULL;
        Sender sender = {};
        int fd, r;

        fd = listen_anywhere(&sender.address, &sender.n_address);
        if (fd < 0 || sd_event_new(&event) < 0 || shares_new(&shares, &shares_config) < 0 ||
            ingest_new(&ingest, event, fd, &config, &server, shares) < 0) {
                perror("Cannot build the loop");
                return EXIT_FAILURE;
        }

        r = measure(event, ingest, &sender);
        ingest_free(ingest);
        shares_free(shares);
        sd_event_unref(event);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
