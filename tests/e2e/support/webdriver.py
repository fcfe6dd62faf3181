"""Controls Debian's chromium, and records its console messages and requests."""

import contextlib
import json
import os
import shutil
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from .process import PATIENCE

with contextlib.suppress(ImportError):
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

needs_webdriver = pytest.mark.skipif("webdriver" not in globals() or not shutil.which("chromedriver"),
                                     reason="no python3-selenium, or no chromium-driver")

AXE = os.environ.get("QUARRY_AXE", "")

needs_axe = pytest.mark.skipif(not AXE, reason="no axe-core in QUARRY_AXE")


class Driven:
    """A browser in FOLDER/browser that stores its downloads in FOLDER/downloads."""

    def __init__(self, folder: Path):
        self.downloads = folder / "downloads"
        self.downloads.mkdir(parents=True)
        options = Options()
        options.binary_location = shutil.which("chromium")
        # Host names are not resolved. Requests to other hosts are therefore harmless and visible.
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder / 'browser'}",
                     "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
            options.add_argument(word)
        options.add_experimental_option("prefs", {"download.default_directory": str(self.downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_page_load_timeout(PATIENCE)
        self.driver.set_script_timeout(PATIENCE)

    def quit(self) -> None:
        self.driver.quit()

    def open(self, url: str) -> None:
        self.driver.get(url)

    def wait(self, condition, what: str):
        """Waits until CONDITION is true, and returns its value. Ignores elements that disappear while CONDITION is
        evaluated."""
        waiting = WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05, ignored_exceptions=[WebDriverException])
        return waiting.until(lambda _: condition(), what)

    def one(self, selector: str):
        """Waits until an element that matches SELECTOR is shown, and returns the first such element."""
        def shown():
            return next((each for each in self.driver.find_elements(By.CSS_SELECTOR, selector) if each.is_displayed()), None)
        return self.wait(shown, f"{selector} on {self.driver.current_url}")

    def wait_for_text(self, text: str) -> None:
        self.wait(lambda: text in self.driver.find_element(By.TAG_NAME, "body").text, f"\"{text}\" on {self.driver.current_url}")

    def click(self, selector: str) -> None:
        self.one(selector).click()

    def follow(self, selector: str) -> None:
        """Waits until fossil's script has set the URL of a link, and clicks on the link. Without the script, the link
        leads to a trap for robots."""
        self.wait(lambda: "honeypot" not in (self.one(selector).get_attribute("href") or "honeypot"), f"a link {selector}")
        self.click(selector)

    def fill(self, selector: str, text: str) -> None:
        element = self.one(selector)
        element.clear()
        element.send_keys(text)

    def attach(self, selector: str, path: Path) -> None:
        self.one(selector).send_keys(str(path))

    def press_tab(self) -> None:
        ActionChains(self.driver).send_keys(Keys.TAB).perform()

    def be_dark(self, is_dark: bool) -> None:
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]})

    def barriers(self) -> list[str]:
        """Returns the accessibility violations that axe-core finds on the page."""
        self.driver.execute_script(Path(AXE).read_text())
        found, passed = self.driver.execute_async_script("""
            const done = arguments[0];
            axe.run().then(found => done([found.violations.map(each => [each.id, each.nodes.map(node => node.html)]),
                                          found.passes.length]), error => done([[String(error)], 0]));""")
        assert passed > 5, f"axe-core has checked nothing: {found}"
        return found

    def complaints(self) -> list[str]:
        """Returns the new messages of the console, except debug messages."""
        return [f"{each['level']}: {each['message']}" for each in self.driver.get_log("browser") if each["level"] != "DEBUG"]

    def asked(self) -> list[str]:
        """Returns the URLs requested since the last call."""
        messages = [json.loads(each["message"])["message"] for each in self.driver.get_log("performance")]
        return [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]

    def hosts_asked(self) -> set[str]:
        """Returns the hosts of network requests with their ports."""
        parts = [urllib.parse.urlsplit(url) for url in self.asked()]
        return {each.netloc for each in parts if each.scheme in ("http", "https", "ws", "wss", "ftp")}


@contextlib.contextmanager
def driven(folder: Path) -> Iterator[Driven]:
    browser = Driven(folder)
    try:
        yield browser
    finally:
        browser.quit()
