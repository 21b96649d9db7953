"""testssl.sh against the HTTPS door with its defaults: nothing above LOW but what it says of a certificate that signed itself.
By default protocols, ciphers and forward secrecy; with FEATHERLOCK_ROUNDS everything that it knows."""
import json
import os
import subprocess

from server import Server

# Of every certificate without an authority behind it.
SELF_SIGNED = {"cert_chain_of_trust", "cert_revocation"}
# A check that testssl.sh 3.0 can't do with OpenSSL 3: it takes its own failure for a warning.
UNDONE = {"sessionresumption_ticket"}
# Of the openssl program that it runs, without GOST where Debian's recommended packages are left out; not of the door.
OF_THE_TOOL = {"engine_problem"}
SHORT = ["--protocols", "--std", "--fs"]
LONG_SECONDS = 600


def certificate(folder):
    pem, key = folder / "door.pem", folder / "door.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "300", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(pem)],
                   check=True, capture_output=True)
    return pem, key


def findings(folder, port):
    report = folder / "findings.json"
    checks = [] if "FEATHERLOCK_ROUNDS" in os.environ else SHORT
    done = subprocess.run(["testssl", "--quiet", "--color=0", "--warnings=batch", "--nodns=none", f"--jsonfile={report}", *checks,
                           f"127.0.0.1:{port}"], capture_output=True, text=True, timeout=LONG_SECONDS, check=False)
    print(done.stdout + done.stderr)
    return {f["id"]: f for f in json.loads(report.read_text())}


def test_the_https_door_has_no_finding_above_low(tmp_path):
    pem, key = certificate(tmp_path)
    server = Server(tmp_path, https_bind="127.0.0.1:0", http_certificate_file=pem, http_private_key_file=key).ready()
    try:
        found = findings(tmp_path, server.ports["https"])
    finally:
        server.stop()
    bad = [f"{f['severity']} {name}: {f['finding']}" for name, f in found.items()
           if f["severity"] not in ("OK", "INFO", "LOW") and name not in SELF_SIGNED | UNDONE | OF_THE_TOOL]
    assert not bad, bad
    said = {name: found[name]["finding"].split()[0] for name in ("SSLv2", "SSLv3", "TLS1", "TLS1_1", "TLS1_2", "TLS1_3")}
    assert said == {"SSLv2": "not", "SSLv3": "not", "TLS1": "not", "TLS1_1": "not", "TLS1_2": "offered", "TLS1_3": "offered"}
    assert found["PFS"]["severity"] == "OK"
