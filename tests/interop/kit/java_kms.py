"""Starts the Java KMS on a free port of the loopback, with a JCEKS keystore of its own."""
import os
import pathlib
from xml.sax.saxutils import escape

from . import jars
from .process import Child

LOG4J = """\
log4j.rootLogger=WARN, out
log4j.logger.org.apache.hadoop.http.HttpServer2=INFO
log4j.logger.org.eclipse.jetty.server=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %-5p %c{1} - %m%n
log4j.appender.audit=org.apache.log4j.FileAppender
log4j.appender.audit.File=${kms.log.dir}/kms-audit.log
log4j.appender.audit.layout=org.apache.log4j.PatternLayout
log4j.appender.audit.layout.ConversionPattern=%d{ISO8601} %m%n
log4j.logger.kms-audit=INFO, audit
log4j.additivity.kms-audit=false
"""

# Keys sealed with the JDK's 200,000 rounds make each create rewrite the file in 0.2 s; what is compared does not depend on it.
FAST_KEYSTORE = "-Djdk.jceks.iterationCount=10000"


def site_xml(properties):
    """A Hadoop configuration file."""
    rows = "".join(f"  <property><name>{escape(k)}</name><value>{escape(str(v))}</value></property>\n"
                   for k, v in properties.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{rows}</configuration>\n'


class JavaKms:
    """One running Java KMS. `folder` is its own; a keystore already in it is used on."""

    name = "java"

    def __init__(self, folder, acls, proxy_users=(), host="127.0.0.1", port=0, settings=None):
        self.folder = pathlib.Path(folder)
        self.host = host
        self.audit_file = self.folder / "kms-audit.log"
        conf = self.folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (self.folder / "temp").mkdir(exist_ok=True)
        site = {
            "hadoop.kms.http.host": host,
            "hadoop.kms.http.port": port,
            "hadoop.http.temp.dir": self.folder / "temp",
            "hadoop.kms.key.provider.uri": f"jceks://file@{self.folder}/keys.jceks",
            "hadoop.kms.authentication.type": "simple",
        }
        for proxy in proxy_users:
            site.update(proxy.hadoop_settings())
        site.update(settings or {})
        (conf / "kms-site.xml").write_text(site_xml(site))
        (conf / "core-site.xml").write_text(site_xml({}))
        (conf / "kms-acls.xml").write_text(pathlib.Path(acls).read_text())
        (conf / "log4j.properties").write_text(LOG4J)
        command = jars.java_command(
            f"{conf}:{jars.fetch()}/*", "org.apache.hadoop.crypto.key.kms.server.KMSWebServer",
            f"-Dkms.config.dir={conf}", f"-Dkms.log.dir={self.folder}", "-Dlog4j.configuration=log4j.properties",
            f"-Djava.io.tmpdir={self.folder}/temp", FAST_KEYSTORE, heap="384m")
        env = dict(os.environ, HADOOP_KEYSTORE_PASSWORD="none")
        self.child = Child("java-kms", command, self.folder / "kms.log", env)
        try:
            self.port = int(self.child.wait_for(r"Jetty bound to port (\d+)", 60).group(1))
            self.child.wait_for(r"Server - Started @", 60)
        except Exception:
            self.child.kill()           # a failed start leaves the process alive without a listener
            raise

    @property
    def url(self):
        return f"http://{self.host}:{self.port}/kms/v1"

    def stop(self):
        """Ends it; the JVM answers SIGTERM with 143."""
        status = self.child.stop()
        if status not in (0, 143):
            raise AssertionError(f"the Java KMS ended with {status}\n{self.child.tail()}")

    def crash(self):
        self.child.kill()

    def log(self):
        return self.child.tail()
