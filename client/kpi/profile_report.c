/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kpi/profile_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/api/answer.h"
#include "client/cli/text.h"
#include "util/scoped.h"

#define SHARE_DIFFERENCE_MIN 0.05 /* less is not worth a line */
#define RATIO_MIN            1.1

typedef enum ProfileUnit {
        PROFILE_SHARE,
        PROFILE_CPUS,
        PROFILE_BYTES,
        PROFILE_RATE,
} ProfileUnit;

/* Text around a number of the answer. */
typedef struct ProfileText {
        const char *name, *before, *behind;
        ProfileUnit unit;
} ProfileText;

static const ProfileText texts[] = {
        { "cpus_used", "the job used ", " CPUs", PROFILE_CPUS },
        { "cpu_waited_share", "the job waited for a CPU ", " of the time", PROFILE_SHARE },
        { "throttled_share", "the job was throttled in ", " of the periods", PROFILE_SHARE },
        { "others_cpu_share", "other processes used ", " of the CPUs", PROFILE_SHARE },
        { "steal_share", "the hypervisor took ", " of the CPU time", PROFILE_SHARE },
        { "io_stalled_share", "the node was stalled for I/O ", " of the time", PROFILE_SHARE },
        { "memory_stalled_share", "the node waited for memory ", " of the time", PROFILE_SHARE },
        { "io_bytes_per_second", "the job read and wrote ", "", PROFILE_RATE },
        { "memory_bytes", "the memory peak of the job was ", "", PROFILE_BYTES },
};

static const ProfileText *find_text(const Value *number) {
        const char *name = answer_text(number, "name");

        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                if (strcmp(texts[i].name, name) == 0)
                        return &texts[i];
        return NULL;
}

static void put_value(ProfileUnit unit, double value, Buffer *out) {
        char text[TEXT_MAX];

        switch (unit) {
        case PROFILE_SHARE:
                buffer_printf(out, "%.0f %%", 100 * value);
                break;
        case PROFILE_CPUS:
                buffer_printf(out, "%.2f", value);
                break;
        case PROFILE_BYTES:
        case PROFILE_RATE:
                text_mib(value / 1048576, text);
                buffer_printf(out, "%s%s", text, unit == PROFILE_RATE ? "/s" : "");
                break;
        }
}

static void put_number(const Value *number, const ProfileText *text, Buffer *out) {
        buffer_puts(out, text->before);
        put_value(text->unit, answer_number(number, "value"), out);
        buffer_printf(out, "%s (", text->behind);
        put_value(text->unit, answer_number(number, "before"), out);
        buffer_puts(out, " before)");
}

static bool is_disturbance(const Value *number) {
        const Value *value = value_get(number, "is_disturbance");

        return value && value->type == VALUE_BOOL && value->boolean;
}

void profile_report_put_disturbance(const Value *kpi, Buffer *out) {
        const Value *numbers = value_get(value_get_given(kpi, "profile"), "numbers");
        size_t n = 0;

        for (size_t i = 0; i < answer_length(numbers); i++) {
                const ProfileText *text = find_text(&numbers->items[i]);

                if (!text || !is_disturbance(&numbers->items[i]))
                        continue;
                buffer_puts(out, n++ == 0 ? "; the machine was disturbed: " : ", ");
                put_number(&numbers->items[i], text, out);
        }
}

static bool differs(const Value *number, const ProfileText *text) {
        double value = answer_number(number, "value"), before = answer_number(number, "before");

        if (text->unit == PROFILE_SHARE)
                return fabs(value - before) >= SHARE_DIFFERENCE_MIN;
        return value > RATIO_MIN * before || before > RATIO_MIN * value;
}

static void put_fact(const Value *fact, const char *member, Buffer *out) {
        const Value *value = value_get(fact, member);
        Json json = { .out = out };

        if (value && value->type == VALUE_STRING)
                buffer_puts(out, value->string);
        else if (value)
                value_write_json(value, &json);
}

/* A software stack is named by the first digits of its digest, as `perfctl indicator stack` accepts them. */
static void put_difference(const Value *fact, Buffer *out) {
        const char *key = answer_text(fact, "key");

        if (strcmp(key, "stack") == 0) {
                buffer_printf(out, "the software stack (perfctl indicator stack diff %.12s %.12s)", answer_text(fact, "before"),
                              answer_text(fact, "value"));
                return;
        }
        buffer_printf(out, "%s ", key);
        put_fact(fact, "value", out);
        buffer_puts(out, " (");
        put_fact(fact, "before", out);
        buffer_puts(out, " before)");
}

void profile_report_put(const Value *kpi, Buffer *out) {
        const Value *profile = value_get_given(kpi, "profile"), *numbers = value_get(profile, "numbers");
        const Value *facts = value_get(profile, "differs");
        size_t n = 0;

        for (size_t i = 0; i < answer_length(numbers); i++) {
                const ProfileText *text = find_text(&numbers->items[i]);

                if (!text || is_disturbance(&numbers->items[i]) || !differs(&numbers->items[i], text))
                        continue;
                buffer_puts(out, n++ == 0 ? "  beside: " : "; ");
                put_number(&numbers->items[i], text, out);
        }
        for (size_t i = 0; i < answer_length(facts); i++) {
                buffer_puts(out, i > 0 ? ", " : n > 0 ? "; different: " : "  different: ");
                put_difference(&facts->items[i], out);
        }
}
