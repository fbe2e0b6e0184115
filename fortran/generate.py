"""generate.py - the Fortran modules of Rota, from include/rota.h.

    python3 fortran/generate.py include/rota.h FOLDER

Writes to FOLDER

    rota_c.f90       module rota_c: the types rota_plan and rota_graph,
                     constants, and the C side as Fortran sees it
    rota.f90         module rota, with the handles of mpi_f08
    rota_f90.f90     module rota_f90, with those of mpi, which are integers
    rota_fortran.c   the C side: turns handles and buffers into those of C

A function of a type of argument that is not listed here is an error, so that
none is left out unnoticed. Functions with a large-count form ("_c") share its
generic name.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools"))
import interface  # noqa: E402 (found by the line above)

# C's "NULL" is an argument that is left out.
OPTIONAL = {("rota_exchange_set_buffer", "buffer"),
            ("rota_exchange_set_buffer", "capacity"),
            ("rota_tuning_import", "path"), ("rota_tuning_export", "path")}

HANDLES = {"MPI_Datatype": "Type", "MPI_Comm": "Comm", "MPI_Info": "Info",
           "MPI_Op": "Op", "MPI_Request": "Request"}
COUNTS = {"int": ("integer", "c_int"),
          "MPI_Count": ("integer(MPI_COUNT_KIND)", "c_int64_t"),
          "MPI_Aint": ("integer(MPI_ADDRESS_KIND)", "c_intptr_t")}


class Argument:
    """One argument in its forms: what a Fortran program declares (user), what
    module rota_c declares (bind), what is passed from the one to the other
    (passed), what the C side takes (c) and hands to the library (handed).
    before and after are statements of Fortran around the call, local the
    variables that they need."""

    def __init__(self, name):
        self.name = name
        self.user, self.bind, self.passed = [], [], [name]
        self.c, self.handed = [], name
        self.local, self.before, self.after = [], [], []
        self.prepare, self.release = "", ""
        self.is_buffer = False

    @property
    def bound(self):
        """The names that module rota_c gives it."""
        return [line.split(":: ")[1].split("(")[0] for line in self.bind]


def buffer_argument(arg, constant, optional):
    intent = "intent(in), " if constant else ""
    extra = "optional, " if optional else ""
    arg.is_buffer = True
    arg.user = [f"type(*), dimension(..), {intent}{extra}asynchronous :: "
                f"{arg.name}"]
    arg.bind = arg.user
    arg.c = [f"const CFI_cdesc_t *{arg.name}"]
    arg.handed = f"address({arg.name}, in_place, bottom)"


def handle_argument(arg, kind):
    arg.user = [f"type({kind}), intent(in) :: {arg.name}"]
    arg.bind = [f"integer(c_int), value :: {arg.name}"]
    arg.passed = [f"{arg.name}%MPI_VAL"]
    arg.c = [f"MPI_Fint {arg.name}"]
    arg.handed = f"MPI_{HANDLES[kind]}_f2c({arg.name})"


def made_handle_argument(arg, kind):
    """MPI_Request *request: set if the call succeeds."""
    name = arg.name
    arg.user = [f"type({kind}), intent(inout) :: {name}"]
    arg.bind = [f"integer(c_int), intent(inout) :: {name}"]
    arg.passed = [f"{name}%MPI_VAL"]
    arg.c = [f"MPI_Fint *{name}"]
    arg.handed = f"&c_{name}"
    arg.prepare = f"{kind} c_{name} = {kind.upper()}_NULL;"
    arg.release = f"if (err == MPI_SUCCESS)\n        *{name} = " \
        f"{kind}_c2f(c_{name});"


def type_array_argument(arg):
    """const MPI_Datatype types[]: made anew for the call."""
    name = arg.name
    arg.user = [f"type(MPI_Datatype), intent(in) :: {name}(:)"]
    arg.bind = [f"integer(c_int), intent(in) :: {name}(*)",
                f"integer(c_int), value :: n_{name}"]
    arg.passed = [f"{name}%MPI_VAL", f"size({name})"]
    arg.c = [f"const MPI_Fint {name}[]", f"int n_{name}"]
    arg.handed = f"c_{name}"
    arg.prepare = f"MPI_Datatype *const c_{name} = types_of(n_{name}, {name});"
    arg.release = f"free(c_{name});"


def string_argument(arg, optional):
    """const char *: of any length, ended by trim."""
    name = arg.name
    extra = ", optional" if optional else ""
    arg.user = [f"character(len=*), intent(in){extra} :: {name}"]
    arg.bind = [f"type(c_ptr), value :: {name}"]
    arg.passed = [f"c_{name}"]
    arg.c = [f"const char *{name}"]
    arg.local = ["character(len=:), allocatable, target :: "
                 f"ended_{name}", f"type(c_ptr) :: c_{name}"]
    text = [f"ended_{name} = trim({name}) // c_null_char",
            f"c_{name} = c_loc(ended_{name})"]
    if optional:
        text = [f"if (present({name})) then"] + ["  " + t for t in text] + \
            ["end if"]
    arg.before = [f"c_{name} = c_null_ptr"] + text


def simple(arg, user, bind=None, c=None, passed=None):
    arg.user = [f"{user} :: {arg.name}"]
    arg.bind = [f"{bind or user} :: {arg.name}"]
    if c:
        arg.c = [c]
    if passed:
        arg.passed = [passed]


def scalar_argument(arg, ctype, optional):
    user, kind = COUNTS.get(ctype, ("integer(c_size_t)", "c_size_t"))
    extra = ", optional" if optional else ""
    simple(arg, f"{user}, intent(in){extra}", f"integer({kind}), value",
           f"{ctype} {arg.name}")
    if optional:
        arg.local = [f"integer({kind}) :: c_{arg.name}"]
        arg.before = [f"c_{arg.name} = 0",
                      f"if (present({arg.name})) c_{arg.name} = {arg.name}"]
        arg.passed = [f"c_{arg.name}"]


def count_array(arg, ctype, constant):
    user, kind = COUNTS[ctype]
    intent = "in" if constant else "out"
    arg.user = [f"{user}, intent({intent}) :: {arg.name}(*)"]
    arg.bind = [f"integer({kind}), intent({intent}) :: {arg.name}(*)"]
    arg.c = [f"{'const ' if constant else ''}{ctype} {arg.name}[]"]


def address_array(arg, element):
    """void *blocks[]: addresses, of the library's or, if const, the program's."""
    intent = "in" if element.endswith("const") else "out"
    arg.user = arg.bind = [f"type(c_ptr), intent({intent}) :: {arg.name}(*)"]
    arg.c = [f"{element} {arg.name}[]"]


def pointer_argument(arg, ctype):
    """const int **: an array of the library's, as long as the argument before
    it, n_sources, says."""
    name = arg.name
    user, kind = COUNTS[ctype]
    arg.user = [f"{user}, pointer, intent(out) :: {name}(:)"]
    arg.bind = [f"type(c_ptr), intent(out) :: {name}"]
    arg.passed = [f"c_{name}"]
    arg.c = [f"const {ctype} **{name}"]
    arg.local = [f"type(c_ptr) :: c_{name}"]
    arg.before = [f"nullify ({name})"]
    arg.after = [f"if (err == 0) call c_f_pointer(c_{name}, {name}, "
                 "[n_sources])"]


def flag_argument(arg):
    arg.user = [f"logical, intent(out) :: {arg.name}"]
    arg.bind = [f"integer(c_int), intent(out) :: {arg.name}"]
    arg.passed = [f"c_{arg.name}"]
    arg.c = [f"int *{arg.name}"]
    arg.local = [f"integer(c_int) :: c_{arg.name}"]
    arg.before = [f"c_{arg.name} = 0"]
    arg.after = [f"{arg.name} = c_{arg.name} /= 0"]


POINTERS = {"stream": ("in", ", value", "void *"),
            "context": ("in", ", value", "void *"),
           "ptr": ("inout", ", intent(inout)", "void *"),
            "recvbuf": ("out", ", intent(out)", "void **")}
# Those of the program, with bind(c).
FUNCTIONS = ("rota_pack_function *", "rota_unpack_function *")
# Types that hold a handle of Rota's, and none of it.
OURS = {"rota_plan": "ROTA_PLAN_NULL", "rota_graph": "ROTA_GRAPH_NULL"}


def argument(function, item):
    """The Argument for a parameter of rota.h."""
    arg = Argument(item.name)
    constant = item.type.startswith("const ")
    ctype = item.type.removeprefix("const ")
    optional = (function, item.name) in OPTIONAL
    if item.array and ctype == "rota_plan *const":
        simple(arg, "type(rota_plan), intent(in)", c=f"{item.type} {item.name}[]")
        arg.user = arg.bind = [arg.user[0] + "(*)"]
    elif item.array and ctype == "MPI_Datatype":
        type_array_argument(arg)
    elif item.array and "void *" in item.type:
        address_array(arg, item.type)
    elif item.array and ctype in COUNTS:
        count_array(arg, ctype, constant)
    elif ctype.rstrip(" *") in OURS:
        kind = ctype.rstrip(" *")
        made = ctype.endswith("**")
        user = f"type({kind}), intent({'inout' if made else 'in'})"
        simple(arg, user, user if made else f"type({kind}), value",
               f"{item.type}{item.name}")
    elif (item.type == "void **" or item.name in ("stream", "context", "ptr")):
        intent, bind, c = POINTERS[item.name]
        simple(arg, f"type(c_ptr), intent({intent})", "type(c_ptr)" + bind,
               c + item.name)
    elif ctype == "void *":
        buffer_argument(arg, constant, optional)
    elif ctype in HANDLES:
        handle_argument(arg, ctype)
    elif ctype.removesuffix(" *") in HANDLES:
        made_handle_argument(arg, ctype.removesuffix(" *"))
    elif item.type == "const char *":
        string_argument(arg, optional)
    elif constant and ctype.endswith(" **") and ctype[:-3] in COUNTS:
        pointer_argument(arg, ctype[:-3])
    elif item.type in FUNCTIONS:
        simple(arg, "type(c_funptr), intent(in)", "type(c_funptr), value",
               f"{item.type}{item.name}")
    elif item.type == "int *" and item.name == "flag":
        flag_argument(arg)
    elif item.type == "int *":
        simple(arg, "integer, intent(out)", "integer(c_int), intent(out)",
               f"int *{item.name}")
    elif item.type in ("int", "MPI_Count", "size_t"):
        scalar_argument(arg, item.type, optional)
    else:
        sys.exit(f"{function}: no Fortran for {item.type} {item.name}")
    return arg


class Routine:
    """A function of rota.h and its arguments in Fortran."""

    def __init__(self, function):
        self.name = function.name
        self.c_name = function.name.replace("rota_", "rota_fortran_", 1)
        self.result = function.result
        listed = list(function.parameters)
        # char *buf, size_t *len: one text, as long as it needs to be.
        self.text = len(listed) >= 2 and (
            listed[-2].type, listed[-1].type) == ("char *", "size_t *")
        self.arguments = [argument(self.name, item)
                          for item in (listed[:-2] if self.text else listed)]
        self.buffers = any(arg.is_buffer for arg in self.arguments)

    # ---- C side ----

    def c_side(self):
        taken = [c for arg in self.arguments for c in arg.c]
        handed = [arg.handed for arg in self.arguments]
        if self.text:
            taken += ["char *buf", "size_t *len"]
            handed += ["buf", "len"]
        if self.buffers:
            taken += ["const void *in_place", "const void *bottom"]
        call = f"{self.name}({', '.join(handed)})"
        prepare = [a.prepare for a in self.arguments if a.prepare]
        if not prepare:
            body = [f"return {call};"]
        else:
            body = prepare + [f"const int err = {call};", ""] + \
                [a.release for a in self.arguments if a.release] + \
                ["return err;"]
        lines = "\n".join("    " + line if line else "" for line in body)
        return (f"ROTA_API int {self.c_name}({', '.join(taken) or 'void'})\n"
                f"{{\n{lines}\n}}\n")

    def c_interface(self):
        names = [name for arg in self.arguments for name in arg.bound]
        lines = [line for arg in self.arguments for line in arg.bind]
        if self.text:
            names += ["buf", "len"]
            lines += ["type(c_ptr), value :: buf",
                      "integer(c_size_t), intent(inout) :: len"]
        if self.buffers:
            names += ["in_place", "bottom"]
            lines += ["type(*), intent(in) :: in_place, bottom"]
        head = [f"function {self.c_name}({', '.join(names)}) result(err) &",
                f'  bind(c, name="{self.c_name}")',
                "  import"]
        tail = ["  integer(c_int) :: err", f"end function {self.c_name}"]
        return head + ["  " + line for line in lines] + tail

    # ---- Fortran side ----

    def call(self, text=()):
        passed = [p for arg in self.arguments for p in arg.passed]
        passed += text
        if self.buffers:
            passed += ["MPI_IN_PLACE", "MPI_BOTTOM"]
        return f"{self.c_name}({', '.join(passed)})"

    def subroutine(self, name, integers):
        if self.name == "rota_version":
            return [f"integer function {name}()",
                    f"  {name} = {self.c_name}()", f"end function {name}"]
        names = [arg.name for arg in self.arguments]
        lines = [line for arg in self.arguments for line in arg.user]
        local = [line for arg in self.arguments for line in arg.local]
        body = [line for arg in self.arguments for line in arg.before]
        if self.text:
            names.append("text")
            lines.append("character(len=:), allocatable, intent(out) :: text")
            local += ["integer(c_size_t) :: length",
                      "character(kind=c_char), allocatable, target :: buf(:)",
                      "integer :: i"]
            body += ["length = 0",
                     f"err = {self.call(['c_null_ptr', 'length'])}",
                     "allocate (buf(length))",
                     f"if (err == 0) err = "
                     f"{self.call(['c_loc(buf)', 'length'])}",
                     "text = repeat(' ', max(0, size(buf) - 1))",
                     "do i = 1, len(text)", "  text(i:i) = buf(i)", "end do"]
        else:
            body += [f"err = {self.call()}"]
        body += [line for arg in self.arguments for line in arg.after]
        names.append("ierror")
        lines += ["integer, intent(out), optional :: ierror"]
        local += ["integer(c_int) :: err"]
        body += ["if (present(ierror)) ierror = err"]
        if integers:
            lines = [self.as_integer(line) for line in lines]
            body = [line.replace("%MPI_VAL", "") for line in body]
        return [f"subroutine {name}({', '.join(names)})"] + \
            ["  " + line for line in lines + local + [""] + body] + \
            [f"end subroutine {name}"]

    @staticmethod
    def as_integer(line):
        for handle in HANDLES:
            line = line.replace(f"type({handle})", "integer")
        return line


class Allocator:
    """A function like C's malloc or free: both modules have it as module rota_c
    binds it, with type(c_ptr) for memory."""

    def __init__(self, function):
        self.name = function.name
        self.c_name = function.name.replace("rota_", "rota_fortran_", 1)
        self.result = function.result
        self.parameters = function.parameters

    def c_side(self):
        taken = ", ".join(f"{p.type} {p.name}" for p in self.parameters)
        names = ", ".join(p.name for p in self.parameters)
        gives = "return " if self.result == "void *" else ""
        return (f"ROTA_API {self.result} {self.c_name}({taken})\n"
                f"{{\n    {gives}{self.name}({names});\n}}\n")

    def c_interface(self):
        names = ", ".join(p.name for p in self.parameters)
        kinds = {"void *": "type(c_ptr)", "size_t": "integer(c_size_t)"}
        lines = [f"  {kinds[p.type]}, value :: {p.name}"
                 for p in self.parameters]
        kind, result = "subroutine", ""
        if self.result == "void *":
            kind, result = "function", " result(memory)"
            lines += ["  type(c_ptr) :: memory"]
        return [f"{kind} {self.name}({names}){result} &",
                f'  bind(c, name="{self.c_name}")', "  import"] + lines + \
            [f"end {kind} {self.name}"]


def fold(line):
    """A line of Fortran as lines of at most 80 columns."""
    indent = len(line) - len(line.lstrip())
    folded = []
    while len(line) > 80:
        at = line.rindex(" ", indent + 5, 78)
        folded.append(line[:at] + " &")
        line = " " * (indent + 4) + line[at + 1:]
    return folded + [line.rstrip()]


def write(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        for line in lines:
            file.write("\n".join(fold(line)) + "\n")


def generic_names(routines):
    """{generic name: [(specific name, routine)]}, in the header's order."""
    known = {routine.name for routine in routines}
    generics = {}
    for routine in routines:
        base = routine.name.removesuffix("_c")
        if routine.name.endswith("_c") and base in known:
            generics[base].append((base + "_count", routine))
        elif routine.name + "_c" in known:
            generics[routine.name] = [(routine.name + "_int", routine)]
        else:
            generics[routine.name] = [(routine.name, routine)]
    return generics


