# Finds MPI, and the mpiexec that belongs to it.
#
# Where several MPIs are installed side by side, Debian suffixes the compiler
# and the launcher with the name of the MPI, and plain mpicc may be any of
# them. So MPICH's is taken unless the user names one:
#
#   -DMPI_C_COMPILER=mpicc.openmpi
#
# Sets, besides what FindMPI does:
#   ROTA_MPI_FLAVOUR  mpich, openmpi, smpi (SimGrid's) or other
#   ROTA_MPI_NAME     the same for people; empty: other
#   ROTA_MPIEXEC      command line up to and including the option that takes
#                     the number of ranks

if(NOT MPI_C_COMPILER)
    find_program(ROTA_MPICC NAMES mpicc.mpich DOC "Default MPI compiler")
    mark_as_advanced(ROTA_MPICC)
    if(ROTA_MPICC)
        set(MPI_C_COMPILER "${ROTA_MPICC}" CACHE FILEPATH "MPI compiler" FORCE)
    endif()
elseif(NOT IS_ABSOLUTE "${MPI_C_COMPILER}")
    find_program(ROTA_MPICC NAMES "${MPI_C_COMPILER}" REQUIRED)
    set(MPI_C_COMPILER "${ROTA_MPICC}" CACHE FILEPATH "MPI compiler" FORCE)
endif()

if(MPI_C_COMPILER AND NOT MPIEXEC_EXECUTABLE)
    cmake_path(GET MPI_C_COMPILER PARENT_PATH rota_mpi_bin)
    cmake_path(GET MPI_C_COMPILER EXTENSION LAST_ONLY rota_mpi_suffix)
    find_program(MPIEXEC_EXECUTABLE
                 NAMES "mpiexec${rota_mpi_suffix}" "mpirun${rota_mpi_suffix}"
                 HINTS "${rota_mpi_bin}"
                 DOC "Starts MPI programs")
endif()

find_package(MPI REQUIRED COMPONENTS C)

include(CheckSymbolExists)
include(CMakePushCheckState)
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(OPEN_MPI mpi.h ROTA_MPI_IS_OPENMPI)
check_symbol_exists(MPICH_VERSION mpi.h ROTA_MPI_IS_MPICH)
check_symbol_exists(SMPI_H mpi.h ROTA_MPI_IS_SMPI)
# MPI 4, or the parts of it that Open MPI 5 has.
check_symbol_exists(MPI_Alltoallv_init mpi.h ROTA_MPI_HAS_PERSISTENT)
check_symbol_exists(MPI_Alltoallv_init_c mpi.h ROTA_MPI_HAS_LARGE)
check_symbol_exists(MPI_Session_finalize mpi.h ROTA_MPI_HAS_SESSIONS)
# Generalized requests that MPI polls.
check_symbol_exists(MPIX_Grequest_start mpi.h ROTA_MPI_HAS_POLLED_REQUESTS)
# Functions that MPI calls whenever it makes progress: MPICH 4.3.
check_symbol_exists(MPIX_Async_start mpi.h ROTA_MPI_HAS_ASYNC)
# Does this MPI say whether it takes memory of a device?
check_symbol_exists(MPIX_GPU_query_support mpi.h ROTA_MPI_HAS_GPU_QUERY)
check_symbol_exists(MPIX_Query_cuda_support "mpi.h;mpi-ext.h"
                    ROTA_MPI_HAS_CUDA_QUERY)
cmake_pop_check_state()

set(rota_mpiexec_flags "")
if(ROTA_MPI_IS_OPENMPI)
    set(ROTA_MPI_FLAVOUR openmpi)
    set(ROTA_MPI_NAME "Open MPI")
    # More ranks than cores are the rule in tests, and several tests run at a
    # time: bound to cores, they would all sit on the first.
    set(rota_mpiexec_flags --oversubscribe --bind-to none)
    execute_process(COMMAND id -u OUTPUT_VARIABLE rota_uid
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(rota_uid STREQUAL "0")
        list(APPEND rota_mpiexec_flags --allow-run-as-root)
    endif()
elseif(ROTA_MPI_IS_MPICH)
    set(ROTA_MPI_FLAVOUR mpich)
    set(ROTA_MPI_NAME "MPICH")
elseif(ROTA_MPI_IS_SMPI)
    set(ROTA_MPI_FLAVOUR smpi)
    set(ROTA_MPI_NAME "SMPI")
else()
    set(ROTA_MPI_FLAVOUR other)
    set(ROTA_MPI_NAME "")
endif()
set(ROTA_MPIEXEC ${MPIEXEC_EXECUTABLE} ${MPIEXEC_PREFLAGS}
    ${rota_mpiexec_flags} ${MPIEXEC_NUMPROC_FLAG})
message(STATUS "MPI for Rota: ${ROTA_MPI_FLAVOUR}, ${MPIEXEC_EXECUTABLE}")
