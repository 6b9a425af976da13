"""Wardens that were taken over: each answers a connection of the host with something else."""
import os
import socket
import struct
import threading

MAGIC = 0x7466646c
HELLO_OK, STARTED, NOT_STARTED, OUTPUT, STDIN_WINDOW, STDIN_CLOSED, EXIT, REFUSED = range(65, 73)


def frame(type_, channel=1, payload=b"", length=None, reserved=0):
    return struct.pack("<IHHI", len(payload) if length is None else length, type_, reserved, channel) + payload


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data + b"\0"


def hello(version=2, magic=MAGIC):
    return frame(HELLO_OK, 0, struct.pack("<II", magic, version))


def started(job=1):
    return frame(STARTED, 1, struct.pack("<I", job))


def output(data, stream=1):
    return frame(OUTPUT, 1, bytes([stream]) + data)


def ended(outcome=0, code=0, totals=(0, 0), channel=1):
    return frame(EXIT, channel, struct.pack("<BIQQQQQQ", outcome, code, 1, 1, 1, *totals, 0))


def forever(data):
    while True:
        yield data


GOOD = [hello(), started()]

# name: what it sends. A generator goes on until the host hangs up.
HOSTILE = {
    "nothing and hangs up": [],
    "garbage": [os.urandom(4096)],
    "zeros": [bytes(65536)],
    "text": [b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10],
    "huge length": [frame(HELLO_OK, 0, b"", length=0xffffffff)],
    "length just over the limit": [frame(OUTPUT, 1, b"", length=(1 << 20) + 1)],
    "reserved bytes": [frame(HELLO_OK, 0, struct.pack("<II", MAGIC, 2), reserved=1)],
    "wrong magic": [hello(magic=1)],
    "wrong version": [hello(version=99)],
    "short hello": [frame(HELLO_OK, 0, b"\0")],
    "no hello": [started(), ended()],
    "hello twice": [hello(), hello(), started(), ended()],
    "refused": [frame(REFUSED, 0, text("go away \x1b[31m\n\x9b"))],
    "refused with a huge reason": [frame(REFUSED, 0, text("x" * 1000000))],
    "refused without its end": [frame(REFUSED, 0, struct.pack("<I", 50) + b"x")],
    "unknown type": GOOD + [frame(999, 1)],
    "message of a client": GOOD + [frame(2, 1, b"")],
    "wrong channel": [hello(), frame(STARTED, 77, struct.pack("<I", 1))],
    "exit of another channel": GOOD + [ended(channel=77)],
    "started twice": GOOD + [started(), started(), ended()],
    "exit before started": [hello(), ended()],
    "exit with a strange outcome": GOOD + [ended(outcome=200)],
    "exit with a code of 256": GOOD + [ended(code=256)],
    "exit with a code of minus one": GOOD + [ended(code=0xffffffff)],
    "signal 0": GOOD + [ended(outcome=1, code=0)],
    "signal 65": GOOD + [ended(outcome=1, code=65)],
    "totals that were never sent": GOOD + [ended(totals=(1 << 63, 1 << 63))],
    "totals smaller than what was sent": GOOD + [output(b"x" * 1000), ended(totals=(1, 0))],
    "output of stream 0": GOOD + [output(b"x", stream=0)],
    "output of stream 3": GOOD + [output(b"x", stream=3)],
    "output of stream 255": GOOD + [output(b"x", stream=255)],
    "output without a stream": GOOD + [frame(OUTPUT, 1, b"")],
    "output without bytes": GOOD + [output(b"")] * 100 + [ended()],
    "output beyond its window": GOOD + [output(b"x" * 65536)] * 64,
    "one frame of output beyond its limit": GOOD + [output(b"x" * ((1 << 20) - 1))],
    "output after the exit": GOOD + [ended(), output(b"late")],
    "not started with 0": [hello(), frame(NOT_STARTED, 1, struct.pack("<II", 0, 0) + text("fine"))],
    "not started with escapes": [hello(), frame(NOT_STARTED, 1, struct.pack("<II", 127, 2) + text("\x1b]0;evil\x07\r\n"))],
    "stdin window without stdin": GOOD + [frame(STDIN_WINDOW, 1, struct.pack("<BI", 0, 0xffffffff))] * 3 + [ended()],
    "stdin window of stream 9": GOOD + [frame(STDIN_WINDOW, 1, struct.pack("<BI", 9, 1))],
    "cut in the middle of a frame": [hello(), started()[:7]],
    "one byte at a time": [bytes([byte]) for byte in hello() + started() + ended()],
}

ENDLESS = {
    "hello without end": lambda: forever(hello()),
    "output without end": lambda: (piece for part in ([hello(), started()], forever(output(b"x" * 60000))) for piece in part),
    "empty output without end": lambda: (piece for part in ([hello(), started()], forever(output(b"") * 1000)) for piece in part),
    "unknown frames without end": lambda: (piece for part in ([hello(), started()], forever(frame(4000, 1, b"x" * 1000))) for piece in part),
    "frames of other channels without end": lambda: (piece for part in ([hello(), started()], forever(frame(OUTPUT, 5, b"\1x") * 1000)) for piece in part),
    "stdin windows without end": lambda: (piece for part in ([hello(), started()], forever(frame(STDIN_WINDOW, 1, struct.pack("<BI", 0, 1 << 30)) * 1000)) for piece in part),
    "one frame that never ends": lambda: (piece for part in ([frame(REFUSED, 0, b"", length=1 << 20)], [b"x" * 1000]) for piece in part),
}


class Impostor:
    """Listens in the place of a box's warden and plays one script for each connection."""

    def __init__(self, path, script, hold=False):
        os.unlink(path)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(8)
        self.script, self.hold = script, hold
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.done.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(20)
                try:
                    connection.recv(65536)
                    for piece in self.script() if callable(self.script) else self.script:
                        connection.sendall(piece)
                        if self.done.is_set():
                            break
                    if self.hold:
                        self.done.wait(20)
                    else:
                        # What the host still sends must not turn into a reset that eats our bytes.
                        connection.shutdown(socket.SHUT_WR)
                        connection.settimeout(5)
                        while connection.recv(65536):
                            pass
                except OSError:
                    pass

    def close(self):
        self.done.set()
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        self.thread.join(30)
