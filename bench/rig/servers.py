"""The servers that are measured: ours and nginx, each on the cores it is given."""
import os
import pathlib
import re
import socket
import subprocess
import time

from kit.process import Child, ChildFailed

from . import machine
from .cost import pinned
from .errors import CannotMeasure
from .web import Site

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = "TLS_AES_128_GCM_SHA256"
ACLS = ROOT / "tests" / "interop" / "kit" / "conf" / "open-acls.xml"


def binary():
    path = pathlib.Path(os.environ.get("FEATHERLOCK") or ROOT / "build" / "featherlock")
    if not os.access(path, os.X_OK):
        raise CannotMeasure(f"no program at {path}: run ./dev build, or name one with FEATHERLOCK=")
    return str(path)


def certificate(folder):
    """(certificate, key): ECDSA P-256, self-signed."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    if not cert.exists():
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "30", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", str(key), "-out", str(cert)], check=True, stderr=subprocess.DEVNULL)
    return cert, key


class Featherlock:
    """Ours. `folder` is its own; a store already in it is used on."""

    name = "featherlock"

    def __init__(self, folder, store="lmdb", cores=machine.ALL_CORES, reactors=None, tls=None, audit=True):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        argv = [binary(), "kms", "--http_bind=127.0.0.1:0", f"--data_dir={self.folder}/data", f"--key_store={store}",
                f"--token_store={store}", "--authentication=simple", f"--kms_acls={ACLS}"]
        if audit:
            argv.append(f"--audit_file={self.folder}/kms-audit.log")
        if reactors is not None:
            argv.append(f"--reactors={reactors}")
        if tls is not None:
            argv += ["--https_bind=127.0.0.1:0", f"--http_certificate_file={tls[0]}",
                     f"--http_private_key_file={tls[1]}", "--http_tls_min_protocol=TLSv1.3",
                     f"--http_tls_ciphersuites={SUITE}"]
        began = time.monotonic()
        self.child = Child("featherlock", pinned(cores, argv), self.folder / "kms.log")
        try:
            ready = self.child.wait_for(r"^ready http=(\S+):(\d+) (?:https=(\S+):(\d+) )?pid=(\d+)$", 60)
        except ChildFailed as e:
            self.child.kill()
            raise CannotMeasure(str(e)) from None
        self.start_seconds = time.monotonic() - began
        self.plain = Site(ready.group(1), int(ready.group(2)))
        self.secure = Site(ready.group(3), int(ready.group(4)), secure=True) if ready.group(3) else None
        self.pid = int(ready.group(5))

    def stop(self):
        if self.child.stop() != 0:
            raise CannotMeasure(f"featherlock did not end well\n{self.child.tail()}")

    def discard(self):
        self.child.kill()


CONF = """\
daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/temp1;
    proxy_temp_path {folder}/temp2;
    fastcgi_temp_path {folder}/temp3;
    uwsgi_temp_path {folder}/temp4;
    scgi_temp_path {folder}/temp5;
    server {{
        listen 127.0.0.1:{plain};
        listen 127.0.0.1:{secure} ssl;
        ssl_certificate {cert};
        ssl_certificate_key {key};
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites {suite};
        ssl_session_tickets off;
        location / {{ default_type application/json; return 200 '{body}'; }}
    }}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Nginx:
    """One worker that answers everything with the same bytes."""

    name = "nginx"

    def __init__(self, folder, body, tls, cores):
        if re.search(r"['\\$]", body):
            raise CannotMeasure(f"nginx can't be given this body: {body!r}")
        folder.mkdir(parents=True, exist_ok=True)
        ports = free_port(), free_port()
        (folder / "nginx.conf").write_text(CONF.format(folder=folder, plain=ports[0], secure=ports[1], cert=tls[0],
                                                       key=tls[1], suite=SUITE, body=body))
        self.child = Child("nginx", pinned(cores, ["/usr/sbin/nginx", "-p", folder, "-c", folder / "nginx.conf"]),
                           folder / "nginx.log")
        self.pid = self.child.pid                   # taskset becomes the program
        self.plain, self.secure = Site("127.0.0.1", ports[0]), Site("127.0.0.1", ports[1], secure=True)
        self._wait_for_answer(body)

    def _wait_for_answer(self, body):
        until = time.monotonic() + 20
        while True:
            try:
                status, _, got = self.plain.ask("GET", "/")
                break
            except ConnectionRefusedError:
                if self.child.process.poll() is not None or time.monotonic() > until:
                    raise CannotMeasure(f"nginx does not answer\n{self.child.tail()}") from None
        if (status, got) != (200, body.encode()):
            raise CannotMeasure(f"nginx answers {status} {got[:200]!r}")

    def stop(self):
        self.child.stop()

    def discard(self):
        self.child.kill()
