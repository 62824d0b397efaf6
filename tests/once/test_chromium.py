"""Opens all views of the web page in Chromium, with the data of a daemon that has run real jobs."""

import os
import pwd
import unittest

from harness import BUILD, Machine
from page import EquippedCase, PageCase

SCREENSHOTS = BUILD / "screenshots"
# View: texts that it shows.
VIEWS = {
    "#/node": ("CPU, all cores", "Each core", "Pressure", "Memory in use", "killed (signal 9)", "Time at or over a utilization", "Disks"),
    "#/node?range=24h": ("CPU, all cores",),
    "#/jobs": ("failed (exit 3)", "killed (signal 9)", "finished", "project=web", "\\u{202e}"),
    "#/jobs?state=failed": ("failed (exit 3)", "killed (signal 9)"),
    "#/jobs?search=none-such": ("No job meets these conditions",),
    "#/jobs?sort=-duration": ("finished",),
    "#/job/{train}": ("Allocated and used", "load", "compute", "perfctl report", "metrics"),
    "#/job/{killed}": ("killed (signal 9)",),
    "#/job/{evil}": ("<img src=x onerror=alert(1)>",),
    "#/job/nosuch": ("Not found", "no job 'nosuch'", "Back"),
    "#/compare/{train},{failed}": ("What differs", "project", "Metrics that differ"),
    "#/kpis": ("regression", "Search.elapsed", "1.11.0"),
    "#/kpi/Search.elapsed?component=example&where=%40parameters.words%3D4800":
        ("changed at 1.11.0", "perfctl kpi accept Search.elapsed -w words=4800"),
    "#/pipelines": ("The training loop waited", "confidence"),
    "#/pipelines/{loader}": ("The training loop waited", "decode", "confidence", "Average Time", "The number of tasks executed", "Failures",
                             "Throughput", "Data Readiness", "Queue Get Time", "Queue Put Time"),
    "#/pipelines/rank-0": ("2 ranks beside each other", "Mean task by rank", "Readiness by rank", "2 events ("),
    "#/indicators": ("PiMatmul", "Search"),
    "#/indicator/PiMatmul": ("Latest results", "best: the lowest median", "elapsed of PiMatmul", "boxes: quartiles"),
    "#/indicator/PiMatmul?kind=distribution&x=component&legend=&facet=matrix_size": ("matrix_size 48", "each of the newest 200 runs"),
    "#/indicator/Search?kind=line&x=time&legend=version": ("elapsed of Search",),
    "#/indicator/PiMatmul?objective=rate&by=component": ("best: the highest median",),
    "#/health": ("perfd itself", "takes data", "/proc/stat", "in force", f"{pwd.getpwuid(os.getuid()).pw_name} (administrator)"),
    "#/none": ("Not found", "no page 'none'"),
}
# The same of a node with equipment, and words that no view of a node without has.
EQUIPPED = {
    "#/node": ("GPUs active", "2 GPUs", "SM active", "39.9\u00a0%", "1011\u00a0MiB of 140\u00a0GiB", "440\u00a0W", "Network file systems",
               "/home", "mlx5_0:1", "DOWN", "Energy", "package-0", "Fabric", "Power"),
    "#/health": ("GPUs and fabric", "port mlx5_1:1 is down", "/run/perfd-gpu/readings"),
    "#/jobs": ("GPUs used", "of 2"),
    "#/job/{first}": ("2 GPUs of the job", "Over 20, 40, 80 %", "GPUs of the node, SM active", "Energy of processors and memory, its share",
                     "Fabric", "GPUs of the job", "utilization ", "Memory of the job's GPUs", "Power of the job's GPUs"),
    "#/job/{second}": ("1 GPU of the job", "not found on the node", "GPU-77"),
    "#/compare/{first},{second}": ("2 NVIDIA H200", "node_gpu_hours"),
}
ABSENT = ("GPU", "Fabric", "Network file systems", "Energy", "Power")
SIZES = {"1280": (1280, 800, False), "390": (390, 844, False), "dark": (1280, 800, True)}

