"""The command line against the real server: what it prints, how it ends."""
import base64
import json
import os

import pytest
from server import run


@pytest.fixture(scope="module")
def key(kms):
    """key("list", ...): runs `featherlock key …` as alice."""
    url = f"--url=http://127.0.0.1:{kms.port}/kms"
    return lambda command, *args, user="alice": run("key", command, *args, url, f"--user={user}")


@pytest.fixture(scope="module")
def token(kms):
    url = f"--url=http://127.0.0.1:{kms.port}/kms"
    return lambda command, *args: run("token", command, *args, url)


def fine(done):
    assert done[0] == 0 and done[2] == "", done
    return done[1]


def test_a_key_lives_from_create_to_delete(key):
    created = json.loads(fine(key("create", "life", "--length=256", "--description=hello", "--attribute=a=b", "--json")))
    assert created["versionName"] == "life@0" and len(base64.urlsafe_b64decode(created["material"] + "=")) == 32
    assert "life" in fine(key("list")).splitlines()
    meta = json.loads(fine(key("describe", "life", "--json")))
    assert (meta["length"], meta["description"], meta["versions"], meta["attributes"]["a"]) == (256, "hello", 1, "b")
    assert json.loads(fine(key("roll", "life", "--json")))["versionName"] == "life@1"
    versions = json.loads(fine(key("versions", "life", "--json")))
    assert [v["versionName"] for v in versions] == ["life@0", "life@1"] and versions[0]["material"] == created["material"]
    assert fine(key("delete", "life")) == ""
    assert "life" not in fine(key("list")).splitlines()


def test_tables_have_a_heading_and_a_row_a_key(key):
    fine(key("create", "table-key"))
    rows = fine(key("list", "--metadata")).splitlines()
    assert rows[0].split() == ["name", "cipher", "bits", "versions", "created", "description", "attributes"]
    assert any(row.split()[:4] == ["table-key", "AES/CTR/NoPadding", "128", "1"] for row in rows[1:])


def test_given_material_is_used(key):
    material = base64.b64encode(bytes(range(16))).decode()
    made = json.loads(fine(key("create", "given", f"--material={material}", "--json")))
    assert base64.urlsafe_b64decode(made["material"] + "==") == bytes(range(16))


def test_an_eek_is_generated_decrypted_and_reencrypted(key):
    fine(key("create", "eek"))
    eek = json.loads(fine(key("eek", "eek", "--count=2", "--json")))
    assert len(eek) == 2
    args = [f"--version={eek[0]['versionName']}", f"--iv={eek[0]['iv']}",
            f"--material={eek[0]['encryptedKeyVersion']['material']}", "--json"]
    dek = json.loads(fine(key("eek", "eek", "--decrypt", *args)))
    assert dek["versionName"] == "EK"
    fine(key("roll", "eek"))
    again = json.loads(fine(key("eek", "eek", "--reencrypt", *args)))
    assert again["versionName"] == "eek@1" and again["iv"] == eek[0]["iv"]
    args[0], args[2] = "--version=eek@1", f"--material={again['encryptedKeyVersion']['material']}"
    assert json.loads(fine(key("eek", "eek", "--decrypt", *args)))["material"] == dek["material"]


@pytest.mark.parametrize("name", ["with blank", "a/b", "ä-ö", "q?x=1&y", "per%41cent"])
def test_odd_names_arrive_as_they_are(key, name):
    fine(key("create", name))
    assert json.loads(fine(key("describe", name, "--json")))["name"] == name


@pytest.mark.parametrize("command, status, says", [
    (("describe", "no-such-key"), 3, "there is no key 'no-such-key'"),
    (("versions", "no-such-key"), 3, "there is no key 'no-such-key'"),
    (("delete", "no-such-key"), 1, "Key no-such-key does not exist"),
    (("create", "UPPER"), 1, "Uppercase key names are unsupported: UPPER"),
    (("create", "x", "--length=100"), 1, "InvalidParameterException"),
    (("create", "x", "--attribute=novalue"), 2, "name=value is expected"),
    (("create",), 2, "expected: NAME"),
    (("create", "x", "--lenght=1"), 2, "lenght"),
    (("eek", "x", "--decrypt"), 2, "--version, --iv and --material"),
])
def test_failures_have_a_status_and_a_sentence(key, command, status, says):
    code, out, err = key(*command)
    assert (code, out) == (status, "") and says in err, err


def test_nobody_there_is_status_4():
    code, _, err = run("key", "list", "--url=http://127.0.0.1:1/kms")
    assert code == 4 and "127.0.0.1:1" in err


