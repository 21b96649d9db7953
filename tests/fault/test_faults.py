"""Disks that fill up, files that don't fit, signals at bad moments: each refusal says what to do, nothing acknowledged is lost,
and the server lives on."""
import os
import random
import re
import resource
import select
import signal
import ssl
import stat
import subprocess
import threading
import time

import pytest
from server import DEADLINE, OPEN_ACLS, Server, binary
from wire import Connection, as_user, ask, create, new_token, with_token

ROUNDS = int(os.environ.get("FEATHERLOCK_ROUNDS", "12"))
KEYS = as_user("/kms/v1/keys")
NAMES = as_user("/kms/v1/keys/names")


@pytest.fixture
def start(tmp_path):
    started = []

    def starter(*args, **kwargs):
        started.append(Server(tmp_path, *args, **kwargs))
        return started[-1].ready()

    yield starter
    for server in started:
        if server.process.poll() is None:
            server.stop()
        print("\n".join(server.log.rest()))


def wait_until(claim, what):
    end = time.monotonic() + DEADLINE
    while not claim():
        assert time.monotonic() < end, what
        threading.Event().wait(0.005)


def replace(path, text):
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    beside.replace(path)


# ---- full disks: a limit on the size of files, set and lifted while the server runs, fails its writes as a full disk does

def fill_disk(server, most_bytes):
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))


def free_disk(server):
    fill_disk(server, resource.RLIM_INFINITY)


def create_until_refused(server, label):
    made = []
    for i in range(5000):
        answer = ask(server, "POST", KEYS, {"name": f"{label}{i}", "description": "d" * 2000})
        if answer.status != 201:
            return made, answer
        made.append(f"{label}{i}")
    raise AssertionError("5000 keys fit on a full disk")


def test_a_full_disk_refuses_changes_and_loses_nothing(start, tmp_path):
    server = start(store="lmdb")
    token = new_token(server)
    fill_disk(server, (tmp_path / "data" / "data.mdb").stat().st_size + (256 << 10))
    made, answer = create_until_refused(server, "k")
    assert answer.status == 500 and "disk full" in answer.exception()[1] and str(tmp_path / "data") in answer.exception()[1]
    assert len(made) > 10 and sorted(ask(server, "GET", NAMES).json()) == sorted(made)
    assert ask(server, "GET", f"/kms/v1/key/{made[-1]}", headers=with_token(token)).status == 200    # verification goes on
    free_disk(server)
    made.append(create(server, "later")["name"])
    server.kill()
    again = start(store="lmdb")
    assert sorted(ask(again, "GET", NAMES).json()) == sorted(made)
    assert ask(again, "GET", "/kms/v1/key/later", headers=with_token(token)).json()["versions"] == 1


def test_a_full_disk_at_the_start_is_told(tmp_path):
    failed(tmp_path, 1, ["disk full", str(tmp_path / "data")], limit="ulimit -f 4", store="lmdb", audit_file=None)


def test_what_was_answered_is_in_the_audit_log_though_its_disk_was_full(start):
    server = start(audit_window="20ms", reactors=1)
    fill_disk(server, 64 << 10)
    recorded, status = [], 200
    with Connection(server.port) as c:
        while status == 200:
            assert len(recorded) < 200000, "an audit log of 64 KiB took 200,000 records"
            batch = range(len(recorded), len(recorded) + 50)
            c.send("".join(f"GET {as_user(f'/kms/v1/key/k{i}')} HTTP/1.1\r\nHost: h\r\n\r\n" for i in batch))
            for i, answer in [(i, c.receive()) for i in batch]:
                status = answer.status
                if status == 200:
                    recorded.append(i)
        assert status == 503
    assert server.log.wait_for("the audit log can't be written: .*; requests are refused when its memory is full")
    free_disk(server)
    wait_until(lambda: ask(server, "GET", as_user("/kms/v1/key/last")).status == 200, "the audit log has room, and requests are refused")
    assert server.log.wait_for("the audit log is written again")
    server.stop()
    lines = server.audit_lines()
    assert all(re.match(r"OK\[op=GET_METADATA, key=\w+, user=alice\] ", line) for line in lines), "a line is half there"
    seen = [int(m.group(1)) for line in lines if (m := re.search(r"key=k(\d+),", line))]
    assert len(seen) == len(set(seen)) and set(recorded) <= set(seen), "an answered request is not in the log"


# ---- what can't work at the start

