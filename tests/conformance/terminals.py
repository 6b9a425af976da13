"""A real terminal for the command line, and a person in front of it."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import harness


class Terminal:
    """One command on a terminal of its own, which it controls."""

    def __init__(self, args, env, rows=33, columns=111, **options):
        self.master, self.slave = pty.openpty()
        self.size(rows, columns)
        # Nobody's defaults, so that "restored" does not mean "reset".
        modes = termios.tcgetattr(self.slave)
        modes[3] &= ~termios.ECHOK
        modes[6][termios.VWERASE] = b"\x18"
        termios.tcsetattr(self.slave, termios.TCSANOW, modes)
        self.before = termios.tcgetattr(self.slave)
        options.setdefault("stdin", self.slave)
        options.setdefault("stdout", self.slave)
        options.setdefault("stderr", self.slave)
        self.process = subprocess.Popen([*map(str, args)], env={"TERM": "xterm", **env}, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0),
                                        **options)
        self.seen = b""  # all of it
        self.used = 0    # how much expect() has passed

    def size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data, timeout=harness.PATIENCE):
        data = data.encode() if isinstance(data, str) else data
        end = time.monotonic() + timeout
        while data:
            ready = select.select([self.master], [self.master], [], max(0, end - time.monotonic()))
            assert ready[0] or ready[1], f"nobody reads what is typed; it shows {self.seen!r}, {self.process.poll()}"
            if ready[0]:
                self.pump(0)
            if ready[1]:
                # Not more than a terminal takes at once.
                data = data[os.write(self.master, data[:256]):]

    def pump(self, timeout):
        """Takes in what is there; false if nothing came."""
        if not select.select([self.master], [], [], timeout)[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def expect(self, pattern, timeout=harness.PATIENCE):
        """Waits until it is shown, after what was waited for before; the match."""
        regex = re.compile(pattern if isinstance(pattern, bytes) else pattern.encode(), re.S)
        end = time.monotonic() + timeout
        while True:
            found = regex.search(self.seen, self.used)
            if found:
                self.used = found.end()
                return found
            left = end - time.monotonic()
            if left <= 0 or not self.pump(left):
                raise AssertionError(f"not shown: {pattern!r}; it shows {self.seen[self.used:]!r}, after "
                                     f"{self.seen[:self.used]!r}, exit code {self.process.poll()}")

    def wait(self, timeout=harness.PATIENCE):
        """The exit code. Reads on, so that nothing waits for us."""
        end = time.monotonic() + timeout
        while self.process.poll() is None:
            self.pump(0.01)
            assert time.monotonic() < end, f"still running; it shows {self.seen!r}"
        while self.pump(0):
            pass
        return self.process.returncode

    def rest(self):
        """What was shown and not yet waited for."""
        while self.pump(0):
            pass
        return self.seen[self.used:]

    def restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def raw(self):
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ISIG | termios.ECHO)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)
        self.master = self.slave = -1
