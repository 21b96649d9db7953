"""The Java client: as a driver that is asked call by call, and as the `hadoop key` command."""
import json
import os
import pathlib
import subprocess
import tempfile

from . import jars

QUIET = """\
log4j.rootLogger=ERROR, err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=%p %c{1} - %m%n
"""


class Raised(Exception):
    """What a call of the Java client threw."""

    def __init__(self, java_class, message, causes):
        super().__init__("; because of ".join([f"{java_class}: {message}", *causes]))
        self.java_class, self.message = java_class, message or ""


class Driver:
    """One JVM with any number of clients in it."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        (folder / "log4j.properties").write_text(QUIET)
        found = jars.fetch()
        command = jars.java_command(f"{folder}:{jars.driver_classes(found)}:{found}/*", "KmsDriver",
                                    "-Dlog4j.configuration=log4j.properties")
        self.log = open(folder / "driver.log", "wb+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        encoding="utf-8")

    def ask(self, **call):
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise AssertionError(f"the Java driver ended at {call}\n{self.log.read().decode('utf-8', 'replace')[-3000:]}")
        answer = json.loads(line)
        if "raised" in answer:
            raise Raised(answer["raised"], answer["message"], answer["causes"])
        return answer["ok"]

    def open(self, provider, user="alice", **more):
        return Client(self, self.ask(do="open", provider=provider, user=user, **more))

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()
        self.log.close()


class Client:
    """One user's client; a call of the driver is a method: client.getMetadata(name="k")."""

    def __init__(self, driver, number):
        self._driver, self._number = driver, number

    def __getattr__(self, call):
        return lambda **arguments: self._driver.ask(do=call, on=self._number, **arguments)


def provider(*servers):
    """The provider URI of one server, or of several that share a port."""
    ports = {s.port for s in servers}
    assert len(ports) == 1, f"the hosts of one provider share a port, these have {ports}"
    return f"kms://http@{';'.join(s.host for s in servers)}:{ports.pop()}/kms"


def hadoop_key(*arguments, server, user="alice"):
    """Runs the command as a person would; the finished process with its output."""
    with tempfile.TemporaryDirectory() as conf:
        (pathlib.Path(conf) / "log4j.properties").write_text(QUIET)
        command = jars.java_command(f"{conf}:{jars.fetch()}/*", "org.apache.hadoop.crypto.key.KeyShell",
                                    "-Dlog4j.configuration=log4j.properties")
        return subprocess.run([*command, *arguments, "-provider", provider(server)], env=dict(os.environ, HADOOP_USER_NAME=user),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=120)
