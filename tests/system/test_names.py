"""Checks the users and groups of the configuration while the directory service that knows them is away, or does not answer."""

import os
import subprocess
import unittest

import harness
from harness import wait_for
from harness import preloaded
from test_privacy import OTHER_UID, OWNER_UID, OwnedClient, connect_as, get_over

GROUP_GID = 40150
# A directory service: the lines "NAME NUMBER" of the file $NAMES. It does not answer while the file $NAMES.hang exists.
SERVICE = r"""
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int find(const char *name, unsigned *ret) {
        char path[512], found[128];
        FILE *file;
        int is_there = 0;

        snprintf(path, sizeof(path), "%s.hang", getenv("NAMES"));
        while (access(path, F_OK) == 0)
                usleep(10000);
        file = fopen(getenv("NAMES"), "re");
        while (file && !is_there && fscanf(file, "%127s %u", found, ret) == 2)
                is_there = strcmp(found, name) == 0;
        if (file)
                fclose(file);
        return is_there;
}

struct group *getgrnam(const char *name) {
        static char *members[1];
        static struct group group = { .gr_mem = members };
        unsigned gid;

        group.gr_name = (char *)name;
        if (!find(name, &gid))
                return NULL;
        group.gr_gid = gid;
        return &group;
}

struct passwd *getpwnam(const char *name) {
        static struct passwd user;
        unsigned uid;

        user.pw_name = (char *)name;
        if (!find(name, &uid))
                return NULL;
        user.pw_uid = uid;
        return &user;
}
"""
CONFIG = "[sampling]\ninterval = 100ms\n[socket]\nadmin_group = ldap-admins\n[limits]\nweights = ldap-user=3 root=2\n"
UNKNOWN = "socket.admin_group: ldap-admins, limits.weights: ldap-user"


class Names(harness.TestCase):
    def start(self, names="", hangs=False, **more):
        directory = self.temporary_directory()
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", directory / "names.so"], input=SERVICE, text=True,
                       check=True)
        self.names, self.hang = directory / "names", directory / "names.hang"
        self.set(names)
        if hangs:
            self.hang.touch()
        daemon = self.daemon(CONFIG, wait=False, notify=True,
                             environment={"LD_PRELOAD": preloaded(directory / "names.so"), "NAMES": str(self.names)}, **more)
        daemon.wait_ready()
        return daemon

    def set(self, names):
        self.names.with_suffix(".new").write_text(names)
        self.names.with_suffix(".new").rename(self.names)

    def unknown(self, daemon):
        return daemon.get("/api/v1/node").json["configuration"]["unknown_names"]

    def test_a_service_that_is_away_at_the_start_is_asked_again(self):
        daemon = self.start()
        self.assertIn(f"Unknown users or groups, which have no rights and are looked for each minute: {UNKNOWN}.", daemon.log())
        self.assertEqual(self.unknown(daemon), UNKNOWN)
        self.assertIn(f"unknown users or groups: {UNKNOWN}", daemon.get("/-/healthy").text)
        self.assertIn("unknown users or groups", " ".join(daemon.perfctl("status").stdout.split()))
        self.assertIn("unknown users or groups", " ".join(daemon.perfctl("doctor").stdout.split()))
        self.assertEqual(harness.parse_metrics(daemon.get("/metrics").text)["perfd_config_in_force"], 0)
        self.set(f"ldap-admins {GROUP_GID}\n")
        wait_for(lambda: self.unknown(daemon) == "limits.weights: ldap-user", "one name")
        self.set(f"ldap-admins {GROUP_GID}\nldap-user {OWNER_UID}\n")
        wait_for(lambda: self.unknown(daemon) is None, "both names")
        daemon.wait_log("All users and groups of the configuration are known now.")
        share = {uid: {r["name"]: r["share"] for r in daemon.get(f"/api/v1/quota?uid={uid}").json["users"][0]["resources"]}["queries"]
                 for uid in (OWNER_UID, OTHER_UID)}
        self.assertGreater(share[OWNER_UID], share[OTHER_UID])

    @unittest.skipIf(os.getuid() != 0, "needs root, to act as several users")
    def test_the_members_of_a_group_are_administrators_as_soon_as_it_is_known(self):
        daemon = self.start()
        daemon.directory.chmod(0o711)
        with OwnedClient(OWNER_UID, daemon.socket) as client:
            self.assert_status(client.begin("job", command="secret-command"), "OK")
        daemon.wait_tick()

        def sees():
            return "secret-command" in get_over(connect_as(OTHER_UID, daemon.http_socket, [GROUP_GID]), "/api/v1/jobs/job").text

        self.assertFalse(sees())
        self.set(f"ldap-admins {GROUP_GID}\n")
        wait_for(sees, "an administrator")

    def test_edited_files_wait_for_a_reload_which_refuses_unknown_names(self):
        daemon = self.start(f"ldap-user {OWNER_UID}\n")
        daemon.configure(CONFIG.replace("100ms", "200ms"))
        self.set(f"ldap-user {OWNER_UID}\nldap-admins {GROUP_GID}\n")
        daemon.wait_tick()
        self.set(f"ldap-user {OWNER_UID}\n")
        daemon.reload()
        self.assertIn("perfd.conf:4: [socket] admin_group = ldap-admins: expected the name or number of an existing group",
                      daemon.get("/api/v1/node").json["configuration"]["error"])
        self.assertEqual(daemon.get("/api/v1/node").json["interval_ms"], 100)
        self.set(f"ldap-user {OWNER_UID}\nldap-admins {GROUP_GID}\n")
        daemon.reload()
        self.assertEqual(daemon.get("/api/v1/node").json["interval_ms"], 200)
        self.assertIsNone(self.unknown(daemon))

    def test_a_check_refuses_unknown_names(self):
        path = self.temporary_directory() / "perfd.conf"
        path.write_text("[socket]\nadmin_group = no-such-group\n")
        done = subprocess.run([harness.PERFD, "--check-config", "--config", path], capture_output=True, text=True,
                              timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 6)
        self.assertIn("perfd.conf:2: [socket] admin_group = no-such-group", done.stderr)

    def test_a_service_that_does_not_answer_delays_neither_samples_nor_answers(self):
        daemon = self.start(f"ldap-admins {GROUP_GID}\nldap-user {OWNER_UID}\n", hangs=True)
        self.assertEqual(self.unknown(daemon), UNKNOWN)
        for _ in range(3):
            daemon.wait_tick()
        # the reading of the start still hangs: a request says so, a signal waits
        done = daemon.perfctl("reload")
        self.assertIn("a directory service that resolves names may not answer", done.stderr)
        daemon.signal(harness.signal.SIGHUP)
        daemon.wait_tick()
        self.hang.unlink()
        daemon.wait_notified("READY=1")  # of the start
        daemon.wait_notified("READY=1")
        self.assertIsNone(self.unknown(daemon))
        self.assertEqual(daemon.perfctl("reload").returncode, 0)

    def test_perfd_ends_while_the_service_does_not_answer(self):
        daemon = self.start(hangs=True)
        daemon.wait_tick()
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