# A wait that leaves out the arrays it would set.
BLOCKS_ONLY = """\
subroutine rota_exchange_wait_only(plan, recvbuf, ierror)
  type(rota_plan), intent(in) :: plan
  type(c_ptr), intent(out) :: recvbuf
  integer, intent(out), optional :: ierror
  integer(c_int) :: err

  err = rota_fortran_exchange_wait_only(plan, recvbuf)
  if (present(ierror)) ierror = err
end subroutine rota_exchange_wait_only"""


def module(name, mpi, routines):
    allocators = [r for r in routines if isinstance(r, Allocator)]
    generics = generic_names([r for r in routines if r not in allocators])
    generics["rota_exchange_wait"].append(("rota_exchange_wait_only", None))
    handles = ", ".join(HANDLES) + ", " if mpi == "mpi_f08" else ""
    lines = [f"! For programs that use {mpi}. Made from rota.h by "
             "generate.py.",
             f"module {name}",
             "  use, intrinsic :: iso_c_binding",
             f"  use {mpi}, only: {handles}MPI_IN_PLACE, MPI_BOTTOM, "
             "MPI_COUNT_KIND, MPI_ADDRESS_KIND",
             "  use rota_c",
             "  implicit none",
             "  private",
             *(f"  public :: {kind}, {none}" for kind, none in OURS.items()),
             "  public :: ROTA_UNBOUNDED, ROTA_NO_STREAM",
             "  public :: ROTA_DESCRIBE_TEXT, ROTA_DESCRIBE_JSON",
             "  public :: ROTA_VERSION_NUMBER"]
    lines += [f"  public :: {item.name}" for item in allocators]
    lines += [f"  public :: {generic}" for generic in generics]
    for generic, specifics in generics.items():
        if len(specifics) > 1:
            lines += ["", f"  interface {generic}"]
            lines += [f"    module procedure {specific}"
                      for specific, _ in specifics]
            lines += ["  end interface"]
    lines += ["", "contains"]
    for specifics in generics.values():
        for specific, routine in specifics:
            made = routine.subroutine(specific, mpi == "mpi") if routine \
                else BLOCKS_ONLY.split("\n")
            lines += [""] + ["  " + line for line in made]
    return lines + ["", f"end module {name}"]


