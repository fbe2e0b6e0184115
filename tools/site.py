"""site.py - the pages of the site, for mkdocs; tools/site.sh runs it.

    python3 tools/site.py ROOT FOLDER

Writes FOLDER/mkdocs.yml and FOLDER/pages. Pages are those of the repository with
their links turned to where the site has things: what is no page itself, such as
an example, is copied beside them.
"""

import os
import posixpath
import re
import shutil
import sys

root, folder = sys.argv[1:]
pages = os.path.join(folder, "pages")

# Files of the repository that are pages, in the order of the menu.
PAGES = {
    "README.md": ("index.md", "Rota"),
    "docs/guide.md": ("guide.md", "Guide"),
    "docs/languages.md": ("languages.md", "C++, Fortran, Python"),
    "docs/dropin.md": ("dropin.md", "Programs as they are"),
    "docs/examples.md": ("examples.md", "Examples"),
    "docs/building.md": ("building.md", "Building"),
    "include/rota.h": ("api.md", "Interface"),
    "docs/algorithms.md": ("algorithms.md", "Algorithms"),
    "docs/choice.md": ("choice.md", "Choice"),
    "docs/gpu.md": ("gpu.md", "GPUs"),
    "docs/programs.md": ("programs.md", "Programs of others"),
    "docs/measurements.md": ("measurements.md", "Measurements"),
    "docs/scaling.md": ("scaling.md", "Scaling"),
    "docs/papers.md": ("papers.md", "Papers"),
    "docs/attacks.md": ("attacks.md", "Attacks"),
    "docs/design.md": ("design.md", "Design"),
    "docs/extending.md": ("extending.md", "Extending"),
    "docs/stability.md": ("stability.md", "What stays"),
    "CHANGELOG.md": ("changelog.md", "Changes"),
    "CONTRIBUTING.md": ("contributing.md", "Contributing"),
    "SECURITY.md": ("security.md", "Security"),
}


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def write(name, text):
    with open(os.path.join(pages, name), "w", encoding="utf-8") as file:
        file.write(text)


def target(page, link):
    """Where the site has what a page links to."""
    if re.match(r"[a-z]+:|#", link):
        return link
    path, _, anchor = link.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    anchor = "#" + anchor if anchor else ""
    if path in PAGES:
        return PAGES[path][0] + anchor
    source = os.path.join(root, path)
    if os.path.isdir(source):
        return "files.md#" + listed(path)
    # Not under a name that mkdocs would take for a page.
    copy = "files/" + path + (".txt" if path.endswith(".md") else "")
    os.makedirs(os.path.dirname(os.path.join(pages, copy)), exist_ok=True)
    shutil.copyfile(source, os.path.join(pages, copy))
    return copy


FOLDERS = []


def listed(path):
    """The anchor of a folder on the page that lists files."""
    if path not in FOLDERS:
        FOLDERS.append(path)
    return re.sub(r"[^a-z0-9_]", "", path.lower())


def files_page():
    """Folders that pages link to; grows while it is written."""
    lines = ["# Files"]
    for path in FOLDERS:
        lines += ["", f"## {path} {{#{listed(path)}}}", ""]
        for name in sorted(os.listdir(os.path.join(root, path))):
            file = posixpath.join(path, name)
            lines.append(f"- [{name}]({target('', file)})")
    return "\n".join(lines) + "\n"


def markdown(path):
    """A page's text with its links turned; code is left alone."""
    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", read(path),
                     flags=re.S | re.M)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\]\(([^)\s]+)\)",
                          lambda m: f"]({target(path, m[1])})", parts[i])
    return "".join(parts)


def escaped(text):
    return re.sub(r"([*_<>\\\[\]])", r"\\\1", text)


def comment_text(comment):
    """A comment of rota.h as Markdown: paragraphs, and lists of what stands in
    lines of a name, two blanks and a text."""
    lines = []
    for line in comment.split("\n"):
        item = re.match(r"([a-z][A-Za-z_, \[\]]*[a-z\]])  +(\S.*)$", line)
        if item:
            lines.append(f"- `{item[1]}`: {escaped(item[2])}")
        elif line.startswith("  ") and lines and lines[-1] != "":
            lines.append("  " + escaped(line.strip()))
        else:
            # A list ends, and begins, with an empty line.
            lines.append(escaped(line.strip()))
    text = "\n".join(lines)
    text = re.sub(r"\n(- `[^\n]*\n)(?=[^-\s])", r"\n\1", text)
    return re.sub(r"([^\n])\n(?=- `)", lambda m: m[0] if re.search(
        r"\n(- `|  )[^\n]*$", "\n" + text[:m.end(1)]) else m[1] + "\n\n", text)


def api_page():
    text = read("include/rota.h")
    lines = ["# Interface", "", "Made from rota.h; every function has a manual "
             "page as well.", ""]
    headed = False
    for match in re.finditer(
            r"/\*(?P<comment>.*?)\*/\s*(?P<code>ROTA_API[^;]*;|#define[^\n]*\n"
            r"ROTA_API[^;]*;)?", text, re.S):
        comment = "\n".join(re.sub(r"^ ?\*? ?", "", line).rstrip() for line in
                            match["comment"].strip(" ").split("\n")).strip("\n")
        title = re.match(r"-{20,}\n([^\n]*)\n(.*?)\n?-{20,}\s*$", comment, re.S)
        if not headed:
            headed = True
            lines += ["## Rules", "", comment_text(
                comment.split("\n", 2)[2]), ""]
        elif title and title[1] == "Hints":
            lines += ["## Hints", "", "```text", title[2].strip("\n"), "```", ""]
        elif title:
            lines += [f"## {title[1]}", "", comment_text(title[2].strip("\n")),
                      ""]
        elif match["code"]:
            code = re.sub(r"^ROTA_API\s+", "", match["code"], flags=re.M)
            name = re.search(r"(rota_\w+)\(", code)[1]
            lines += [f"### {name}", "", "```c", code, "```", "",
                      comment_text(comment), ""]
    return "\n".join(lines)


os.makedirs(pages)
shutil.copytree(os.path.join(root, "docs/figures"),
                os.path.join(pages, "files/docs/figures"))
for source, (name, title) in PAGES.items():
    write(name, api_page() if source.endswith(".h") else markdown(source))
write("files.md", files_page())
with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as file:
    file.write("""\
site_name: Rota
site_description: Persistent non-uniform all-to-all over MPI
docs_dir: pages
site_dir: site
use_directory_urls: false
theme:
  name: mkdocs
  highlightjs: false
plugins: [search]
markdown_extensions: [tables, attr_list, toc]
nav:
""")
    for name, title in PAGES.values():
        file.write(f"  - {title!r}: {name}\n")
    file.write("  - 'Files': files.md\n")
