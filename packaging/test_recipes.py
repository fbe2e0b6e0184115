"""test_recipes.py ROOT - are the recipes of other package managers sound, as
far as that can be seen without them?

Spack's: it is run with stand-ins for what Spack gives to recipes, all variants.
EasyBuild's: it is Python, with the parameters that EasyBuild asks for. conda's
and CITATION.cff: they are YAML, with what they must have (skipped without
PyYAML). Options that recipes pass to CMake are the project's.
"""

import os
import re
import sys
import types

root = sys.argv[1]
failed = []


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


class CMakePackage:
    """What a recipe uses of Spack's, for one set of variants."""

    on = True
    run_tests = False
    prefix = types.SimpleNamespace(lib="lib")

    def define(self, name, value):
        return f"-D{name}:STRING={value}"

    def define_from_variant(self, name, variant):
        if variant not in VARIANTS:
            failed.append(f"spack: no variant {variant}")
        return self.define(name, self.on)

    @property
    def spec(self):
        return {"mpi": types.SimpleNamespace(mpicc="mpicc")}


VARIANTS, DEPENDS, VERSIONS = {}, [], []


class Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def spack():
    source = re.sub(r"^from spack.*", "", read("packaging/spack/package.py"),
                    flags=re.M)
    names = {
        "CMakePackage": CMakePackage,
        "license": lambda name: None,
        "version": lambda name, **_: VERSIONS.append(name),
        "variant": lambda name, default, description:
            VARIANTS.__setitem__(name, default),
        "depends_on": lambda spec, type=None, when=None:
            DEPENDS.append((spec, when)),
        "extends": lambda spec: None,
        "when": lambda spec: Nothing(),
        "run_after": lambda phase: lambda method: method,
        "join_path": os.path.join, "which": None, "set_env": None,
    }
    exec(compile(source, "package.py", "exec"), names)
    recipe = names["Rota"]()
    arguments = recipe.cmake_args()
    for spec, when in DEPENDS:
        if when and when.lstrip("+~") not in VARIANTS:
            failed.append(f"spack: {spec} depends on no variant {when}")
    for wanted in ("mpi", "hwloc", "cjson", "uthash"):
        if not any(spec.split("@")[0] == wanted for spec, _ in DEPENDS):
            failed.append(f"spack: does not depend on {wanted}")
    if not VERSIONS or not recipe.__doc__:
        failed.append("spack: no version or description")
    return arguments


def easybuild():
    names = {"SHLIB_EXT": "so", "SOURCELOWER_TAR_GZ": "rota.tar.gz"}
    exec(compile(read("packaging/easybuild/rota.eb"), "rota.eb", "exec"), names)
    for wanted in ("easyblock", "name", "version", "homepage", "description",
                   "toolchain", "sources", "sanity_check_paths", "moduleclass"):
        if wanted not in names:
            failed.append(f"easybuild: no {wanted}")
    return names["configopts"].split()


def options_exist(where, arguments):
    known = read("CMakeLists.txt") + "".join(
        read(os.path.join("cmake", name))
        for name in os.listdir(os.path.join(root, "cmake")))
    for name in re.findall(r"-D(\w+)", " ".join(arguments)):
        if name != "MPI_C_COMPILER" and not re.search(
                rf"(option|set)\({name}\b", known):
            failed.append(f"{where}: the project has no option {name}")


def yaml_files():
    try:
        import yaml
    except ImportError:
        print("PyYAML is not installed: YAML is not looked at")
        return
    recipe = yaml.safe_load(read("packaging/conda/recipe.yaml"))
    for wanted in ("context", "recipe", "source", "outputs", "about"):
        if wanted not in recipe:
            failed.append(f"conda: no {wanted}")
    options_exist("conda", [str(recipe)])
    citation = yaml.safe_load(read("CITATION.cff"))
    for wanted in ("cff-version", "message", "title", "authors"):
        if wanted not in citation:
            failed.append(f"CITATION.cff: no {wanted}")


options_exist("spack", spack())
options_exist("easybuild", easybuild())
yaml_files()
print("\n".join(failed))
sys.exit(bool(failed))
