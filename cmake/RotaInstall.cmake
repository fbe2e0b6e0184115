# Installs the headers, the libraries, programs, manual pages, completion for
# bash, and what CMake and pkg-config need to find them.

include(CMakePackageConfigHelpers)

set(rota_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rota)

install(FILES include/rota.h include/rota.hpp TYPE INCLUDE)

# Manual pages, made from the header.
set(rota_man ${PROJECT_BINARY_DIR}/man)
find_program(ROTA_AWK awk REQUIRED)
mark_as_advanced(ROTA_AWK)
add_custom_command(OUTPUT ${rota_man}/rota.3
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${rota_man}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${rota_man}
    COMMAND ${ROTA_AWK} -v folder=${rota_man} -v version=${PROJECT_VERSION}
            -f ${PROJECT_SOURCE_DIR}/tools/man.awk
            ${PROJECT_SOURCE_DIR}/include/rota.h
    DEPENDS include/rota.h tools/man.awk
    VERBATIM
    COMMENT "Making manual pages")
add_custom_target(rota_man_pages ALL DEPENDS ${rota_man}/rota.3)
foreach(section IN ITEMS 3 7)
    install(DIRECTORY ${rota_man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
        FILES_MATCHING PATTERN "*.${section}")
endforeach()

# Two sets, as only who links the static library needs hwloc and cJSON.
install(TARGETS rota EXPORT rota)
if(TARGET rota_heap)
    install(TARGETS rota_heap EXPORT rota)
endif()
install(TARGETS rota_static EXPORT rota_static)
if(TARGET rota_mpi)
    install(TARGETS rota_mpi)
    install(PROGRAMS ${PROJECT_BINARY_DIR}/src/mpi/rota-run TYPE BIN)
    if(TARGET rota_yield)
        install(TARGETS rota_yield DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endif()
    if(TARGET rota_malloc)
        install(TARGETS rota_malloc DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endif()
endif()

# rota_program_page(NAME COMMAND SUMMARY): a page of section 1, from what COMMAND
# prints for --help, and completion. No page where it does not run by itself.
set(rota_pages "")
set(rota_completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
function(rota_program_page name command summary)
    if(CMAKE_CROSSCOMPILING OR ROTA_MPI_FLAVOUR STREQUAL "smpi")
        return()
    endif()
    set(page ${PROJECT_BINARY_DIR}/man1/${name}.1)
    add_custom_command(OUTPUT ${page}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man1
        COMMAND ${command} --help > ${page}.txt
        COMMAND ${ROTA_AWK} -v name=${name} -v summary=${summary}
                -v version=${PROJECT_VERSION}
                -v "also=rota(3) rota_hints(7)"
                -f ${PROJECT_SOURCE_DIR}/tools/man1.awk ${page}.txt > ${page}
        DEPENDS ${command} ${PROJECT_SOURCE_DIR}/tools/man1.awk
        VERBATIM
        COMMENT "Making the manual page of ${name}")
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/rota-completion.bash
            DESTINATION ${rota_completions} RENAME ${name})
    set(rota_pages ${rota_pages} ${page} PARENT_SCOPE)
endfunction()

if(TARGET rota_mpi)
    rota_program_page(rota-run ${PROJECT_BINARY_DIR}/src/mpi/rota-run
        "run a program of MPI with its all-to-alls on Rota")
endif()
if(TARGET rota-bench)
    install(TARGETS rota-bench rota-draw rota-info rota-price rota-tune)
    rota_program_page(rota-bench rota-bench
        "time all-to-all algorithms beside MPI's")
    rota_program_page(rota-draw rota-draw
        "draw what an all-to-all algorithm sends to whom")
    rota_program_page(rota-info rota-info
        "print the algorithms, hints and ranks that Rota finds")
    rota_program_page(rota-price rota-price
        "count what all-to-all algorithms cost at any number of ranks")
    rota_program_page(rota-tune rota-tune
        "measure which all-to-all algorithm is fastest")
endif()
install(FILES tests/lsan.supp tests/valgrind.supp
        DESTINATION ${CMAKE_INSTALL_DATADIR}/rota)
if(TARGET rota-price)
    install(DIRECTORY bench/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/rota)
endif()
add_custom_target(rota_program_pages ALL DEPENDS ${rota_pages})
install(EXPORT rota
    NAMESPACE rota:: FILE rotaTargets.cmake DESTINATION ${rota_cmake_dir})
install(EXPORT rota_static
    NAMESPACE rota:: FILE rotaStaticTargets.cmake DESTINATION ${rota_cmake_dir})

configure_package_config_file(
    cmake/rotaConfig.cmake.in ${PROJECT_BINARY_DIR}/rotaConfig.cmake
    INSTALL_DESTINATION ${rota_cmake_dir}
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/rotaConfigVersion.cmake
    COMPATIBILITY SameMajorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/rotaConfig.cmake
    ${PROJECT_BINARY_DIR}/rotaConfigVersion.cmake
    DESTINATION ${rota_cmake_dir})

# rota.pc. Relative to itself, so that the installation may be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(rota_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH rota_pc_up "/${rota_pkgconfig_dir}" "/")
    string(REGEX REPLACE "/$" "" rota_pc_up "${rota_pc_up}")
    set(rota_pc_prefix "\${pcfiledir}/${rota_pc_up}")
endif()
cmake_path(APPEND rota_pc_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
cmake_path(APPEND rota_pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")

# rota.h includes mpi.h: by the MPI's own package where it has one of a name
# that says which MPI it is, else by the flags found.
set(rota_pc_requires "")
set(rota_pc_mpi_cflags "")
set(rota_pc_mpi_libs "")
set(rota_pc_mpi_mpich mpich)
set(rota_pc_mpi_openmpi ompi-c)
if(rota_pc_mpi_${ROTA_MPI_FLAVOUR})
    pkg_check_modules(ROTA_PC_MPI QUIET ${rota_pc_mpi_${ROTA_MPI_FLAVOUR}})
endif()
# Another one of the same name may be installed. No folder: the C compiler is
# MPI's own.
set(rota_mpi_include "")
if(MPI_C_INCLUDE_DIRS)
    list(GET MPI_C_INCLUDE_DIRS 0 rota_mpi_include)
endif()
if(ROTA_PC_MPI_FOUND AND rota_mpi_include IN_LIST ROTA_PC_MPI_INCLUDE_DIRS)
    set(rota_pc_requires ${rota_pc_mpi_${ROTA_MPI_FLAVOUR}})
else()
    foreach(dir IN LISTS MPI_C_INCLUDE_DIRS)
        string(APPEND rota_pc_mpi_cflags " -I${dir}")
    endforeach()
    list(JOIN MPI_C_LIBRARIES " " rota_pc_mpi_libs)
endif()
configure_file(cmake/rota.pc.in ${PROJECT_BINARY_DIR}/rota.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rota.pc DESTINATION ${rota_pkgconfig_dir})
if(TARGET rota_heap)
    configure_file(cmake/rota-heap.pc.in ${PROJECT_BINARY_DIR}/rota-heap.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/rota-heap.pc
            DESTINATION ${rota_pkgconfig_dir})
endif()

# The Fortran modules, in the same way.
if(ROTA_HAVE_FORTRAN)
    set(rota_pc_modules "${ROTA_FORTRAN_MODULES}")
    if(NOT IS_ABSOLUTE "${rota_pc_modules}")
        set(rota_pc_modules "\${prefix}/${rota_pc_modules}")
    endif()
    set(rota_pc_fortran_cflags "")
    foreach(dir IN LISTS MPI_Fortran_INCLUDE_DIRS)
        string(APPEND rota_pc_fortran_cflags " -I${dir}")
    endforeach()
    # MPI's libraries without what they are linked with.
    set(rota_pc_fortran_libs ${MPI_Fortran_LIBRARIES})
    list(FILTER rota_pc_fortran_libs INCLUDE REGEX "mpi[^/]*$")
    list(JOIN rota_pc_fortran_libs " " rota_pc_fortran_libs)
    configure_file(cmake/rota-fortran.pc.in
                   ${PROJECT_BINARY_DIR}/rota-fortran.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/rota-fortran.pc
            DESTINATION ${rota_pkgconfig_dir})
endif()
