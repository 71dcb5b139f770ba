"""API keys: a file with their hashes; a key is shown once, when it is made."""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from transduce import atomic
from transduce.errors import ConfigError

LARGEST_FILE = 2**24  # bytes


@dataclass(frozen=True)
class Key:
    """A key as it is stored. Keys are random, so that a plain hash cannot be guessed."""

    id: str
    name: str
    sha256: str
    created: str
    rate_limit: str = ""  # of this key; empty: the server's


def default_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "transduce" / "keys.json"


def read_keys(file: Path) -> list[Key]:
    """The keys of a file, none if there is no file; raises ConfigError if it is damaged."""
    try:
        with file.open("rb") as stream:
            return [Key(**entry) for entry in json.loads(stream.read(LARGEST_FILE))["keys"]]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, KeyError):
        raise ConfigError(f"{file} does not hold API keys: remove it and add keys again") from None


def write_keys(file: Path, keys: Sequence[Key]) -> None:
    """Replaces the file; only its owner may read it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic.file(file) as aside:
        aside.touch(0o600)
        content = json.dumps({"keys": [asdict(key) for key in keys]}, indent=2)
        aside.write_text(content + "\n", "utf-8")


def add_key(file: Path, name: str, rate_limit: str = "") -> tuple[Key, str]:
    """A new key: what is stored, and the key itself."""
    secret = secrets.token_urlsafe(32)
    today = datetime.now(UTC).date().isoformat()
    key = Key(secrets.token_hex(4), name, _hash(secret), today, rate_limit)
    write_keys(file, [*read_keys(file), key])
    return key, secret


def revoke_key(file: Path, identity: str) -> Key:
    """Removes a key; raises ConfigError if there is none with this id."""
    keys = read_keys(file)
    for key in keys:
        if key.id == identity:
            write_keys(file, [other for other in keys if other is not key])
            return key
    raise ConfigError(f"there is no key {identity}: `transduce serve keys list` has all")


class KeyFile:
    """The keys of a file, read again when it changes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._version: tuple[int, int] | None = None
        self._keys: list[Key] = []

    def find(self, secret: str) -> Key | None:
        """The key that a client sent; every one is compared, in constant time."""
        self._refresh()
        digest = _hash(secret)
        found = None
        for key in self._keys:
            if hmac.compare_digest(key.sha256, digest):
                found = key
        return found

    def _refresh(self) -> None:
        try:
            status = self.file.stat()
            version = status.st_mtime_ns, status.st_ino
        except OSError:
            version = None
        if version != self._version or version is None:
            self._keys = read_keys(self.file) if version else []
            self._version = version


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