def c_types():
    """Types of Fortran that hold a handle, or none."""
    lines = []
    for kind, none in OURS.items():
        lines += [f"  type, bind(c) :: {kind}",
                  "    type(c_ptr) :: handle = c_null_ptr",
                  f"  end type {kind}",
                  "",
                  f"  type({kind}), parameter :: {none} = "
                  f"{kind}(c_null_ptr)"]
    return lines


def c_module(routines, version):
    numbers = [int(part) for part in version.split(".")]
    number = numbers[0] << 16 | numbers[1] << 8 | numbers[2]
    lines = ["! What the modules rota and rota_f90 stand on; programs use one "
             "of those.",
             "! Made from rota.h by generate.py.",
             "module rota_c",
             "  use, intrinsic :: iso_c_binding",
             "  implicit none",
             "",
             *c_types(),
             "  integer(c_size_t), parameter :: ROTA_UNBOUNDED = -1_c_size_t",
             "  integer, parameter :: ROTA_DESCRIBE_TEXT = 0",
             "  integer, parameter :: ROTA_DESCRIBE_JSON = 1",
             f"  integer, parameter :: ROTA_VERSION_NUMBER = {number}",
             "  type(c_ptr), protected, bind(c, "
             'name="rota_fortran_no_stream") :: &',
             "    ROTA_NO_STREAM",
             "",
             "  interface"]
    for routine in routines:
        lines += ["    " + line for line in routine.c_interface()]
    lines += ["    " + line for line in [
        "function rota_fortran_exchange_wait_only(plan, recvbuf) result(err) &",
        '  bind(c, name="rota_fortran_exchange_wait_only")',
        "  import",
        "  type(rota_plan), value :: plan",
        "  type(c_ptr), intent(out) :: recvbuf",
        "  integer(c_int) :: err",
        "end function rota_fortran_exchange_wait_only"]]
    return lines + ["  end interface", "end module rota_c"]


