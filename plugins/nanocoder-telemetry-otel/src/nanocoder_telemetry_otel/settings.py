"""The table [plugins.telemetry-otel]."""

import os
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from attrs import Attribute, field, frozen
from nanocoder import did_you_mean

ENDPOINT_VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
SIGNALS: Final = ("traces", "metrics", "logs")
SCHEMES: Final = ("http://", "https://")
MAX_PORT: Final = 65_535
PORTS: Final = {"http": 80, "https": 443}
CHECK_S: Final = 2.0


def _validate_endpoint(_: object, __: "Attribute[Any]", value: str) -> None:
    if value and not value.startswith(SCHEMES):
        raise ValueError(
            f"{value!r} is not the address of a collector, such as http://127.0.0.1:4318"
        )


def _validate_signals(_: object, __: "Attribute[Any]", value: tuple[str, ...]) -> None:
    for name in value:
        if name not in SIGNALS:
            hint = did_you_mean(name, SIGNALS)
            raise ValueError(f"there is no signal {name!r}{hint} There are {', '.join(SIGNALS)}")


def _validate_port(_: object, __: "Attribute[Any]", value: int) -> None:
    if not 0 <= value <= MAX_PORT:
        raise ValueError(f"{value} is no port: 1 to {MAX_PORT}, or 0 for none")


def _private(description: str, **options: Any) -> dict[str, Any]:
    return {"metadata": {"user_only": True, "description": description}, **options}


@frozen
class Settings:
    """The destination and the content of telemetry."""

    endpoint: str = field(
        default="",
        validator=_validate_endpoint,
        **_private(
            f"A collector's OTLP/HTTP address, without /v1/traces; {ENDPOINT_VARIABLE} if empty."
            " Without both, nothing is sent."
        ),
    )
    signals: tuple[str, ...] = field(
        default=SIGNALS,
        validator=_validate_signals,
        **_private("The signals that are sent: traces, metrics, logs."),
    )
    content: bool = field(
        default=False,
        **_private(
            "Whether prompts, answers, arguments and results are sent, with secrets removed."
        ),
    )
    prometheus_port: int = field(
        default=0,
        validator=_validate_port,
        **_private(
            "The port of 127.0.0.1 at which a session answers Prometheus with its metrics; 0: none."
            " It needs the extra `prometheus`."
        ),
    )
    service_name: str = field(default="nanocoder", **_private("The service's name in the traces."))

    @property
    def address(self) -> str:
        """The collector's address without a slash at its end, or "" if nothing is sent."""
        return (self.endpoint or os.environ.get(ENDPOINT_VARIABLE, "")).rstrip("/")

    @property
    def is_on(self) -> bool:
        """True if telemetry has a destination."""
        return bool(self.address or self.prometheus_port)

    def checks(self, _trusted_folder: object) -> Iterator[tuple[str, str, str]]:
        """Yield a check for `nanocoder doctor`: whether a collector listens at the address."""
        if not self.address:
            return
        import socket  # only this check connects to anything here

        try:
            parts = urlsplit(self.address)
            port = parts.port or PORTS[parts.scheme]
            socket.create_connection((parts.hostname or "", port), CHECK_S).close()
        except (OSError, ValueError, KeyError) as error:
            what = f"no collector answers at {self.address}: {error}"
            yield "telemetry", "wrong", f"{what}; sessions continue, and their telemetry is lost"
        else:
            yield "telemetry", "ok", f"a collector listens at {self.address}"
