/* SPDX-License-Identifier: Apache-2.0 */
#include "base/user_names.h"

#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/scoped.h"
#include "util/thread.h"
#include "util/utf8.h"

#define KEEP_NS (600 * NS_PER_S)
#define ENTRY_MAX 16384 /* bytes of an entry of the user database */

typedef struct UserQuestion {
        pthread_t thread;
        UserName answer;
        atomic_flag is_left; /* by its thread, or by perfd, which does not wait for it: the second one frees it */
} UserQuestion;

static void leave(UserQuestion *question) {
        if (atomic_flag_test_and_set(&question->is_left))
                free(question);
}

static UserName *find(UserNames *names, uint32_t uid) {
        for (size_t i = 0; i < names->n && i < USER_NAMES_MAX; i++)
                if (names->items[i].uid == uid)
                        return &names->items[i];
        return NULL;
}

static void put(UserNames *names, uint32_t uid, const char *name) {
        UserName *item = find(names, uid);

        if (!item)
                item = &names->items[names->n++ % USER_NAMES_MAX];
        *item = (UserName){ .uid = uid, .until_ns = clock_boottime_ns() + KEEP_NS };
        utf8_copy(item->text, sizeof(item->text), utf8_is_line(name) ? name : "");
}

void user_names_init(UserNames *names, const char *root) {
        scoped(fclosep) FILE *file = NULL;
        struct passwd entry, *found;
        char text[ENTRY_MAX];

        *names = (UserNames){};
        (void)snprintf(text, sizeof(text), "%s/etc/passwd", root);
        file = fopen(text, "re");
        names->is_elsewhere = file && strcmp(root, "/") != 0;
        if (!file)
                file = fopen("/etc/passwd", "re");
        /* The first of several entries of a uid holds, as for getpwuid(3). */
        while (file && names->n < USER_NAMES_MAX && fgetpwent_r(file, &entry, text, sizeof(text), &found) == 0)
                if (!find(names, entry.pw_uid))
                        put(names, entry.pw_uid, entry.pw_name);
}

static void *on_start(void *userdata) {
        UserQuestion *question = userdata;
        UserName *answer = &question->answer;
        struct passwd entry, *found = NULL;
        char text[ENTRY_MAX];

        pthread_setname_np(pthread_self(), "perfd-users");
        if (getpwuid_r(answer->uid, &entry, text, sizeof(text), &found) == 0 && found)
                utf8_copy(answer->text, sizeof(answer->text), entry.pw_name);
        leave(question);
        return NULL;
}

/* Asks about one user at a time: a service that hangs keeps one thread. */
static void ask(UserNames *names, uint32_t uid) {
        UserQuestion *question = calloc(1, sizeof(*question));

        if (!question)
                return;
        question->answer.uid = uid;
        if (thread_start(&question->thread, on_start, question) == 0)
                names->asked = TAKE(question);
        free(question);
}

void user_names_deinit(UserNames *names) {
        if (!names->asked)
                return;
        if (pthread_tryjoin_np(names->asked->thread, NULL) != 0)
                (void)pthread_detach(names->asked->thread);
        leave(TAKE(names->asked));
}

bool user_names_find(UserNames *names, uint32_t uid, char ret[static USER_NAME_MAX]) {
        const UserName *item;

        if (names->asked && pthread_tryjoin_np(names->asked->thread, NULL) == 0) {
                put(names, names->asked->answer.uid, names->asked->answer.text);
                free(TAKE(names->asked));
        }
        item = find(names, uid);
        if (!names->asked && !names->is_elsewhere && (!item || item->until_ns < clock_boottime_ns()))
                ask(names, uid);
        if (item && item->text[0])
                strcpy(ret, item->text);
        else
                (void)snprintf(ret, USER_NAME_MAX, "%u", uid);
        return item || names->is_elsewhere;
}
