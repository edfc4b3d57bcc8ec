"""Touch and re-plug the key for python-fido2's device tests, over HTTP.

The tests expect a Raspberry Pi Pico that closes a real key's contact and cuts its power, and name one of its ports:
`GET /` shows that it is there, `GET /usb{N}/touch/on|off` and `GET /usb{N}/power/on|off` act. An answer other than
200, or none within their limit (`be_patient`), fails their test.
"""

import re
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer

from support.authenticator import Authenticator

# A prompt waits for a touch, except for a first PIN: the standard requires no touch there, and these tests give none.
UNTOUCHED = {"CONFIRM": "wait", "GETPIN": "wait", "Set PIN": "approve"}

# The port of the key: the tests' `--pico-port`.
PORT = 1


class Controller:
    """Serve on a free loopback port inside a `with` statement.

    While touch is on, each prompt is granted; while it is off, prompts wait. Touch stays on at least until one prompt
    is granted: a timer of the tests turns it off ten seconds after the previous touch, even if the key has just asked
    again.
    """

    def __init__(self, key: Authenticator):
        self.key = key
        self.key.pinentry.set(UNTOUCHED)
        self.granted_before = 0
        self.server = HTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def touch(self, on: bool):
        granted = len(self.key.pinentry.events("answer"))
        if on:
            self.granted_before = granted
            self.key.pinentry.set("approve")
        elif granted > self.granted_before:
            self.key.pinentry.set(UNTOUCHED)

    def power(self, on: bool):
        if on:
            self.key.power_cycle()
        else:
            self.key.ask("device", "detach")

    def perform(self, path: str) -> HTTPStatus:
        """Perform a request's action completely before returning."""
        if path == "/":
            return HTTPStatus.OK
        request = re.fullmatch(rf"/usb{PORT}/(touch|power)/(on|off)", path)
        if not request:
            return HTTPStatus.NOT_FOUND
        action = self.touch if request[1] == "touch" else self.power
        action(request[2] == "on")
        return HTTPStatus.OK

    def handler(self):
        controller = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                try:
                    status = controller.perform(self.path)
                except AssertionError as failure:  # of `liquid-auth`
                    return self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, explain=str(failure))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
