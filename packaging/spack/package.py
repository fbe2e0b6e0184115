# Recipe of Rota for Spack 1.0 and later, for a folder packages/rota of a repository
# of yours.
#
# The tarball is the one that make dist writes; Spack takes it from the folder that
# it is called in. Where a release is published, url and the checksum that
# `spack checksum` prints take the place of this.

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Rota(CMakePackage):
    """Persistent plans for non-uniform all-to-all exchanges on top of MPI, in
    C, C++, Fortran and Python."""

    manual_download = True
    url = "file://{0}/rota-1.0.0.tar.gz".format(os.getcwd())

    license("BSD-3-Clause")

    version("1.0.0")

    variant("fortran", default=True, description="Build the Fortran modules")
    variant("python", default=False, description="Build the Python package")
    variant("tools", default=True, description="Build rota-bench and its kin")
    variant("cuda", default=False, description="Take buffers on CUDA devices")

    depends_on("c", type="build")
    depends_on("cxx", type="test")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("uthash", type="build")
    depends_on("mpi@3:")
    depends_on("hwloc@2:")
    depends_on("cjson")
    depends_on("cuda@11.3:", when="+cuda")
    depends_on("python@3.9:", type="build", when="+fortran")

    with when("+python"):
        extends("python")
        depends_on("python@3.9:", type=("build", "run"))
        depends_on("py-mpi4py@3.1:", type=("build", "run"))
        depends_on("py-numpy@1.22:", type=("build", "run"))
        depends_on("py-cython@0.29.30:", type="build")
        depends_on("meson@1:", type="build")
        depends_on("ninja", type="build")

    def cmake_args(self):
        return [
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
            self.define("ROTA_BUILD_TESTS", self.run_tests),
            self.define("ROTA_BUILD_EXAMPLES", False),
            self.define("ROTA_BUILD_PYTHON", "OFF"),
            self.define_from_variant("ROTA_BUILD_BENCH", "tools"),
            self.define_from_variant("ROTA_BUILD_FORTRAN", "fortran"),
            self.define_from_variant("ROTA_CUDA", "cuda"),
        ]

    @run_after("install")
    def install_python(self):
        if self.spec.satisfies("~python"):
            return
        meson = which("meson", required=True)
        with set_env(PKG_CONFIG_PATH=join_path(self.prefix.lib, "pkgconfig")):
            meson(
                "setup",
                "python-build",
                join_path(self.stage.source_path, "python"),
                "--prefix={0}".format(self.prefix),
                "-Dpython={0}".format(self.spec["python"].command.path),
            )
        meson("install", "-C", "python-build")
