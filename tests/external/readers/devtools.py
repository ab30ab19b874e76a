# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium that is driven over a pipe, and a server of files for its pages."""

import base64
import contextlib
import functools
import http.server
import json
import os
import pathlib
import select
import subprocess
import tempfile
import threading
import time

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
           "--remote-debugging-pipe", "--window-size=1600,1000")


def version_of(browser):
    told = subprocess.run([browser, "--version"], capture_output=True, text=True, check=True).stdout
    return next(word for word in told.split() if word[0].isdigit())


class Handler(http.server.SimpleHTTPRequestHandler):
    """The files of a folder, and texts at paths of their own."""

    def __init__(self, *words, texts, **more):
        self.texts = texts
        super().__init__(*words, **more)

    def do_GET(self):
        text = self.texts.get(self.path)
        if text is None:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


class Server:
    def __init__(self, folder):
        self.texts = {}
        handler = functools.partial(Handler, texts=self.texts, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Page:
    """One page of one Chromium; messages are JSON that ends with a zero byte, on descriptors 3 and 4."""

    def __init__(self, browser, folder, limit_s=120):
        self.deadline = time.monotonic() + limit_s
        self.count, self.buffer = 0, b""
        told, theirs_out = os.pipe()
        theirs_in, self.asks = os.pipe()
        profile = tempfile.mkdtemp(dir=folder)
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "sh", browser, *OPTIONS, f"--user-data-dir={profile}"],
            pass_fds=(theirs_in, theirs_out), env=os.environ | {"HOME": str(folder)}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(theirs_in), os.close(theirs_out)
        self.told, self.session = told, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def receive(self):
        while b"\0" not in self.buffer:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.told], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.told, 1 << 20)
            if not part:
                raise EOFError("the browser has gone")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.asks, text):]
        while (answer := self.receive()).get("id") != self.count:
            pass
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def go(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        """Of JavaScript, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]["exception"].get("description", answer)
        return answer["result"].get("value")

    def wait_for(self, expression):
        while not self.value(expression):
            assert time.monotonic() < self.deadline, f"never came true: {expression}"
            time.sleep(0.2)

    def picture(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        os.close(self.asks), os.close(self.told)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@contextlib.contextmanager
def serve(browser, web, folder, texts):
    """A page, and the address of a server of the files in `web` and of these texts by their paths."""
    server = Server(web)
    server.texts.update(texts)
    try:
        with Page(browser, folder) as page:
            yield page, server.address
    finally:
        server.close()