def failed(folder, status, words, limit="true", **flags):
    """Runs under a shell's limit; one sentence with the words on standard error, and no ready line."""
    shell = folder / "limited"
    shell.write_text(f'#!/bin/sh\n{limit}\nexec "{binary()}" "$@"\n')
    shell.chmod(0o700)
    before = os.environ.get("FEATHERLOCK")
    os.environ["FEATHERLOCK"] = str(shell)
    try:
        server = Server(folder, **flags)
    finally:
        os.environ.pop("FEATHERLOCK") if before is None else os.environ.update(FEATHERLOCK=before)
    try:
        assert server.wait() == status
        sentence = [line for line in server.log.rest() if line.startswith("featherlock kms: ")]
        assert len(sentence) == 1 and all(w in sentence[0] for w in words), server.log.seen
        assert server.out.rest() == []
    finally:
        server.kill()


def certificate(folder, name):
    pem, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    f"/CN={name}", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(pem)],
                   check=True, capture_output=True)
    return pem, key


def test_what_does_not_fit_is_told_with_what_to_do(start, tmp_path):
    (pem, key), (_, other_key) = certificate(tmp_path, "one"), certificate(tmp_path, "two")
    text, folder = tmp_path / "text", tmp_path / "in-use"
    text.write_text("neither a key nor a folder")
    secure = {"https_bind": "127.0.0.1:0", "http_certificate_file": pem}
    failed(tmp_path, 1, [str(other_key), str(pem), "doesn't belong"], **secure, http_private_key_file=other_key)
    failed(tmp_path, 1, [str(text), "PEM"], **{**secure, "http_certificate_file": text}, http_private_key_file=key)
    failed(tmp_path, 1, [str(text)], **secure, http_private_key_file=text)
    failed(tmp_path, 1, ["/proc/nowhere"], store="lmdb", data_dir="/proc/nowhere")
    failed(tmp_path, 2, [str(text), "data folder"], store="lmdb", data_dir=text)
    failed(tmp_path, 1, ["/nowhere/audit"], audit_file="/nowhere/audit")
    failed(tmp_path, 1, ["60 open files", "ulimit -n"], limit="ulimit -n 60")
    server = start(store="lmdb", data_dir=folder)
    failed(tmp_path, 1, [f"127.0.0.1:{server.port}", "choose another port"], http_bind=f"127.0.0.1:{server.port}")
    failed(tmp_path, 1, [str(folder), "in use", str(server.process.pid)], store="lmdb", data_dir=folder)
    server.stop()
    text.chmod(0o600)
    failed(tmp_path, 1, ["passphrase", str(text)], store="lmdb", data_dir=folder, keystore_password_file=text)
    assert ask(start(store="lmdb", data_dir=folder), "GET", NAMES).text == "[ ]"       # what was refused harmed nothing


# ---- few descriptors

FORBIDDEN = OPEN_ACLS.replace("</configuration>", "<property><name>hadoop.kms.blacklist.GET_KEYS</name><value>alice</value></property></configuration>")


def served(connections):
    return [c for c in connections if select.select([c.socket], [], [], 0)[0]]


def test_clients_cannot_take_the_descriptors_that_the_server_needs(start, tmp_path):
    shell = tmp_path / "limited"
    shell.write_text(f'#!/bin/sh\nulimit -n 112\nexec "{binary()}" "$@"\n')     # 80 for two reactors, 32 for connections
    shell.chmod(0o700)
    before = os.environ.get("FEATHERLOCK")
    os.environ["FEATHERLOCK"] = str(shell)
    try:
        server = start()
    finally:
        os.environ.pop("FEATHERLOCK") if before is None else os.environ.update(FEATHERLOCK=before)
    assert server.log.wait_for("at most 32 connections are taken, not --max_connections=10000: only 112 open files are allowed")
    crowd = [Connection(server.port) for _ in range(60)]
    for c in crowd:
        c.send(f"GET {NAMES} HTTP/1.1\r\nHost: h\r\n\r\n")
    wait_until(lambda: len(served(crowd)) == 32, "32 connections have room")
    replace(server.acls, FORBIDDEN)
    server.signal(signal.SIGHUP)
    assert server.log.wait_for("ACLs taken from")
    first = served(crowd)
    for c in first:
        assert c.receive().status == 200
        c.close()
    for c in set(crowd) - set(first):           # they waited in the kernel
        assert c.receive().status == 403
        c.close()


# ---- signals under load

