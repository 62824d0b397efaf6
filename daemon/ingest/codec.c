#include "ingest/codec.h"

#include <math.h>
#include <string.h>

#include "ingest/refuse.h"
#include "ingest/scan.h"
#include "proto/perfd.pb-c.h"
#include "util/utf8.h"

/* Request, Submit, Indicator, and for each level of a document an Object, a Member and a Value. */
#define MESSAGE_DEPTH_MAX (3U + 3U * (VALUE_DEPTH_MAX + 1U))
#define TIME_MS_MAX (INT64_MAX / 1000000) /* in the year 2262 */
#define SIGNAL_MAX 127

/* --- jobs ---------------------------------------------------------------------------------------- */

static int take_label(Decoded *decoded, const Perfd__V1__Label *from, size_t i, JobInfo *info) {
        const char *list = "job_begin.labels";
        Answer *refusal = &decoded->refusal;
        JobLabel *label = &info->labels[i];
        const char *reason;

        if (!name_is_valid(from->key, sizeof(label->key) - 1))
                return refuse_item(refusal, list, i, "key", "a label's key is 1 to %zu " REFUSE_NAME_RULE, sizeof(label->key) - 1);
        for (size_t k = 0; k < i; k++)
                if (strcmp(info->labels[k].key, from->key) == 0)
                        return refuse_item(refusal, list, i, "key", "'%s' is there twice: keep one of them", from->key);

        reason = refuse_text_reason(from->value, sizeof(label->value) - 1);
        if (reason)
                return refuse_item(refusal, list, i, "value", "%s: it may be up to %zu bytes of UTF-8 without control characters",
                                   reason, sizeof(label->value) - 1);

        strcpy(label->key, from->key);
        strcpy(label->value, from->value);
        return 0;
}

static int take_labels(Decoded *decoded, Arena *arena, const Perfd__V1__JobBegin *from, JobInfo *info) {
        int r = 0;

        if (from->n_labels > JOB_LABELS_MAX)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.labels", "has %zu labels, may have up to %d",
                              from->n_labels, JOB_LABELS_MAX);

        info->n_labels = from->n_labels;
        info->labels = arena_alloc(arena, from->n_labels * sizeof(*info->labels));
        if (!info->labels)
                return refuse_no_room(&decoded->refusal);

        for (size_t i = 0; i < from->n_labels && r == 0; i++)
                r = take_label(decoded, from->labels[i], i, info);
        return r;
}

static void copy_command(char ret[static JOB_COMMAND_MAX], const char *command) {
        static const char ellipsis[] = "…";
        size_t n = strlen(command);

        if (n >= JOB_COMMAND_MAX) {
                n = utf8_cut(command, JOB_COMMAND_MAX - sizeof(ellipsis));
                strcpy(ret + n, ellipsis);
        } else
                ret[n] = '\0';
        memcpy(ret, command, n);
}

#define HAS_RANK(from) ((from)->rank_given_case == PERFD__V1__JOB_BEGIN__RANK_GIVEN_RANK)
#define HAS_NODE(from) ((from)->node_given_case == PERFD__V1__JOB_BEGIN__NODE_GIVEN_NODE)
#define HAS_UID(from) ((from)->uid_given_case == PERFD__V1__JOB_BEGIN__UID_GIVEN_UID)

static int check_job_texts(Decoded *decoded, const Perfd__V1__JobBegin *from) {
        int r;

        r = refuse_bad_job_id(&decoded->refusal, "job_begin.job", from->job);
        if (r == 0)
                r = refuse_bad_text(&decoded->refusal, "job_begin.name", from->name, sizeof(((JobInfo *)NULL)->name) - 1);
        if (r == 0)
                r = refuse_bad_text(&decoded->refusal, "job_begin.user", from->user, sizeof(((JobInfo *)NULL)->user) - 1);
        if (r != 0)
                return r;

        /* Its length is no matter, it is cut; and line breaks are part of many a command. */
        if (!utf8_is_valid(from->command, strlen(from->command)))
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.command", "is not valid UTF-8");
        return 0;
}

/* Which part of a run of several nodes and ranks it is. */
static int check_job_place(Decoded *decoded, const Perfd__V1__JobBegin *from) {
        if (HAS_RANK(from) && from->rank < 0)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.rank", "is negative: ranks count from 0");
        if (HAS_RANK(from) && from->ranks > 0 && from->rank >= from->ranks)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.rank", "is %lld of %u ranks, which count from 0: give 0 to %u",
                              (long long)from->rank, from->ranks, from->ranks - 1);
        if (HAS_NODE(from) && from->nodes > 0 && from->node >= from->nodes)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.node", "is %u of %u nodes, which count from 0: give 0 to %u",
                              from->node, from->nodes, from->nodes - 1);
        if (HAS_NODE(from) && from->node > INT32_MAX)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.node", "is %u, may be up to %d", from->node, INT32_MAX);

        return 0;
}

