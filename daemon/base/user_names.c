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

#define NAMES_MAX 65536U /* names kept; others are numbers */
#define KEEP_NS (600 * NS_PER_S)
#define ENTRY_MAX 16384 /* bytes of an entry of the user database */

enum {
        ASKED,
        ANSWERED,
        ABANDONED,
};

/* Freed by whoever comes second: the thread with the answer, or the owner who no longer waits. */
typedef struct UserQuestion {
        uint32_t uid;
        char name[USER_NAME_MAX];
        atomic_int state; /* ASKED… */
} UserQuestion;

static void take_name(char ret[static USER_NAME_MAX], const char *name) {
        utf8_copy(ret, USER_NAME_MAX, utf8_is_line(name) ? name : "");
}

/* Returns the place of the uid, or that at which it would be. */
static size_t find_place(const UserNames *names, uint32_t uid) {
        size_t low = 0, high = names->n;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (names->items[middle].uid < uid)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static void put(UserNames *names, uint32_t uid, const char *name) {
        size_t i = find_place(names, uid);

        if (i == names->n || names->items[i].uid != uid) {
                if (names->n == NAMES_MAX)
                        return;
                if ((names->n & (names->n - 1)) == 0) {
                        UserName *items = reallocarray(names->items, names->n ? 2 * names->n : 1, sizeof(*items));

                        if (!items)
                                return;
                        names->items = items;
                }
                memmove(&names->items[i + 1], &names->items[i], (names->n++ - i) * sizeof(*names->items));
        }
        names->items[i] = (UserName){ .uid = uid, .until_ns = clock_boottime_ns() + KEEP_NS };
        take_name(names->items[i].text, name);
}

void user_names_init(UserNames *names, const char *root) {
        scoped(fclosep) FILE *file = NULL;
        struct passwd entry, *found;
        char path[4096], text[ENTRY_MAX];

        *names = (UserNames){};
        (void)snprintf(path, sizeof(path), "%s/etc/passwd", root);
        file = fopen(path, "re");
        names->is_elsewhere = file && strcmp(root, "/") != 0;
        if (!file)
                file = fopen("/etc/passwd", "re");
        /* The first of several entries of a uid holds, as for getpwuid(3). */
        while (file && fgetpwent_r(file, &entry, text, sizeof(text), &found) == 0) {
                size_t i = find_place(names, entry.pw_uid);

                if (i == names->n || names->items[i].uid != entry.pw_uid)
                        put(names, entry.pw_uid, entry.pw_name);
        }
}

static void *on_start(void *userdata) {
        UserQuestion *question = userdata;
        struct passwd entry, *found = NULL;
        char text[ENTRY_MAX];

        pthread_setname_np(pthread_self(), "perfd-users");
        if (getpwuid_r(question->uid, &entry, text, sizeof(text), &found) == 0 && found)
                take_name(question->name, entry.pw_name);
        if (atomic_exchange(&question->state, ANSWERED) == ABANDONED)
                free(question);
        return NULL;
}

/* Asks about one user at a time: a service that hangs keeps one thread. */
static void ask(UserNames *names, uint32_t uid) {
        UserQuestion *question = names->asked ? NULL : calloc(1, sizeof(*question));
        pthread_t thread;

        if (!question)
                return;
        question->uid = uid;
        if (thread_start(&thread, on_start, question) < 0) {
                free(question);
                return;
        }
        (void)pthread_detach(thread);
        names->asked = question;
}

static void take_answer(UserNames *names) {
        if (!names->asked || atomic_load(&names->asked->state) != ANSWERED)
                return;
        put(names, names->asked->uid, names->asked->name);
        free(TAKE(names->asked));
}

void user_names_deinit(UserNames *names) {
        if (names->asked && atomic_exchange(&names->asked->state, ABANDONED) == ANSWERED)
                free(names->asked);
        free(names->items);
        *names = (UserNames){};
}

bool user_names_find(UserNames *names, uint32_t uid, char ret[static USER_NAME_MAX]) {
        size_t i;
        bool is_known;

        take_answer(names);
        i = find_place(names, uid);
        is_known = i < names->n && names->items[i].uid == uid;
        if (!names->is_elsewhere && (!is_known || names->items[i].until_ns < clock_boottime_ns()))
                ask(names, uid);
        if (is_known && names->items[i].text[0])
                strcpy(ret, names->items[i].text);
        else
                (void)snprintf(ret, USER_NAME_MAX, "%u", uid);
        return is_known || names->is_elsewhere || names->n == NAMES_MAX;
}
