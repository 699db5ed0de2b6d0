"""What the dashboard remembers: theme, interval and the pane that was open last."""

from pathlib import Path

import msgspec
from msgspec.structs import replace

from kmeter.errors import UsageError
from kmeter.files import read_bounded, write_whole
from kmeter.model.live import LEAST_INTERVAL_S

LARGEST_BYTES = 1 << 16
MOST_INTERVAL_S = 3600.0
"""A longer one, given once, is remembered as this."""


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """As they stand in the file."""

    theme: str = "kmeter"
    interval_s: float = 1.0
    pane: str = "live"


def settings_file() -> Path:
    """Under the user's configuration folder."""
    from platformdirs import user_config_path

    return user_config_path("kmeter") / "tui.json"


def load(path: Path) -> tuple[Settings, str]:
    """The settings, and why the file was ignored where it was."""
    try:
        if not path.exists():
            return Settings(), ""
        found = msgspec.json.decode(read_bounded(path, LARGEST_BYTES, "settings"), type=Settings)
    except (msgspec.DecodeError, UsageError, OSError, RecursionError) as error:
        return Settings(), f"{path} is ignored: {error}"
    if not LEAST_INTERVAL_S <= found.interval_s <= MOST_INTERVAL_S:
        return Settings(), f"{path} is ignored: no interval of {found.interval_s:g} s"
    return found, ""


def save(path: Path, settings: Settings) -> None:
    """Write them; raises UsageError where that is not possible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {path.parent}: {error.strerror}") from None
    kept = replace(settings, interval_s=min(settings.interval_s, MOST_INTERVAL_S))
    write_whole(str(path), msgspec.json.format(msgspec.json.encode(kept)).decode() + "\n")
