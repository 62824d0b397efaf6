/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec/refuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

static int __attribute__((format(printf, 4, 0)))
refuse_v(Answer *ret, Status status, const char *path, const char *format, va_list args) {
        Complaint *complaint = &ret->complaint;

        *ret = (Answer){ .status = status };
        utf8_copy(complaint->path, sizeof(complaint->path), path);
        vsnprintf(complaint->text, sizeof(complaint->text), format, args);
        return REFUSED;
}

int refuse(Answer *ret, Status status, const char *path, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)refuse_v(ret, status, path, format, args);
        va_end(args);
        return REFUSED;
}

int refuse_item(Answer *ret, const char *list, size_t i, const char *field, const char *format, ...) {
        char path[COMPLAINT_PATH_MAX];
        va_list args;

        snprintf(path, sizeof(path), "%s[%zu].%s", list, i, field);
        va_start(args, format);
        (void)refuse_v(ret, STATUS_INVALID, path, format, args);
        va_end(args);
        return REFUSED;
}

int refuse_no_room(Answer *ret) {
        return refuse(ret, STATUS_TOO_LARGE, "",
                      "the decoded request exceeds the memory that perfd has for one request: send it in smaller "
                      "parts");
}

const char *refuse_text_reason(const char *text, size_t n_max) {
        size_t n = strlen(text);

        if (n > n_max)
                return "is too long";
        if (!utf8_is_valid(text, n))
                return "is not valid UTF-8";

        return utf8_is_line(text) ? NULL : "has control characters";
}

int refuse_bad_text(Answer *ret, const char *path, const char *text, size_t n_max) {
        const char *reason = refuse_text_reason(text, n_max);

        if (!reason)
                return 0;

        return refuse(ret, STATUS_INVALID, path, "%s: it may be up to %zu bytes of UTF-8 without control characters",
                      reason, n_max);
}

int refuse_bad_job_id(Answer *ret, const char *path, const char *job) {
        if (indicator_name_is_valid(job, JOB_ID_MAX - 1))
                return 0;

        return refuse(ret, STATUS_INVALID, path, "%s: a job's id is 1 to %d " REFUSE_NAME_RULE,
                      job[0] == '\0' ? "is empty" : "is not valid", JOB_ID_MAX - 1);
}
