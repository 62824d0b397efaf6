/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/codec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/perfd.pb-c.h"
#include "util/arena.h"

/* What the messages that stand for a tree take, each with the pointer to it. */
typedef struct Cost {
        size_t n_values, n_members, n_containers;
} Cost;

static void cost_add(const Value *value, Cost *cost) {
        cost->n_values++;

        if (value->type == VALUE_LIST) {
                cost->n_containers++;
                for (size_t i = 0; i < value->n_items; i++)
                        cost_add(&value->items[i], cost);
        } else if (value->type == VALUE_OBJECT) {
                cost->n_containers++;
                cost->n_members += value->n_members;
                for (size_t i = 0; i < value->n_members; i++)
                        cost_add(&value->members[i].value, cost);
        }
}

/* 16: the arena's alignment, per allocation. */
static size_t cost_bytes(const Cost *cost) {
        return cost->n_values * (sizeof(Perfd__V1__Value) + 16) +
               cost->n_members * (sizeof(Perfd__V1__Member) + 16 + sizeof(void *)) +
               cost->n_containers * (sizeof(Perfd__V1__Object) + 2 * 16) +
               cost->n_values * sizeof(void *);
}

static int value_to_wire(const Value *value, Arena *arena, Perfd__V1__Value **ret);

static int list_to_wire(const Value *value, Arena *arena, Perfd__V1__List **ret) {
        Perfd__V1__List *list = arena_alloc(arena, sizeof(*list));
        int r;

        if (!list)
                return -ENOMEM;

        perfd__v1__list__init(list);
        list->n_items = value->n_items;
        list->items = arena_alloc(arena, value->n_items * sizeof(*list->items));
        if (!list->items)
                return -ENOMEM;

        for (size_t i = 0; i < value->n_items; i++) {
                r = value_to_wire(&value->items[i], arena, &list->items[i]);
                if (r < 0)
                        return r;
        }

        *ret = list;
        return 0;
}

static int member_to_wire(const Member *from, Arena *arena, Perfd__V1__Member **ret) {
        Perfd__V1__Member *member = arena_alloc(arena, sizeof(*member));

        if (!member)
                return -ENOMEM;

        perfd__v1__member__init(member);
        member->key = (char *)from->key;
        *ret = member;
        return value_to_wire(&from->value, arena, &member->value);
}

static int object_to_wire(const Value *value, Arena *arena, Perfd__V1__Object **ret) {
        Perfd__V1__Object *object = arena_alloc(arena, sizeof(*object));
        int r;

        if (!object)
                return -ENOMEM;

        perfd__v1__object__init(object);
        object->n_members = value->n_members;
        object->members = arena_alloc(arena, value->n_members * sizeof(*object->members));
        if (!object->members)
                return -ENOMEM;

        for (size_t i = 0; i < value->n_members; i++) {
                r = member_to_wire(&value->members[i], arena, &object->members[i]);
                if (r < 0)
                        return r;
        }

        *ret = object;
        return 0;
}

static int value_to_wire(const Value *value, Arena *arena, Perfd__V1__Value **ret) {
        Perfd__V1__Value *wire = arena_alloc(arena, sizeof(*wire));

        if (!wire)
                return -ENOMEM;

        perfd__v1__value__init(wire);
        *ret = wire;

        switch (value->type) {
        case VALUE_NULL:
                wire->kind_case = PERFD__V1__VALUE__KIND_NULL;
                wire->null = 1;
                return 0;
        case VALUE_BOOL:
                wire->kind_case = PERFD__V1__VALUE__KIND_BOOLEAN;
                wire->boolean = value->boolean;
                return 0;
        case VALUE_INT:
                wire->kind_case = PERFD__V1__VALUE__KIND_INTEGER;
                wire->integer = value->integer;
                return 0;
        case VALUE_DOUBLE:
                wire->kind_case = PERFD__V1__VALUE__KIND_NUMBER;
                wire->number = value->number;
                return 0;
        case VALUE_STRING:
                wire->kind_case = PERFD__V1__VALUE__KIND_STRING;
                wire->string = (char *)value->string;
                return 0;
        case VALUE_LIST:
                wire->kind_case = PERFD__V1__VALUE__KIND_LIST;
                return list_to_wire(value, arena, &wire->list);
        case VALUE_OBJECT:
                wire->kind_case = PERFD__V1__VALUE__KIND_OBJECT;
                return object_to_wire(value, arena, &wire->object);
        }

        return -EINVAL;
}

