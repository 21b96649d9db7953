"""Starts our KMS and demands that it goes as it should: a ready line, a drain on SIGTERM, exit status 0."""
import os
import pathlib

from .jars import PeerMissing
from .process import Child

ROOT = pathlib.Path(__file__).resolve().parents[3]


def binary():
    path = pathlib.Path(os.environ.get("FEATHERLOCK") or ROOT / "build" / "featherlock")
    if not os.access(path, os.X_OK):
        raise PeerMissing(f"no program at {path}: run ./dev build, or name one with FEATHERLOCK=")
    return str(path)


class FeatherlockKms:
    """One running `featherlock kms`. `folder` is its own; a store already in it is used on."""

    name = "featherlock"

    def __init__(self, folder, acls, proxy_users=(), host="127.0.0.1", port=0, store="lmdb", flags=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.audit_file = self.folder / "kms-audit.log"
        command = [binary(), "kms", f"--http_bind={host}:{port}", f"--data_dir={self.folder}/data",
                   f"--key_store={store}", f"--token_store={store}", "--authentication=simple", f"--kms_acls={acls}",
                   f"--audit_file={self.audit_file}",
                   *(f"--proxyuser={proxy.flag()}" for proxy in proxy_users), *flags]
        self.child = Child("featherlock", command, self.folder / "kms.log")
        try:
            ready = self.child.wait_for(r"^ready http=(\S+):(\d+) .*pid=(\d+)$", 20)
        except Exception:
            self.child.kill()
            raise
        self.host, self.port = ready.group(1), int(ready.group(2))

    @property
    def url(self):
        return f"http://{self.host}:{self.port}/kms/v1"

    def stop(self):
        status = self.child.stop()
        if status != 0:
            raise AssertionError(f"featherlock kms ended with {status} after SIGTERM, not 0\n{self.child.tail()}")

    def crash(self):
        self.child.kill()

    def log(self):
        return self.child.tail()