# Calls of web/app/format.js and url.js, with what perfctl prints for the same numbers.
PURE = (
    ("(line => joinTimelines([line(0, []), line(20, [1, 2]), line(60, [3])], 10).series.cpu.min)"
     "((begin_ms, mean) => ({begin_ms, series: {cpu: {mean, min: mean, max: mean}}}))", [1, 2, None, None, 3]),
    # Equipment has series in those parts only in which it was there.
    ("(line => joinTimelines([line(0, {}), line(20, {power: {unit: 'watts', mean: [7, 8]}})], 10).series.power.mean)"
     "((begin_ms, more) => ({begin_ms, series: {cpu: {mean: [1, 2]}, ...more}}))", [None, None, 7, 8]),
    ("(recent => (append(recent, {times_ms: [3], series: {cpu: [3], power: [7]}, cores: []}), append(recent, {times_ms: [4], "
     "series: {cpu: [4]}, cores: []}), [recent.series.cpu, recent.series.power]))({times_ms: [1, 2], series: {cpu: [1, 2]}, cores: []})",
     [[1, 2, 3, 4], [None, None, 7, None]]),
    ("equipmentPlots({cpu: {}})", []), ("jobGpuPlots({cpu: {}, power: {}})", []),
    ("jobGpuPlots({cpu: {}, gpus_utilized: {}, gpu_memory: {}}).map((p) => p.series.map((s) => s.name))", [["utilization"], ["in use"]]),
    ("equipmentPlots({cpu: {}, power: {}, netfs_read: {}, netfs_written: {}}).map((p) => [p.label, p.names, p.series.length])",
     [["Power", ["power"], 1], ["Network file systems", ["netfs_read", "netfs_written"], 2]]),
    ("failures({})", []),
    ("failures({gpus: [{gpu: '0', state: 'ok'}, {gpu: '1', state: 'lost'}], "
     "fabric_ports: [{port: 'a/1', fabric_active: 0, fabric_sent_bytes: 0}, {port: 'b/1', fabric_active: 0, fabric_sent_bytes: 4}]})",
     ["GPU 1: lost", "port b/1 is down"]),
    ("jobGpuModels([{model: 'A'}, {model: 'B'}, {model: 'A'}, {model: null}])", "2 A, 1 B, 1 of an unknown model"),
    ("jobGpuNumbers([{gpu: '1', sm_active: 0.5, utilization: null}, {gpu: null}]).map((n) => [n[0], quantity(n[1], n[2])])",
     [["gpu 1 sm_active", "50.0\u00a0%"]]),
    ("watts(0)", "0.0\u00a0W"), ("watts(312.4)", "312\u00a0W"), ("joules(99949)", "99949\u00a0J"), ("joules(3.6e6)", "3.600\u00a0MJ"),
    ("quantity(0.5, 'gpus')", "0.50"), ("watts(undefined)", "–"),
    ("bytes(0)", "0\u00a0B"), ("bytes(1023)", "1.00\u00a0KiB"), ("bytes(1536)", "1.50\u00a0KiB"),
    ("bytes(64 * 2 ** 30)", "64.0\u00a0GiB"), ("bytes(-2048)", "-2.00\u00a0KiB"), ("bytes(1e30)", "888178419700125\u00a0PiB"),
    ("bytes(null)", "–"), ("bytes(NaN)", "–"), ("seconds(0.05)", "50\u00a0ms"), ("seconds(3)", "3\u00a0s"),
    ("seconds(5.9647)", "5.96\u00a0s"), ("seconds(12.34)", "12.3\u00a0s"), ("seconds(245)", "4\u00a0min\u00a005\u00a0s"),
    ("seconds(3599.9)", "59\u00a0min\u00a059\u00a0s"), ("seconds(3600)", "1\u00a0h\u00a000\u00a0min"),
    ("seconds(90061)", "1\u00a0d\u00a001\u00a0h"), ("seconds(-1)", "–"), ("percent(0.613)", "61.3\u00a0%"),
    ("percent(undefined)", "–"), ("cpus(2)", "2"), ("cpus(0.7926)", "0.79"), ("cpus(12.34)", "12.3"), ("count(2.98)", "3"),
    ("count(3.14)", "3.1"), ("figure(603.215, 'us')", "603.215\u00a0us"), ("figure(1234567)", "1,234,567"), ("figure(1234)", "1234"),
    ("figure(0.0000012)", "1.2e-06"), ("change(2.2626)", "+226.3\u00a0%"), ("change(-0.05)", "−5.0\u00a0%"),
    ("quantity(50, '%')", "50.0\u00a0%"), ("quantity(2, 'MiB')", "2.00\u00a0MiB"), (r"plain('a\u001b[2J\u202e')", r"a\x1b[2J\u{202e}"),
    ("cut('x'.repeat(10240), 10)", "xxxxxxxxx…"), ("jobState({state: 'running', exit: null}).text", "running"),
    ("jobState({state: 'finished', exit: {status: 0, signal: 0}}).tone", "ok"),
    ("jobState({state: 'finished', exit: {status: 137, signal: 9}}).text", "killed (signal 9)"),
    ("jobState({state: 'finished', exit: {status: 3, signal: 0}}).tone", "bad"),
    ("jobState({state: 'interrupted', exit: null}).tone", "odd"),
    ("build('jobs', '', {state: 'running', label: ['a=b', 'c=d'], user: ''})", "#/jobs?state=running&label=a%3Db&label=c%3Dd"),
    ("build('job', 'a/b?c#d')", "#/job/a%2Fb%3Fc%23d"), ("parse(build('job', 'a/b?c#d')).argument", "a/b?c#d"),
    ("parse('').view", "node"), ("parse('#/job/%').argument", "%"),
    ("parse('#/jobs?label=a%3Db&label=c').params.getAll('label').join()", "a=b,c"), ("ofPath('jobs/x', '')", "#/job/x"),
    ("ofPath('indicators/a', '?by=version')", "#/indicator/a?by=version"), ("ofPath('', '')", None),
    ("range(new URLSearchParams('range=1h'), 4e6).from", 400000), ("range(new URLSearchParams('range=evil'), 1e6).name", "10m"),
    ("range(new URLSearchParams('from=1000&to=2000'), 1e6).live", False),
)

