"""Accessibility of all views: axe-core, the keyboard path, and that JavaScript is valid and its pure parts compute."""

import shutil
import subprocess
import unittest

from harness import BUILD, ROOT
from page import PageCase
from test_chromium import VIEWS

AXE = "axe-core@4.14.1"
DIRECTORY = BUILD / "interop" / "axe"
RUN = """axe.run(document).then(({ violations, passes }) => passes.length < 10 ? [`only ${passes.length} rules`] : violations
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' ')}`))"""


def find_axe():
    """Downloads axe-core with npm, for tests only. Returns its script."""
    script = DIRECTORY / "package" / "axe.min.js"
    if script.exists():
        return script
    if not shutil.which("npm"):
        raise unittest.SkipTest("npm is not installed: it downloads axe-core (apt-get install npm)")
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(["npm", "pack", "--silent", AXE], cwd=DIRECTORY, capture_output=True, text=True)
    if packed.returncode != 0:
        raise unittest.SkipTest(f"npm cannot download {AXE}: {packed.stderr.strip()[-200:]}")
    subprocess.run(["tar", "xzf", packed.stdout.split()[-1]], cwd=DIRECTORY, check=True)
    return script


class Accessible(PageCase):
    def test_axe_has_no_serious_finding_in_any_view(self):
        script = find_axe().read_text()
        ids = self.fill()
        for is_dark in (False, True):
            self.browser.resize(1280, 800, is_dark)
            for view in VIEWS:
                with self.subTest(view=view, dark=is_dark):
                    self.browser.open(self.base + view.format(**ids))
                    self.shown()
                    self.browser.evaluate(script + "; null")
                    self.assertEqual(self.browser.evaluate(RUN), [], view)

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def test_all_views_are_reached_with_the_keyboard(self):
        self.fill()
        self.browser.resize(1280, 800)
        self.browser.open(self.base)
        self.shown()
        seen = set()
        for view in ("Jobs", "KPIs", "Pipelines", "Indicators", "Health", "Node"):
            for _ in range(200):
                self.press("Tab", 9)
                focus = self.browser.evaluate("document.activeElement.innerText ?? ''").strip()
                if focus == view:
                    break
            self.assertEqual(focus, view)
            outline = self.browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            self.assertNotEqual(outline, "none", f"the focus of {view} is not seen")
            self.press("Enter", 13, "\r")
            self.browser.wait(f"document.querySelector('#nav a[aria-current=page]')?.innerText === '{view}'", view)
            self.shown()
            seen.add(self.browser.evaluate("location.hash"))
        self.assertEqual(len(seen), 6)


class Scripts(unittest.TestCase):
    def test_node_accepts_the_syntax_and_the_unit_tests_pass(self):
        node = shutil.which("node") or shutil.which("nodejs")
        if not node:
            raise unittest.SkipTest("node is not installed: it checks the scripts of the page (apt-get install nodejs)")
        for path in sorted((ROOT / "web").glob("[af]*/*.js")):
            done = subprocess.run([node, "--check", "--input-type=module"], input=path.read_bytes(), capture_output=True)
            self.assertEqual(done.returncode, 0, f"{path}: {done.stderr.decode()}")
        done = subprocess.run([node, "--test", ROOT / "tests" / "once" / "figures.test.mjs"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
