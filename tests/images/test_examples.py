"""The examples about pictures run."""

import subprocess
import sys
from pathlib import Path

from images.scenes import scene
from kmle.images import read_image, save_image
from package import STRICTLY

EXAMPLES = Path(__file__).parents[2] / "examples"


def ran(name, *arguments):
    command = [sys.executable, *STRICTLY, str(EXAMPLES / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_speckle(tmp_path):
    outcome = ran("speckle.py", tmp_path / "speckle.png")
    assert outcome.returncode == 0, outcome.stderr
    assert read_image(tmp_path / "speckle.png").width > 700


def test_figure(tmp_path):
    path = save_image(tmp_path / "scene.png", scene())
    outcome = ran("figure.py", path, tmp_path / "figure.jpg", 4)
    assert outcome.returncode == 0, outcome.stderr
    assert "4 components" in outcome.stdout
    assert ran("figure.py").returncode == 1