NAMES = ("bytes, seconds, percent, cpus, count, figure, change, quantity, watts, joules, plain, cut, jobState, build, parse, ofPath, "
         "range, joinTimelines, append, equipmentPlots, failures, jobGpuModels, jobGpuNumbers, jobGpuPlots")


class Views(PageCase):
    def check_view(self, url, texts, name):
        self.browser.open(self.base + url)
        text = self.shown()
        for words in texts:
            self.assertIn(words, text, url)
        self.browser.screenshot(SCREENSHOTS / f"{name}.png")
        wider = self.browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        self.assertLessEqual(wider, 0, f"{name} is wider than the window")
        self.assertEqual(self.count("img, script:not([src]), [onerror]"), 0, url)
        # Each control has a name, and each link a target, for keyboards and screen readers.
        self.assertEqual(self.count("a:not([href]), input:not([aria-label]), button:empty"), 0, url)


class Page(Views):
    def test_each_view_in_each_size(self):
        ids = self.fill()
        SCREENSHOTS.mkdir(exist_ok=True)
        for size, (width, height, is_dark) in SIZES.items():
            self.browser.resize(width, height, is_dark)
            for i, (url, texts) in enumerate(VIEWS.items()):
                with self.subTest(size=size, view=url):
                    words = "".join(c if c.isalnum() else "-" for c in url[2:].split("?")[0].split("/")[0].strip("{}"))
                    self.check_view(url.format(**ids), texts if size != "390" else texts[:1], f"{i:02}-{words}-{size}")
        complaints = [text for text in self.browser.complaints if "404" not in text or "/jobs/nosuch" not in text]
        self.assertEqual(complaints, [])
        outside = {url for url in self.browser.requests if not url.startswith((self.base, "about:", "data:"))}
        self.assertEqual(outside, set())
        print(f"@screenshots {SCREENSHOTS}")

    def test_numbers_and_urls_are_those_of_perfctl(self):
        self.browser.open(self.base)
        self.shown()
        for expression, expected in PURE:
            value = self.browser.evaluate("Promise.all(['format', 'url', 'node', 'equipment'].map((name) => import(`./app/${name}.js`)))"
                                          ".then((m) => { "
                                          f"const {{ {NAMES} }} = Object.assign({{}}, ...m); return {expression}; }})")
            self.assertEqual(value, expected, expression)

    def test_the_page_says_that_perfd_is_away_and_recovers(self):
        self.browser.open(self.base + "#/jobs")
        self.shown()
        self.server.stop()
        self.browser.wait("document.querySelector('#banner').innerText.includes('perfd is away, trying again')", "the banner")
        self.assertEqual(self.browser.evaluate("document.querySelector('#pulse').innerText"), "no answer")
        self.server.start()
        self.browser.wait("document.querySelector('#banner').hidden", "the end of the banner")
        self.assertEqual(self.browser.evaluate("document.querySelector('#pulse').innerText"), "healthy")
        with self.server.client() as client:
            self.assert_status(client.begin("later", name="begun-later"), "OK")
        self.wait_text("begun-later")

    def test_paths_of_earlier_versions_lead_to_the_view(self):
        with self.server.client() as client:
            self.assert_status(client.begin("x", name="by-path"), "OK")
        self.browser.open(self.base + "jobs/x")
        self.wait_text("by-path")
        self.assertEqual(self.browser.evaluate("location.hash"), "#/job/x")
        self.browser.open(self.base + "some/where")
        self.wait_text("Not found")

    def test_jobs_are_compared_by_keyboard_and_filtered_by_the_form(self):
        with self.server.client() as client:
            for job in ("a", "b"):
                self.assert_status(client.begin(job, name=f"job-{job}", labels={"k": job}), "OK")
        self.browser.open(self.base + "#/jobs")
        self.browser.wait("document.querySelectorAll('#view input[type=checkbox]').length === 2", "the jobs")
        self.browser.evaluate("document.querySelectorAll('#view input[type=checkbox]').forEach((box) => box.click())")
        self.browser.wait("location.hash.includes('pick=a') && location.hash.includes('pick=b')", "the selection in the URL")
        self.wait_text("Compare 2 jobs")
        self.browser.evaluate("[...document.querySelectorAll('#view a')].find((a) => a.innerText === 'Compare 2 jobs').click()")
        self.wait_text("label k")
        self.browser.evaluate("location.hash = '#/jobs'")
        self.browser.wait("document.querySelector('#view input[name=label]') !== null", "the form")
        self.browser.evaluate("document.querySelector('#view input[name=label]').value = 'k=b'")
        self.browser.evaluate("document.querySelector('#view form').requestSubmit()")
        self.browser.wait("document.querySelectorAll('#view tbody tr').length === 1", "one job")
        self.wait_text("job-b")
        self.assertIn("label=k%3Db", self.browser.evaluate("location.hash"))