static int put_frame(const Perfd__V1__Request *request, Buffer *out) {
        uint8_t header[FRAME_HEADER_MAX];
        size_t n = perfd__v1__request__get_packed_size(request);
        ProtobufCBufferSimple body = PROTOBUF_C_BUFFER_SIMPLE_INIT(((uint8_t[256]){}));

        if (n > UINT32_MAX)
                return -EFBIG;

        buffer_put(out, header, frame_write_header(header, (uint32_t)n));
        (void)perfd__v1__request__pack_to_buffer(request, &body.base);
        buffer_put(out, body.data, body.len);
        if (body.len != n)
                out->failed = true;
        PROTOBUF_C_BUFFER_SIMPLE_CLEAR(&body);
        return buffer_error(out);
}

int codec_encode_hello(uint64_t sequence, const char *client, Buffer *out) {
        Perfd__V1__Hello hello = PERFD__V1__HELLO__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;

        hello.client = (char *)client;
        request.sequence = sequence;
        request.body_case = PERFD__V1__REQUEST__BODY_HELLO;
        request.hello = &hello;
        return put_frame(&request, out);
}

static void job_info_to_wire(const JobInfo *info, Perfd__V1__JobBegin *ret) {
        ret->job = (char *)info->id;
        ret->name = (char *)info->name;
        ret->command = (char *)info->command;
        ret->user = (char *)info->user;
        ret->pid = info->pid;
        ret->nodes = info->n_nodes;
        ret->ranks = info->n_ranks;
        ret->enclosure = (Perfd__V1__Enclosure)info->enclosure;
        if (info->rank >= 0) {
                ret->rank_given_case = PERFD__V1__JOB_BEGIN__RANK_GIVEN_RANK;
                ret->rank = info->rank;
        }
        if (info->node >= 0) {
                ret->node_given_case = PERFD__V1__JOB_BEGIN__NODE_GIVEN_NODE;
                ret->node = (uint32_t)info->node;
        }
}

int codec_encode_job_begin(uint64_t sequence, const JobBegin *from, Buffer *out) {
        Perfd__V1__Label labels[JOB_LABELS_MAX], *pointers[JOB_LABELS_MAX];
        Perfd__V1__JobBegin begin = PERFD__V1__JOB_BEGIN__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;
        const JobInfo *info = from->info;

        job_info_to_wire(info, &begin);
        begin.member_pid = from->member_pid;
        begin.fresh = from->is_fresh;
        begin.late_ms = from->late_ms;
        if (from->has_uid) {
                begin.uid_given_case = PERFD__V1__JOB_BEGIN__UID_GIVEN_UID;
                begin.uid = info->uid;
        }

        begin.n_labels = info->n_labels < JOB_LABELS_MAX ? info->n_labels : JOB_LABELS_MAX;
        begin.labels = pointers;
        for (size_t i = 0; i < begin.n_labels; i++) {
                perfd__v1__label__init(&labels[i]);
                labels[i].key = info->labels[i].key;
                labels[i].value = info->labels[i].value;
                pointers[i] = &labels[i];
        }

        request.sequence = sequence;
        request.body_case = PERFD__V1__REQUEST__BODY_JOB_BEGIN;
        request.job_begin = &begin;
        return put_frame(&request, out);
}

int codec_encode_mark(uint64_t sequence, const JobRef *job, const char *name, double wall_seconds, Buffer *out) {
        Perfd__V1__Mark mark = PERFD__V1__MARK__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;

        mark.job = (char *)job->id;
        mark.inherited = job->is_inherited;
        mark.name = (char *)name;
        if (wall_seconds >= 0) { /* which NAN is not */
                mark.seconds_given_case = PERFD__V1__MARK__SECONDS_GIVEN_SECONDS;
                mark.seconds = wall_seconds;
        }

        request.sequence = sequence;
        request.body_case = PERFD__V1__REQUEST__BODY_MARK;
        request.mark = &mark;
        return put_frame(&request, out);
}

