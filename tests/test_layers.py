"""Imports point one way: a module uses only the layers below its own."""

import ast

import pytest

from package import module_files

# Lowest first. Layers on one line do not know each other; "" is the package itself, `kmle`.
LAYERS = [
    ["numerics", "_kernels"],
    ["palette", "titles"],
    ["families"],
    ["data"],
    ["engines"],
    ["queries"],
    ["presentation"],
    ["mixture"],
    ["divergences"],
    ["problem"],
    ["merging"],
    ["algorithms"],
    ["seeding"],
    ["search"],
    ["selection"],
    ["inspection"],
    ["estimators"],
    [""],
    ["io"],
    ["plotting"],
    ["images"],
    ["report"],
    ["explorer"],
    ["cli"],
    ["__main__"],
]
RANK = {layer: rank for rank, layers in enumerate(LAYERS) for layer in layers}
FILES = module_files()


def test_imports_only_from_below():
    upward = {
        name: upward_imports(name, path.read_text(encoding="utf-8"), path.name == "__init__.py")
        for name, path in FILES.items()
    }
    assert {name: found for name, found in upward.items() if found} == {}


@pytest.mark.parametrize(
    ("name", "source", "found"),
    [
        ("kmle.numerics.packing", "from kmle.families import Poisson", "kmle.families.Poisson"),
        ("kmle.numerics.packing", "import kmle._kernels", "kmle._kernels"),
        ("kmle._kernels.reference", "from kmle import numerics", "kmle.numerics"),
        ("kmle.families.derived", "from kmle import KMLE", "kmle.KMLE"),
        ("kmle.families.derived", "from ..mixture import Mixture", "kmle.mixture.Mixture"),
        ("kmle.families.derived", "from .. import estimators", "kmle.estimators"),
        ("kmle.mixture", "def late():\n    from .algorithms import loop", "kmle.algorithms.loop"),
        ("kmle.mixture", "import kmle", "kmle"),
    ],
)
def test_an_upward_import_is_found(name, source, found):
    assert upward_imports(name, source) == [found]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("kmle.families.poisson", "from kmle.families.derived import ExponentialFamily"),
        ("kmle.families.poisson", "from .derived import ExponentialFamily"),
        ("kmle.families.poisson", "from kmle import numerics\nimport numpy as np"),
        ("kmle.cli.main", "from kmle import KMLE, __version__"),
        ("kmle.algorithms.loop", "import io\nfrom statistics import mean"),
    ],
)
def test_a_downward_import_is_allowed(name, source):
    assert upward_imports(name, source) == []


def test_the_package_itself_may_import_everything():
    assert upward_imports("kmle", "from kmle import cli\nfrom .estimators import KMLE", is_package=True) == []


def test_a_module_outside_every_layer_is_refused():
    with pytest.raises(KeyError, match="stray"):
        upward_imports("kmle.stray", "import kmle.numerics")


def upward_imports(name, source, is_package=False):
    """The imports of kmle in `source` that do not point below the layer of the module called `name`."""
    if name == "kmle":
        return []
    own = name.split(".")[1]
    if own not in RANK:
        raise KeyError(f"{own} is in no layer: give it its place in LAYERS of tests/test_layers.py.")
    targets = [target for target in imports(name, source, is_package) if target.split(".")[0] == "kmle"]
    return [target for target in targets if layer_of(target) != own and RANK[layer_of(target)] >= RANK[own]]


def layer_of(target):
    """The layer an imported name comes from; `kmle` itself for what is no layer, such as `kmle.KMLE`."""
    first = target.split(".")[1:2]
    return first[0] if first and first[0] in RANK else ""


def imports(name, source, is_package=False):
    """Dotted names of everything imported, wherever the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = name.split(".")[: len(name.split(".")) - node.level + is_package] if node.level else []
            base = ".".join([*package, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
