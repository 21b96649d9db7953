"""A child process whose output is kept, and which is waited for by what it prints."""
import os
import re
import signal
import subprocess
import threading
import time


class ChildFailed(Exception):
    """The child ended, or did not say in time what was expected; carries the end of its log."""


class Child:
    """Owns one process and its log. Standard error goes to the log as well."""

    def __init__(self, name, argv, log_path, env=None, stdin=None):
        self.name = name
        self.log_path = log_path
        self._lines = []
        self._ended = False
        self._news = threading.Condition()
        self.process = subprocess.Popen(
            argv, env=env, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self):
        with open(self.log_path, "ab") as log:
            for raw in self.process.stdout:
                log.write(raw)
                log.flush()
                with self._news:
                    self._lines.append(raw.decode("utf-8", "replace").rstrip("\n"))
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    @property
    def pid(self):
        return self.process.pid

    def wait_for(self, pattern, seconds):
        """The match of the first line, past or future, that has `pattern` in it."""
        seen = 0
        until = time.monotonic() + seconds
        with self._news:
            while True:
                for line in self._lines[seen:]:
                    found = re.search(pattern, line)
                    if found:
                        return found
                seen = len(self._lines)
                left = until - time.monotonic()
                if self._ended or left <= 0:
                    break
                self._news.wait(left)
        why = "ended" if self._ended else f"was given {seconds} s"
        raise ChildFailed(f"{self.name}: nothing like {pattern!r} in its output and it {why}\n{self.tail()}")

    def tail(self, lines=40):
        """The end of the log, less Java's stack frames."""
        with self._news:
            kept = [line for line in self._lines if not line.startswith("\tat ")]
        return "\n".join(f"    {self.name}| {line}" for line in kept[-lines:])

    def stop(self, seconds=30):
        """SIGTERM, then the exit status. A child that does not go is killed and reported."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ChildFailed(f"{self.name}: still there {seconds} s after SIGTERM\n{self.tail()}") from None
        self._reader.join(5)
        return status

    def kill(self):
        """As a crash would end it."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join(5)
