"""Accessibility of all views: axe-core, the keyboard path, and that JavaScript is valid and its pure parts compute."""

import json
import shutil
import subprocess
import unittest

from harness import BUILD, ROOT
from page import EquippedCase, PageCase
from test_chromium import EQUIPPED, VIEWS

AXE = "axe-core@4.14.1"
INTEROP = BUILD / "interop"
DOWNLOAD_S = 240
RUN = """axe.run(document).then(({ violations, passes }) => passes.length < 10 ? [`only ${passes.length} rules`] : violations
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' ')}`))"""


def find_package(package, path):
    """Downloads a package with npm, for tests only. Returns the path of one of its files."""
    directory = INTEROP / package.replace("@", "-")
    file = directory / "node_modules" / path
    if file.exists():
        return file
    if not shutil.which("npm"):
        raise unittest.SkipTest(f"npm is not installed: it downloads {package} (apt-get install npm)")
    directory.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--fetch-timeout=30000", "--prefix", directory,
                               package], cwd=directory, capture_output=True, text=True, timeout=DOWNLOAD_S)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest(f"npm has not downloaded {package} within {DOWNLOAD_S} s") from None
    if done.returncode != 0:
        raise unittest.SkipTest(f"npm cannot download {package}: {done.stderr.strip()[-200:]}")
    return file


def check_views(case, views):
    script = find_package(AXE, "axe-core/axe.min.js").read_text()
    ids = case.fill()
    for width, is_dark in ((1280, False), (1280, True), (390, False), (390, True)):
        case.browser.resize(width, 800, is_dark)
        for view in views:
            with case.subTest(view=view, width=width, dark=is_dark):
                case.browser.open(case.base + view.format(**ids))
                case.shown()
                case.browser.evaluate(script + "; null")
                case.assertEqual(case.browser.evaluate(RUN), [], view)


class Equipped(EquippedCase):
    def test_axe_has_no_serious_finding_in_views_of_equipment(self):
        check_views(self, EQUIPPED)


