"""A running page for tests, and the ways to speak to it without a browser."""

import json
import urllib.error
import urllib.request
from contextlib import contextmanager

from websockets.sync.client import connect

from kmle.explorer.launch import Running


@contextmanager
def running(source, **options):
    """A server that ends with the test."""
    server = Running(source, **options)
    try:
        yield server
    finally:
        server.stop()


def get(address, **headers):
    """Status, headers and content of an answer."""
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, dict(refusal.headers), refusal.read()


class Talk:
    """A page without a browser."""

    def __init__(self, address):
        origin = "/".join(address.split("/")[:3])
        self.opening = connect(address.replace("http", "ws") + "socket", origin=origin, max_size=None)
        self.number = 0

    def __enter__(self):
        self.socket = self.opening.__enter__()
        self.welcome = self.receive()
        return self

    def __exit__(self, *raised):
        self.opening.__exit__(*raised)

    def receive(self, timeout=30):
        return json.loads(self.socket.recv(timeout=timeout))

    def send(self, topic, **content):
        self.number += 1
        self.socket.send(json.dumps({"topic": topic, "number": self.number, **content}))
        return self.number

    def until(self, condition):
        """The first answer for which the condition holds."""
        while True:
            answer = self.receive()
            if condition(answer):
                return answer

    def fit(self, **settings):
        """The fit to all rows, or the refusal."""
        number = self.send("fit", settings={"columns": self.welcome["chosen"], **settings})
        return self.until(
            lambda answer: (
                answer["topic"] == "fit"
                and answer["number"] == number
                and (answer.get("stage") == "all" or "wrong" in answer)
            )
        )
