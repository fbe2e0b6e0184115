"""own_tests.py mpi|rota TEST - a test file of mpi4py-fft, by MPI alone or by plans."""

import os
import runpy
import sys

way, test = sys.argv[1:]
if way == "rota":
    import rota_pencil
    rota_pencil.use()
sys.path.insert(0, os.path.dirname(os.path.abspath(test)))
sys.argv = [test]
runpy.run_path(test, run_name="__main__")
