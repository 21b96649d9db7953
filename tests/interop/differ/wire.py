"""HTTP by hand over a socket, so that requests may be as wrong as a test wants them."""
import contextlib
import dataclasses
import re
import socket

PATIENCE = 20       # seconds without a byte before an answer counts as missing


@dataclasses.dataclass
class Answer:
    status: int
    reason: str
    headers: list           # (name, value) in order of arrival
    body: bytes
    interim: int = 0        # 1xx answers before it
    to_end: bool = False    # its body ended with the connection, which no header had told

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def first(self, name):
        values = self.all(name)
        return values[0] if values else None


class Broken(Exception):
    """The answer is not HTTP, ended early, or did not come."""


class Line:
    """One connection to one server, opened again when the server has closed it."""

    def __init__(self, host, port):
        self.host, self.port = host, port
        self.sock = None
        self.buffer = b""

    def open(self):
        if self.sock is None:
            self.sock = socket.create_connection((self.host, self.port), PATIENCE)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.buffer = b""

    def close(self):
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def send(self, data):
        self.open()
        self.sock.settimeout(PATIENCE)
        with contextlib.suppress(OSError):      # a server may refuse in the middle; its answer is still there
            self.sock.sendall(data)

    def end_of_request(self):
        """Closes our half; what the server still has to say comes."""
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_WR)

    def _more(self, patience=None):
        self.sock.settimeout(patience or PATIENCE)
        try:
            data = self.sock.recv(65536)
        except socket.timeout:
            raise Broken("no answer") from None
        except OSError as e:
            raise Broken(f"connection lost ({type(e).__name__})") from None
        if not data:
            raise Broken("closed")
        self.buffer += data

    def _until(self, mark, patience=None):
        while mark not in self.buffer:
            self._more(patience)
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def _exactly(self, count):
        while len(self.buffer) < count:
            self._more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def head(self, patience=None):
        lines = self._until(b"\r\n\r\n", patience).decode("latin-1").split("\r\n")
        found = re.fullmatch(r"HTTP/1\.[01] (\d{3})(?: (.*))?", lines[0])
        if not found:
            raise Broken(f"not a status line: {lines[0]!r}")
        headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:] if ":" in line]
        return Answer(int(found.group(1)), found.group(2) or "", headers, b"")

    def answer(self, method, patience=None, rest=b""):
        """The next answer, its body whole and without chunks. What waits for `100` is sent when that has come."""
        interim = 0
        got = self.head(patience)
        while 100 <= got.status < 200:
            interim += 1
            if rest:
                self.send(rest)
                rest = b""
            got = self.head(patience)
        got.interim = interim
        got.body = self._body(method, got)
        if (got.first("Connection") or "").lower() == "close":
            self.close()
        return got

    def _body(self, method, got):
        if method == "HEAD" or got.status in (204, 304):
            return b""
        if (got.first("Transfer-Encoding") or "").lower() == "chunked":
            return self._chunks()
        if got.first("Content-Length") is not None:
            return self._exactly(int(got.first("Content-Length")))
        try:
            while True:
                self._more()
        except Broken as end:
            if str(end) != "closed":
                raise
        data, self.buffer = self.buffer, b""
        self.close()
        got.to_end = (got.first("Connection") or "").lower() != "close"
        return data

    def _chunks(self):
        body = b""
        while True:
            size = int(self._until(b"\r\n").split(b";")[0], 16)
            if size == 0:
                while self._until(b"\r\n"):
                    pass                # trailers
                return body
            body += self._exactly(size)
            if self._exactly(2) != b"\r\n":
                raise Broken("a chunk without its end of line")
