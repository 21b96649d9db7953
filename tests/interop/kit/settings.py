"""What both servers are told alike: ACLs and who may act for whom."""
import dataclasses
import pathlib

CONF = pathlib.Path(__file__).resolve().parent / "conf"
OPEN_ACLS = CONF / "open-acls.xml"
RICH_ACLS = CONF / "rich-acls.xml"


@dataclasses.dataclass(frozen=True)
class ProxyUser:
    """`name` may act for `users` and members of `groups`, from `hosts`. None leaves a setting out."""
    name: str
    users: str = None
    groups: str = None
    hosts: str = None

    def _fields(self):
        return {k: v for k, v in dataclasses.asdict(self).items() if k != "name" and v is not None}

    def hadoop_settings(self):
        return {f"hadoop.kms.proxyuser.{self.name}.{k}": v for k, v in self._fields().items()}

    def flag(self):
        return f"{self.name}:" + ";".join(f"{k}={v}" for k, v in self._fields().items())


PROXY_USERS = (
    ProxyUser("svc", users="alice,bob,carol,dave", hosts="*"),
    ProxyUser("hive", users="*", hosts="127.0.0.1"),
    ProxyUser("oozie", users="*", hosts="10.1.2.3"),
    ProxyUser("grouped", groups="root", hosts="*"),
    ProxyUser("nohosts", users="*"),
)