class EquippedPage(Views, EquippedCase):

    def test_equipment_is_in_the_views_in_each_size(self):
        ids = self.fill()
        SCREENSHOTS.mkdir(exist_ok=True)
        for size, (width, height, is_dark) in SIZES.items():
            self.browser.resize(width, height, is_dark)
            for i, (url, texts) in enumerate(EQUIPPED.items()):
                with self.subTest(size=size, view=url):
                    name = url[2:].split("/")[0]
                    self.check_view(url.format(**ids), texts, f"equipped-{i}-{name}-{size}")
        self.assertEqual(self.browser.complaints, [])

    def test_rates_of_each_item_follow(self):
        self.browser.open(self.base + "#/node")
        self.shown()
        self.wait_match(r"mlx5_0:1 InfiniBand\s+ACTIVE\s+100\sGbit/s\s+\d.*MiB/s\s+\d.*MiB/s")
        self.wait_match(r"/home\s+nfs4, 10.0.0.7:/export/home\s+1\.\d+\sMiB/s")
        self.wait_match(r"package-0.*\s+\d+(\.\d)?\sW")


class BarePage(PageCase):
    def root(self):
        return Machine(self.temporary_directory()).directory

    def test_nothing_of_equipment_is_in_the_views_of_a_node_without(self):
        done = self.shell("perfctl run --job first -- sleep 1 && perfctl run --job second -- sleep 1")
        self.assertEqual(done.returncode, 0, done.stderr)
        for url in EQUIPPED:
            self.browser.open(self.base + url.format(first="first", second="second"))
            self.assertEqual([words for words in ABSENT if words in self.shown()], [], url)


if __name__ == "__main__":
    unittest.main()
