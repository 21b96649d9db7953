"""Gets the jars of a peer from Maven Central, once, into the cache; compiles the client driver beside them."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("FEATHERLOCK_CACHE") or pathlib.Path.home() / ".cache" / "featherlock")
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


class PeerMissing(Exception):
    """A program that the tests need is not here, and how to get it."""


def tool(name, package):
    """The path of a program, which Debian ships in `package`."""
    home = os.environ.get("JAVA_HOME")
    if home and (pathlib.Path(home) / "bin" / name).exists():
        return str(pathlib.Path(home) / "bin" / name)
    found = shutil.which(name)
    if not found:
        raise PeerMissing(f"'{name}' is needed for the interop tests: apt-get install {package}")
    return found


def fetch(peer="hadoop-kms"):
    """The folder with the jars of a peer, named as its file in peers/."""
    pom = HERE / "peers" / f"{peer}.xml"
    version = xml.parse(pom).getroot().findtext("{*}version")
    wanted = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    folder = CACHE / f"{peer}-{version}-{wanted}"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    part = pathlib.Path(tempfile.mkdtemp(prefix=f"{peer}.part.", dir=CACHE))
    print(f"interop: fetching {peer} {version} into {folder}", file=sys.stderr, flush=True)
    done = subprocess.run(
        [tool("mvn", "maven"), "-B", "-q", "-Dstyle.color=never", "-f", str(pom), COPY_GOAL,
         f"-DoutputDirectory={part}", "-DincludeScope=runtime"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(part)
        raise PeerMissing(f"Maven could not get {peer} {version}:\n{done.stdout[-3000:]}")
    part.chmod(0o755)
    _move(part, folder)
    return folder


def driver_classes(jars):
    """The folder of the compiled client driver; compiled again when its source or the jars change."""
    source = HERE / "java" / "KmsDriver.java"
    wanted = hashlib.sha256(source.read_bytes() + jars.name.encode()).hexdigest()[:12]
    folder = CACHE / f"driver-{wanted}"
    if folder.is_dir():
        return folder
    part = pathlib.Path(tempfile.mkdtemp(prefix="driver.part.", dir=CACHE))
    done = subprocess.run(
        [tool("javac", "openjdk-17-jdk-headless"), "-nowarn", "-cp", f"{jars}/*", "-d", str(part), str(source)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(part)
        raise PeerMissing(f"javac refused {source}:\n{done.stdout[-3000:]}")
    _move(part, folder)
    return folder


def _move(part, folder):
    try:
        part.rename(folder)
    except OSError:                     # another run was first: its folder is as good
        shutil.rmtree(part)


def java_command(classpath, main, *options, heap="256m"):
    """A JVM that starts fast and stays small."""
    return [tool("java", "openjdk-17-jdk-headless"), f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Djava.net.preferIPv4Stack=true", "--add-opens=java.base/java.lang=ALL-UNNAMED",
            *options, "-cp", classpath, main]


if __name__ == "__main__":
    print(driver_classes(fetch()))
