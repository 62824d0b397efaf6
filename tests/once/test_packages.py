"""Builds the Debian packages, and installs, upgrades, downgrades and removes them in a clean root of the distribution under a real
systemd, with apt and without a network."""

import contextlib
import filecmp
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import clean_root
import harness
from harness import ROOT, TIMEOUT_S, find_peer, wait_for

DEBS = ROOT / "build" / "deb"
VERSION = (ROOT / "VERSION").read_text().strip()
NEWER = f"{VERSION}+newer"
NAMES = {"perfd", "perfctl", "libperfd0", "libperfd-dev", "perfd-slurm", "perfd-results", "python3-perfd", "perfd-doc"}
# What the administrator changes, and what the newer version changes: perfd.conf is changed by both.
CONFIG, OWN_MODEL, NEW_MODEL = "/etc/perfd/perfd.conf", "/etc/perfd/indicators.d/pimatmul.yaml", "/etc/perfd/indicators.d/piconv1d.yaml"
INSTALL = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", "--no-install-recommends", "--allow-downgrades",
           "-o", "APT::Sandbox::User=root", "install")


def setUpModule():
    if clean_root.why_not():
        raise unittest.SkipTest(clean_root.why_not())
    environment = {**os.environ, "YES": "1"}
    for name in ("MAKEFLAGS", "MAKELEVEL", "CC", "SANITIZE"):
        environment.pop(name, None)
    subprocess.run(["make", "-s", "deb"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=environment)


def deb_of(name, directory=DEBS):
    found = list(directory.glob(f"{name}_*.deb"))
    assert len(found) == 1, found
    return found[0]


def make_newer(name, to):
    """Packs a newer version of a package, with a changed configuration file and a changed model."""
    with tempfile.TemporaryDirectory(prefix="perfd-", dir="/tmp") as tree:
        subprocess.run(["dpkg-deb", "--raw-extract", deb_of(name), tree], check=True)
        control = pathlib.Path(tree, "DEBIAN/control")
        control.write_text(control.read_text().replace(VERSION, NEWER))
        for path in (CONFIG, NEW_MODEL):
            changed = pathlib.Path(tree + path)
            if changed.exists():
                changed.write_text(changed.read_text() + "# newer\n")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, to / f"{name}_{NEWER}.deb"], check=True,
                       stdout=subprocess.DEVNULL)


