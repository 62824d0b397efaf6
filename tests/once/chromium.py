"""Drives a headless Chromium over its pipe, with the DevTools protocol: no other program and no network is needed."""

import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import time
import unittest

from harness import TIMEOUT_S

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--hide-scrollbars", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--remote-debugging-pipe", "about:blank")


class Browser:
    """A browser with one page. complaints: what a developer would see in red; requests: URLs that were asked for."""

    def __init__(self, profile):
        if not PROGRAM:
            raise unittest.SkipTest("chromium is not installed (make interop-deps)")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec 3<&{commands} 4>&{answers}; exec "$@"', "sh", PROGRAM, f"--user-data-dir={profile}", *ARGUMENTS],
            pass_fds=(commands, answers), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.buffer, self.n, self.session = b"", 0, None
        self.complaints, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        with contextlib.suppress(OSError):
            self.call("Browser.close")
        self.process.terminate()
        self.process.wait(TIMEOUT_S)
        os.close(self.commands)
        os.close(self.answers)

    def read_message(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise OSError("the browser has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        method, what = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in what["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(what["exceptionDetails"].get("exception", {}).get("description", str(what)))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{what['entry']['text']} {what['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def call(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT_S
        while (answer := self.read_message(deadline)).get("id") != self.n:
            self.note(answer)
        if "error" in answer:
            raise OSError(f"{method}: {answer['error']}")
        return answer["result"]

    def evaluate(self, expression):
        """The value of an expression of JavaScript, which may be a promise."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"].get("exception", {}).get("description", str(result)))
        return result["result"].get("value")

    def wait(self, expression, what):
        deadline = time.monotonic() + TIMEOUT_S
        while not (value := self.evaluate(expression)):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: {self.evaluate('document.body.innerText')}")
            time.sleep(0.05)
        return value

    def resize(self, width, height, is_dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def open(self, url):
        """Loads a page anew."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)

    def screenshot(self, path):
        height = self.evaluate("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.evaluate("innerWidth"), "height": height, "scale": 1}
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(image))
