"""interface.py - what include/rota.h declares, for the faces of Rota in other
languages, which are made from it.

    python3 tools/interface.py include/rota.h     # names, one a line
"""

import collections
import re
import sys

# A parameter: its type without the name and brackets, as "const void *", and
# whether it was declared with brackets.
Parameter = collections.namedtuple("Parameter", "type name array")
Function = collections.namedtuple("Function", "result name parameters")


def parameter(text):
    """The Parameter that a declaration such as "const int counts[]" makes."""
    array = text.endswith("[]")
    match = re.fullmatch(r"(.*?)(\w+)", text[:-2] if array else text)
    return Parameter(match[1].strip(), match[2], array)


def functions(header):
    """A list of Function, in the order of the header at that path."""
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
    found = []
    for declaration in re.findall(r"^ROTA_API\s+([^;]*);", text, re.M):
        declaration = " ".join(declaration.split())
        match = re.fullmatch(r"(.*?)(\w+)\((.*)\)", declaration)
        listed = [] if match[3] == "void" else match[3].split(", ")
        found.append(Function(match[1].strip(), match[2],
                              [parameter(item) for item in listed]))
    return found


def version(header):
    """The version in the header, as "1.2.3"."""
    with open(header, encoding="utf-8") as file:
        return ".".join(re.findall(
            r"^#define ROTA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read(),
            re.M))


if __name__ == "__main__":
    for function in functions(sys.argv[1]):
        print(function.name)
