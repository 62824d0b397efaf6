#!/usr/bin/python3
"""Measures libraries for plots: the same five figures in one Chromium, under the Content-Security-Policy of the web page.

bench/figures.py downloads the libraries with npm, serves them on this machine, and prints a table.
"""

import gzip
import http.server
import mimetypes
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLICY = "default-src 'self'"
FIGURES = ("day", "heat", "boxes", "distribution", "facets")
N_RUNS = 5
# Name: files of the package, files of the page that do what the library does not, and the package for npm.
LIBRARIES = {
    "uplot": (("uplot/dist/uPlot.iife.min.js", "uplot/dist/uPlot.min.css"),
              [f"figures/{name}.js" for name in ("chart", "cores", "data", "scale", "timeseries")], ["uplot@1.6.32"]),
    "plot": (("d3/dist/d3.min.js", "@observablehq/plot/dist/plot.umd.min.js"), [], ["@observablehq/plot@0.6.17", "d3@7.9.0"]),
    "echarts": (("echarts/dist/echarts.min.js",), [], ["echarts@6.1.0"]),
}
PAGE = """<!doctype html><html lang="en" data-library="{name}"><head><meta charset="utf-8"><title>{name}</title>
<link rel="stylesheet" href="/web/app/style.css">{files}<script type="module" src="/bench/page.js"></script></head><body></body></html>"""


def serve(packages):
    """Serves the pages, the packages and the parts of the tree on a port of this machine."""
    places = {"packages": packages, "web": ROOT / "web", "bench": ROOT / "bench" / "figures"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):  # noqa: N802 (the name is that of http.server)
            first, _, rest = self.path.lstrip("/").partition("/")
            if first in LIBRARIES:
                tags = (f'<link rel="stylesheet" href="/packages/{f}">' if f.endswith(".css") else f'<script src="/packages/{f}"></script>'
                        for f in LIBRARIES[first][0])
                body, kind = PAGE.format(name=first, files="".join(tags)).encode(), "text/html"
            elif first in places and (places[first] / rest).is_file():
                body, kind = (places[first] / rest).read_bytes(), mimetypes.guess_type(rest)[0]
            else:
                self.send_response(204)  # of an icon
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/"


def wire_bytes(paths):
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths)


def measure(browser, url):
    """Returns the median time of each figure, and what the browser complains of in one run."""
    runs = []
    for _ in range(N_RUNS):
        browser.complaints.clear()
        browser.open(url)
        try:
            browser.wait("window.result", url)
        except AssertionError:
            sys.exit(f"{url} draws nothing: {browser.complaints}")
        runs.append(browser.evaluate("window.result"))
    return {name: statistics.median(run[name] for run in runs) for name in FIGURES}, list(browser.complaints)


HEAD = f"""
## Libraries for plots

`bench/figures.py`: five figures in one Chromium under `{POLICY}`, medians of {N_RUNS} runs, from the call until the frame is
painted: a day of 8,640 points with zoom and crosshair (Observable Plot has no zoom), a strip of 256 cores and 600 samples, boxes of 10
versions with 2,000 values, the same with the points, and 6 panels of points. Bytes are those of the minified files, compressed
with gzip -9.
"""


def measure_libraries(directory, browser):
    packages = pathlib.Path(directory, "node_modules")
    wanted = [package for _, _, names in LIBRARIES.values() for package in names]
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", directory, *wanted], check=True)
    base = serve(packages)
    browser.resize(1280, 800)
    print("| library | over the wire | " + " | ".join(FIGURES) + " | violations of the policy |")
    print("|---" * (len(FIGURES) + 3) + "|")
    for name, (files, own, names) in LIBRARIES.items():
        times, complaints = measure(browser, base + name)
        size = wire_bytes([packages / f for f in files] + [ROOT / "web" / f for f in own])
        violations = [c for c in complaints if "Content Security Policy" in c]
        print(f"| {' and '.join(names)}{' with web/figures' if own else ''} | {size / 1024:.0f} KiB | "
              + " | ".join(f"{times[figure]:.0f} ms" for figure in FIGURES) + f" | {len(violations)} |")


def measure_figures(_run=None):
    print(HEAD)
    sys.path[:0] = [str(ROOT / "tests" / "once"), str(ROOT / "tests" / "system")]
    import chromium

    if not chromium.PROGRAM or not shutil.which("npm"):
        print("Not measured: chromium or npm is not installed (make interop-deps).")
        return
    with tempfile.TemporaryDirectory(prefix="perfd-figures-") as directory:
        browser = chromium.Browser(f"{directory}/profile")
        try:
            measure_libraries(directory, browser)
        finally:
            browser.close()


if __name__ == "__main__":
    measure_figures()
