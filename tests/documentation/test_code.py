"""Every code block of the documentation runs: Python prints what the page shows, commands succeed.

The notebooks (tutorials and other pages with code cells) and the gallery run when the site is built.
"""

import contextlib
import io
import shlex

import numpy as np
import pytest

from documentation.pages import ROOT, cells, fenced_blocks, pages

# What sets a machine up or takes hours: other jobs run it.
NOT_RUN = ("pip ", "python", ".venv", ".ci/", "tools/", "KMLE_REQUIRE_COMPILED", "sphinx-build", "git ")
WITH_PYTHON = [page for page in pages() if page != "CONTRIBUTING.md" and "python" in dict(fenced_blocks(page))]
NOTEBOOKS = [page for page in pages() if cells(page)]


def commands(page):
    """The shell blocks that call kmle, as lists of lines."""
    blocks = [code.splitlines() for language, code in fenced_blocks(page) if language == "sh"]
    return [lines for lines in blocks if lines[0].startswith("kmle ")]


@pytest.fixture(autouse=True)
def quiet_plots():
    """Plots without a screen, closed afterwards."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_code_prints_what_the_page_shows(page, monkeypatch):
    needed = {"docs/large-data.md": "dask.array", "docs/images.md": "PIL", "docs/explore.md": "starlette"}
    pytest.importorskip(needed.get(page, "numpy"))
    monkeypatch.chdir((ROOT / page).parent)
    blocks, names = fenced_blocks(page), {}
    for (language, code), (following, output) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        assert printed.getvalue() == (output if following == "text" else "")


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_the_notebook_checks_its_numbers(page):
    """The build of the site runs it; a cell of its own fails where a number changes."""
    assert any("assert " in cell for cell in cells(page))


def test_every_other_block_is_known():
    """No language is left out by accident."""
    for page in pages():
        for language, code in fenced_blocks(page):
            if language == "sh":
                assert all(line.startswith(("kmle ", *NOT_RUN)) for line in code.splitlines() if line), (page, code)
            else:
                assert language in ("python", "py", "text", "console", "R", "yaml", ""), (page, language)


@pytest.mark.parametrize("page", [page for page in pages() if commands(page)])
def test_the_commands_succeed(page, tmp_path, monkeypatch):
    for package in ("typer", "polars", "matplotlib", "PIL"):
        pytest.importorskip(package)
    from typer.testing import CliRunner

    from kmle.cli.main import app

    for number, block in enumerate(commands(page)):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_files(folder)
        monkeypatch.chdir(folder)
        for line in block:
            result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
            assert result.exit_code == 0, f"{line}\n{result.output}"


def write_files(folder):
    """The files that the pages speak of, small."""
    import gzip

    import polars as pl
    from PIL import Image

    rng = np.random.default_rng(0)
    visits = pl.DataFrame({"visits": np.append(rng.poisson(2, 120), rng.poisson(20, 80))})
    for name in ("visits.csv", "tomorrow.csv", "your.csv", "mine.csv"):
        visits.write_csv(folder / name)
    visits.write_parquet(folder / "huge.parquet")
    (folder / "other.csv.gz").write_bytes(gzip.compress(visits.write_csv().encode()))
    pl.DataFrame({"right": rng.binomial(10, 0.4, 200)}).write_csv(folder / "answers.csv")
    mixed = {"minutes": rng.gamma(3, 2, 200), "x": rng.normal(size=200), "y": rng.normal(size=200)}
    visits.with_columns(**{name: pl.Series(values) for name, values in mixed.items()}).write_csv(folder / "mixed.csv")
    flowers = pl.read_csv(ROOT / "examples" / "data" / "iris.csv").rename({"Species": "species"})
    flowers.write_csv(folder / "flowers.csv")
    flowers.drop("species")[::10].write_csv(folder / "field.csv")
    pl.read_csv(ROOT / "examples" / "data" / "faithful.csv").write_csv(folder / "geyser.csv")
    for name in ("iris", "veteran", "salinity"):
        (folder / f"{name}.csv").write_bytes((ROOT / "examples" / "data" / f"{name}.csv").read_bytes())
    (folder / "air.csv").write_bytes((ROOT / "examples" / "data" / "airquality.csv").read_bytes())
    (folder / "holes.csv").write_text("a,b\n1.0,2.1\n2.0,\n3.1,6.0\n,8.2\n5.0,9.9\n6.2,12.1\n")
    Image.fromarray(rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)).save(folder / "photo.jpg")
