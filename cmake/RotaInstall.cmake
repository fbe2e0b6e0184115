# Installs the header, the libraries, rota-run, rota-tune and rota-info, manual
# pages, and what CMake and pkg-config need to find them.

include(CMakePackageConfigHelpers)

set(rota_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rota)
set(rota_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES include/rota.h TYPE INCLUDE)

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
install(TARGETS rota_static EXPORT rota_static)
if(TARGET rota_mpi)
    install(TARGETS rota_mpi)
    install(PROGRAMS ${PROJECT_BINARY_DIR}/src/mpi/rota-run TYPE BIN)
endif()
foreach(program IN ITEMS rota-tune rota-info rota-price)
    if(TARGET ${program})
        install(TARGETS ${program})
    endif()
endforeach()
if(TARGET rota-price)
    install(DIRECTORY bench/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/rota)
endif()
install(EXPORT rota
    NAMESPACE rota:: FILE rotaTargets.cmake DESTINATION ${rota_cmake_dir})
install(EXPORT rota_static
    NAMESPACE rota:: FILE rotaStaticTargets.cmake DESTINATION ${rota_cmake_dir})

configure_package_config_file(
    cmake/rotaConfig.cmake.in ${PROJECT_BINARY_DIR}/rotaConfig.cmake
    INSTALL_DESTINATION ${rota_cmake_dir}
    NO_SET_AND_CHECK_MACRO)
# Before 1.0 every minor version may break programs.
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/rotaConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
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
