"""What README shows works as printed: each command of its console session is run, and gives what stands under it."""
import re
import subprocess

from server import DEADLINE, ROOT, binary

RANDOM = re.compile(r'"(?:material|iv|urlString)"\s*:\s*"[A-Za-z0-9_-]+"')


def sessions():
    """[(command, expected output)] of all ```console blocks."""
    steps = []
    for block in re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            steps.append((command, output))
    return steps


def masked(text):
    return RANDOM.sub(lambda found: re.sub(r'"[A-Za-z0-9_-]+"$', '"…"', found.group(0)), text).strip()


def test_the_first_session_prints_what_readme_shows(start):
    server = start(store="lmdb", acls=(ROOT / "packaging" / "kms-acls.xml").read_text())
    steps = sessions()
    assert len(steps) >= 4
    for command, expected in steps:
        here = command.replace("127.0.0.1:9600", f"127.0.0.1:{server.port}").replace("build/featherlock", binary())
        done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, timeout=DEADLINE, check=False)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert masked(done.stdout) == masked(expected), command


def test_the_flags_page_is_what_the_program_prints():
    done = subprocess.run([binary(), "reference"], capture_output=True, text=True, timeout=DEADLINE, check=True)
    assert (ROOT / "docs" / "flags.md").read_text() == done.stdout, "run: build/featherlock reference >docs/flags.md"
