/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "document/shorten.h"
#include "ingest/codec_jobs.h"
#include "ingest/refuse.h"
#include "ingest/scan.h"
#include "proto/perfd.pb-c.h"
#include "util/utf8.h"

/* Request, Submit, Indicator, and for each level of a document an Object, a Member and a Value. */
#define MESSAGE_DEPTH_MAX (3U + 3U * (VALUE_DEPTH_MAX + 1U))
#define TIME_MS_MAX (INT64_MAX / 1000000) /* in the year 2262 */

/* --- documents ----------------------------------------------------------------------------------- */

enum {
        TAKE_NO_ROOM = 1,
        TAKE_UNKNOWN, /* a value of a kind that came after this perfd */
};

static int take_value(Arena *arena, const Perfd__V1__Value *from, Value *ret);

static int take_list(Arena *arena, const Perfd__V1__List *from, Value *ret) {
        Value *items;
        int r = 0;

        items = arena_alloc(arena, from->n_items * sizeof(*items));
        if (!items)
                return TAKE_NO_ROOM;

        for (size_t i = 0; i < from->n_items && r == 0; i++)
                r = take_value(arena, from->items[i], &items[i]);

        *ret = (Value){ .type = VALUE_LIST, .items = items, .n_items = from->n_items };
        return r;
}

static int take_object(Arena *arena, const Perfd__V1__Object *from, Value *ret) {
        Member *members;
        int r = 0;

        members = arena_alloc(arena, from->n_members * sizeof(*members));
        if (!members)
                return TAKE_NO_ROOM;

        for (size_t i = 0; i < from->n_members && r == 0; i++) {
                members[i].key = from->members[i]->key;
                r = take_value(arena, from->members[i]->value, &members[i].value);
        }

        *ret = (Value){ .type = VALUE_OBJECT, .members = members, .n_members = from->n_members };
        return r;
}

/* scan_message() has bounded the depth. from: NULL when the field was not there. */
static int take_value(Arena *arena, const Perfd__V1__Value *from, Value *ret) {
        switch (from ? from->kind_case : PERFD__V1__VALUE__KIND__NOT_SET) {
        case PERFD__V1__VALUE__KIND_NULL:
                *ret = (Value){ .type = VALUE_NULL };
                return 0;
        case PERFD__V1__VALUE__KIND_BOOLEAN:
                *ret = (Value){ .type = VALUE_BOOL, .boolean = from->boolean };
                return 0;
        case PERFD__V1__VALUE__KIND_INTEGER:
                *ret = (Value){ .type = VALUE_INT, .integer = from->integer };
                return 0;
        case PERFD__V1__VALUE__KIND_NUMBER:
                *ret = (Value){ .type = VALUE_DOUBLE, .number = from->number };
                return 0;
        case PERFD__V1__VALUE__KIND_STRING:
                *ret = (Value){ .type = VALUE_STRING, .string = from->string };
                return 0;
        case PERFD__V1__VALUE__KIND_LIST:
                return take_list(arena, from->list, ret);
        case PERFD__V1__VALUE__KIND_OBJECT:
                return take_object(arena, from->object, ret);
        case PERFD__V1__VALUE__KIND__NOT_SET:
        default: /* the wire's to say, not the compiler's */
                return TAKE_UNKNOWN;
        }
}

/* The place inside an object comes from those who checked it; which object it was, from here. */
static int refuse_inside(Decoded *decoded, size_t i, const char *before, const Complaint *complaint, const char *whole) {
        char path[16 + COMPLAINT_PATH_MAX];

        (void)snprintf(path, sizeof(path), "%s%s", before, complaint->path);
        return refuse_item(&decoded->refusal, "submit.indicators", i, complaint->path[0] ? path : whole, "%s", complaint->text);
}

