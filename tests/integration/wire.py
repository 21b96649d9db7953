"""HTTP/1.1 over a raw socket: what is sent is exactly what the test says, what comes is kept in order."""
import dataclasses
import json
import socket
import ssl

TIMEOUT = 20


@dataclasses.dataclass
class Answer:
    status: int
    reason: str
    headers: list       # "Name: value", in order
    body: bytes

    def all(self, name):
        start = name.lower() + ": "
        return [h[len(start):] for h in self.headers if h.lower().startswith(start)]

    def first(self, name):
        return (self.all(name) or [None])[0]

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)

    def exception(self):
        """(javaClassName, message) of a RemoteException."""
        inner = self.json()["RemoteException"]
        assert inner["exception"] == inner["javaClassName"].replace("$", ".").rsplit(".", 1)[1]
        return inner["javaClassName"], inner["message"]


class Connection:
    def __init__(self, port, tls=None, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), TIMEOUT)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.buffer = b""
        self.port = port

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, raw):
        self.socket.sendall(raw if isinstance(raw, bytes) else raw.encode())

    def _more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise EOFError("the server closed the connection after: " + repr(self.buffer[:500]))
        self.buffer += piece

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._more()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line.decode("iso-8859-1")

    def _take(self, count):
        while len(self.buffer) < count:
            self._more()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def _body(self, answer, method):
        if method == "HEAD" or answer.status in (204, 304):
            return b""
        if answer.first("Transfer-Encoding") == "chunked":
            whole = b""
            while size := int(self._line(), 16):
                whole += self._take(size)
                assert self._line() == ""
            assert self._line() == ""
            return whole
        return self._take(int(answer.first("Content-Length")))

    def receive(self, method="GET"):
        version, status, reason = (self._line().split(" ", 2) + [""])[:3]
        assert version == "HTTP/1.1"
        headers = []
        while line := self._line():
            headers.append(line)
        answer = Answer(int(status), reason, headers, b"")
        answer.body = self._body(answer, method)
        return answer

    def ended(self):
        """Waits for the server's end of the connection."""
        try:
            while piece := self.socket.recv(65536):
                self.buffer += piece
        except (ConnectionResetError, ssl.SSLError):
            pass
        return True

    def ask(self, method, target, body=None, headers=(), host=None, version="HTTP/1.1"):
        lines = [f"{method} {target} {version}"]
        if host is None:
            host = f"localhost:{self.port}"
        if host:
            lines.append(f"Host: {host}")
        lines += headers
        if isinstance(body, str):
            body = body.encode()
        if body is not None and not any(h.lower().startswith(("transfer-encoding:", "content-length:")) for h in headers):
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b""))
        return self.receive(method)


JSON = ("Content-Type: application/json",)


def ask(server, method, target, body=None, headers=(), **kwargs):
    """One request on a connection of its own; a dict or list as body is JSON."""
    if isinstance(body, (dict, list)):
        body, headers = json.dumps(body), (*headers, *JSON)
    with Connection(server.port if hasattr(server, "port") else server) as c:
        return c.ask(method, target, body, headers, **kwargs)


def as_user(target, user="alice"):
    return f"{target}{'&' if '?' in target else '?'}user.name={user}"


def create(server, name, user="alice", **fields):
    answer = ask(server, "POST", as_user("/kms/v1/keys", user), {"name": name, **fields})
    assert answer.status == 201, answer
    return answer.json()


def new_token(server, user="alice", more="&renewer=yarn"):
    answer = ask(server, "GET", f"/kms/v1/?op=GETDELEGATIONTOKEN{more}&user.name={user}")
    assert answer.status == 200, answer
    return answer.json()["Token"]["urlString"]


def with_token(token):
    return (f"X-Hadoop-Delegation-Token: {token}",)
