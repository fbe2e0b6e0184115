"""check_faces.py - is all of include/rota.h in every face of it?

    python3 tests/check_faces.py ROOT [MPIF90]

Every function is called by rota.hpp, by the Python package and, of the Fortran
modules, which are made from the header, by their test; or it is named with the
reason in tests/faces_left_out.txt. Versions that are written elsewhere are the
header's. The Fortran generator takes what rota.h does not have yet, and refuses
what it does not know.
"""

import os
import re
import subprocess
import sys
import tempfile

root = sys.argv[1]
sys.path.insert(0, os.path.join(root, "tools"))
import interface  # noqa: E402

failed = []


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def check_calls():
    header = [f.name for f in interface.functions(
        os.path.join(root, "include/rota.h"))]
    assert len(header) > 20, "found no functions"
    left_out = {tuple(line.split(maxsplit=2)[:2])
                for line in read("tests/faces_left_out.txt").splitlines()
                if line and not line.startswith("#")}
    sources = {"cxx": read("include/rota.hpp"),
               "python": read("python/rota/_rota.pyx"),
               "fortran": read("fortran/test_fortran.F90")}
    for face, source in sources.items():
        # What names a manual page does not call.
        called = set(re.findall(r"\brota_\w+", re.sub(r"\w+\(3\)", "", source)))
        for name in header:
            wanted = name.removesuffix("_c") if face == "fortran" else name
            found = wanted in called
            if found == ((face, name) in left_out):
                failed.append(f"{face}: {name} is "
                              f"{'both called and' if found else 'neither called nor'}"
                              " left out")
    for face, name in left_out:
        if name not in header or face not in sources:
            failed.append(f"left out, but not in rota.h: {face} {name}")


def check_versions():
    version = interface.version(os.path.join(root, "include/rota.h"))
    for path, pattern in [("python/meson.build", r"version: '([\d.]+)', license"),
                          ("CITATION.cff", r"^version: ([\d.]+)"),
                          ("debian/changelog", r"\Arota \(([\d.]+)"),
                          ("packaging/conda/recipe.yaml", r"version: \"([\d.]+)\""),
                          ("packaging/easybuild/rota.eb", r"^version = '([\d.]+)'"),
                          ("packaging/spack/package.py", r"version\(\"([\d.]+)\"")]:
        found = re.search(pattern, read(path), re.M)
        if not found or found[1] != version:
            failed.append(f"{path}: version {found and found[1]}, not {version}")


NEW = """
ROTA_API int rota_alltoallw_init(const void *sendbuf, const int sendcounts[],
    const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
    MPI_Comm comm, MPI_Info info, rota_plan **plan);
"""


def generate(folder, more):
    header = os.path.join(folder, "rota.h")
    with open(header, "w", encoding="utf-8") as file:
        file.write(read("include/rota.h").replace(
            "#ifdef __cplusplus\n}", more + "#ifdef __cplusplus\n}"))
    return subprocess.run(
        [sys.executable, os.path.join(root, "fortran/generate.py"), header,
         folder], capture_output=True, text=True, check=False)


def check_generator(mpif90):
    with tempfile.TemporaryDirectory() as folder:
        made = generate(folder, "ROTA_API int rota_odd(float what);\n")
        if made.returncode == 0 or "rota_odd" not in made.stderr:
            failed.append("generate.py: takes a type that it does not know")
        made = generate(folder, "" if "rota_alltoallw_init" in
                        read("include/rota.h") else NEW)
        if made.returncode != 0:
            failed.append(f"generate.py: {made.stderr}")
        elif mpif90:
            made = subprocess.run(
                [mpif90, "-c", "-Wall", "rota_c.f90", "rota.f90",
                 "rota_f90.f90"], cwd=folder, capture_output=True, text=True,
                check=False)
            if made.returncode != 0 or "Warning" in made.stderr:
                failed.append(made.stderr)


check_calls()
check_versions()
check_generator(sys.argv[2] if len(sys.argv) > 2 else None)
print("\n".join(failed))
sys.exit(bool(failed))
