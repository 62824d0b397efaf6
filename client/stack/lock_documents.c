/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "client/stack/lock_reader.h"
#include "stack/stack.h"

static Slice text_of(const Value *object, const char *key) {
        return stack_builder_slice(value_get_string(object, key));
}

static void add_hash(DraftPackage *package, const char *hash) {
        if (hash && package->n_hashes < STACK_BUILDER_HASHES_MAX)
                package->hashes[package->n_hashes++] = stack_builder_slice(hash);
}

/* --- Pipfile.lock ---------------------------------------------------------------------------------- */

/* Returns the URL of the index with this name; without a name, of the only index. */
static const char *find_index(const Value *sources, const char *name) {
        size_t n = sources && sources->type == VALUE_LIST ? sources->n_items : 0;

        if (!name)
                return n == 1 ? value_get_string(&sources->items[0], "url") : NULL;
        for (size_t i = 0; i < n; i++) {
                const char *other = value_get_string(&sources->items[i], "name");

                if (other && strcmp(other, name) == 0)
                        return value_get_string(&sources->items[i], "url");
        }
        return name;
}

int lock_reader_read_pipfile(LockReader *reader) {
        const Value *meta = value_get(reader->document, "_meta"), *locked = value_get(reader->document, "default");
        int r = 0;

        if (!locked || locked->type != VALUE_OBJECT)
                return lock_reader_refuse(reader, 1, "default: expected an object of packages");
        for (size_t i = 0; i < locked->n_members && r == 0; i++) {
                const Value *from = &locked->members[i].value, *hashes = value_get(from, "hashes");
                DraftPackage package = { .name = stack_builder_slice(locked->members[i].key), .kind = STACK_KIND_PYTHON };

                package.version = text_of(from, "version");
                while (package.version.n > 0 && *package.version.text == '=')
                        package.version = (Slice){ package.version.text + 1, package.version.n - 1 };
                package.source = stack_builder_slice(find_index(value_get(meta, "sources"), value_get_string(from, "index")));
                for (size_t k = 0; hashes && hashes->type == VALUE_LIST && k < hashes->n_items; k++)
                        add_hash(&package, hashes->items[k].type == VALUE_STRING ? hashes->items[k].string : NULL);
                r = lock_reader_add(reader, &package);
        }
        reader->stack->package_manager = stack_builder_slice("pipenv");
        reader->stack->python = text_of(value_get(meta, "requires"), "python_version");
        return r;
}

/* --- conda ----------------------------------------------------------------------------------------- */

int lock_reader_read_conda_list(LockReader *reader) {
        int r = 0;

        for (size_t i = 0; i < reader->document->n_items && r == 0; i++) {
                const Value *from = &reader->document->items[i];
                Slice channel = text_of(from, "channel");
                bool is_python = channel.n == 4 && memcmp(channel.text, "pypi", 4) == 0;
                DraftPackage package = { .name = text_of(from, "name"), .version = text_of(from, "version"), .source = channel,
                                         .build = is_python ? (Slice){} : text_of(from, "build_string"),
                                         .kind = is_python ? STACK_KIND_PYTHON : "conda" };

                if (package.name.n == 0)
                        return lock_reader_refuse(reader, 0, "item %zu has no name: expected the output of `conda list --json`", i);
                r = lock_reader_add(reader, &package);
        }
        reader->stack->package_manager = stack_builder_slice("conda");
        return r;
}

/* Takes NAME=VERSION=BUILD, also after a channel: conda-forge::numpy=1.26. A range of versions does not count as a version. */
static int add_conda_words(LockReader *reader, const char *text) {
        const char *channel = strstr(text, "::"), *name = channel ? channel + 2 : text;
        size_t n_name = strcspn(name, "=<>!~ ["), n_version;
        const char *version = name + n_name, *build;
        DraftPackage package = { .name = { name, n_name }, .kind = "conda" };

        if (channel)
                package.source = (Slice){ text, (size_t)(channel - text) };
        if (*version == '=') {
                version += strspn(version, "=");
                n_version = strcspn(version, "= ");
                build = version[n_version] == '=' ? version + n_version + 1 : "";
                package.version = (Slice){ version, n_version };
                package.build = stack_builder_slice(build);
        }
        return lock_reader_add(reader, &package);
}

static int add_pip_words(LockReader *reader, const char *text) {
        size_t n_name = strcspn(text, "=<>!~ [;@");
        const char *version = strstr(text + n_name, "==");
        DraftPackage package = { .name = { text, n_name }, .kind = STACK_KIND_PYTHON };

        if (version)
                package.version = (Slice){ version + 2, strcspn(version + 2, " ;,") };
        return lock_reader_add(reader, &package);
}

int lock_reader_read_conda_environment(LockReader *reader) {
        const Value *list = value_get(reader->document, "dependencies");
        int r = 0;

        for (size_t i = 0; i < list->n_items && r == 0; i++) {
                const Value *item = &list->items[i], *pip = value_get(item, "pip");

                if (item->type == VALUE_STRING)
                        r = add_conda_words(reader, item->string);
                else if (!pip || pip->type != VALUE_LIST)
                        return lock_reader_refuse(reader, 0, "dependencies[%zu] is %s: expected NAME=VERSION=BUILD, or a list 'pip'", i,
                                                  value_type_text(item));
                for (size_t k = 0; pip && k < pip->n_items && r == 0; k++)
                        if (pip->items[k].type == VALUE_STRING && pip->items[k].string[0] != '-')
                                r = add_pip_words(reader, pip->items[k].string);
        }
        reader->stack->package_manager = stack_builder_slice("conda");
        return r;
}

#define PLATFORM_MAX (sizeof("linux-") + sizeof(((struct utsname *)NULL)->machine))

/* Writes the name that conda gives this machine: linux-64, linux-aarch64. */
static void find_platform(char ret[static PLATFORM_MAX]) {
        struct utsname name = {};

        (void)uname(&name);
        (void)snprintf(ret, PLATFORM_MAX, "linux-%s", strcmp(name.machine, "x86_64") == 0 ? "64" : name.machine);
}

static int add_locked(LockReader *reader, const Value *from) {
        Slice manager = text_of(from, "manager");
        bool is_python = manager.n == 3 && memcmp(manager.text, "pip", 3) == 0;
        const Value *hash = value_get(from, "hash");
        DraftPackage package = { .name = text_of(from, "name"), .version = text_of(from, "version"), .source = text_of(from, "url"),
                                 .kind = is_python ? STACK_KIND_PYTHON : "conda" };

        add_hash(&package, value_get_string(hash, "sha256") ?: value_get_string(hash, "md5"));
        return lock_reader_add(reader, &package);
}

/* A file for several platforms has a package of each name for each platform. */
int lock_reader_read_conda_lock(LockReader *reader) {
        const Value *list = value_get(reader->document, "package");
        char own[PLATFORM_MAX];
        int r = 0;

        find_platform(own);
        for (size_t i = 0; i < list->n_items && r == 0; i++) {
                const char *platform = value_get_string(&list->items[i], "platform");

                if (text_of(&list->items[i], "name").n == 0)
                        return lock_reader_refuse(reader, 0, "package[%zu] has no name: is the file complete?", i);
                if (!platform || strcmp(platform, own) == 0)
                        r = add_locked(reader, &list->items[i]);
        }
        if (r == 0 && list->n_items > 0 && reader->stack->n == 0)
                return lock_reader_refuse(reader, 0, "has no package for %s, the platform of this machine", own);
        reader->stack->package_manager = stack_builder_slice("conda");
        return r;
}