static void rusage_to_wire(const JobRusage *from, Perfd__V1__Rusage *ret) {
        perfd__v1__rusage__init(ret);
        ret->utime = from->ru_utime;
        ret->stime = from->ru_stime;
        ret->maxrss = from->ru_maxrss;
        ret->ixrss = from->ru_ixrss;
        ret->idrss = from->ru_idrss;
        ret->isrss = from->ru_isrss;
        ret->minflt = from->ru_minflt;
        ret->majflt = from->ru_majflt;
        ret->nswap = from->ru_nswap;
        ret->inblock = from->ru_inblock;
        ret->oublock = from->ru_oublock;
        ret->msgsnd = from->ru_msgsnd;
        ret->msgrcv = from->ru_msgrcv;
        ret->nsignals = from->ru_nsignals;
        ret->nvcsw = from->ru_nvcsw;
        ret->nivcsw = from->ru_nivcsw;
}

int codec_encode_job_end(uint64_t sequence, const char *job, const JobEnd *from, Buffer *out) {
        Perfd__V1__Rusage rusage;
        Perfd__V1__JobEnd end = PERFD__V1__JOB_END__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;

        end.job = (char *)job;
        end.signal = from->signal;
        if (from->has_exit_status) {
                end.exit_status_given_case = PERFD__V1__JOB_END__EXIT_STATUS_GIVEN_EXIT_STATUS;
                end.exit_status = from->exit_status;
        }
        if (from->has_rusage) {
                rusage_to_wire(&from->rusage, &rusage);
                end.rusage = &rusage;
        }

        request.sequence = sequence;
        request.body_case = PERFD__V1__REQUEST__BODY_JOB_END;
        request.job_end = &end;
        return put_frame(&request, out);
}

static int indicator_to_wire(const Submission *item, Arena *arena, Perfd__V1__Indicator *ret) {
        const Indicator *indicator = &item->indicator;
        int r = 0;

        perfd__v1__indicator__init(ret);
        ret->id.data = (uint8_t *)item->id;
        ret->id.len = sizeof(item->id);
        ret->job = (char *)item->job;
        ret->inherited = item->is_job_inherited;
        ret->time_ms = item->time_ms;
        if (item->has_exit_status) {
                ret->exit_status_given_case = PERFD__V1__INDICATOR__EXIT_STATUS_GIVEN_EXIT_STATUS;
                ret->exit_status = item->exit_status;
        }
        if (item->has_batch) {
                ret->batch.data = (uint8_t *)item->batch;
                ret->batch.len = sizeof(item->batch);
                ret->index = item->batch_index;
        }
        if (submission_has_failed(item)) { /* then the document need not say them */
                ret->name = (char *)indicator->name;
                if (indicator->component)
                        ret->component = (char *)indicator->component;
                if (indicator->version)
                        ret->version = (char *)indicator->version;
        }

        if (indicator->document)
                r = object_to_wire(indicator->document, arena, &ret->document);
        return r == 0 && item->run ? object_to_wire(item->run, arena, &ret->run) : r;
}

static int submit_arena_init(Arena *arena, const Submission *items, size_t n_items) {
        Cost cost = {};

        for (size_t i = 0; i < n_items; i++) {
                if (items[i].indicator.document)
                        cost_add(items[i].indicator.document, &cost);
                if (items[i].run)
                        cost_add(items[i].run, &cost);
        }

        return arena_init(arena, 4096 + cost_bytes(&cost) +
                          n_items * (sizeof(Perfd__V1__Indicator) + sizeof(void *)));
}