/* Nothing of it is checked yet. */
static int make_tree(Arena *arena, const Perfd__V1__Object *from, const Value **ret) {
        Value *tree = arena_alloc(arena, sizeof(*tree));

        *ret = tree;
        return tree ? take_object(arena, from, tree) : TAKE_NO_ROOM;
}

#define UNKNOWN_KIND "has a value of a kind that this perfd does not know"

static int take_tree(Decoded *decoded, Arena *arena, const Perfd__V1__Object *from, size_t i, const char *field, const Value **ret) {
        int r;

        if (!from)
                return 0;

        r = make_tree(arena, from, ret);
        if (r == TAKE_NO_ROOM)
                return refuse_no_room(&decoded->refusal);
        return r == 0 ? 0 : refuse_item(&decoded->refusal, "submit.indicators", i, field, UNKNOWN_KIND);
}

static int take_document(Decoded *decoded, Arena *arena, const Perfd__V1__Indicator *from, size_t i,
                         size_t string_max, Submission *ret) {
        const Value *document = NULL;
        Complaint complaint;
        int r;

        if (!from->document && !submission_has_failed(ret))
                return refuse_item(&decoded->refusal, "submit.indicators", i, "document", "missing");
        r = take_tree(decoded, arena, from->document, i, "document", &document);
        if (r != 0)
                return r;

        if (submission_has_failed(ret))
                r = indicator_from_failed_run(document, &(IndicatorGiven){ from->name, from->component, from->version }, string_max,
                                              &ret->indicator, &complaint);
        else
                r = indicator_from_value(document, string_max, &ret->indicator, &complaint);
        return r == 0 ? 0 : refuse_inside(decoded, i, "", &complaint, "document");
}

static int take_run(Decoded *decoded, Arena *arena, const Perfd__V1__Indicator *from, size_t i, size_t string_max, Submission *ret) {
        Complaint complaint;
        int r;

        r = take_tree(decoded, arena, from->run, i, "run", &ret->run);
        if (r != 0 || !ret->run)
                return r;

        /* Its texts are the runner's, and are cut where a result's own would be refused. */
        r = object_check(ret->run, SIZE_MAX, &complaint);
        if (r != 0)
                return refuse_inside(decoded, i, "run.", &complaint, "run");
        return value_shorten(ret->run, string_max, arena, &ret->run) == 0 ? 0 : refuse_no_room(&decoded->refusal);
}

#define HAS_EXIT_STATUS(from) ((from)->exit_status_given_case == PERFD__V1__INDICATOR__EXIT_STATUS_GIVEN_EXIT_STATUS)

static int check_item(Decoded *decoded, const Perfd__V1__Indicator *from, size_t i) {
        const char *list = "submit.indicators";
        Answer *refusal = &decoded->refusal;

        if (from->id.len != RESULT_ID_BYTES)
                return refuse_item(refusal, list, i, "id", "has %zu bytes, must have %u chosen at random", from->id.len, RESULT_ID_BYTES);
        if (from->job[0] != '\0' && !name_is_valid(from->job, JOB_ID_MAX - 1))
                return refuse_item(refusal, list, i, "job", "is not valid: a job's id is 1 to %d " REFUSE_NAME_RULE, JOB_ID_MAX - 1);
        if (from->time_ms > TIME_MS_MAX)
                return refuse_item(refusal, list, i, "time_ms", "lies after the year 2261: give milliseconds since 1970, or 0 for now");
        if (HAS_EXIT_STATUS(from) && (from->exit_status < 0 || from->exit_status > 255))
                return refuse_item(refusal, list, i, "exit_status", "is %d, must be 0 to 255 as a shell shows it", from->exit_status);
        if (from->batch.len != 0 && from->batch.len != RESULT_ID_BYTES)
                return refuse_item(refusal, list, i, "batch", "has %zu bytes, must have %u that all runs of the batch share, or none",
                                   from->batch.len, RESULT_ID_BYTES);
        if (from->batch.len == 0 && from->index != 0)
                return refuse_item(refusal, list, i, "index", "is %u in no batch: give the batch's 16 bytes as well", from->index);

        return 0;
}

