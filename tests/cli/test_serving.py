"""Who may open the dashboard in a browser: its own page, and what is no page."""

import pytest

from kmeter.cli._serve import is_same_site


@pytest.mark.parametrize(
    ("origin", "host", "is_allowed"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("http://localhost:8000", "localhost:8000", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://10.0.0.5:8000", "10.0.0.5:8000", True),
        (None, "127.0.0.1:8000", True),
        ("http://evil.example", "127.0.0.1:8000", False),
        ("http://127.0.0.1:9999", "127.0.0.1:8000", False),
        ("null", "127.0.0.1:8000", False),
        ("http://rebound.example:8000", "rebound.example:8000", False),
        (None, "rebound.example:8000", False),
    ],
)
def test_a_page_of_another_site_is_refused(origin: str | None, host: str, is_allowed: bool) -> None:
    assert is_same_site(origin, host) is is_allowed


def test_the_name_that_it_is_served_by_is_its_own() -> None:
    assert is_same_site("http://box:8000", "box:8000", "box")
    assert not is_same_site("http://evil.example", "box:8000", "box")
