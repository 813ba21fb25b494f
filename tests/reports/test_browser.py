"""A report in a browser: it draws, its slider moves what is drawn, its tabs change."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pinnsig
from tests.conftest import SMALL

pytest.importorskip("plotly", reason="plotly is not installed: pip install 'pinnsig[report]'")
pytest.importorskip("selenium", reason="selenium is not installed")
CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="there is no chromium with its chromedriver"
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=900,900",
)  # fmt: skip


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """A browser of this test's own."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def test_sliders_and_tabs(browser: Any, finished: Path, tmp_path: Path):
    from selenium.webdriver.support.ui import WebDriverWait

    wait = WebDriverWait(browser, 60)
    other = pinnsig.solve("burgers", runs=tmp_path, figures=False, **{**SMALL, "seed": 3}).path
    page = pinnsig.report(finished, other, out=tmp_path / "both.html")
    browser.get(page.as_uri())
    wait.until(lambda b: b.execute_script("return document.getElementById('chart-1').drawn"))
    shown = "return [...document.querySelectorAll('main > .tabs > [role=tabpanel]')]"
    shown += ".map((panel) => panel.offsetParent !== null)"
    assert browser.execute_script(shown) == [True, False, False]

    tabs = browser.find_elements("css selector", "main > .tabs > [role=tablist] > [role=tab]")
    assert tabs[0].text == "Comparison"
    tabs[1].click()
    assert browser.execute_script(shown) == [False, True, False]
    assert [tab.get_attribute("aria-selected") for tab in tabs] == ["false", "true", "false"]

    # the curves along x are the one chart with frames; it is drawn when it comes near the window
    name = browser.execute_script(
        "const all = JSON.parse(document.getElementById('charts').textContent);"
        "return Object.keys(all).find((name) => all[name].frames)"
    )
    browser.execute_script(f"document.getElementById('{name}').scrollIntoView()")
    wait.until(lambda b: b.execute_script(f"return document.getElementById('{name}').drawn"))
    curve = f"return Array.from(document.getElementById('{name}').data[1].y)"
    before = browser.execute_script(curve)
    slider = browser.find_elements("css selector", ".explorer input")[0]
    output = browser.find_elements("css selector", ".explorer output")[0]
    assert (slider.get_attribute("value"), output.text) == ("20", "0.5")
    slider.send_keys("\ue012" * 20)  # arrow left
    wait.until(lambda _: output.text == "0")
    after = browser.execute_script(curve)
    assert after != before
    predicted = pinnsig.load(finished).predict(x=[-0.5, 0.5], t=0.0)["u"]
    assert [after[25], after[75]] == pytest.approx(list(predicted), rel=1e-4)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