int codec_encode_register(uint64_t sequence, const Value *model, Buffer *out) {
        scoped(arena_deinit) Arena arena = {};
        Perfd__V1__Register body = PERFD__V1__REGISTER__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;
        Cost cost = {};
        int r;

        cost_add(model, &cost);
        r = arena_init(&arena, 4096 + cost_bytes(&cost));
        if (r == 0)
                r = object_to_wire(model, &arena, &body.model);
        if (r < 0)
                return r;

        request.sequence = sequence;
        request.body_case = PERFD__V1__REQUEST__BODY_REGISTER;
        request.register_ = &body;
        return put_frame(&request, out);
}

int codec_encode_unregister(uint64_t sequence, const char *name, const char *component, Buffer *out) {
        Perfd__V1__Unregister body = PERFD__V1__UNREGISTER__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;

        body.name = (char *)name;
        body.component = (char *)component;
        request.sequence = sequence;
        request.body_case = PERFD__V1__REQUEST__BODY_UNREGISTER;
        request.unregister = &body;
        return put_frame(&request, out);
}

int codec_encode_submit(uint64_t sequence, const Submission *items, size_t n_items, Buffer *out) {
        scoped(arena_deinit) Arena arena = {};
        Perfd__V1__Submit submit = PERFD__V1__SUBMIT__INIT;
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;
        Perfd__V1__Indicator *indicators;
        int r;

        r = submit_arena_init(&arena, items, n_items);
        if (r < 0)
                return r;

        indicators = arena_alloc(&arena, n_items * sizeof(*indicators));
        submit.indicators = arena_alloc(&arena, n_items * sizeof(*submit.indicators));
        if (!indicators || !submit.indicators)
                return -ENOMEM;

        submit.n_indicators = n_items;
        for (size_t i = 0; i < n_items; i++) {
                submit.indicators[i] = &indicators[i];
                r = indicator_to_wire(&items[i], &arena, &indicators[i]);
                if (r < 0)
                        return r;
        }

        request.sequence = sequence;
        request.body_case = PERFD__V1__REQUEST__BODY_SUBMIT;
        request.submit = &submit;
        return put_frame(&request, out);
}

int codec_submission_size(const Submission *item, size_t *ret) {
        scoped(arena_deinit) Arena arena = {};
        Perfd__V1__Indicator indicator;
        int r;

        r = submit_arena_init(&arena, item, 1);
        if (r == 0)
                r = indicator_to_wire(item, &arena, &indicator);
        if (r < 0)
                return r;

        /* and its tag and length within the list */
        *ret = perfd__v1__indicator__get_packed_size(&indicator) + 1 + FRAME_HEADER_MAX;
        return 0;
}

static void reply_freep(Perfd__V1__Reply **p) {
        perfd__v1__reply__free_unpacked(*p, NULL);
}

int codec_decode_reply(const Frame *frame, Reply *ret) {
        scoped(reply_freep) Perfd__V1__Reply *wire = NULL;
        const Perfd__V1__HelloReply *hello;

        wire = perfd__v1__reply__unpack(NULL, frame->n, frame->data);
        if (!wire)
                return CODEC_MALFORMED;

        /* A status of a newer perfd's is a refusal of a kind that this client does not know. */
        *ret = (Reply){ .sequence = wire->sequence, .status = STATUS_UNSUPPORTED };
        if ((unsigned)wire->status < N_STATUSES)
                ret->status = (Status)wire->status;
        snprintf(ret->complaint.path, sizeof(ret->complaint.path), "%s", wire->path);
        snprintf(ret->complaint.text, sizeof(ret->complaint.text), "%s", wire->message);

        hello = wire->hello;
        if (hello) {
                ret->frame_max_bytes = hello->frame_max_bytes;
                ret->in_flight_max = hello->in_flight_max;
                ret->durable = hello->durable;
                snprintf(ret->server, sizeof(ret->server), "%s", hello->server);
                snprintf(ret->node, sizeof(ret->node), "%s", hello->node);
        }
        if (wire->mark) {
                snprintf(ret->job, sizeof(ret->job), "%s", wire->mark->job);
                snprintf(ret->phase, sizeof(ret->phase), "%s", wire->mark->previous);
        }

        return 0;
}
