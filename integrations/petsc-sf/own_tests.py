#!/usr/bin/env python3
"""own_tests.py LIBRARY PETSC FOLDER MPICC MPIEXEC... - see own_tests.sh.

Builds the tests of star forests in the source folder PETSC against the PETSc that is
installed, and runs each as its block /*TEST says: with PETSc alone, and with all star
forests of the type of LIBRARY. What they print is compared with PETSc's own outputs by
PETSc's own petscdiff. Where PETSc alone does not pass, a test does not count.
"""
import glob
import itertools
import os
import re
import subprocess
import sys

LIBRARY, PETSC, FOLDER, MPICC = sys.argv[1:5]
MPIEXEC = sys.argv[5:]
LIMIT = 60


# What the type does otherwise, and why it may.
OTHERWISE = {
    "ex14_1": "it prints how many messages PETSc has counted, and a plan's are not PETSc's",
    "ex15_1": "it moves roots of a star forest in use (VecScatterRemap), which PETSc "
              "refuses for any type but PETSCSFBASIC",
}


def flags(what):
    return subprocess.run(["pkg-config", what, "PETSc"], check=True,
                          capture_output=True, text=True).stdout.split()


def configured():
    """The text of PETSc's petscconf.h."""
    for flag in flags("--cflags"):
        for path in glob.glob(flag[2:] + "/petscconf.h"):
            with open(path, encoding="utf-8") as file:
                return file.read()
    sys.exit("no petscconf.h")


CONFIGURED = configured()


def has(name):
    return re.search(rf"^#define {name}\b", CONFIGURED, re.M) is not None


def lacks(requires):
    """The first of the words that this PETSc does not fulfil."""
    for word in requires.split():
        name = word.lstrip("!")
        if name.startswith("defined("):
            there = has(name[8:].rstrip(")"))
        else:
            there = name in ("double", "c") or has("PETSC_HAVE_" + name.upper())
        if there == word.startswith("!"):
            return word
    return None


def parse(text):
    """The tests of a block: dictionaries of its keys, those of a testset in each of
    its tests."""
    tests, open_keys = [], []
    for line in text.splitlines():
        bare = line.split("#")[0] if line.lstrip().startswith("#") else line
        if not bare.strip():
            continue
        depth = len(bare) - len(bare.lstrip())
        key, _, value = bare.strip().partition(":")
        while open_keys and open_keys[-1][0] >= depth:
            open_keys.pop()
        if key in ("test", "testset", "build"):
            of = dict(open_keys[-1][2]) if open_keys else {}
            if open_keys:
                open_keys[-1][3][0] = True
            open_keys.append((depth, key, of, [False]))
            tests.append(open_keys[-1])
            continue
        of = open_keys[-1][2]
        value = value.strip()
        joins = key in ("args", "requires") and key in of
        of[key] = of[key] + " " + value if joins else value
        if key == "suffix" and len(open_keys) > 1 and "suffix" in open_keys[-2][2]:
            of[key] = open_keys[-2][2]["suffix"] + "_" + value
    built = [of for _, key, of, _ in tests if key == "build"]
    return built, [of for _, key, of, inner in tests
                   if key != "build" and not inner[0]]


def spread(text):
    """All values of a text with loops {{a b}}, and what their loops add to a suffix."""
    parts = re.split(r"(\{\{.*?\}\}(?:separate output|shared output)?)", text)
    choices = []
    for part in parts:
        if part.startswith("{{"):
            inner, _, how = part[2:].partition("}}")
            choices.append([(v, v if how.startswith("separate") else "")
                            for v in inner.split()])
        else:
            choices.append([(part, "")])
    for choice in itertools.product(*choices):
        yield "".join(v for v, _ in choice), "".join(s for _, s in choice if s)


def variants(test):
    """(ranks, arguments, what the suffix gets) of each run of a test."""
    for ranks, more in spread(test.get("nsize", "1")):
        for args, _ in spread(test.get("args", "")):
            yield int(ranks), args, f"_nsize-{more}" if more else ""


