# How tests are registered.
#
# Labels choose among them (ctest -L): the folder of tests/ that a test is
# registered in (unit, sim, mpi, ...), dropin on all of that folder, cluster,
# valgrind, and in builds of that kind sanitize and openmpi on all tests; alike on
# those that take long and do the same whatever the MPI of the build is; long on
# those that tools/test.sh runs with --full only; again on those that differ from
# another one by the number of ranks alone, of which one rank is not such a
# number. Exit code 77 means skipped; print why.
#
# ROTA_TEST_QUICK in the environment asks for the short form of those tests that
# have two: tests/common/quick.h.

find_program(ROTA_TIMEOUT timeout REQUIRED)
find_program(ROTA_VALGRIND valgrind)
mark_as_advanced(ROTA_TIMEOUT ROTA_VALGRIND)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

option(ROTA_TEST_SPIN "Run tests with MPICH as it is, which does not give way" OFF)
mark_as_advanced(ROTA_TEST_SPIN)

# rota_yielding(TEST): its ranks give way to each other and to other tests.
function(rota_yielding name)
    if(TARGET rota_yield)
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT_MODIFICATION
            LD_PRELOAD=path_list_append:$<TARGET_FILE:rota_yield>
            ROTA_YIELD=set:$<IF:$<BOOL:${ROTA_TEST_SPIN}>,off,on>)
    endif()
endfunction()

# rota_test_properties(NAME SECONDS RANKS LABEL...)
#
# Ranks that wait give way, so a few of them take no more than one processor.
function(rota_test_properties name seconds ranks)
    set(labels ${ARGN})
    set(processors 1)
    if(ranks GREATER 4)
        set(processors 2)
    endif()
    set(environment "")
    if(ROTA_SANITIZE)
        list(APPEND labels sanitize)
        # Slow builds take the smaller grids.
        set(environment
            "ROTA_TEST_SLOW=1"
            "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
            "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")
        # MPI leaks at every call of some; valgrind looks for ours.
        if("mpi" IN_LIST labels)
            list(APPEND environment "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:verify_asan_link_order=0")
        endif()
    endif()
    if(ROTA_MPI_FLAVOUR STREQUAL "openmpi")
        list(APPEND labels openmpi)
        # mpiexec ends the other ranks when one fails: by TERM, two seconds later by
        # KILL. That long it would wait for those that have ended already.
        list(APPEND environment OMPI_MCA_odls_base_sigkill_timeout=0)
    endif()
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    if(folder STREQUAL "dropin")
        list(APPEND labels dropin)
    endif()
    set_tests_properties(${name} PROPERTIES
        TIMEOUT ${seconds}
        PROCESSORS ${processors}
        LABELS "${labels}"
        ENVIRONMENT "${environment}"
        SKIP_RETURN_CODE 77)
    if(ranks GREATER 1)
        rota_yielding(${name})
    endif()
endfunction()

# rota_test_on_ranks(NAME TARGET MOST LABEL): a program, on 1 to MOST ranks.
function(rota_test_on_ranks name target most label)
    foreach(np RANGE 1 ${most})
        add_test(NAME ${name}_p${np}
                 COMMAND ${ROTA_TIMEOUT} -k 10 60 ${ROTA_MPIEXEC} ${np}
                         $<TARGET_FILE:${target}>)
        rota_test_properties(${name}_p${np} 90 ${np} ${label})
    endforeach()
endfunction()

# rota_adapter_test(NAME TARGET SOURCE): the adapter of a program in C++, which is a
# header only, on 1 to 5 ranks; it is tried without that program. A macro, as a
# function cannot enable a language.
macro(rota_adapter_test name target source)
    if(CMAKE_CXX_COMPILER)
        enable_language(CXX)
        rota_cxx_program(${target} ${source})
        rota_test_on_ranks(integrations_${name} ${target} 5 integrations)
    endif()
endmacro()