/* Which processes it is, and whose. */
static int check_job_processes(Decoded *decoded, const Perfd__V1__JobBegin *from) {
        const Peer *peer = &decoded->request.peer;

        if (from->pid < 0)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.pid", "is negative: give a process id, or 0 for none");
        if (from->member_pid < 0)
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.member_pid", "is negative: give a process id, or 0 for none");
        if (HAS_UID(from) && from->uid == UINT32_MAX) /* (uid_t)-1, which to the kernel is nobody at all */
                return refuse(&decoded->refusal, STATUS_INVALID, "job_begin.uid", "is %u, which no user has", from->uid);
        if (HAS_UID(from) && from->uid != peer->uid && !peer->is_admin)
                return refuse(&decoded->refusal, STATUS_DENIED, "job_begin.uid",
                              "is %u, and yours is %u: only root and [socket] admin_group begin jobs for others", from->uid, peer->uid);

        return 0;
}

/* What a client can know: FOUND is ours to say, and a group of which it names no process is none. */
static Enclosure take_enclosure(const Perfd__V1__JobBegin *from) {
        bool has_member = from->member_pid > 0;

        switch ((int)from->enclosure) {
        case PERFD__V1__ENCLOSURE__SCOPE:
                return has_member ? ENCLOSURE_SCOPE : ENCLOSURE_NONE;
        case PERFD__V1__ENCLOSURE__CGROUP:
                return has_member ? ENCLOSURE_CGROUP : ENCLOSURE_NONE;
        case PERFD__V1__ENCLOSURE__SUBREAPER:
                return ENCLOSURE_SUBREAPER;
        default: /* the wire's to say, not the compiler's */
                return ENCLOSURE_NONE;
        }
}

static void take_job_info(const Peer *peer, const Perfd__V1__JobBegin *from, JobInfo *info) {
        info->uid = HAS_UID(from) ? from->uid : peer->uid;
        info->gid = peer->gid;
        info->pid = from->pid;
        info->rank = HAS_RANK(from) ? from->rank : -1;
        info->node = HAS_NODE(from) ? (int32_t)from->node : -1;
        info->n_nodes = from->nodes;
        info->n_ranks = from->ranks;
        info->enclosure = take_enclosure(from);
        strcpy(info->id, from->job);
        strcpy(info->name, from->name);
        strcpy(info->user, from->user);
        copy_command(info->command, from->command);
}

static int take_job_begin(Decoded *decoded, Arena *arena, const Perfd__V1__JobBegin *from) {
        JobInfo *info;
        int r;

        r = check_job_texts(decoded, from);
        if (r == 0)
                r = check_job_place(decoded, from);
        if (r == 0)
                r = check_job_processes(decoded, from);
        if (r != 0)
                return r;

        info = arena_alloc(arena, sizeof(*info));
        if (!info)
                return refuse_no_room(&decoded->refusal);

        take_job_info(&decoded->request.peer, from, info);
        decoded->request.kind = REQUEST_JOB_BEGIN;
        decoded->request.job_begin.info = info;
        decoded->request.job_begin.member_pid = from->member_pid;
        decoded->request.job_begin.is_fresh = from->fresh && from->member_pid > 0;
        return take_labels(decoded, arena, from, info);
}

static int take_mark(Decoded *decoded, const Perfd__V1__Mark *from) {
        bool has_seconds = from->seconds_given_case == PERFD__V1__MARK__SECONDS_GIVEN_SECONDS;
        int r = 0;

        if (from->job[0] != '\0')
                r = refuse_bad_job_id(&decoded->refusal, "mark.job", from->job);
        if (r == 0)
                r = refuse_bad_text(&decoded->refusal, "mark.name", from->name, PHASE_NAME_MAX - 1);
        if (r != 0)
                return r;
        if (has_seconds && (!isfinite(from->seconds) || from->seconds < 0))
                return refuse(&decoded->refusal, STATUS_INVALID, "mark.seconds", "must be a number of seconds, 0 or more");

        decoded->request.kind = REQUEST_MARK;
        decoded->request.mark.job = from->job;
        decoded->request.mark.name = from->name;
        decoded->request.mark.has_wall_seconds = has_seconds;
        decoded->request.mark.wall_seconds = has_seconds ? from->seconds : 0;
        return 0;
}

#define SECONDS_FIELDS(X) X(utime) X(stime)
#define COUNT_FIELDS(X)                                                                         \
        X(maxrss) X(ixrss) X(idrss) X(isrss) X(minflt) X(majflt) X(nswap) X(inblock) X(oublock) \
        X(msgsnd) X(msgrcv) X(nsignals) X(nvcsw) X(nivcsw)

