"""Start, end, restart, and settings that can't work."""
import json
import os
import signal
import socket
import stat
import subprocess

import pytest

from server import OPEN_ACLS, Server, run
from wire import JSON, Connection, as_user, ask, create, new_token, with_token


def test_keys_and_tokens_are_there_after_a_restart(start, tmp_path):
    server = start(store="lmdb")
    made = create(server, "kept", length=256, description="d", attributes={"x": "y"})
    rolled = ask(server, "POST", as_user("/kms/v1/key/kept"), {}).json()
    create(server, "bare", cipher="", material="AAECAwQFBgcICQoLDA0ODw")
    create(server, "gone")
    ask(server, "DELETE", as_user("/kms/v1/key/gone"))
    metadata = ask(server, "GET", as_user("/kms/v1/key/kept")).text
    token, cancelled = new_token(server), new_token(server)
    assert ask(server, "PUT", f"/kms/v1/?op=CANCELDELEGATIONTOKEN&token={cancelled}").status == 200
    server.stop()

    again = start(store="lmdb")
    assert ask(again, "GET", "/kms/v1/key/kept", headers=with_token(token)).text == metadata
    assert ask(again, "GET", as_user("/kms/v1/key/kept/_versions")).json() == [made, rolled]
    assert ask(again, "GET", as_user("/kms/v1/key/gone")).text == "{ }"
    assert ask(again, "GET", as_user("/kms/v1/key/bare")).json()["cipher"] == ""
    assert ask(again, "GET", "/kms/v1/key/kept", headers=with_token(cancelled)).status == 403
    assert ask(again, "PUT", as_user(f"/kms/v1/?op=RENEWDELEGATIONTOKEN&token={token}", "yarn")).json()["long"] > 1 << 31


def test_what_was_acknowledged_survives_a_kill(start):
    server = start(store="lmdb")
    names = [f"k{i}" for i in range(20)]
    made = {name: create(server, name) for name in names}
    token = new_token(server)
    server.kill()
    again = start(store="lmdb")
    for name in names:
        assert ask(again, "GET", f"/kms/v1/key/{name}/_currentversion", headers=with_token(token)).json() == made[name]


def test_memory_forgets(start):
    server = start()
    create(server, "k")
    server.stop()
    assert ask(start(), "GET", as_user("/kms/v1/keys/names")).text == "[ ]"


def test_the_passphrase_is_made_and_only_ours_to_read(start, tmp_path):
    start(store="lmdb")
    assert stat.S_IMODE(os.stat(tmp_path / "data" / "passphrase").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "data").st_mode) == 0o700


def test_a_request_in_flight_is_answered_on_sigterm(start):
    server = start()
    idle = Connection(server.port)
    idle.ask("GET", "/health")
    with Connection(server.port) as c:
        c.send(f"POST {as_user('/kms/v1/keys')} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n")
        c.send('{"name"')
        with Connection(server.port) as probe:      # on whichever reactor, what came before it has been read by then
            probe.ask("GET", "/health")
        server.signal(signal.SIGTERM)
        assert server.log.wait_for("ending")
        assert idle.ended()                         # nothing was in flight there
        c.send(':"k"}')
        answer = c.receive()
        assert answer.status == 201 and answer.first("Connection") == "close"
        assert c.ended()
    assert server.wait() == 0


def test_a_drain_ends_in_time(start):
    server = start(drain_timeout="100ms")
    with Connection(server.port) as c:
        c.send("GET /health HTTP/1.1\r\nHost:")
        server.signal(signal.SIGTERM)
        assert server.wait() == 0


