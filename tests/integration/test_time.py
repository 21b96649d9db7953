"""What time does by itself: cookies end and their secrets change, windows of the audit log close, tokens are removed."""
import os
import pwd
import re
import threading
import time

import tokens
from server import run
from wire import as_user, ask, create, new_token

NAMES = "/kms/v1/keys/names"
SIGNER = "org.apache.hadoop.security.authentication.util.SignerException: "


def until(met, seconds=20):
    """Asks again and again; the last answer."""
    end = time.monotonic() + seconds
    while not (answer := met()):
        assert time.monotonic() < end
        threading.Event().wait(0.02)
    return answer


def with_cookie(set_cookie):
    return (f"Cookie: {set_cookie.split(';')[0]}",)


def with_reason(server, cookie, reason):
    """The answer that refuses the cookie in these words, once it comes."""
    def refused():
        answer = ask(server, "GET", NAMES, headers=with_cookie(cookie))
        return answer if answer.reason == reason else None
    return until(refused)


def metric(server, name):
    return int(re.search(rf"^{name} (\d+)$", ask(server, "GET", "/metrics").text, re.M).group(1))


def test_a_cookie_that_is_not_used_ends(start):
    server = start(auth_token_max_inactive="1s")
    first = ask(server, "GET", as_user(NAMES)).first("Set-Cookie")
    second = ask(server, "GET", NAMES, headers=with_cookie(first)).first("Set-Cookie")
    limit = int(re.search(r"&i=(\d+)&", second).group(1))
    assert 0 < limit - time.time() * 1000 <= 1000
    answer = with_reason(server, second, "AuthenticationToken expired")
    assert time.time() * 1000 > limit
    assert (answer.status, answer.first("Set-Cookie"), answer.first("WWW-Authenticate")) == (401, "hadoop.auth=; HttpOnly", "PseudoAuth")
    assert ask(server, "GET", NAMES, headers=with_cookie(first)).status == 200      # has no such limit, as with Java


def test_a_cookie_ends_and_its_secret_is_forgotten_after_two_rolls(start):
    server = start(auth_token_validity="1s")
    old = ask(server, "GET", as_user(NAMES)).first("Set-Cookie")
    assert ask(server, "GET", NAMES, headers=with_cookie(old)).status == 200
    assert with_reason(server, old, "AuthenticationToken expired").status == 401    # the secret before still verifies
    assert with_reason(server, old, SIGNER + "Invalid signature").status == 401
    new = ask(server, "GET", as_user(NAMES)).first("Set-Cookie")
    assert ask(server, "GET", NAMES, headers=with_cookie(new)).status == 200


def test_equal_operations_are_counted_for_a_window(start):
    server = start(audit_window="300ms", reactors=1)
    create(server, "k")
    for _ in range(3):
        assert ask(server, "GET", as_user("/kms/v1/key/k/_eek?eek_op=generate")).status == 200
    server.wait_for_audit("accessCount=3")
    server.stop()
    counted = [line for line in server.audit_lines() if "GENERATE_EEK" in line]
    assert counted[0] == "OK[op=GENERATE_EEK, key=k, user=alice, accessCount=1, interval=0ms] "
    last = re.fullmatch(r"OK\[op=GENERATE_EEK, key=k, user=alice, accessCount=3, interval=(\d+)ms\] ", counted[1])
    assert len(counted) == 2 and 300 <= int(last.group(1)) < 20000


def test_expired_tokens_are_removed_and_counted(start):
    server = start(store="lmdb", token_renew_interval="300ms", token_removal_scan_interval="100ms", token_removal_grace=0)
    token = new_token(server)
    assert metric(server, "featherlock_tokens_live") == 1
    until(lambda: metric(server, "featherlock_tokens_expired_total") == 1)
    assert metric(server, "featherlock_tokens_live") == 0
    answer = ask(server, "PUT", f"/kms/v1/?op=RENEWDELEGATIONTOKEN&token={token}&user.name=yarn")
    assert answer.status == 403 and "Renewal request for unknown token" in answer.reason
    server.stop()
    again = start(store="lmdb")
    assert metric(again, "featherlock_tokens_live") == 0


def test_expired_tokens_stay_for_the_grace(start):
    server = start(token_renew_interval="200ms", token_removal_scan_interval="100ms", token_max_lifetime="1h")
    token = new_token(server)
    until(lambda: time.time() * 1000 > tokens.decode(token)["issued"] + 700)
    assert metric(server, "featherlock_tokens_live") == 1 and metric(server, "featherlock_tokens_expired_total") == 0
    assert "long" in ask(server, "PUT", f"/kms/v1/?op=RENEWDELEGATIONTOKEN&token={token}&user.name=yarn").json()


# ---- who the process is

def credentials(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        rows = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    return {name: {int(i) for i in rows[name].split()} for name in ("Uid", "Gid", "Groups")}


def test_it_becomes_another_user_when_the_ports_are_open(start, tmp_path):
    nobody = pwd.getpwnam("nobody")
    if os.geteuid() != 0:
        status, _, err = run("kms", "--http_bind=127.0.0.1:0", f"--data_dir={tmp_path}", "--user=nobody")
        assert status == 1 and "--user=nobody: cannot become that user; start as root" in err
        return
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):      # pytest's folders are for root alone
        folder.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    server = start(store="lmdb", user="nobody", data_dir=home / "data", audit_file=home / "audit.log")
    who = credentials(server.process.pid)
    assert who["Uid"] == {nobody.pw_uid} and who["Gid"] == {nobody.pw_gid} and 0 not in who["Groups"]
    for thread in os.listdir(f"/proc/{server.process.pid}/task"):
        assert credentials(f"{server.process.pid}/task/{thread}") == who
    create(server, "k")
    for path in (home / "data" / "data.mdb", home / "data" / "passphrase", home / "audit.log"):
        assert path.stat().st_uid == nobody.pw_uid


def test_a_user_that_does_not_exist_is_refused(tmp_path):
    status, _, err = run("kms", "--http_bind=127.0.0.1:0", f"--data_dir={tmp_path}/data", "--user=nosuchuser")
    assert (status, "--user=nosuchuser: there is no such user" in err) == (2, True)
    assert not (tmp_path / "data").exists()