static int take_submission(Decoded *decoded, Arena *arena, const Perfd__V1__Indicator *from, size_t i,
                           size_t string_max, Submission *ret) {
        int r;

        r = check_item(decoded, from, i);
        if (r != 0)
                return r;

        memcpy(ret->id, from->id.data, sizeof(ret->id));
        ret->job = from->job;
        ret->is_job_inherited = from->inherited;
        ret->time_ms = from->time_ms;
        ret->has_exit_status = HAS_EXIT_STATUS(from);
        ret->exit_status = ret->has_exit_status ? from->exit_status : 0;
        ret->has_batch = from->batch.len > 0;
        if (ret->has_batch)
                memcpy(ret->batch, from->batch.data, sizeof(ret->batch));
        ret->batch_index = from->index;

        r = take_document(decoded, arena, from, i, string_max, ret);
        return r == 0 ? take_run(decoded, arena, from, i, string_max, ret) : r;
}

static int take_submit(Decoded *decoded, Arena *arena, const Perfd__V1__Submit *from, size_t string_max) {
        Submission *items;
        int r = 0;

        if (from->n_indicators == 0)
                return refuse(&decoded->refusal, STATUS_INVALID, "submit.indicators", "is empty: give at least one");
        if (from->n_indicators > CODEC_ITEMS_MAX)
                return refuse(&decoded->refusal, STATUS_TOO_LARGE, "submit.indicators",
                              "has %zu indicators, may have up to %u: send more requests", from->n_indicators, CODEC_ITEMS_MAX);

        items = arena_alloc(arena, from->n_indicators * sizeof(*items));
        if (!items)
                return refuse_no_room(&decoded->refusal);

        for (size_t i = 0; i < from->n_indicators && r == 0; i++)
                r = take_submission(decoded, arena, from->indicators[i], i, string_max, &items[i]);

        decoded->request.kind = REQUEST_SUBMIT;
        decoded->request.submit.items = items;
        decoded->request.submit.n_items = from->n_indicators;
        return r;
}

/* --- models -------------------------------------------------------------------------------------- */

static int refuse_model(Decoded *decoded, const Complaint *complaint) {
        char path[16 + COMPLAINT_PATH_MAX];

        (void)snprintf(path, sizeof(path), "register.%s", complaint->path[0] ? complaint->path : "model");
        return refuse(&decoded->refusal, STATUS_INVALID, path, "%s", complaint->text);
}

static int take_register(Decoded *decoded, Arena *arena, const Perfd__V1__Register *from) {
        IndicatorModel *model = arena_alloc(arena, sizeof(*model));
        const Value *document;
        Complaint complaint;
        int r;

        if (!from->model)
                return refuse(&decoded->refusal, STATUS_INVALID, "register.model", "missing");
        r = model ? make_tree(arena, from->model, &document) : TAKE_NO_ROOM;
        if (r == TAKE_NO_ROOM)
                return refuse_no_room(&decoded->refusal);
        if (r == TAKE_UNKNOWN)
                return refuse(&decoded->refusal, STATUS_INVALID, "register.model", UNKNOWN_KIND);

        r = indicator_model_from_value(document, arena, model, &complaint);
        if (r == -ENOMEM)
                return refuse_no_room(&decoded->refusal);
        if (r != 0)
                return refuse_model(decoded, &complaint);

        decoded->request.kind = REQUEST_REGISTER;
        decoded->request.register_model.model = model;
        return 0;
}

static int take_unregister(Decoded *decoded, const Perfd__V1__Unregister *from) {
        int r;

        decoded->request.kind = REQUEST_UNREGISTER;
        decoded->request.unregister_model.name = from->name;
        decoded->request.unregister_model.component = from->component[0] ? from->component : NULL;
        if (!from->name[0])
                return refuse(&decoded->refusal, STATUS_INVALID, "unregister.name", "missing");

        r = refuse_bad_text(&decoded->refusal, "unregister.name", from->name, NAME_MAX_BYTES);
        return r != 0 ? r : refuse_bad_text(&decoded->refusal, "unregister.component", from->component, COMPONENT_MAX_BYTES);
}

