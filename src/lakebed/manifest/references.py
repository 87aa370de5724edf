"""`${env:NAME}` references, and the refusal of secrets typed in clear."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lakebed.manifest.explain import Redacted

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_BROKEN = re.compile(r"\$\{env\b")
# As SQLAlchemy takes a URL apart.
_PASSWORD = re.compile(r"://[^:/]*:([^@]+)@")
_PARAMETER = re.compile(r"[?&;]([A-Za-z_.-]+)=([^&;]+)")
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_SECRET = {
    "secret",
    "secrets",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "token",
    "credential",
    "credentials",
    "apikey",
    "sas",
    "sslpassword",
}
_SECRET_KEYS = {"access", "account", "private", "api", "shared", "encryption", "signing"}
# These name where a secret is found, not the secret.
_ELSEWHERE = {
    "provider",
    "file",
    "path",
    "class",
    "type",
    "endpoint",
    "url",
    "name",
    "enabled",
    "duration",
    "interval",
    "renewal",
    "location",
}

_SHORTEST_SECRET = 4

Path = tuple[str | int, ...]


def texts(data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every text in a document, with the way to it."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from texts(value, (*path, name))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from texts(value, (*path, index))
    elif isinstance(data, str):
        yield path, data


def resolve(
    data: Any, environment: Mapping[str, str], report: Callable[[Path, str, str], None], path: Path = ()
) -> Any:
    """The same data with every `${env:NAME}` replaced. What is missing is reported. What came from the environment is
    never shown in a message, and never looked at for further references."""
    if isinstance(data, Mapping):
        return {name: resolve(value, environment, report, (*path, name)) for name, value in data.items()}
    if isinstance(data, list):
        return [resolve(value, environment, report, (*path, index)) for index, value in enumerate(data)]
    if not isinstance(data, str) or "${env" not in data:
        return data
    if _BROKEN.search(_REFERENCE.sub("", data)):
        report(
            path,
            "a reference to the environment is not complete",
            "write ${env:NAME}, with letters, digits and _",
        )
        return data
    for name in dict.fromkeys(_REFERENCE.findall(data)):
        if name not in environment:
            report(
                path,
                f"the environment variable {name!r} is not set",
                f"export {name}=... before you run lakebed",
            )
            return data
    return Redacted(_REFERENCE.sub(lambda found: environment[found[1]], data), data)


def hidden(sentence: str, path: Path, data: Any) -> str:
    """A sentence about the value at `path`, without anything that came from the environment."""
    redacted = {where: text for where, text in texts(data) if isinstance(text, Redacted)}
    here = redacted.get(path)
    if here is not None:
        expected = (
            sentence.partition(", found ")[0] if sentence.startswith("expected ") else "it cannot be used"
        )
        return f"{expected}, found the value of {here.reference}"
    for text in redacted.values():
        # A very short value is no secret, and would be found inside words.
        sentence = sentence.replace(str(text), text.reference) if len(text) >= _SHORTEST_SECRET else sentence
    return sentence


def secret_in_url(text: str) -> bool:
    """Whether a URL has a password typed in clear."""
    password = _PASSWORD.search(text)
    if password and not _REFERENCE.search(password[1]):
        return True
    return any(
        is_secret_name(name) and not _REFERENCE.search(value) for name, value in _PARAMETER.findall(text)
    )


def secret_in_setting(name: str, value: object) -> bool:
    """Whether a setting that looks like a secret by its name has its value typed in clear."""
    return is_secret_name(name) and not (isinstance(value, str) and (not value or _REFERENCE.search(value)))


def is_secret_name(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _ELSEWHERE:
        return False
    pairs = set(itertools.pairwise(words))
    return bool(_SECRET & set(words)) or any((first, "key") in pairs for first in _SECRET_KEYS)
