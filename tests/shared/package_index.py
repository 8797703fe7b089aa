"""A package index on this machine with one package."""

import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO

WHEEL = "acme_thing-1.0-py3-none-any.whl"


def wheel() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        info = "acme_thing-1.0.dist-info"
        archive.writestr("acme_thing.py", "")
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: acme-thing\nVersion: 1.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return file.getvalue()


class Index:
    """A package index on this machine that has one package, and notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.keys: list[str] = []
        self.has_owners = True
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:  # uv asks for a wheel's size first
                self.do_GET()

            def do_GET(self) -> None:
                index.asked.append(self.path)
                index.keys.append(self.headers.get("Authorization", ""))
                content = index.answer(self.path)
                self.send_response(404 if content is None else 200)
                is_wheel = self.path.endswith(".whl")
                kind = "application/vnd.pypi.simple.v1+json"
                self.send_header("Content-Type", "application/zip" if is_wheel else kind)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}/simple"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> bytes | None:
        if path == f"/{WHEEL}":
            return wheel()
        if path == "/pypi/acme-thing/json" and self.has_owners:
            roles = [{"role": "Owner", "user": "ada\x1b[2J"}]
            return json.dumps({"ownership": {"organization": "acme", "roles": roles}}).encode()
        if path == "/simple/acme-thing/":
            files = [self.file("acme_thing-0.9.tar.gz", "2020"), self.file(WHEEL, "2026")]
            page = {"meta": {"api-version": "1.1"}, "name": "acme-thing", "files": files}
            return json.dumps(page).encode()
        return None

    def file(self, name: str, year: str) -> dict[str, object]:
        row = {"filename": name, "url": f"http://{self.host}/{name}", "hashes": {}}
        return {**row, "size": len(wheel()), "upload-time": f"{year}-03-01T10:00:00.000000Z"}