/* --- a request ----------------------------------------------------------------------------------- */

typedef struct Memory {
        Arena *arena;
        bool is_full;
} Memory;

static void *memory_alloc(void *userdata, size_t n) {
        Memory *memory = userdata;
        void *p = arena_alloc(memory->arena, n);

        memory->is_full |= !p;
        return p;
}

/* The arena is given back as a whole. */
static void memory_free(void *userdata, void *p) {
        (void)userdata;
        (void)p;
}

static int take_request(Decoded *decoded, Arena *arena, const Perfd__V1__Request *from, size_t string_max) {
        switch (from->body_case) {
        case PERFD__V1__REQUEST__BODY_HELLO:
                decoded->request.kind = REQUEST_HELLO;
                decoded->request.hello.client = from->hello->client;
                return refuse_bad_text(&decoded->refusal, "hello.client", from->hello->client, JOB_TEXT_MAX - 1);
        case PERFD__V1__REQUEST__BODY_JOB_BEGIN:
                return codec_take_job_begin(decoded, arena, from->job_begin);
        case PERFD__V1__REQUEST__BODY_JOB_END:
                return codec_take_job_end(decoded, from->job_end);
        case PERFD__V1__REQUEST__BODY_SUBMIT:
                return take_submit(decoded, arena, from->submit, string_max);
        case PERFD__V1__REQUEST__BODY_MARK:
                return codec_take_mark(decoded, from->mark);
        case PERFD__V1__REQUEST__BODY_REGISTER:
                return take_register(decoded, arena, from->register_);
        case PERFD__V1__REQUEST__BODY_UNREGISTER:
                return take_unregister(decoded, from->unregister);
        case PERFD__V1__REQUEST__BODY__NOT_SET:
        default:
                return refuse(&decoded->refusal, STATUS_UNSUPPORTED, "", "perfd " PERFD_VERSION " does not know this kind of request");
        }
}

/* The sequence of a request that is not unpacked: encoders write fields in order, so it is the first, if it is there. */
static uint64_t peek_sequence(const Frame *frame) {
        uint64_t sequence = 0;

        if (frame->n == 0 || frame->data[0] != (1 << 3 | PROTOBUF_C_WIRE_TYPE_VARINT))
                return 0;

        for (size_t i = 1; i < frame->n && i <= 10; i++) {
                sequence |= (uint64_t)(frame->data[i] & 0x7f) << (7 * (i - 1));
                if (frame->data[i] < 0x80)
                        return sequence;
        }

        return 0;
}

static void refuse_scanned(Decoded *decoded, const Frame *frame, int outcome, const char *path) {
        decoded->sequence = peek_sequence(frame);
        if (outcome == SCAN_NUL)
                (void)refuse(&decoded->refusal, STATUS_INVALID, path, "has a NUL byte inside");
        else
                (void)refuse(&decoded->refusal, STATUS_INVALID, path,
                             "is nested too deep: documents may have up to %d objects and lists inside each other", VALUE_DEPTH_MAX);
}

int codec_decode(Arena *arena, const Frame *frame, const Peer *peer, size_t string_max, Decoded *ret) {
        Memory memory = { arena, false };
        ProtobufCAllocator allocator = { memory_alloc, memory_free, &memory };
        Perfd__V1__Request *request;
        char path[SCAN_PATH_MAX];
        int r;

        arena_reset(arena);

        r = scan_message(&perfd__v1__request__descriptor, frame->data, frame->n, MESSAGE_DEPTH_MAX, path);
        if (r == SCAN_MALFORMED)
                return CODEC_GARBAGE;
        if (r != 0) {
                refuse_scanned(ret, frame, r, path);
                return CODEC_REFUSED;
        }

        request = perfd__v1__request__unpack(&allocator, frame->n, frame->data);
        if (!request && !memory.is_full)
                return CODEC_GARBAGE;
        if (!request) {
                ret->sequence = peek_sequence(frame);
                (void)refuse_no_room(&ret->refusal);
                return CODEC_REFUSED;
        }

        ret->sequence = request->sequence;
        ret->request.peer = *peer;
        return take_request(ret, arena, request, string_max) == 0 ? 0 : CODEC_REFUSED;
}