# rota_own_tests(NAME FOLDER SECONDS WHY argument...): a program's own tests, by
# own_tests.sh of integrations/FOLDER. WHY they are skipped, or "".
function(rota_own_tests name folder seconds why)
    if(why)
        add_test(NAME integrations_${name}_own
                 COMMAND sh -c "echo \"skipped: ${why}\"; exit 77")
    else()
        add_test(NAME integrations_${name}_own
                 COMMAND sh ${PROJECT_SOURCE_DIR}/integrations/${folder}/own_tests.sh
                         ${ARGN})
    endif()
    rota_test_properties(integrations_${name}_own ${seconds} 4 integrations)
    rota_long(integrations_${name}_own)
endfunction()

# rota_label(LABEL TEST...): those of the tests that this build has.
function(rota_label label)
    foreach(name IN LISTS ARGN)
        if(TEST ${name})
            set_property(TEST ${name} APPEND PROPERTY LABELS ${label})
        endif()
    endforeach()
endfunction()

# rota_long(TEST...): not without tools/test.sh --full. What is as distinct as
# another algorithm, way, pattern or parity of P stays in a test that is not.
function(rota_long)
    rota_label(long ${ARGN})
endfunction()

# rota_alike(TEST...): takes long, and does the same whatever the MPI of the build is.
function(rota_alike)
    rota_label(alike ${ARGN})
endfunction()

# rota_on_fakecuda(TEST): programs that load CUDA find libraries of ours by its
# names, and a device that is not there (tests/fakecuda). That none is found is
# an error here.
function(rota_on_fakecuda name)
    set_property(TEST ${name} PROPERTY SKIP_RETURN_CODE)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT_MODIFICATION
        ROTA_TEST_DEVICE=set:1
        LD_LIBRARY_PATH=path_list_prepend:${PROJECT_BINARY_DIR}/tests/fakecuda)
endfunction()

# Code that may see the inside of the library.
function(rota_test_code target)
    target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests
        ${PROJECT_SOURCE_DIR}/tests/common)
    # Checks of invariants stay on in tests whatever the type of build.
    target_compile_options(${target} PRIVATE -UNDEBUG)
endfunction()

# What most programs below use is compiled once.
add_library(rota_test_common STATIC
    tests/common/formulas.c tests/common/pattern.c tests/common/shapes.c
    tests/common/standin.c tests/mpi/harness.c)
rota_options(rota_test_common)
rota_test_code(rota_test_common)
target_link_libraries(rota_test_common PUBLIC rota_static)

# An executable of such code.
function(rota_test_program target)
    rota_program(${target} ${ARGN})
    rota_test_code(${target})
    target_link_libraries(${target} PRIVATE
        rota_test_common rota_check rota_static PkgConfig::CMOCKA)
endfunction()

# rota_unit_test(NAME SOURCE... [TIMEOUT seconds] [ARGS argument...])
#
# A program of one process, most often of cmocka: target and test are called
# LABEL_NAME, where the label is the name of the current folder.
function(rota_unit_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "ARGS")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME label)
    rota_test_program(${label}_${name} ${arg_UNPARSED_ARGUMENTS})
    add_test(NAME ${label}_${name} COMMAND ${label}_${name} ${arg_ARGS})
    rota_test_properties(${label}_${name} ${arg_TIMEOUT} 1 ${label})
endfunction()

# rota_mpi_program(TARGET SOURCE...): a program for the functions below. The
# target is called mpi_TARGET.
function(rota_mpi_program target)
    rota_test_program(mpi_${target} ${ARGN})
endfunction()

