#!/usr/bin/env python3
"""Checks of the repository that no compiler makes. Prints what is wrong, and where."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What a folder may include of the others; itself always.
LAYERS = {
    "checker/model": [],
    "checker/link": ["checker/model"],
    "checker/solve": ["checker/model", "checker/link"],
    "checker/report": ["checker/model"],
    "checker/extract": ["checker/model"],
    "rules": ["checker/model", "checker/link", "checker/solve", "checker/report"],
    "checker/driver": ["checker/model", "checker/link", "checker/solve", "checker/report", "checker/extract", "rules"],
}
# checker/extract's one public header; the rest of it includes Clang.
PUBLIC_OF_EXTRACT = "checker/extract/Extract.h"
CLANG = re.compile(r"^(clang|llvm|clang-c|llvm-c)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)

problems = []


def problem(path, text, line=None):
    where = str(path.relative_to(ROOT)) + (f":{line}" if line else "")
    problems.append(f"{where}: {text}")


def read(path):
    return path.read_text(encoding="utf-8")


def sources(folder):
    return sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cpp"))


def layer_of(name):
    return max((layer for layer in LAYERS if name.startswith(layer + "/")), key=len, default=None)


def check_layers():
    for layer, allowed in LAYERS.items():
        for path in sources(layer):
            text = read(path)
            public = layer != "checker/extract" or str(path.relative_to(ROOT)) == PUBLIC_OF_EXTRACT
            for match in INCLUDE.finditer(text):
                name, line = match[2], text.count("\n", 0, match.start(2)) + 1
                if CLANG.match(name) and public:
                    problem(path, f"includes {name}; only checker/extract may see Clang", line)
                other = layer_of(name)
                if other and other != layer and other not in allowed:
                    problem(path, f"includes {name}; {layer} may not depend on {other}", line)
                if other == "checker/extract" and layer != other and name != PUBLIC_OF_EXTRACT:
                    problem(path, f"includes {name}; {PUBLIC_OF_EXTRACT} is its only public header", line)
    for path in sources("tests"):
        for match in INCLUDE.finditer(read(path)):
            if CLANG.match(match[2]):
                problem(path, f"includes {match[2]}; only checker/extract may see Clang")


def check_headers():
    for layer in LAYERS:
        for path in sources(layer):
            text = read(path)
            if path.suffix == ".h" and "#pragma once" not in text:
                problem(path, "has no #pragma once")
            # A folder of one rule has one file that says it all.
            if path.suffix == ".h" and not text.lstrip().startswith("//"):
                problem(path, "does not start with what it is")


def check_models():
    files = sorted((ROOT / "rules/models").glob("*.json"))
    if not files:
        problem(ROOT / "rules/models", "no models")
    for path in files:
        try:
            value = json.loads(read(path))
        except ValueError as error:
            problem(path, f"no JSON: {error}")
            continue
        if path.name != "schema.json" and (value.get("schema") != 1 or not value.get("library")):
            problem(path, 'needs "schema": 1 and "library"')


def check_rules():
    docs = {p: read(p) for p in sorted((ROOT / "docs").glob("*.md")) + [ROOT / "README.md"]}
    codes = {}
    for folder in sorted(p for p in (ROOT / "rules").iterdir() if (p / "Rule.cpp").exists()):
        rule = folder.name
        page = folder / "rule.md"
        if not page.exists():
            problem(folder, "has no rule.md")
            continue
        match = re.search(r'"%s",\s*"(LT\d+)"' % re.escape(rule), read(folder / "Rule.cpp"))
        if not match:
            problem(folder / "Rule.cpp", f'does not define the rule "{rule}" with its code')
            continue
        code = match[1]
        if code in codes:
            problem(folder / "Rule.cpp", f"has the code {code} of {codes[code]}")
        codes[code] = rule
        if not any(rule in text for text in docs.values()):
            problem(ROOT / "docs", f"no page mentions the rule {rule}")
        if code not in read(page):
            problem(page, f"does not say its code, {code}")
    # Codes that pages speak of exist, or are said to be no rules (LT9xx: housekeeping).
    for path, text in docs.items():
        for code in sorted(set(re.findall(r"\bLT\d{3}\b", text))):
            if code not in codes and not code.startswith("LT9"):
                problem(path, f"speaks of {code}, which is no rule here")


def check_links():
    for path in sorted((ROOT / "docs").glob("*.md")) + [ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", read(path)):
            if "://" not in target and not (path.parent / target).exists():
                problem(path, f"links to {target}, which does not exist")


def main():
    check_layers()
    check_headers()
    check_models()
    check_rules()
    check_links()
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