def run(program, ranks, args, rota):
    environment = dict(os.environ, ROTA_EXPLAIN="1")
    environment["PETSC_OPTIONS"] = (
        f"-dll_append {LIBRARY} -rota_sf_basic" if rota else "")
    try:
        done = subprocess.run(
            ["timeout", "-k", "5", str(LIMIT), *MPIEXEC, str(ranks), program,
             *args.split()], capture_output=True, text=True, env=environment,
            cwd=FOLDER, check=False)
    except UnicodeDecodeError:
        return 1, "", ""
    return done.returncode, done.stdout, done.stderr


def agrees(test, folder, output, printed):
    """By petscdiff, with output or one of its alternatives."""
    path = os.path.join(FOLDER, "printed")
    if "filter" in test:
        printed = subprocess.run(["sh", "-c", test["filter"]], input=printed,
                                 capture_output=True, text=True, check=False).stdout
    with open(path, "w", encoding="utf-8") as file:
        file.write(printed)
    given = os.path.join(folder, output)
    stem = given[:-len(".out")]
    said = ""
    for expected in [given, *sorted(glob.glob(stem + "_alt*.out"))]:
        if not os.path.exists(expected):
            said += f"there is no {expected}\n"
            continue
        done = subprocess.run(
            ["sh", os.path.join(PETSC, "lib/petsc/bin/petscdiff"),
             *test.get("diff_args", "").split(), expected, path],
            capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return True, ""
        said += done.stdout + done.stderr
    return False, said


class Count:
    passed = failed = alone = by_rota = left_out = otherwise = 0


def one(source, program, test):
    name = os.path.splitext(os.path.basename(source))[0]
    suffix = test.get("suffix", "1")
    why = lacks(test.get("requires", ""))
    if why:
        print(f"left out: {name}_{suffix}, which needs {why}")
        Count.left_out += 1
        return
    if f"{name}_{suffix}" in OTHERWISE:
        print(f"left out: {name}_{suffix}: " + OTHERWISE[f"{name}_{suffix}"])
        Count.otherwise += 1
        return
    for ranks, args, more in variants(test):
        output = test.get("output_file", f"output/{name}_{suffix}{more}.out")
        what = f"{name}_{suffix} on {ranks} with {args or 'nothing'}"
        folder = os.path.dirname(source)
        rc, printed, _ = run(program, ranks, args, False)
        if rc != 0 or not agrees(test, folder, output, printed)[0]:
            print(f"left out: {what}: PETSc alone does not pass")
            Count.alone += 1
            continue
        rc, printed, errors = run(program, ranks, args, True)
        same, said = agrees(test, folder, output, printed)
        if rc == 0 and same:
            Count.passed += 1
            Count.by_rota += "rota:" in errors
            continue
        Count.failed += 1
        print(f"FAILED: {what}: exit code {rc}\n{said[:2000]}{errors[-3000:]}")


def main():
    for source in sorted(glob.glob(PETSC + "/src/vec/is/sf/t*/ex*.c")):
        with open(source, encoding="utf-8") as file:
            block = re.search(r"/\*TEST(.*)TEST\*/", file.read(), re.S)
        if not block:
            continue
        built, tests = parse(block.group(1))
        why = lacks(" ".join(b.get("requires", "") for b in built))
        tests = [t for t in tests if not why]
        if not any(not lacks(t.get("requires", "")) for t in tests):
            print(f"left out: {source[len(PETSC):]}, nothing of it runs here")
            continue
        program = os.path.join(FOLDER, re.sub("[/.]", "_", source[len(PETSC):]))
        subprocess.run([MPICC, "-w", *flags("--cflags"), source, "-o", program,
                        *flags("--libs"), "-lm"], check=True)
        for test in tests:
            one(source, program, test)
    print(f"{Count.passed} runs pass, {Count.by_rota} of them with plans of Rota; "
          f"{Count.failed} fail; {Count.alone} do not pass with PETSc alone; "
          f"{Count.left_out} tests need what is not here, {Count.otherwise} are "
          "left out as above")
    sys.exit(Count.failed > 0 or Count.by_rota == 0)


main()