def test_systemd_is_told(start, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(20)
        server = start(environment={"NOTIFY_SOCKET": str(tmp_path / "notify")})
        assert listener.recv(100) == b"READY=1"
        server.stop()
        assert listener.recv(100) == b"STOPPING=1"


def test_simple_authentication_is_warned_of(start):
    server = start()
    assert server.log.wait_for("WARN kms authentication is simple: whoever reaches the port is believed")


def test_json_log_lines_are_json(start):
    server = start(log_format="json")
    line = server.log.wait_for("authentication is simple").string
    assert json.loads(line)["level"].lower() == "warn"


# ---- what can't work

def failed(status, *words, **flags):
    folder = flags.pop("folder")
    server = Server(folder, **flags)
    try:
        assert server.wait() == status
        text = "\n".join(server.log.rest())
        assert all(w in text for w in words), text
        assert server.out.rest() == []
    finally:
        server.kill()


def test_a_folder_in_use_is_refused_by_the_pid_of_its_owner(start, tmp_path):
    first = start(store="lmdb")
    failed(1, str(first.process.pid), "data", folder=tmp_path, store="lmdb")


def test_a_taken_port_is_refused(start, tmp_path):
    first = start()
    failed(1, f"127.0.0.1:{first.port}", folder=tmp_path, http_bind=f"127.0.0.1:{first.port}")


@pytest.mark.parametrize("flags, words", [
    ({"http_bind": "nowhere"}, ["nowhere"]),
    ({"http_bind": ""}, ["--http_bind and --https_bind are both empty"]),
    ({"https_bind": "127.0.0.1:0"}, ["--http_certificate_file"]),
    ({"key_store": "oracle"}, ["key_store", "oracle", "lmdb"]),
    ({"reactors": "many"}, ["reactors", "many"]),
    ({"workers": "0"}, ["workers", "0"]),
    ({"data_dir": None, "store": "lmdb"}, ["--data_dir is needed"]),
    ({"default_key_bits": "200"}, ["--default_key_bits=200"]),
    ({"idle_timeout": "soon"}, ["idle_timeout", "soon"]),
    ({"proxyuser": "oozie:shoes=x"}, ["oozie", "shoes"]),
    ({"nonsense": "1"}, ["nonsense"]),
    ({"authentication": "none"}, ["authentication", "none", "simple"]),
])
def test_a_bad_setting_is_named_with_what_is_allowed(tmp_path, flags, words):
    failed(2, *words, "--help", folder=tmp_path, **flags)


def test_files_that_cannot_be_read_are_named(tmp_path):
    failed(1, "missing.pem", folder=tmp_path, https_bind="127.0.0.1:0", http_certificate_file=tmp_path / "missing.pem")
    failed(1, "missing.xml", folder=tmp_path, kms_acls=tmp_path / "missing.xml")
    failed(1, "no-such-secret", folder=tmp_path, signature_secret_file=tmp_path / "no-such-secret")


def test_broken_acls_are_refused_at_start(tmp_path):
    failed(1, "kms-acls.xml", folder=tmp_path, acls="<configuration><property>")


def test_a_wrong_passphrase_is_told(start, tmp_path):
    start(store="lmdb").stop()
    other = tmp_path / "other"
    other.write_text("another passphrase")
    other.chmod(0o600)
    failed(1, "passphrase", folder=tmp_path, store="lmdb", keystore_password_file=other)


def test_a_passphrase_that_others_may_read_is_refused(tmp_path):
    open_to_all = tmp_path / "open"
    open_to_all.write_text("secret")
    open_to_all.chmod(0o644)
    failed(2, str(open_to_all), folder=tmp_path, store="lmdb", keystore_password_file=open_to_all)


def test_help_version_and_unknown_commands(tmp_path):
    status, out, err = run("kms", "--help")
    assert (status, err) == (0, "") and "--http_bind" in out and "--kms_acls" in out
    status, out, _ = run("version")
    assert status == 0 and out.startswith("featherlock ")
    status, out, err = run("frobnicate")
    assert status == 2 and "'frobnicate' is no command" in err and out == ""
    assert run()[0] == 2


def test_a_flag_file_and_the_environment_count(tmp_path):
    acls = tmp_path / "acls.xml"
    acls.write_text(OPEN_ACLS)
    flagfile = tmp_path / "flags"
    flagfile.write_text(f"# settings\n--http_bind=127.0.0.1:0\n--key_store=memory\n--kms_acls={acls}\n")
    with subprocess.Popen([*binary_command(), f"--flagfile={flagfile}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**os.environ, "FEATHERLOCK_TOKEN_STORE": "memory"}) as process:
        try:
            line = process.stdout.readline().decode()
            port = int(line.split("http=127.0.0.1:")[1].split()[0])
            assert ask(Port(port), "POST", as_user("/kms/v1/keys"), {"name": "k"}).status == 201
        finally:
            process.terminate()
        assert process.wait(20) == 0


class Port:
    def __init__(self, port):
        self.port = port


def binary_command():
    from server import binary

    return [binary(), "kms"]


def test_a_body_that_says_json_needs_no_length_when_empty(start):
    """Java's client sends POST and PUT without a body and without a length."""
    server = start()
    create(server, "k")
    with Connection(server.port) as c:
        c.send(f"POST {as_user('/kms/v1/key/k/_invalidatecache')} HTTP/1.1\r\nHost: h\r\n\r\n")
        assert c.receive().status == 200
        c.send(f"POST {as_user('/kms/v1/keys')} HTTP/1.1\r\nHost: h\r\n{JSON[0]}\r\n\r\n")
        assert c.receive().exception()[1] == "No content to map due to end-of-input"