/* --- replies ------------------------------------------------------------------------------------- */

/* What goes out is valid UTF-8 whatever it quotes: strict decoders refuse the whole reply otherwise. */
static char *copy_text(char *ret, size_t n_ret, const char *text) {
        size_t n = 0, n_max, k;

        utf8_copy(ret, n_ret, text);
        n_max = strlen(ret);
        while (n < n_max && (k = utf8_length(ret + n, n_max - n)) > 0)
                n += k;

        ret[n] = '\0';
        return ret;
}

static size_t encode(const Perfd__V1__Reply *reply, uint8_t ret[static CODEC_REPLY_MAX]) {
        size_t n = perfd__v1__reply__get_packed_size(reply);
        size_t n_header = frame_write_header(ret, (uint32_t)n);

        return n_header + perfd__v1__reply__pack(reply, ret + n_header);
}

size_t codec_encode_answer(uint64_t sequence, const Answer *answer, uint8_t ret[static CODEC_REPLY_MAX]) {
        Perfd__V1__Reply reply = PERFD__V1__REPLY__INIT;
        Perfd__V1__MarkReply mark = PERFD__V1__MARK_REPLY__INIT;
        char path[COMPLAINT_PATH_MAX], message[COMPLAINT_TEXT_MAX];

        reply.sequence = sequence;
        reply.status = (Perfd__V1__Status)answer->status;
        if (answer->complaint.path[0])
                reply.path = copy_text(path, sizeof(path), answer->complaint.path);
        if (answer->complaint.text[0])
                reply.message = copy_text(message, sizeof(message), answer->complaint.text);
        if (answer->job[0]) {
                mark.job = (char *)answer->job;
                mark.previous = (char *)answer->phase; /* was checked when it came in */
                reply.mark = &mark;
        }

        return encode(&reply, ret);
}

size_t codec_encode_hello_reply(uint64_t sequence, const Greeting *greeting, uint8_t ret[static CODEC_REPLY_MAX]) {
        Perfd__V1__Reply reply = PERFD__V1__REPLY__INIT;
        Perfd__V1__HelloReply hello = PERFD__V1__HELLO_REPLY__INIT;
        char server[128], node[256];

        hello.server = copy_text(server, sizeof(server), greeting->server);
        hello.node = copy_text(node, sizeof(node), greeting->node);
        hello.frame_max_bytes = greeting->frame_max_bytes;
        hello.in_flight_max = greeting->in_flight_max;
        hello.durable = greeting->durable;
        reply.sequence = sequence;
        reply.hello = &hello;

        return encode(&reply, ret);
}

_Static_assert(CODEC_REPLY_MAX >= FRAME_HEADER_MAX + 128 + 256 + 64, "a reply to hello with all its texts fits");
_Static_assert(CODEC_REPLY_MAX >= FRAME_HEADER_MAX + COMPLAINT_PATH_MAX + COMPLAINT_TEXT_MAX + JOB_ID_MAX + PHASE_NAME_MAX + 64,
               "every other one does");
_Static_assert(PERFD__V1__STATUS__UNSUPPORTED == (int)STATUS_UNSUPPORTED, "the wire's numbers are the model's");
_Static_assert(PERFD__V1__ENCLOSURE__FOUND == (int)ENCLOSURE_FOUND, "the wire's numbers are the model's");
