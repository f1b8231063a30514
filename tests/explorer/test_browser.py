"""The page in a real browser: every control, wrong input, hostile names, two pages, keys only, narrow and dark."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver

from explorer.serving import running
from kmle import Mixture
from kmle.explorer.source import from_array

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="chromium and chromedriver are not both installed")

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000")
HOSTILE = "<script>alert(1)</script>"


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
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(4, 0.5, (200, 2)), rng.normal(9, 0.5, (150, 2))])
    return np.column_stack([X, np.repeat([0, 1], [200, 150])])


@pytest.fixture(scope="module")
def server(rows):
    gaps = rows.copy()
    gaps[::50, 1] = np.nan
    with running(from_array(gaps, [HOSTILE, "b", "kind"])) as made:
        yield made


class Shown:
    """What a reader of the page sees and does."""

    def __init__(self, browser):
        self.browser = browser

    def script(self, code, *given):
        return self.browser.execute_script(code, *given)

    def open(self, address):
        self.browser.get_log("browser")
        if self.browser.current_url.startswith("http"):
            self.script("sessionStorage.clear()")
        self.browser.get(address)
        self.settled()

    def find(self, name):
        return self.browser.find_element("id", name)

    def text(self, name):
        return self.script("return document.getElementById(arguments[0]).textContent", name)

    def data(self, name):
        return self.script("return document.documentElement.dataset[arguments[0]]", name)

    def settled(self, after=0):
        """Waits for a fit to all rows that is newer, or for a refusal."""
        until(lambda: int(self.data("shown") or 0) > after and self.data("stage") in ("all", "wrong"))
        return int(self.data("shown"))

    def change(self, name, value):
        """Sets a control as a reader would, and waits for the fit."""
        before = int(self.data("shown") or 0)
        self.script(
            "const control = document.getElementById(arguments[0]);"
            "if (control.type === 'checkbox') control.checked = arguments[1]; else control.value = arguments[1];"
            "control.dispatchEvent(new Event('input', {bubbles: true}));"
            "control.dispatchEvent(new Event('change', {bubbles: true}))",
            name,
            value,
        )
        self.settled(before)

    def click(self, selector):
        before = int(self.data("shown") or 0)
        self.script("document.querySelector(arguments[0]).click()", selector)
        self.settled(before)

    def silent(self):
        return self.browser.get_log("browser") == []


def until(condition, seconds=40):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


@pytest.fixture
def page(browser, server):
    shown = Shown(browser)
    shown.open(server.address)
    return shown


def test_every_control_changes_the_fit(page):
    assert "model = ExponentialFamilyMixture(3," in page.text("python")
    page.change("k", 2)
    assert "Mixture(2, " in page.text("python")
    page.change("k-number", 4)
    assert "Mixture(4, " in page.text("python")
    page.change("k-number", 2)
    page.click('#columns input[value="kind"]')
    assert page.script("return document.querySelectorAll('#columns input:checked').length") == 2
    page.change("family", "log-normal")
    assert "family='log-normal'" in page.text("python")
    page.change("family", "gaussian")
    page.change("structure", "gaussian-eee")
    assert "family='gaussian-eee'" in page.text("python")
    page.click('input[name="algorithm"][value="k-mle"]')
    assert "KMLE(2, " in page.text("python")
    page.change("prior", 0.5)
    assert "prior_strength=0.5" in page.text("python")
    page.change("structure", "")
    page.click('input[name="algorithm"][value="em"]')
    page.click('input[name="missing"][value="drop"]')
    page.change("noise", True)
    assert "noise=True" in page.text("python")
    page.change("noise", False)
    assert "343 rows" in page.text("status").replace("\N{NARROW NO-BREAK SPACE}", "")
    page.change("labels", "kind")
    assert "labels=labels" in page.text("python")
    page.change("seed", 7)
    assert "random_state=7" in page.text("python")
    assert page.find("wrong").is_displayed() is False
    assert page.silent()


def test_fixed_parameters_are_asked_for(page):
    page.click('#columns input[value="kind"]')
    page.change("family", "fixed-shape-gamma")
    assert "needs its shape" in page.text("wrong")
    page.change("fixed-shape", 2)
    assert page.find("wrong").is_displayed() is False
    assert "FixedShapeGamma(shape=2)" in page.text("python")


def test_censored_values_are_drawn_as_survival(page):
    page.change("censoring", "event:kind")
    assert "censored values are one column" in page.text("wrong")
    page.click('#columns input[value="b"]')
    assert page.find("wrong").is_displayed() is False
    assert "Intervals.from_events" in page.text("python")
    assert page.find("missing-control").is_displayed() is False
    assert page.script("return document.querySelector('#plot-now .ytitle').textContent") == "share beyond"
    page.change("censoring", "")
    assert page.find("missing-control").is_displayed()
    assert page.silent()


def test_the_guess_has_its_reason(page):
    assert "holds" in page.text("guess")
    assert page.find("family").text.startswith("guessed: ")


def test_families_that_cannot_have_the_rows_cannot_be_chosen(page):
    refused = page.script("return [...document.querySelectorAll('#family option:disabled')].map((o) => o.value)")
    assert "poisson" in refused
    assert "gaussian" not in refused


def test_a_hostile_name_is_read_and_not_run(page):
    boxes = page.script("return [...document.querySelectorAll('#columns input')].map((box) => box.value)")
    assert boxes == [HOSTILE, "b", "kind"]
    assert page.find("columns").text.splitlines()[0] == HOSTILE
    page.change("view", page.script("return document.getElementById('view').options[1].value"))
    titles = page.script(
        "return [...document.querySelectorAll('#plot-now .xtitle, #plot-now .ytitle')].map((t) => t.textContent)"
    )
    assert HOSTILE in titles
    assert len(page.browser.find_elements("css selector", "script")) == 3
    assert page.silent()


def test_details_follow(page):
    until(lambda: page.data("details") == page.data("shown"))
    assert "standard errors" in page.text("components")
    assert "starts agree" in page.text("starts") or "start" in page.text("starts")
    assert page.text("diagnostics")
    for kind in ("quantiles", "certainty"):
        page.script(
            "const list = document.getElementById('check-kind'); list.value = arguments[0];"
            "list.dispatchEvent(new Event('change'))",
            kind,
        )
        until(lambda: page.script("return document.querySelectorAll('#plot-check .main-svg path').length") > 2)
    assert "least certain" in page.find("rows-kind").text
    assert page.find("rows").find_elements("css selector", "tbody tr")
    page.script("document.querySelector('#diagnostics details').open = true")
    page.change("k", 2)
    until(lambda: page.data("details") == page.data("shown"))
    assert page.script("return document.querySelector('#diagnostics details').open")  # as the reader left it
    assert page.script("return document.querySelectorAll('[aria-busy=true]').length") == 0
    assert page.silent()


def test_a_box_over_the_plot_lists_its_rows(page):
    page.change("view", f"{HOSTILE} \N{MULTIPLICATION SIGN} b")
    until(lambda: page.data("details") == page.data("shown"))
    from selenium.webdriver import ActionChains

    place = page.browser.find_element("css selector", "#plot-now .nsewdrag")
    page.script("arguments[0].scrollIntoView({block: 'center'})", place)
    width, height = place.size["width"], place.size["height"]
    ActionChains(page.browser).move_to_element_with_offset(place, -width // 3, -height // 3).click_and_hold().pause(
        0.1
    ).move_by_offset(width // 3, height // 3).pause(0.1).move_by_offset(width // 3, height // 3).pause(
        0.1
    ).release().perform()
    until(lambda: "mean posterior" in page.text("rows"))
    assert page.silent()


def test_rows_of_a_component_and_by_number(page):
    until(lambda: page.data("details") == page.data("shown"))
    page.find("row-number").send_keys("3")
    page.find("row-show").click()
    until(lambda: "Its posterior" in page.text("rows"))
    page.script(
        "const list = document.getElementById('rows-kind'); list.value = 'component 0';"
        "list.dispatchEvent(new Event('change'))"
    )
    until(lambda: "mean posterior" in page.text("rows"))


def test_two_fits_side_by_side(page):
    page.change("k", 2)
    page.find("keep").click()
    page.change("k", 4)
    assert page.find("kept").is_displayed()
    assert page.text("kept-title").startswith("Mixture of 2 ")
    assert page.text("now-title").startswith("Mixture of 4 ")
    assert page.script("return document.querySelectorAll('#plot-kept .main-svg').length") > 0
    page.click("#restore")
    assert page.text("now-title").startswith("Mixture of 2 ")
    page.find("forget").click()
    assert page.find("kept").is_displayed() is False
    assert page.silent()


def test_a_comparison_fills_in_and_can_be_cancelled(page):
    page.find("compare").click()
    until(lambda: page.script("return document.querySelectorAll('#compare-table tbody tr').length") >= 8)
    assert page.find("cancel").is_displayed() is False
    page.script("document.getElementById('compare-most').value = 30")
    page.find("compare").click()
    until(lambda: page.find("cancel").is_displayed())
    page.find("cancel").click()
    assert page.text("compare-note").startswith("Cancelled")
    assert page.find("compare").is_enabled()
    assert page.silent()


def test_everything_is_exported(page, downloads):
    page.change("k", 2)
    page.click('input[name="missing"][value="drop"]')
    for kind, name in (("model", "model.json"), ("labels", "labels.csv"), ("report", "report.html")):
        page.browser.find_element("css selector", f"[data-export={kind}]").click()
        until(lambda name=name: (downloads / name).exists() and (downloads / name).stat().st_size > 0)
    page.find("save-plot").click()
    until(lambda: (downloads / "mixture.png").exists() and (downloads / "mixture.png").stat().st_size > 0)
    model = json.loads((downloads / "model.json").read_text(encoding="utf-8"))
    assert model["columns"] == [HOSTILE, "b", "kind"]
    assert Mixture.from_json(json.dumps(model)).n_components == 2
    assert len((downloads / "labels.csv").read_text(encoding="utf-8").splitlines()) == 344
    assert (downloads / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_code_is_copied(page):
    page.script("navigator.clipboard.writeText = (words) => { window.copied = words; return Promise.resolve(); }")
    page.script("document.querySelector('[data-copy=python]').click()")
    until(lambda: page.script("return window.copied") == page.text("python"))


def test_two_pages_at_once(page, server):
    page.change("k", 2)
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    page.open(server.address)
    page.change("k", 5)
    page.browser.close()
    page.browser.switch_to.window(first)
    assert page.text("now-title").startswith("Mixture of 2 ")
    page.change("k", 3)
    assert page.text("now-title").startswith("Mixture of 3 ")


def test_a_reload_keeps_the_settings(page):
    page.change("k", 5)
    page.change("family", "diagonal-gaussian")
    page.browser.refresh()
    page.settled()
    assert "ExponentialFamilyMixture(5, family='diagonal-gaussian'" in page.text("python")


def test_keys_are_enough(page):
    from selenium.webdriver import ActionChains, Keys

    seen = []
    page.script("document.body.focus()")
    for _ in range(80):
        ActionChains(page.browser).send_keys(Keys.TAB).perform()
        seen.append(page.script("return document.activeElement.id || document.activeElement.dataset.export || ''"))
    wanted = {
        "model",
        "theme",
        "k",
        "k-number",
        "family",
        "prior",
        "noise",
        "labels",
        "seed",
        "keep",
        "view",
        "compare",
    }
    assert wanted | {"check-kind", "rows-kind", "row-number"} <= set(seen)
    before = int(page.data("shown"))
    page.script("document.getElementById('k').focus()")
    ActionChains(page.browser).send_keys(Keys.ARROW_RIGHT).perform()
    page.settled(before)
    assert "Mixture(4, " in page.text("python")


def test_tables_that_scroll_are_reached_by_keys(page, server):
    narrow = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        page.open(server.address)
        page.script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        wide = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth)"
        until(lambda: page.script(f"return {wide}.length > 0 && {wide}.every((box) => box.tabIndex === 0)"))
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_controls_have_labels(page):
    unnamed = page.script(
        "return [...document.querySelectorAll('input, select, button, progress')].filter((control) =>"
        " !(control.labels && control.labels.length) && !control.ariaLabel && !control.textContent.trim())"
        ".map((control) => control.outerHTML)"
    )
    assert unnamed == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_are_read_easily(page, theme):
    """A contrast of 4.5 to 1 and more, as WCAG 2 asks for."""
    if page.script("return document.documentElement.dataset.theme") != theme:
        page.find("theme").click()
    pairs = page.script(
        "const places = ['#status', '.note', 'label', '#python', '#stage', '[data-export=model]', 'dt']"
        ".map((name) => [name, document.querySelector(name)]);"
        "return [...places, ...[...document.querySelectorAll('.badge')].map((badge) => [badge.textContent, badge])]"
        ".map(([name, place]) => {"
        " let ground = place;"
        " while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;"
        " return [name, getComputedStyle(place).color, getComputedStyle(ground).backgroundColor]; })"
    )
    assert {name: contrast(ink, ground) for name, ink, ground in pairs if contrast(ink, ground) < 4.5} == {}


def contrast(first, second):
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(part) / 255 for part in colour.partition("(")[2].rstrip(")").split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_dark_follows_the_system(page, server):
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        page.open(server.address)
        assert page.script("return document.documentElement.dataset.theme") == "dark"
        ground = page.script("return getComputedStyle(document.querySelector('#plot-now .main-svg')).backgroundColor")
        assert luminance(ground) < 0.1
    finally:
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


OVERLAPPING = """
const titles = [...document.querySelectorAll('#plot-now .xtitle, #plot-now .ytitle')];
const boxes = titles.map((title) => title.getBoundingClientRect());
return boxes.filter((a, i) => boxes.some((b, j) => i < j && a.left < b.right && b.left < a.right && a.top < b.bottom
  && b.top < a.bottom)).length;