C_HEAD = """\
/* The C side of the Fortran modules. Made from rota.h by generate.py. */
#include <rota.h>

#include <ISO_Fortran_binding.h>
#include <stdlib.h>

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "INTEGER is as long as int");
_Static_assert(sizeof(MPI_Count) == sizeof(int64_t), "as in rota_c.f90");
_Static_assert(sizeof(MPI_Aint) == sizeof(intptr_t), "as in rota_c.f90");

ROTA_API void *const rota_fortran_no_stream = ROTA_NO_STREAM;

/* The address of a buffer, of which MPI's constants are known by theirs. A
 * section with gaps has none: it counts as NULL, so that all ranks return the
 * same error if there is data in it. An argument left out is NULL. */
static inline void *address(const CFI_cdesc_t *buffer, const void *in_place,
                            const void *bottom)
{
    if (!buffer)
        return NULL;
    if (buffer->base_addr == in_place)
        return MPI_IN_PLACE;
    if (buffer->base_addr == bottom)
        return MPI_BOTTOM;
    if (buffer->rank > 0 && !CFI_is_contiguous(buffer))
        return NULL;
    return buffer->base_addr;
}

/* NULL where there is no memory, which the library then reports. */
static inline MPI_Datatype *types_of(int n, const MPI_Fint given[])
{
    MPI_Datatype *const made = malloc((size_t)(n + 1) * sizeof *made);

    for (int i = 0; made && i < n; i++)
        made[i] = MPI_Type_f2c(given[i]);
    return made;
}

ROTA_API int rota_fortran_exchange_wait_only(rota_plan *plan, void **recvbuf)
{
    return rota_exchange_wait(plan, recvbuf, NULL, NULL);
}
"""


def main():
    header, folder = sys.argv[1:]
    routines = [Allocator(item) if item.result in ("void", "void *")
                else Routine(item) for item in interface.functions(header)]
    write(folder, "rota_c.f90", c_module(routines, interface.version(header)))
    write(folder, "rota.f90", module("rota", "mpi_f08", routines))
    write(folder, "rota_f90.f90", module("rota_f90", "mpi", routines))
    # Lines of C are as long as they are: nobody reads them.
    with open(os.path.join(folder, "rota_fortran.c"), "w",
              encoding="utf-8") as file:
        file.write(C_HEAD)
        for routine in routines:
            file.write("\n" + routine.c_side())


if __name__ == "__main__":
    main()
