"""The page in a real browser: it draws, hides, downloads, and lets nothing in or out."""

import base64
import json
import shutil
import subprocess
import time

import numpy as np
import pytest

from kmle import KMLE, Mixture
from kmle.report import write_report

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="chromium and chromedriver are not both installed")

HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>"]
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,1000")
VISIBLE = "return document.querySelectorAll('#plot-data .scatterlayer .trace.scatter').length"


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads):
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def model():
    dist = Mixture.from_source("gaussian", [0.4, 0.6], mean=[[0.0, 0.0], [5.0, 7.0]], covariance=[np.eye(2)] * 2)
    X = dist.sample(400, 0)
    return KMLE(2, random_state=0).fit(X), X


@pytest.fixture
def opened(browser, model, tmp_path):
    """The page with hostile names everywhere, drawn."""
    path = write_report(tmp_path / "report.html", *model, HOSTILE, command=HOSTILE[1], title=HOSTILE[0])
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(path.as_uri())
    until(lambda: browser.execute_script("return document.documentElement.dataset.drawn") == "yes")
    return browser


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


def test_it_draws_without_a_word_in_the_console(opened):
    assert len(opened.find_elements("css selector", ".plot .main-svg")) >= 4
    assert opened.execute_script(VISIBLE) > 0
    points = opened.execute_script("return document.querySelectorAll('#plot-data .points path').length")
    assert points >= 400
    assert opened.get_log("browser") == []


def test_nothing_is_asked_of_the_network(opened):
    events = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert asked
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)


def test_hostile_names_are_read_and_not_run(opened):
    assert opened.title == HOSTILE[0]
    assert opened.find_elements("css selector", "img") == []
    assert len(opened.find_elements("css selector", "script")) == 4
    titles = [
        title.text for title in opened.find_elements("css selector", "#plot-data .g-xtitle, #plot-data .g-ytitle")
    ]
    assert titles == HOSTILE
    # Were a name to get through after all, the page's policy would still refuse to run it.
    opened.execute_script("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran=1\">')")
    time.sleep(0.3)
    assert opened.execute_script("return window.ran") is None
    assert "Content Security Policy" in opened.get_log("browser")[0]["message"]


def test_a_click_on_the_legend_hides_a_component(opened):
    before = opened.execute_script(VISIBLE)
    (first, _) = opened.find_elements("css selector", "#plot-data .legendtoggle")
    first.click()
    # Points, ellipses and mark of the component go together.
    until(lambda: opened.execute_script(VISIBLE) == before // 2)
    # It stays hidden when the page changes its colours.
    opened.find_element("id", "theme").click()
    time.sleep(0.5)
    assert opened.execute_script(VISIBLE) == before // 2
    assert opened.get_log("browser") == []


def test_the_download_is_the_model(opened, downloads, model):
    opened.find_element("id", "download").click()
    path = downloads / "model.json"
    # The browser reserves the name with an empty file, then moves the finished download onto it.
    until(lambda: path.exists() and path.stat().st_size > 0)
    assert Mixture.from_json(path.read_text(encoding="utf-8")) == model[0].mixture_


def test_light_and_dark_reach_the_pictures(opened):
    def ground():
        return opened.execute_script(
            "return [getComputedStyle(document.body).backgroundColor, "
            "getComputedStyle(document.querySelector('#plot-data .main-svg')).backgroundColor]"
        )

    first = ground()
    opened.find_element("id", "theme").click()
    until(lambda: all(a != b for a, b in zip(first, ground(), strict=True)))
    opened.find_element("id", "theme").click()
    until(lambda: ground() == first)


def test_another_view_is_drawn_when_chosen(opened):
    opened.execute_script(
        "const list = document.querySelector('select'); list.value = '1'; list.dispatchEvent(new Event('change'))"
    )
    until(lambda: opened.find_elements("css selector", "#plot-data .barlayer .bars path"))
    assert opened.get_log("browser") == []


def page_of(name):
    """A small page of each kind of plot."""
    rng = np.random.default_rng(0)
    if name == "pairs":
        X = rng.normal(size=(200, 3)) + np.repeat([[0], [6]], 100, axis=0)
        return KMLE(2, random_state=0).fit(X), X
    if name == "logarithms":
        X = np.exp(rng.normal(size=(300, 2)) * 2)
        return KMLE(2, family="log-normal", random_state=0).fit(X), X
    dist = {
        "rose": lambda: Mixture.from_source("von-mises", [0.5, 0.5], mean=[0.5, 3.0], concentration=[4.0, 9.0]),
        "sphere": lambda: Mixture.from_source(
            "von-mises-fisher", [0.5, 0.5], direction=[[1.0, 0, 0], [0, 0.6, 0.8]], concentration=[20.0, 40.0]
        ),
        "triangle": lambda: Mixture.from_source("dirichlet", [0.5, 0.5], concentration=[[2.0, 5, 9], [9, 3, 2]]),
    }[name]()
    X = dist.sample(200, 0)
    return KMLE(2, family=dist.family.name, random_state=0).fit(X), X


@pytest.mark.parametrize("name", ["pairs", "logarithms", "rose", "sphere", "triangle"])
def test_every_kind_of_plot_is_drawn_without_a_word_in_the_console(browser, tmp_path, name):
    path = write_report(tmp_path / "report.html", *page_of(name))
    browser.get_log("browser")
    browser.get(path.as_uri())
    until(lambda: browser.execute_script("return document.documentElement.dataset.drawn") == "yes")
    # Points or bars, and the lines of both components.
    assert browser.execute_script("return document.querySelectorAll('#plot-data .scatterlayer .js-line').length") >= 2
    assert browser.get_log("browser") == []


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext is not installed")
def test_the_last_printed_page_is_not_empty(opened, tmp_path):
    printed = opened.execute_cdp_cmd(
        "Page.printToPDF", {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.7}
    )
    (tmp_path / "page.pdf").write_bytes(base64.b64decode(printed["data"]))
    text = subprocess.run(["pdftotext", tmp_path / "page.pdf", "-"], capture_output=True, text=True, check=True).stdout
    pages = text.rstrip("\f").split("\f")
    assert 2 <= len(pages) <= 8
    assert all(len(page.split()) > 20 for page in pages)
    assert "How to reproduce it" in pages[-1]