"""


def test_400_pixels_are_enough(page, server):
    """Also for a page that was opened wider; settings come back where there is room for them."""
    narrow = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        until(lambda: page.script("return document.querySelector('#plot-now .main-svg').clientWidth") < 400)
        until(lambda: page.script(OVERLAPPING) == 0)
        assert page.find("family").is_displayed() is False
        page.open(server.address)
        assert page.script("return document.documentElement.scrollWidth") <= 400
        assert page.script(OVERLAPPING) == 0
        assert page.find("k").is_displayed()
        page.script("document.querySelector('#more summary').click()")
        assert page.find("family").is_displayed()
        assert page.script("return document.documentElement.scrollWidth") <= 400
        page.script("document.querySelector('#more summary').click()")
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    until(lambda: page.find("family").is_displayed())


def nodes_and_listeners(page):
    """Those of the page, without garbage."""
    for _ in range(2):
        page.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    counted = page.browser.execute_cdp_cmd("Memory.getDOMCounters", {})
    return counted["nodes"], counted["jsEventListeners"]


def test_fifty_rapid_changes_leave_the_last_plot(page):
    """And nothing else: no detached nodes, no listeners, no <details> made again."""
    page.change("k", 2)
    until(lambda: page.data("details") == page.data("shown"))
    held = nodes_and_listeners(page)
    page.script("window.folded = document.querySelector('#diagnostics details')")
    before = int(page.data("shown"))
    page.script(
        "const slider = document.getElementById('k');"
        "for (let turn = 0; turn < 50; turn++) {"
        " slider.value = 2 + (turn % 7); slider.dispatchEvent(new Event('input')); }"
    )
    page.settled(before + 49)
    assert page.text("now-title").startswith("Mixture of 2 ")
    assert "Mixture(2, " in page.text("python")
    time.sleep(0.5)
    assert int(page.data("shown")) == before + 50
    until(lambda: page.data("details") == page.data("shown"))
    assert nodes_and_listeners(page) == pytest.approx(held, rel=0.02)
    assert page.script("return document.querySelector('#diagnostics details') === window.folded")
    assert page.silent()


def test_the_page_says_when_the_server_is_killed(browser, tmp_path, rows):
    np.save(tmp_path / "rows.npy", rows)
    command = [sys.executable, "-m", "kmle", "explore", str(tmp_path / "rows.npy"), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        page = Shown(browser)
        page.open(process.stdout.readline().split()[-1])
        assert page.find("lost").is_displayed() is False
        process.send_signal(signal.SIGKILL)
        until(lambda: page.find("lost").is_displayed())
        assert "server has stopped" in page.text("lost")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
