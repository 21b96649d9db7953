"""Runs the real program: a folder of its own, port 0, a ready line to wait for, SIGTERM and exit status 0 at the end."""
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPEN_ACLS = """<configuration>
<property><name>default.key.acl.MANAGEMENT</name><value>*</value></property>
<property><name>default.key.acl.GENERATE_EEK</name><value>*</value></property>
<property><name>default.key.acl.DECRYPT_EEK</name><value>*</value></property>
<property><name>default.key.acl.READ</name><value>*</value></property>
</configuration>
"""
DEADLINE = 20


def binary():
    path = pathlib.Path(os.environ.get("FEATHERLOCK") or ROOT / "build" / "featherlock")
    assert os.access(path, os.X_OK), f"no program at {path}: run ./dev build, or name one with FEATHERLOCK="
    return str(path)


class Lines:
    """What a pipe said, line by line, with waiting."""

    def __init__(self, pipe):
        self.queue, self.seen = queue.Queue(), []
        threading.Thread(target=self._pump, args=(pipe,), daemon=True).start()

    def _pump(self, pipe):
        for line in pipe:
            self.queue.put(line.decode(errors="replace").rstrip("\n"))
        self.queue.put(None)

    def wait_for(self, pattern, timeout=DEADLINE):
        """The match of the next line that has the pattern; None at the end of the pipe."""
        while True:
            line = self.queue.get(timeout=timeout)
            if line is None:
                return None
            self.seen.append(line)
            if found := re.search(pattern, line):
                return found

    def rest(self):
        while (line := self.queue.get(timeout=DEADLINE)) is not None:
            self.seen.append(line)
        return self.seen


class Server:
    """One `featherlock kms`. flags override the defaults below; None takes one out."""

    def __init__(self, folder, acls=OPEN_ACLS, store="memory", environment=None, **flags):
        self.folder = pathlib.Path(folder)
        self.acls = self.folder / "kms-acls.xml"
        self.audit = self.folder / "audit.log"
        self.acls.write_text(acls)
        settings = {"http_bind": "127.0.0.1:0", "data_dir": self.folder / "data", "key_store": store, "token_store": store,
                    "authentication": "simple", "kms_acls": self.acls, "audit_file": self.audit, "reactors": 2, **flags}
        command = [binary(), "kms"]
        for name, value in settings.items():
            for one in value if isinstance(value, (list, tuple)) else [value]:
                if one is not None:
                    command.append(f"--{name}={one}")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                        env={**os.environ, **(environment or {})})
        self.out, self.log = Lines(self.process.stdout), Lines(self.process.stderr)
        self.ports = {}

    def ready(self):
        found = self.out.wait_for(r"^ready((?: https?=\S+)+) pid=(\d+)$")
        assert found, "no ready line\n" + self.tail()
        assert int(found.group(2)) == self.process.pid
        self.ports = {scheme: int(port) for scheme, port in re.findall(r"(https?)=127\.0\.0\.1:(\d+)", found.group(1))}
        return self

    @property
    def port(self):
        return self.ports["http"]

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=DEADLINE):
        return self.process.wait(timeout)

    def stop(self):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        assert self.wait() == 0, self.tail()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)

    def tail(self):
        self.kill()
        return "\n".join(self.log.rest()[-60:])

    def wait_for_audit(self, text):
        """The audit thread writes a moment after the answer."""
        end = time.monotonic() + DEADLINE
        while text not in self.audit.read_text():
            assert time.monotonic() < end, f"no {text!r} in the audit log\n" + self.audit.read_text()
            threading.Event().wait(0.005)

    def audit_lines(self):
        """Without their times."""
        return [line[24:] for line in self.audit.read_text().splitlines()]


def run(*arguments, **kwargs):
    """A program that ends by itself: status, standard output, standard error."""
    done = subprocess.run([binary(), *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE, check=False, **kwargs)
    return done.returncode, done.stdout, done.stderr
