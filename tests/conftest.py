"""Every shape annotation of the package is checked while the tests run."""

import os
from pathlib import Path

from jaxtyping import install_import_hook

install_import_hook("transduce", "beartype.beartype")

# The models here are so small that a second thread costs more than it brings, also in the
# processes that tests start.
os.environ["OMP_NUM_THREADS"] = "1"
# As wide as in a pipe, whatever runs the tests.
os.environ["COLUMNS"] = "100"

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("transduce", deadline=None, max_examples=25)
settings.load_profile("transduce")


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_its_own(tmp_path_factory) -> None:
    """Tests use a cache directory of their own, not the user's."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real corpora; tests that need it are skipped if it is missing."""
    folder = Path(os.environ.get("TRANSDUCE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real corpora: set TRANSDUCE_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, which finds faults of accessibility."""
    folder = os.environ.get("AXE", Path(__file__).parents[1] / "node_modules" / "axe-core")
    script = Path(folder) / "axe.min.js"
    if not script.is_file():
        pytest.skip("no axe-core: npm install axe-core, or set AXE to its folder")
    return script.read_text("utf-8")


@pytest.fixture(scope="session")
def page_server(tmp_path_factory):
    """A server whose page is tested."""
    import pages

    pages.require_browser()
    with pages.served(tmp_path_factory.mktemp("page")) as server:
        yield server


@pytest.fixture(scope="module")
def seen(page_server):
    """Its page in a browser."""
    import browser

    with browser.opened(page_server.url) as seen:
        yield seen