# rota_mpi_test(NAME TARGET NP [seconds] [ARGS argument...])
#
# Runs mpi_TARGET on NP ranks; the test is called mpi_NAME_pNP. timeout ends
# mpiexec where a test hangs, so that what it printed is seen; CTest's own
# limit is the net below.
function(rota_mpi_test name target np)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "ARGS")
    list(POP_FRONT arg_UNPARSED_ARGUMENTS seconds)
    if(NOT seconds)
        set(seconds 300)
    endif()
    math(EXPR limit "${seconds} + 30")
    add_test(NAME mpi_${name}_p${np}
             COMMAND ${ROTA_TIMEOUT} -k 10 ${seconds} ${ROTA_MPIEXEC} ${np}
                     $<TARGET_FILE:mpi_${target}> ${arg_ARGS})
    rota_test_properties(mpi_${name}_p${np} ${limit} ${np} mpi)
    # Once, on 3 ranks where it can be, for builds that look at something else;
    # and alone.
    get_property(first GLOBAL PROPERTY rota_mpi_test_${name})
    if(np EQUAL 1)
    elseif(NOT first)
        set_property(GLOBAL PROPERTY rota_mpi_test_${name} mpi_${name}_p${np})
    elseif(np EQUAL 3)
        set_property(TEST ${first} APPEND PROPERTY LABELS again)
        set_property(GLOBAL PROPERTY rota_mpi_test_${name} mpi_${name}_p${np})
    else()
        set_property(TEST mpi_${name}_p${np} APPEND PROPERTY LABELS again)
    endif()
endfunction()

# rota_cluster_test(NAME TARGET NP HOSTS argument... [ARGS argument...])
#
# Runs mpi_TARGET on hosts of tools/cluster.sh, which takes the arguments after
# HOSTS and skips where the machine permits no such hosts. NP: how many ranks
# that makes. The test is called cluster_NAME.
function(rota_cluster_test name target np)
    set(seconds 300)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "HOSTS;ARGS")
    math(EXPR limit "${seconds} + 30")
    add_test(NAME cluster_${name}
             COMMAND ${CMAKE_COMMAND} -E env MPIEXEC=${MPIEXEC_EXECUTABLE}
                     sh ${PROJECT_SOURCE_DIR}/tools/cluster.sh
                     --limit ${seconds} ${arg_HOSTS}
                     env LD_PRELOAD=$<TARGET_FILE:cluster_finalize>
                     $<TARGET_FILE:mpi_${target}> ${arg_ARGS})
    rota_test_properties(cluster_${name} ${limit} ${np} cluster)
endfunction()

# rota_valgrind_test(NAME TARGET NP [seconds] [ARGS argument...])
#
# As rota_mpi_test, every rank under valgrind: errors and definite leaks fail.
# Not with sanitizers, which exclude it, and not with other MPIs than MPICH,
# for whose own faults tests/valgrind.supp has no entries.
function(rota_valgrind_test name target np)
    if(ROTA_SANITIZE OR NOT ROTA_MPI_FLAVOUR STREQUAL "mpich")
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "ARGS")
    list(POP_FRONT arg_UNPARSED_ARGUMENTS seconds)
    if(NOT seconds)
        set(seconds 300)
    endif()
    math(EXPR limit "${seconds} + 30")
    if(ROTA_VALGRIND)
        add_test(NAME valgrind_${name}_p${np}
                 COMMAND ${ROTA_TIMEOUT} -k 10 ${seconds} ${ROTA_MPIEXEC} ${np}
                         ${ROTA_VALGRIND} --quiet --error-exitcode=99
                         --leak-check=full --show-leak-kinds=definite
                         --errors-for-leak-kinds=definite --num-callers=20
                         --suppressions=${PROJECT_SOURCE_DIR}/tests/valgrind.supp
                         $<TARGET_FILE:mpi_${target}> ${arg_ARGS})
    else()
        add_test(NAME valgrind_${name}_p${np}
                 COMMAND sh -c "echo valgrind is not installed; exit 77")
    endif()
    rota_test_properties(valgrind_${name}_p${np} ${limit} ${np} valgrind)
endfunction()

# rota_script_test(NAME SCRIPT [seconds] [ARGS argument...]): sh SCRIPT ...
function(rota_script_test name script)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "ARGS")
    list(POP_FRONT arg_UNPARSED_ARGUMENTS seconds)
    if(NOT seconds)
        set(seconds 60)
    endif()
    add_test(NAME project_${name}
             COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${arg_ARGS})
    rota_test_properties(project_${name} ${seconds} 1 project)
endfunction()
