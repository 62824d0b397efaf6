"""Ten questions of users, each answered within three clicks of the first page, with the data of a perfd that has run real jobs."""

import json
import threading
import unittest

import harness
from page import PageCase

N_CLICKS_MAX = 3
# Question: links and buttons to click, in order, and expressions that the page then matches.
QUESTIONS = {
    "which jobs failed last night, and why": (
        ("Jobs", "failed, last 24 h"),
        (r"failed \(exit 3\)\s+the command.s own exit status", r"killed \(signal 9\)\s+SIGKILL",
         r"failed \(exit 127\)\s+the command was not found")),
    "did my job use what it was given": (
        ("Jobs", "train"),
        (r"Allocated and used by the job itself", r"CPUs\s+[\d.]+ of \d+, peak",
         r"Memory(, peak\s+\S+ \w+ of|\s+The controller is not enabled)")),
    "what limits my training's input": (
        ("Pipelines",), (r"The training loop waited for data [\d.]+ % of the time", r"confidence: \w+", "Limited by")),
    "did the newest version get slower, since when, how sure": (
        ("KPIs", "Search.elapsed"), (r"regression: \+[\d.]+\s%\s\(\+[\d.]+\s%\sto\s\+[\d.]+\s%\) since 1\.11\.0",
         "changed at 1.11.0")),
    "how do these two runs differ": (
        ("Jobs", "train", "compare"), ("What differs", r"label epoch\s+\d\s+\d", "Metrics that differ")),
    "which of these versions is best": (
        ("Indicators", "PiMatmul"), (r"c [\d.]+ is best: median [\d.]+\sms of 5 runs; lower is better", "unlikely to be chance")),
    "was the node disturbed while my benchmark ran, by whom": (
        ("Jobs", "benchmark"), ("Others on the node during the job", r"CPUs that others used\s+[\d.]+ of \d+",
                                r"Job at the same time\s+User\s+CPUs used\s+Begin\s+neighbour\s+\w+")),
    "what did the node do at 03:00": (
        ("24h",), ("CPU, all cores", "Memory", "Disks", "Network", "Jobs")),
    "is perfd healthy, what does it cost": (
        ("Health",), (r"CPU time, of one CPU\s+[\d.]+\s%", r"Memory\s+[\d.]+\sMiB", "takes data", "in force")),
    "who uses up the store": (
        ("Health",), (r"Who uses the store\s+User\s+Stored\s+May store\s+Refused\s+\S.*[\d.]+\sKiB",)),
}

CLICK = """(text) => {
    const is = (e) => e.checkVisibility() && e.innerText.trim() === text, target = [...document.querySelectorAll('a, button')].find(is);

    target?.scrollIntoView();
    target?.click();
    return Boolean(target);
}"""


class Questions(PageCase):
    def test_each_is_answered_within_three_clicks(self):
        self.assertEqual(len(QUESTIONS), 10)
        self.fill()
        self.shell("perfctl run --name train --label project=web --label epoch=4 -- sleep 0.5")
        self.shell("perfctl run --name missing -- sh -c none-such-command")
        endless = "perfctl run --name neighbour -- sh -c 'while [ ! -e \"$PERFD_SOCKET.end\" ]; do :; done'"
        neighbour = threading.Thread(target=self.shell, args=(endless,))
        neighbour.start()
        self.addCleanup(neighbour.join)
        try:
            harness.wait_for(lambda: self.server.get("/api/v1/jobs?name=neighbour").json["jobs"], "the neighbour")
            self.shell("perfctl run --name benchmark -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'")
        finally:
            (self.server.socket.parent / (self.server.socket.name + ".end")).touch()
        neighbour.join()
        for question, (clicks, answers) in QUESTIONS.items():
            with self.subTest(question):
                self.assertLessEqual(len(clicks), N_CLICKS_MAX)
                self.browser.open(self.base)
                self.shown()
                for text in clicks:
                    self.browser.wait(f"({CLICK})({json.dumps(text)})", f"a link '{text}'")
                    self.shown()
                for answer in answers:
                    self.wait_match(answer)
        self.assertEqual(self.browser.complaints, [])


if __name__ == "__main__":
    unittest.main()