class Accessible(PageCase):
    def test_axe_has_no_serious_finding_in_any_view(self):
        check_views(self, VIEWS)

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def focused(self):
        """The text of what has the focus, whose outline is seen."""
        text = self.browser.evaluate("(document.activeElement.ariaLabel || document.activeElement.innerText || '').trim()")
        outline = self.browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        at = self.browser.evaluate("(({left, top, right, bottom}) => right > 0 && bottom > 0 && left < innerWidth && "
                                   "top < innerHeight)(document.activeElement.getBoundingClientRect())")
        is_control = self.browser.evaluate("document.activeElement.matches('a, button, input, select, summary, .wide, .plot-box')")
        if is_control:
            self.assertNotEqual(outline, "none", f"the focus of {text!r} is not seen")
            self.assertTrue(at, f"the focus of {text!r} is outside of the window")
        return text

    def tab_to(self, wanted):
        """Moves on until an element of that text has the focus."""
        seen = []
        while not seen or seen[-1] != wanted:
            self.press("Tab", 9)
            seen.append(self.focused())
            self.assertLess(len(seen), 400, f"the focus never comes to {wanted!r}: {[text[:40] for text in seen[:60]]}")

    def enter(self, wanted, key=("Enter", 13, "\r")):
        """Goes to a link or button with the keyboard alone, and presses it."""
        self.browser.evaluate("window.scrollTo(0, 0)")
        before = self.browser.evaluate("location.hash")
        self.tab_to(wanted)
        self.press(*key)
        return before

    def follow(self, wanted, view):
        before = self.enter(wanted)
        self.browser.wait(f"location.hash !== {before!r} && location.hash.startsWith({view!r})", f"{view} after {wanted}")
        self.shown()
        self.assertEqual(self.browser.evaluate("document.activeElement.id"), "view", f"the focus is not in {view}")

    def test_the_keyboard_leads_through_all_views(self):
        self.fill()
        self.browser.resize(1280, 800)
        self.browser.open(self.base)
        self.shown()
        for wanted, view in (("Jobs", "#/jobs"), ("train", "#/job/"), ("KPIs", "#/kpis"), ("Search.elapsed", "#/kpi/"),
                             ("all KPIs", "#/kpis"), ("Pipelines", "#/pipelines"), ("Indicators", "#/indicators"),
                             ("PiMatmul", "#/indicator/"),
                             ("Health", "#/health"), ("Node", "#/node")):
            self.follow(wanted, view)

    def test_the_keyboard_works_inside_the_views(self):
        """Selects, compares, sorts, filters, opens what is folded, asks another question."""
        ids = self.fill()
        self.browser.resize(1280, 800)
        self.browser.open(self.base + "#/jobs")
        self.shown()
        for name in ("train", "failed"):
            self.enter(f"select {name}", (" ", 32, " "))
            self.browser.wait(f"location.hash.includes('pick={ids[name]}')", "the selection in the URL")
            self.browser.wait(f"document.activeElement.ariaLabel === 'select {name}'", "the focus in the new list")
        self.follow("Compare 2 jobs", "#/compare/")
        self.tab_to("Metrics that differ by more than 5 %")
        self.enter(self.browser.evaluate("document.querySelector('summary').innerText.trim()"))
        self.browser.wait("document.querySelector('details').open", "the equal facts")
        self.browser.open(self.base + "#/jobs")
        self.shown()
        self.enter("Took")
        self.browser.wait("location.hash.includes('sort=-duration')", "the order")
        self.shown()
        self.assertRegex(self.focused(), "^Took")
        self.press("/")
        for letter in "train":
            self.press(letter, ord(letter.upper()), letter)
        self.press("Enter", 13, "\r")
        self.browser.wait("location.hash.includes('search=train')", "the search")
        self.shown()
        self.follow("train", "#/job/")
        self.enter(self.browser.evaluate("document.querySelector('summary').innerText.trim()"))
        self.browser.wait("document.querySelector('details').open", "all metrics")
        self.browser.open(self.base + "#/kpis")
        self.shown()
        self.tab_to("KPI")
        for letter in "Search*":
            self.press(letter, 0, letter)
        self.press("Enter", 13, "\r")
        self.browser.wait("location.hash.includes('name=Search')", "the filter of KPIs")
        self.shown()
        self.follow("Search.elapsed", "#/kpi/")
        self.enter("copy")
        self.browser.open(self.base + "#/indicator/PiMatmul")
        self.shown()
        self.tab_to("Figure")
        self.press("ArrowDown", 40)
        self.browser.wait("location.hash.includes('kind=')", "another figure")
        self.shown()
        self.enter("Ask")
        self.browser.wait("location.hash.includes('objective=')", "the question in the URL")
        self.browser.open(self.base + "#/pipelines")
        self.shown()
        self.follow("loader", "#/pipelines/")
        self.assertEqual(self.browser.complaints, [])

    def test_the_keyboard_works_in_plots(self):
        self.fill()
        self.browser.resize(1280, 800)
        self.browser.open(self.base + "#/node?range=10m")
        self.shown()
        box = "CPU, all cores: arrow keys move through time, + and - change the range"
        legend = "document.querySelector('.plot .legend').innerText"
        self.browser.wait(f"{legend}.includes(':') && document.querySelector('.plot-box').offsetWidth > 0", "the values")
        self.tab_to(box)
        self.press("Home", 36)
        first = self.browser.evaluate(legend)
        self.press("ArrowRight", 39)
        self.browser.wait(f"{legend} !== {json.dumps(first)}", "the next point")
        self.press("ArrowLeft", 37)
        self.browser.wait(f"{legend} === {json.dumps(first)}", "the first point")
        self.press("+", 187, "+")
        self.browser.wait("location.hash.includes('from=')", "half of the time")
        self.shown()
        self.assertEqual(self.focused(), box)
        self.assertEqual(self.browser.complaints, [])


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
