"""A headless Chromium, driven by the DevTools protocol over two pipes, without another package."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PLACE = "SUMWISE_CHROMIUM"
# Seconds without an answer, after which a test fails.
_PATIENCE = 60
# Nothing outside the page is asked for, and no service of the browser's maker.
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--hide-scrollbars",
)


def find_chromium() -> str | None:
    """Return the program: that of SUMWISE_CHROMIUM, or one on PATH; None on Windows."""
    if os.name != "posix":  # the pipes are file descriptors 3 and 4
        return None
    given = os.environ.get(_PLACE)
    if given:
        return shutil.which(given)
    return next(filter(None, map(shutil.which, _NAMES)), None)


WHERE_TO_GET_IT = (
    f"no Chromium on PATH, and {_PLACE} names none: on Debian and Ubuntu, `apt-get install "
    "chromium`; elsewhere, install Chrome or Chromium and set the variable to the program. These "
    "tests do not run on Windows"
)


class Browser:
    """One page in a running Chromium."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer = reader, writer
        self._buffer = b""
        self._n_sent = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    # --- messages ---

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come first are kept."""
        self._n_sent += 1
        message = {"id": self._n_sent, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._n_sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._reader], [], [], _PATIENCE)[0]:
                raise TimeoutError(f"no answer from Chromium for {_PATIENCE} s")
            read = os.read(self._reader, 1 << 20)
            if not read:
                raise RuntimeError("Chromium has ended")
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def wait_for(self, method: str) -> None:
        """Wait for an event."""
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._receive())

    # --- pages ---

    def open_tab(self) -> None:
        """Open an empty page, and record what it logs and requests."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        found = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def resize(self, width: int, height: int = 900) -> None:
        """Set the size of the window; narrow ones are phones."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def prefer(self, scheme: str) -> None:
        """Set the color scheme of the system: light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def open(self, path: Path) -> None:
        """Load a file."""
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri())
        self.wait_for("Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def list_errors(self) -> list[str]:
        """Return what the page has logged: errors, warnings and exceptions."""
        self.ask("1")  # events that are under way come first
        names = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(e["params"]) for e in self.events if e.get("method") in names]

    def list_requests(self) -> list[str]:
        """Return the addresses that the page has asked for."""
        sent = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    # --- a user ---

    def locate(self, selector: str) -> tuple[float, float]:
        """Scroll to an element and return its middle."""
        quoted = json.dumps(selector)
        # Pages hear of scrolling in the next frame.
        place = self.ask(
            f"(async () => {{ const e = document.querySelector({quoted});"
            "e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});"
            "for (let k = 0; k < 2; k++) await new Promise(requestAnimationFrame);"
            "const b = e.getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        return place[0], place[1]

    def hover(self, selector: str) -> None:
        """Move the mouse to an element."""
        x, y = self.locate(selector)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click an element."""
        x, y = self.locate(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def capture(self, path: Path, whole: bool = True) -> None:
        """Write a picture of the page."""
        found = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def start_browser(program: str) -> Iterator[Browser]:
    """Start a Chromium with a profile that is removed at the end."""
    from_us, to_browser = os.pipe()
    from_browser, to_us = os.pipe()

    def connect() -> None:  # the browser reads from 3 and writes to 4
        os.dup2(from_us, 103)
        os.dup2(to_us, 104)
        os.dup2(103, 3)
        os.dup2(104, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *_FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=connect,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        try:
            browser = Browser(from_browser, to_browser)
            browser.open_tab()
            yield browser
        finally:
            process.terminate()
            process.wait(20)
            os.close(to_browser)
            os.close(from_browser)
