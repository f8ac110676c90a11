"""Takes the pictures of docs/images from the report in examples, with an installed Chromium.

python docs/screenshots.py [BROWSER]

It needs the extra `browser`. Run it after `examples/report/report.html` has changed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "examples" / "report" / "report.html"
# name of the picture -> the heading at its top, and its height
PICTURES = {
    "report-leaderboard": ("#leaderboard-title", 350),
    "report-cutoffs": ("#section-cutoffs-title", 560),
}


def main() -> None:
    browser = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.goto(REPORT.as_uri())
        page.wait_for_timeout(3000)  # the charts draw themselves
        for name, (heading, height) in PICTURES.items():
            box = page.locator(heading).bounding_box()
            assert box is not None
            top = box["y"] + page.evaluate("scrollY") - 12
            path = ROOT / "docs" / "images" / f"{name}.png"
            page.screenshot(
                path=path, full_page=True, clip={"x": 20, "y": top, "width": 1240, "height": height}
            )
        chromium.close()


if __name__ == "__main__":
    main()
