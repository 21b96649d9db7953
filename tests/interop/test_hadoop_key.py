"""The `hadoop key` command against each server: what a person types, and what the exit status says."""
import re

from kit.java_client import hadoop_key


def run(kms, *arguments, status=0, user="alice"):
    done = hadoop_key(*arguments, server=kms, user=user)
    assert done.returncode == status, f"hadoop key {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def test_the_life_of_a_key(kms, key):
    out = run(kms, "create", key, "-size", "256", "-cipher", "AES/CTR/NoPadding", "-description", "made by hand", "-attr", "team=blue",
              "-attr", "floor=2")
    assert f"{key} has been successfully created" in out

    out = run(kms, "list", "-metadata")
    line = next(row for row in out.splitlines() if row.startswith(f"{key} : "))
    assert "cipher: AES/CTR/NoPadding, length: 256, description: made by hand" in line
    assert re.search(r"version: 1, attributes: ", line) and "[team=blue]" in line and "[floor=2]" in line

    assert f"{key} has been successfully rolled." in run(kms, "roll", key)
    line = next(row for row in run(kms, "list", "-metadata").splitlines() if row.startswith(f"{key} : "))
    assert "version: 2" in line

    assert f"{key} has been successfully invalidated." in run(kms, "invalidateCache", key)
    assert f"{key} has been successfully deleted." in run(kms, "delete", key, "-f")
    assert key not in run(kms, "list").splitlines()


def test_failures_have_status_1_and_say_why(kms, key):
    run(kms, "create", key)
    assert f"Key {key} already exists in " in run(kms, "create", key, status=1)
    assert "Can't find Metadata for key no-such-key" in run(kms, "roll", "no-such-key", status=1)
