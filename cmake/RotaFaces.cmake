# Faces of Rota in other languages than C.
#
#   ROTA_BUILD_FORTRAN     AUTO (where a compiler and MPI's modules are found),
#                          ON (an error where they are not) or OFF (within
#                          another project)
#   ROTA_FORTRAN_MODULES   where compiled modules are installed; a compiler
#                          reads those of its own versions only
#   ROTA_BUILD_PYTHON      AUTO, ON or OFF, likewise: build the Python package in
#                          the folder of the build, for tests (python/meson.build
#                          installs it)
#   ROTA_PYTHON            the Python to build it for

set(rota_faces OFF)
if(PROJECT_IS_TOP_LEVEL)
    set(rota_faces AUTO)
endif()
set(ROTA_BUILD_FORTRAN ${rota_faces} CACHE STRING "Build Fortran modules: AUTO, ON or OFF")
set_property(CACHE ROTA_BUILD_FORTRAN PROPERTY STRINGS AUTO ON OFF)
set(ROTA_FORTRAN_MODULES ${CMAKE_INSTALL_INCLUDEDIR}/rota-fortran CACHE STRING
    "Where Fortran modules are installed")

# rota_no_fortran(WHY): left out, or an error.
macro(rota_no_fortran)
    if(NOT ROTA_BUILD_FORTRAN STREQUAL "AUTO")
        message(FATAL_ERROR "ROTA_BUILD_FORTRAN is on, but ${ARGN}")
    endif()
    message(STATUS "No Fortran modules: ${ARGN}")
endmacro()

set(ROTA_HAVE_FORTRAN OFF)
if(ROTA_BUILD_FORTRAN AND ROTA_SANITIZE)
    message(STATUS "No Fortran modules: sanitizers are for C")
elseif(ROTA_BUILD_FORTRAN AND ROTA_MPI_FLAVOUR STREQUAL "smpi")
    message(STATUS "No Fortran modules: SMPI has no mpi_f08")
elseif(ROTA_BUILD_FORTRAN)
    include(CheckLanguage)
    check_language(Fortran)
    find_package(Python3 QUIET COMPONENTS Interpreter)
    include(CheckIncludeFile)
    check_include_file(ISO_Fortran_binding.h ROTA_HAVE_FORTRAN_BINDING)
    if(NOT ROTA_HAVE_FORTRAN_BINDING)
        rota_no_fortran("the C compiler has no ISO_Fortran_binding.h, which "
                        "comes with the Fortran compiler's own")
    elseif(NOT CMAKE_Fortran_COMPILER)
        rota_no_fortran("there is no Fortran compiler")
    elseif(NOT Python3_Interpreter_FOUND)
        rota_no_fortran("there is no Python, which makes them")
    else()
        enable_language(Fortran)
        # The compiler of the same MPI as C's.
        string(REGEX REPLACE "mpicc([^/]*)$" "mpif90\\1" rota_mpif90
               "${MPI_C_COMPILER}")
        if(NOT MPI_Fortran_COMPILER AND EXISTS "${rota_mpif90}")
            set(MPI_Fortran_COMPILER "${rota_mpif90}" CACHE FILEPATH
                "MPI compiler for Fortran" FORCE)
        endif()
        find_package(MPI QUIET COMPONENTS Fortran)
        if(MPI_Fortran_FOUND AND MPI_Fortran_HAVE_F08_MODULE)
            set(ROTA_HAVE_FORTRAN ON)
        else()
            rota_no_fortran("the module mpi_f08 is not found")
        endif()
    endif()
endif()
message(STATUS "Fortran modules: ${ROTA_HAVE_FORTRAN}")

set(ROTA_BUILD_PYTHON ${rota_faces} CACHE STRING "Build the Python package: AUTO, ON or OFF")
set_property(CACHE ROTA_BUILD_PYTHON PROPERTY STRINGS AUTO ON OFF)

# Sets rota_no_python to why the package cannot be built, if so.
function(rota_find_python)
    foreach(name IN ITEMS python3 /usr/bin/python3)
        find_program(rota_python_${name} ${name} NO_CACHE)
        if(ROTA_PYTHON OR NOT rota_python_${name})
            continue()
        endif()
        execute_process(
            COMMAND ${rota_python_${name}} -c "import mpi4py, numpy"
            RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(NOT failed)
            set(ROTA_PYTHON ${rota_python_${name}} CACHE FILEPATH
                "Python to build the package for")
        endif()
    endforeach()
    find_program(ROTA_MESON meson)
    find_program(ROTA_NINJA ninja)
    find_program(ROTA_CYTHON NAMES cython3 cython)
    mark_as_advanced(ROTA_MESON ROTA_NINJA ROTA_CYTHON)
    set(why "")
    if(NOT ROTA_PYTHON)
        set(why "no python3 has mpi4py and numpy")
    elseif(NOT ROTA_MESON OR NOT ROTA_NINJA OR NOT ROTA_CYTHON)
        set(why "meson, ninja and cython are not all there")
    else()
        execute_process(
            COMMAND ${ROTA_PYTHON} -c
                    "import sysconfig; print(sysconfig.get_path('include'))"
            OUTPUT_VARIABLE headers OUTPUT_STRIP_TRAILING_WHITESPACE)
        if(NOT EXISTS "${headers}/Python.h")
            set(why "there is no ${headers}/Python.h")
        endif()
        execute_process(
            COMMAND ${ROTA_PYTHON} -c
                    "import mpi4py; mpi4py.rc.initialize = False
from mpi4py import MPI; print(MPI.Get_library_version())"
            OUTPUT_VARIABLE version ERROR_QUIET)
        string(REGEX MATCH "Open MPI|MPICH" version "${version}")
        string(REPLACE " " "" flavour "${version}")
        string(TOLOWER "${flavour}" flavour)
        if(NOT flavour STREQUAL ROTA_MPI_FLAVOUR)
            set(why "mpi4py of ${ROTA_PYTHON} is for ${version}")
        endif()
    endif()
    set(rota_no_python "${why}" PARENT_SCOPE)
endfunction()

set(ROTA_HAVE_PYTHON OFF)
set(rota_no_python "")
if(NOT ROTA_BUILD_PYTHON)
    set(rota_no_python "ROTA_BUILD_PYTHON is off")
elseif(ROTA_SANITIZE)
    set(rota_no_python "sanitizers are for C")
else()
    rota_find_python()
    if(rota_no_python AND NOT ROTA_BUILD_PYTHON STREQUAL "AUTO")
        message(FATAL_ERROR "ROTA_BUILD_PYTHON is on, but ${rota_no_python}")
    elseif(NOT rota_no_python)
        set(ROTA_HAVE_PYTHON ON)
    endif()
endif()
if(rota_no_python)
    message(STATUS "No Python package: ${rota_no_python}")
else()
    message(STATUS "Python package: for ${ROTA_PYTHON}")
endif()
