"""The files that pages name, in backticks or as links, exist, and so do the sections that links lead to.

    check_paths.py SOURCE PAGE.md...
"""

import os
import re
import sys

source, *pages = sys.argv[1:]


def anchors(page):
    """Of a page's headings, as GitHub writes them."""
    text = re.sub(r"^```.*?^```", "", open(page).read(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


tops = [name for name in os.listdir(source) if os.path.isdir(os.path.join(source, name))]
count = 0
missing = []
for page in pages:
    text = open(os.path.join(source, page)).read()
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    names = [n for n in re.findall(r"`([\w./-]+)`", text) if n.split("/")[0] in tops and "/" in n]
    links = [os.path.join(os.path.dirname(page), link)
             for link in re.findall(r"\]\(([^)#:]+)\)", text)]
    for name in names + links:
        count += 1
        if name.startswith("build") or "NAME" in name or "..." in name:
            continue
        if not os.path.exists(os.path.join(source, name)):
            missing.append(f"{page}: there is no {name}")

    for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
        target = os.path.join(source, os.path.dirname(page), link) if link else os.path.join(source, page)
        count += 1
        if not os.path.exists(target):
            missing.append(f"{page}: there is no {link}")
        elif anchor not in anchors(target):
            missing.append(f"{page}: {link or page} has no section #{anchor}")

print(f"{count} paths")
if missing:
    sys.exit("\n".join(missing))
