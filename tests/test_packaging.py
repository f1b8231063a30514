"""What pyproject.toml declares agrees with the other files that say the same."""

import re
import tomllib

import pytest

from package import PROJECT

pytestmark = pytest.mark.skipif(not (PROJECT / "pyproject.toml").exists(), reason="needs the repository")


@pytest.fixture(scope="module")
def settings():
    return tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))


def floors(settings):
    """The lowest version of each package that users need."""
    extras = settings["project"]["optional-dependencies"]
    listed = settings["project"]["dependencies"] + [
        requirement
        for name in ("cli", "excel", "plot", "image", "explore", "onnx", "dask")
        for requirement in extras[name]
    ]
    parts = [re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", requirement).groups() for requirement in listed]
    return {name.lower(): version for name, version in parts}


def oldest():
    """The versions that the job with the oldest dependencies installs."""
    lines = (PROJECT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_the_oldest_versions_are_those_that_are_tested(settings):
    tested = oldest()
    for name, floor in floors(settings).items():
        assert tested[name].startswith(floor), (
            f"{name}: pyproject.toml allows {floor}, .ci/oldest.txt has {tested[name]}"
        )


def test_the_citation_names_the_version(settings):
    citation = (PROJECT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, flags=re.MULTILINE).group(1) == settings["project"]["version"]


def test_sources_in_cpp_are_not_in_wheels(settings):
    suffixes = {path.suffix for path in (PROJECT / "src" / "kmle" / "cpp").rglob("*") if path.is_file()}
    assert {f"*{suffix}" for suffix in suffixes} == set(settings["tool"]["scikit-build"]["wheel"]["exclude"])


def test_a_failed_compilation_is_an_error_where_it_must_be_one(settings):
    (retry,) = settings["tool"]["scikit-build"]["overrides"]
    assert retry["if"] == {"failed": True, "env": {"KMLE_REQUIRE_COMPILED": False}}
    for workflow in ("tests.yml", "wheels.yml"):
        text = (PROJECT / ".github" / "workflows" / workflow).read_text(encoding="utf-8")
        assert "KMLE_REQUIRE_COMPILED" in text