class Build(unittest.TestCase):
    def test_another_build_elsewhere_gives_identical_packages(self):
        with tempfile.TemporaryDirectory(prefix="perfd-a-longer-directory-", dir="/tmp") as directory:
            environment = {**os.environ, "TMPDIR": directory, "TZ": "Asia/Tokyo", "LC_ALL": "C", "CFLAGS": "-O0", "HOME": directory}
            subprocess.run(["sh", "-c", 'umask 077 && exec "$@"', "sh", ROOT / "tools/deb", f"{directory}/deb"], check=True,
                           stdout=subprocess.DEVNULL, env=environment)
            for folder, n in ((".", len(NAMES)), ("debug", 4)):
                names = sorted(path.name for path in (DEBS / folder).glob("*.deb"))
                self.assertEqual(len(names), n)
                self.assertEqual(filecmp.cmpfiles(DEBS / folder, f"{directory}/deb/{folder}", names, shallow=False), (names, [], []))

    def test_lintian_has_no_complaint(self):
        done = subprocess.run([find_peer("lintian"), "--allow-root", "--tag-display-limit", "0", *DEBS.glob("*.deb")],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_the_command_of_the_readme_names_the_packages(self):
        words = re.search(r"(?m)^    make deb && sudo apt install (.*)$", (ROOT / "README.md").read_text())[1]
        named = subprocess.run(["sh", "-c", f"realpath {words}"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(named, [str(deb_of(name)) for name in Installed.packages])

    def test_the_packages_have_each_installed_file_once(self):
        owner = {}
        for deb in DEBS.glob("*.deb"):
            listing = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], check=True, capture_output=True).stdout
            for path in subprocess.run(["tar", "-t"], input=listing, check=True, capture_output=True).stdout.decode().splitlines():
                if not path.endswith("/"):
                    self.assertNotIn(path, owner)
                    owner[path] = deb.name.split("_")[0]
        self.assertEqual(set(owner.values()), NAMES)


class Installed(unittest.TestCase):
    """Boots a clean root for each test, with perfd installed."""

    packages = ("perfd", "perfctl")

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="perfd-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        debs = self.directory / "deb"
        shutil.copytree(DEBS, debs / "this")
        (debs / "newer").mkdir()
        for name in ("perfd", "perfctl"):
            make_newer(name, debs / "newer")
        self.boot = subprocess.Popen([ROOT / "tests/system/boot-systemd.sh", "--root", clean_root.make(sorted(DEBS.glob("*.deb"))),
                                      "--copy", f"{debs}:/deb", "--", "sh", "-c", 'echo "$INSIDE"; cat'],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.shut_down)
        self.enter = self.boot.stdout.readline().split()
        self.assertTrue(self.enter, "no boot, see above")
        self.top = pathlib.Path(f"/proc/{self.enter[2]}/root")
        self.install("this", *self.packages)

    def shut_down(self):
        self.boot.stdin.close()
        self.boot.wait(60)
        self.boot.stdout.close()

    def inside(self, *words, **more):
        return subprocess.run([*self.enter, *words], text=True, capture_output=True, timeout=TIMEOUT_S * 3, **more)

    def run_inside(self, *words, **more):
        done = self.inside(*words, **more)
        self.assertEqual(done.returncode, 0, f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def install(self, version, *names):
        """Answers each question of dpkg with its default."""
        paths = [f"/deb/{version}/{deb_of(name, self.directory / 'deb' / version).name}" for name in names]
        done = self.inside(*INSTALL, *paths, input="\n" * 10)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def submit(self, name="demo"):
        return self.inside("perfctl", "submit", "--spool", "/run/spool", input=json.dumps(harness.indicator(name)))

    def text(self, path):
        return (self.top / path.lstrip("/")).read_text()

    def state(self, unit="perfd.service"):
        return self.inside("systemctl", "is-active", unit).stdout.strip()

    def version(self):
        return self.run_inside("dpkg-query", "-W", "-f", "${Version}", "perfd")


class Install(Installed):
    packages = tuple(sorted(NAMES))

    def test_perfd_runs_and_is_enabled(self):
        for unit in ("perfd.service", "perfd.socket", "perfd-gpu.path"):
            self.assertEqual((unit, self.state(unit), self.inside("systemctl", "is-enabled", unit).stdout), (unit, "active", "enabled\n"))
        self.assertEqual(self.run_inside("stat", "-c", "%U:%a", "/var/lib/perfd").strip(), "perfd:700")
        self.assertEqual(self.submit().returncode, 0)
        self.run_inside("perfctl", "run", "--job", "first", "--", "true")
        self.assertEqual(json.loads(self.run_inside("perfctl", "report", "--json", "first"))["state"], "finished")
        self.run_inside("perfctl", "status")
        self.run_inside("systemctl", "reload", "perfd")
        self.assertEqual(self.run_inside("dpkg", "--verify"), "")

    def test_manuals_completion_scripts_and_library_are_in_place(self):
        for page in sorted((ROOT / "man").iterdir()):
            self.assertTrue((self.top / f"usr/share/man/man{page.suffix[1:]}/{page.name}.gz").is_file(), page)
        script = ". /usr/share/bash-completion/bash_completion; _completion_loader perfctl; complete -p perfctl"
        completed = self.run_inside("bash", "-c", script)
        self.assertRegex(completed, r"^complete .*perfctl$")
        self.assertIn("rank", self.run_inside("perfctl", "indicator", "--help"))
        environment = ("env", "SLURM_JOB_ID=7", "SLURM_JOB_UID=0", "SLURM_JOB_NAME=packaged")
        self.run_inside(*environment, "/usr/share/perfd/slurm/prolog")
        self.assertIn('"id":"7"', self.run_inside(*environment, "perfctl", "report", "--json").replace(" ", ""))
        self.run_inside(*environment, "/usr/share/perfd/slurm/epilog")
        self.assertEqual(json.loads(self.run_inside("perfctl", "report", "--json", "7"))["state"], "finished")
        library = self.run_inside("sh", "-c", "ldconfig -p | grep libperfd.so").split("=> ")[-1].strip()
        self.assertRegex(self.text(re.sub(r"libperfd.*", "pkgconfig/perfd.pc", library)), rf"libdir=/usr{os.path.dirname(library)}\n")


class Change(Installed):
    def test_an_upgrade_keeps_data_changed_files_and_the_open_job(self):
        self.assertEqual(self.submit("Before").returncode, 0)
        for path, line in ((CONFIG, "[sampling]\ninterval = 200ms\n"), (OWN_MODEL, "# own\n")):
            (self.top / path.lstrip("/")).write_text(self.text(path) + line)
        self.run_inside("systemctl", "reload", "perfd")
        self.run_inside("systemd-run", "--quiet", "--unit=open", "perfctl", "run", "--job", "open", "--", "sh", "-c",
                        "perfctl mark begun; while [ ! -e /run/go ]; do sleep 0.1; done; exit 3")
        show = ("perfctl", "report", "--json", "open")
        wait_for(lambda: self.inside(*show).returncode == 0, "the job")
        begun, pid = json.loads(self.run_inside(*show))["begin_ms"], self.run_inside("systemctl", "show", "-P", "MainPID", "perfd")
        # One submission after the other during the upgrade; it ends at the first that fails.
        submissions = subprocess.Popen([*self.enter, "sh", "-euc", "while [ ! -e /run/go ]; do perfctl submit /run/document; echo; done"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        (self.top / "run/document").write_text(json.dumps(harness.indicator("During")))
        self.install("newer", *self.packages)

        self.assertEqual((self.version(), self.state()), (NEWER, "active"))
        self.assertNotEqual(self.run_inside("systemctl", "show", "-P", "MainPID", "perfd"), pid)
        self.assertIn("interval = 200ms", self.text(CONFIG))
        self.assertNotIn("# newer", self.text(CONFIG))
        self.assertIn("# newer", self.text(CONFIG + ".dpkg-dist"))
        self.assertTrue(self.text(OWN_MODEL).endswith("# own\n"))
        self.assertTrue(self.text(NEW_MODEL).endswith("# newer\n"))
        self.assertEqual(json.loads(self.run_inside(*show))["state"], "running")
        (self.top / "run/go").touch()
        output, errors = submissions.communicate(timeout=TIMEOUT_S)
        self.assertEqual((submissions.returncode, errors), (0, ""))
        wait_for(lambda: json.loads(self.run_inside(*show))["state"] == "finished", "the end of the job")
        job = json.loads(self.run_inside(*show))
        self.assertEqual((job["begin_ms"], job["exit"]["status"]), (begun, 3))
        counts = {i["name"]: i["results"] for i in json.loads(self.run_inside("perfctl", "indicator", "list", "--json"))["indicators"]}
        self.assertEqual(counts, {"Before": 1, "During": output.count("\n\n")})

    def test_a_downgrade_below_the_format_of_the_database_is_reported(self):
        self.assertEqual(self.submit("Kept").returncode, 0)
        self.install("newer", *self.packages)
        self.run_inside("systemctl", "stop", "perfd.socket", "perfd.service")
        path = self.top / "var/lib/perfd/perfd.db"
        copy = shutil.copy(path, self.directory)  # SQLite resolves links, and would leave /proc/PID/root
        with contextlib.closing(sqlite3.connect(copy)) as database:
            format_number = database.execute("PRAGMA user_version").fetchone()[0]
            database.execute(f"PRAGMA user_version = {format_number + 1}")
        path.write_bytes(pathlib.Path(copy).read_bytes())
        said = self.install("this", *self.packages)
        self.assertIn(f"perfd.db has format {format_number + 1}, written by a newer perfd", said)
        self.assertEqual((self.version(), self.state()), (VERSION, "failed"))

        # The message names two ways: install the newer version again, or move the file away.
        path.rename(path.with_suffix(".db.newer"))
        self.run_inside("systemctl", "restart", "perfd.socket", "perfd.service")
        self.assertEqual(self.submit().returncode, 0)

    def test_a_downgrade_with_the_same_format_keeps_the_data(self):
        self.install("newer", *self.packages)
        self.assertEqual(self.submit("Kept").returncode, 0)
        self.install("this", *self.packages)
        self.assertEqual((self.version(), self.state()), (VERSION, "active"))
        self.assertIn("Kept", self.run_inside("perfctl", "indicator", "list"))

    def test_removal_keeps_data_and_purge_deletes_them(self):
        self.assertEqual(self.submit("Kept").returncode, 0)
        (self.top / "etc/perfd/perfd.conf.d/own.conf").write_text("[sampling]\ninterval = 200ms\n")
        self.run_inside("apt-get", "-qq", "-y", "remove", "perfd")
        for unit in ("perfd.service", "perfd.socket", "perfd-gpu.path", "perfd-gpu.service"):
            self.assertEqual((unit, self.state(unit)), (unit, "inactive"))
        self.assertFalse((self.top / "run/perfd").exists())
        self.assertTrue((self.top / "var/lib/perfd/perfd.db").exists())
        self.assertTrue((self.top / CONFIG.lstrip("/")).exists())
        self.run_inside("perfctl", "run", "--", "true")  # is not recorded

        self.install("this", *self.packages)
        self.assertIn("Kept", self.run_inside("perfctl", "indicator", "list"))

        self.run_inside("apt-get", "-qq", "-y", "purge", "perfd", "perfctl")
        left = self.inside("find", "/etc/perfd", "/etc/systemd/system", "/var/lib/perfd", "/var/lib/systemd", "/run/perfd", "/usr",
                           "-path", "*perf[dc]*", "-type", "f").stdout.split()
        self.assertEqual(left, ["/etc/perfd/perfd.conf.d/own.conf"])
        self.assertFalse((self.top / "var/lib/perfd").exists())
        # The user remains, without a password and a shell, so that its number is not used again.
        self.assertRegex(self.text("/etc/passwd"), r"(?m)^perfd:.*/nologin$")


if __name__ == "__main__":
    unittest.main()
