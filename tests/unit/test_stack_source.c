/* SPDX-License-Identifier: Apache-2.0 */
/* The container's image as a part of a software stack. */
/* tests: client/stack/stack_source.c */

#include "client/stack/stack_source.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "stack/stack.h"
#include "tree.h"
#include "util/scoped.h"

/* Reads the base image in a root whose /run/.containerenv has the text; NULL: no such file. ret: "" for none. */
static void read_image(const char *text, const char *container, char ret[static 256]) {
        char root[64] = "/tmp/perfd-root-XXXXXX";
        scoped(stack_builder_deinit) StackBuilder stack = {};
        scoped(arena_deinit) Arena arena = {};
        Slice word;
        int r;

        assert_non_null(mkdtemp(root));
        assert_int_equal(arena_init(&arena, 1 << 20), 0);
        stack.arena = &arena;
        if (text) {
                char directory[80];

                (void)snprintf(directory, sizeof(directory), "%s/run", root);
                assert_int_equal(mkdir(directory, 0755), 0);
                tree_write(root, "run/.containerenv", text);
        }
        {
                scoped(closep) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                const StackPlace place = { .root_fd = fd, .container = container };

                assert_true(fd >= 0);
                r = stack_source_read("container", &place, &stack, &word);
        }
        assert_true(r == 0 || r == STACK_SOURCE_NONE);
        assert_true((r == 0) == (stack.base_image.n > 0));
        (void)snprintf(ret, 256, "%.*s", (int)stack.base_image.n, stack.base_image.text ? stack.base_image.text : "");
        tree_remove(root);
}

static void the_image_of_a_container_is_the_base_image(void **state) {
        static const struct {
                const char *text, *container, *expected;
        } cases[] = {
                { "engine=\"podman-4.3.1\"\nname=\"a\"\nimage=\"quay.io/x/y:1\"\nimageid=\"0a1b\"\nrootless=1\n", "/a.sif",
                  "quay.io/x/y:1@sha256:0a1b" },
                { "imageid=\"0a1b\"\n", NULL, "@sha256:0a1b" },
                { "image=\"x\"", NULL, "x" },
                { "", "/images/a.sif", "/images/a.sif" }, /* podman writes an empty file into a privileged container */
                { "image=\"\nimage", NULL, "" },
                { "image=\"\xff\"\n", NULL, "" },
                { NULL, "library://a", "library://a" },
                { NULL, NULL, "" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                char image[256];

                read_image(cases[i].text, cases[i].container, image);
                assert_string_equal(image, cases[i].expected);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(the_image_of_a_container_is_the_base_image) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
