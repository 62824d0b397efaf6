"""Looks at the page while samples come as events, in Chromium."""

import unittest

from harness import wait_for
from page import PageCase

SHOW = ("Object.defineProperty(document, 'hidden', {{ value: {}, configurable: true }}); "
        "document.dispatchEvent(new Event('visibilitychange'))")
MANY = """import('./figures/cores.js').then(({ cores }) => {
    const strip = cores(), times_ms = Array.from({ length: 600 }, (_, i) => 1e12 + 1000 * i);
    document.body.append(strip.element);
    const all = Array.from({ length: %d }, (_, core) => times_ms.map((_, i) => (core ? i %% 101 : null)));
    strip.set({ times_ms, cores: all }, 1e12, 1e12 + 6e5);
    const canvas = strip.element.querySelector('canvas');
    return [canvas.height, canvas.clientHeight <= 256, canvas.getAttribute('aria-label').split(',')[0]]; })"""


class Live(PageCase):
    def open(self, view):
        self.browser.open(f"{self.base}{view}")
        self.shown()

    def held(self):
        return self.server.metrics()['perfd_quota_held{resource="streams"}']

    def test_a_visible_page_has_a_stream_and_a_hidden_one_none(self):
        self.open("#/node")
        wait_for(lambda: self.held() == 1, "the stream of the page")
        label = "document.querySelector('.heat canvas').getAttribute('aria-label')"
        self.browser.wait(f"{label} !== {self.browser.evaluate(label)!r}", "the next sample")
        self.browser.evaluate(SHOW.format("true"))
        wait_for(lambda: self.held() == 0, "the end of the stream")
        self.browser.evaluate(SHOW.format("false"))
        wait_for(lambda: self.held() == 1, "the stream of the page")
        self.browser.evaluate("location.hash = '#/jobs'")
        wait_for(lambda: self.held() == 0, "the end of the stream of a view without")
        self.assertEqual(self.browser.complaints, [])

    def test_a_running_job_has_a_stream_until_it_ends(self):
        with self.server.client() as client:
            self.assert_status(client.begin("runs", name="runs"), "OK")
            self.open("#/job/runs")
            wait_for(lambda: self.held() == 1, "the stream of the job")
            legend = "[...document.querySelectorAll('.legend time')].map((e) => e.innerText).join()"
            self.browser.wait(f"{legend} !== {self.browser.evaluate(legend)!r}", "the next sample in the plots")
            self.assert_status(client.end("runs", 0), "OK")
        self.wait_text("finished")
        wait_for(lambda: self.held() == 0, "the end of the stream")
        self.assertEqual(self.browser.complaints, [])

    def test_a_clock_that_jumps_is_said(self):
        self.open("#/node")
        wait_for(lambda: self.held() == 1, "the stream of the page")
        label = "document.querySelector('.heat canvas').getAttribute('aria-label')"
        self.browser.wait(f"{label} !== {self.browser.evaluate(label)!r}", "a sample")
        self.browser.evaluate("((now) => (performance.now = () => now.call(performance) - 60000))(performance.now); null")
        self.browser.wait("document.querySelector('#banner').innerText.includes('Time has jumped')", "the banner")
        self.browser.wait("document.querySelector('#banner').hidden", "the end of the banner")
        self.assertEqual(self.browser.complaints, [])

    def test_a_strip_has_a_row_for_each_of_256_cores(self):
        self.open("#/health")
        self.assertEqual(self.browser.evaluate(MANY % 256), [256, True, "255 cores"])
        self.assertEqual(self.browser.evaluate(MANY % 1), [1, True, "No core is known yet"])
        self.assertEqual(self.browser.evaluate(MANY % 600)[:2], [200, True])


if __name__ == "__main__":
    unittest.main()