def test_a_token_lives_from_get_to_cancel(kms, token, tmp_path):
    fine(run("key", "create", "by-token", f"--url=http://127.0.0.1:{kms.port}/kms", "--user=alice"))
    text = fine(token("get", "--user=alice", "--renewer=yarn")).strip()
    fields = json.loads(fine(run("token", "decode", text, "--json")))
    assert (fields["owner"], fields["renewer"], fields["kind"], fields["realUser"]) == ("alice", "yarn", "kms-dt", "")
    assert fields["maxDate"] - fields["issueDate"] == 7 * 86400 * 1000
    file = tmp_path / "token"
    file.write_text(text + "\n")
    url = f"--url=http://127.0.0.1:{kms.port}/kms"
    assert "by-token" in fine(run("key", "list", f"--token_file={file}", url))
    assert json.loads(fine(token("renew", text, "--user=yarn", "--json")))["expiryDate"] > fields["issueDate"]
    assert token("renew", text, "--user=mallory")[0] == 1
    assert fine(token("cancel", text)) == ""
    code, _, err = run("key", "list", f"--token_file={file}", url)
    assert code == 1 and "can't be found" in err
    assert token("cancel", text)[0] == 1


def test_decode_names_what_is_wrong():
    code, _, err = run("token", "decode", "!!!!")
    assert code == 2 and "no delegation token" in err


def test_a_backup_of_the_running_server_restores(start, tmp_path):
    server = start(store="lmdb")
    url = f"--url=http://127.0.0.1:{server.port}/kms"
    made = fine(run("key", "create", "kept", url, "--user=alice", "--json"))
    kept = fine(run("token", "get", url, "--user=alice")).strip()
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    fine(run("key", "backup", f"--data_dir={tmp_path}/data", copy))
    assert oct(os.stat(copy).st_mode & 0o777) == "0o600"
    fine(run("key", "create", "after", url, "--user=alice"))
    server.stop()
    fine(run("key", "restore", f"--data_dir={restored}", copy))
    code, _, err = run("key", "restore", f"--data_dir={restored}", copy)
    assert code == 1 and "holds a store already" in err
    again = start(store="lmdb", data_dir=restored, keystore_password_file=tmp_path / "data" / "passphrase")
    url = f"--url=http://127.0.0.1:{again.port}/kms"
    assert fine(run("key", "list", url, "--user=alice")).split() == ["kept"]
    assert json.loads(fine(run("key", "versions", "kept", url, "--user=alice", "--json"))) == [json.loads(made)]
    assert fine(run("key", "list", url, f"--token={kept}")).split() == ["kept"]


def test_backup_says_why_it_cannot(start, tmp_path):
    start(store="lmdb")
    code, _, err = run("key", "backup", f"--data_dir={tmp_path}/data", "/nowhere/at/all")
    assert code == 1 and "No such file or directory" in err
    code, _, err = run("key", "backup", f"--data_dir={tmp_path}", "/tmp/x")
    assert code == 4 and "control.sock" in err


def test_check_says_what_would_be_served_and_changes_nothing(tmp_path):
    acls = tmp_path / "acls.xml"
    acls.write_text("<configuration/>")
    flags = ["--http_bind=127.0.0.1:0", f"--data_dir={tmp_path}/none", f"--kms_acls={acls}"]
    out = fine(run("check", *flags))
    assert "would be made" in out and str(acls) in out and not (tmp_path / "none").exists()
    acls.write_text("<configuration>")
    code, out, err = run("check", *flags)
    assert code in (1, 2) and str(acls) in err


def test_bench_measures_and_checks_first(kms):
    code, out, err = run("bench", "kms", f"--url=http://127.0.0.1:{kms.port}/kms", "--mix=100:0,50:50", "--concurrency=4",
                         "--warmup=50ms", "--duration=300ms", "--repeat=2", "--tokens=5", f"--server_pid={kms.process.pid}", "--json")
    assert (code, err) == (0, ""), err
    runs = json.loads(out)["runs"]
    assert [(r["verify_percent"], r["repeat"]) for r in runs] == [(100, 1), (50, 1), (50, 2), (100, 2)]
    assert all(r["errors"] == 0 and r["verify"]["good"] > 0 and r["server_cpu_us_per_request"] is not None for r in runs)
    for r in runs:
        if r["verify_percent"] == 50:  # shuffled blocks of 100: the share is exact but for the last block
            assert abs(r["verify"]["good"] - r["create"]["good"]) <= 100
        else:
            assert r["create"]["good"] == 0


def test_bench_refuses_a_server_that_is_no_kms():
    code, _, err = run("bench", "kms", "--url=http://127.0.0.1:1/kms", "--duration=100ms")
    assert code == 3 and "127.0.0.1" in err
    code, _, err = run("bench", "kms", "--url=http://127.0.0.1:1/kms", "--mix=60:30")
    assert code == 2 and "60:30" in err