static int take_rusage(Decoded *decoded, const Perfd__V1__Rusage *from, JobRusage *ret) {
#define X(field)                                                                                \
        if (!isfinite(from->field) || from->field < 0)                                          \
                return refuse(&decoded->refusal, STATUS_INVALID, "job_end.rusage." #field,                \
                              "must be a number of seconds, 0 or more");                        \
        ret->ru_##field = from->field;
        SECONDS_FIELDS(X)
#undef X

#define X(field)                                                                                \
        if (from->field < 0)                                                                    \
                return refuse(&decoded->refusal, STATUS_INVALID, "job_end.rusage." #field, "is negative");\
        ret->ru_##field = from->field;
        COUNT_FIELDS(X)
#undef X

        return 0;
}

static int take_job_end(Decoded *decoded, const Perfd__V1__JobEnd *from) {
        bool has_exit_status = from->exit_status_given_case == PERFD__V1__JOB_END__EXIT_STATUS_GIVEN_EXIT_STATUS;
        JobEnd *end = &decoded->request.job_end.end;
        Answer *refusal = &decoded->refusal;
        int r;

        r = refuse_bad_job_id(refusal, "job_end.job", from->job);
        if (r != 0)
                return r;
        if (has_exit_status && (from->exit_status < 0 || from->exit_status > 255))
                return refuse(refusal, STATUS_INVALID, "job_end.exit_status", "is %d, must be 0 to 255 as a shell shows it",
                              from->exit_status);
        if (from->signal < 0 || from->signal > SIGNAL_MAX)
                return refuse(refusal, STATUS_INVALID, "job_end.signal", "is %d, must be 0 (none) to %d", from->signal, SIGNAL_MAX);

        decoded->request.kind = REQUEST_JOB_END;
        decoded->request.job_end.job = from->job;
        *end = (JobEnd){
                .has_exit_status = has_exit_status,
                .exit_status = has_exit_status ? from->exit_status : 0,
                .signal = from->signal,
                .has_rusage = from->rusage,
        };

        return from->rusage ? take_rusage(decoded, from->rusage, &end->rusage) : 0;
}

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

/* The place inside the document comes from indicator_from_value(); which document it was, from here. */
static int refuse_document(Decoded *decoded, size_t i, const Complaint *complaint) {
        return refuse_item(&decoded->refusal, "submit.indicators", i, complaint->path[0] ? complaint->path : "document",
                           "%s", complaint->text);
}

static int take_document(Decoded *decoded, Arena *arena, const Perfd__V1__Object *from, size_t i,
                         size_t string_max, Indicator *ret) {
        Complaint complaint;
        Value *document;
        int r;

        document = arena_alloc(arena, sizeof(*document));
        if (!document)
                return refuse_no_room(&decoded->refusal);

        r = take_object(arena, from, document);
        if (r == TAKE_NO_ROOM)
                return refuse_no_room(&decoded->refusal);
        if (r == TAKE_UNKNOWN)
                return refuse_item(&decoded->refusal, "submit.indicators", i, "document",
                                   "has a value of a kind that this perfd does not know");

        r = indicator_from_value(document, string_max, ret, &complaint);
        return r == 0 ? 0 : refuse_document(decoded, i, &complaint);
}

static int take_submission(Decoded *decoded, Arena *arena, const Perfd__V1__Indicator *from, size_t i,
                           size_t string_max, Submission *ret) {
        const char *list = "submit.indicators";
        Answer *refusal = &decoded->refusal;

        if (from->id.len != sizeof(ret->id))
                return refuse_item(refusal, list, i, "id", "has %zu bytes, must have %zu chosen at random",
                                   from->id.len, sizeof(ret->id));
        if (from->job[0] != '\0' && !name_is_valid(from->job, JOB_ID_MAX - 1))
                return refuse_item(refusal, list, i, "job", "is not valid: a job's id is 1 to %d " REFUSE_NAME_RULE, JOB_ID_MAX - 1);
        if (from->time_ms > TIME_MS_MAX)
                return refuse_item(refusal, list, i, "time_ms", "lies after the year 2261: give milliseconds since 1970, or 0 for now");
        if (!from->document)
                return refuse_item(refusal, list, i, "document", "missing");

        memcpy(ret->id, from->id.data, sizeof(ret->id));
        ret->job = from->job;
        ret->time_ms = from->time_ms;
        return take_document(decoded, arena, from->document, i, string_max, &ret->indicator);
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
                return take_job_begin(decoded, arena, from->job_begin);
        case PERFD__V1__REQUEST__BODY_JOB_END:
                return take_job_end(decoded, from->job_end);
        case PERFD__V1__REQUEST__BODY_SUBMIT:
                return take_submit(decoded, arena, from->submit, string_max);
        case PERFD__V1__REQUEST__BODY_MARK:
                return take_mark(decoded, from->mark);
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