class Load:
    """Clients that ask one thing again and again, each answer counted by its status. A connection that ends between answers
    ends its client; one that ends within an answer is an error."""

    def __init__(self, port, make, clients=4, tls=None):
        self.statuses, self.errors, self.made, self.ended = {}, [], [], threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(port, make, i, tls), daemon=True) for i in range(clients)]
        for t in self.threads:
            t.start()

    def _run(self, port, make, label, tls):
        count, c = 0, None
        try:
            while not self.ended.is_set():
                if c is None or tls is not None:        # over TLS each request makes its handshake
                    c = Connection(port, tls=tls)
                count += 1
                name, request = make(f"{label}-{count}")
                answer = c.ask(*request)
                self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
                if answer.status == 201:
                    self.made.append(name)
                if tls is not None:
                    c.close()
                if answer.first("Connection") == "close":
                    return
        except (EOFError, OSError) as e:
            if c is not None and c.buffer or isinstance(e, ssl.SSLError):
                self.errors.append(repr(e))

    def wait_for(self, count):
        wait_until(lambda: sum(self.statuses.values()) >= count or self.errors, f"{count} answers didn't come")

    def end(self):
        self.ended.set()
        for t in self.threads:
            t.join(DEADLINE)
            assert not t.is_alive(), "a client still waits for an answer"
        assert not self.errors, self.errors[:3]


def creation(label):
    name = f"k{label}"
    return name, ("POST", KEYS, f'{{"name":"{name}"}}', ("Content-Type: application/json",))


def listing(_):
    return None, ("GET", NAMES)


def test_sigterm_under_load_answers_whole_and_keeps_what_it_answered(start):
    made = []
    for turn in range(max(2, ROUNDS // 6)):
        server = start(store="lmdb")
        load = Load(server.port, lambda label, turn=turn: creation(f"{turn}-{label}"), clients=6)
        load.wait_for(20)
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        load.end()
        assert set(load.statuses) <= {201}
        made += load.made
    names = set(ask(start(store="lmdb"), "GET", NAMES).json())
    assert set(made) <= names, f"acknowledged keys are gone: {sorted(set(made) - names)[:5]}"


def state_of(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as text:
        return text.read().rsplit(") ", 1)[1][0]


def test_a_stopped_server_goes_on_where_it_was(start):
    server = start(store="lmdb")
    token = new_token(server)
    load = Load(server.port, creation)
    for i in range(max(3, ROUNDS // 4)):
        load.wait_for(20 * (i + 1))
        server.signal(signal.SIGSTOP)
        wait_until(lambda: state_of(server) == "T", "the server doesn't stop")
        c = Connection(server.port)         # the kernel takes it
        c.send(f"GET /kms/v1/keys/names HTTP/1.1\r\nHost: h\r\nX-Hadoop-Delegation-Token: {token}\r\n\r\n")
        server.signal(signal.SIGCONT)
        assert c.receive().status == 200
        c.close()
    load.end()
    assert set(load.statuses) == {201}
    assert set(load.made) <= set(ask(server, "GET", NAMES).json())


def test_a_storm_of_reloads_with_changing_acls_disturbs_no_request(start):
    server = start()
    load = Load(server.port, listing)
    chance = random.Random(ROUNDS)
    for i in range(ROUNDS * 10):
        replace(server.acls, chance.choice([OPEN_ACLS, FORBIDDEN, "<configuration><broken", ""]))
        server.signal(signal.SIGHUP)
        load.wait_for(5 * i)
    load.wait_for(1000)
    load.end()
    assert set(load.statuses) <= {200, 403} and load.statuses[200] > 0
    for acls, status in ((FORBIDDEN, 403), (OPEN_ACLS, 200)):
        replace(server.acls, acls)
        server.signal(signal.SIGHUP)
        wait_until(lambda status=status: ask(server, "GET", NAMES).status == status, "the last ACLs are not in force")


def test_certificates_change_under_load_without_a_failed_handshake(start, tmp_path):
    pairs = [certificate(tmp_path, name) for name in ("first", "second")]
    pem, key = tmp_path / "used.pem", tmp_path / "used.key"

    def use(chain, private):
        replace(pem, chain.read_text())
        replace(key, private.read_text())
        key.chmod(stat.S_IRUSR)
        server.signal(signal.SIGHUP)

    pem.write_text(pairs[0][0].read_text())
    key.write_text(pairs[0][1].read_text())
    server = start(https_bind="127.0.0.1:0", http_certificate_file=pem, http_private_key_file=key)
    anyone = ssl.create_default_context(cadata="".join(p.read_text() for p, _ in pairs))
    load = Load(server.ports["https"], listing, tls=anyone, clients=2)
    for i in range(ROUNDS):
        use(*pairs[i % 2])
        load.wait_for(4 * i)
        use(pairs[i % 2][0], pairs[(i + 1) % 2][1])         # a key that doesn't fit changes nothing
        load.wait_for(4 * i + 2)
    load.end()
    assert set(load.statuses) == {200}
    use(*pairs[1])
    only_second = ssl.create_default_context(cafile=str(pairs[1][0]))

    def is_second():
        try:
            with Connection(server.ports["https"], tls=only_second) as c:
                return c.ask("GET", "/health").status == 200
        except ssl.SSLCertVerificationError:
            return False
    wait_until(is_second, "the last certificate is not in use")
