# What holds for the folder that Rota is installed into: one MPI for each, and the
# target uninstall. Included before anything that installs.

set(rota_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Neither overwrites the Rota of another MPI, as far as its name is known.
if(IS_ABSOLUTE "${rota_pkgconfig_dir}")
    set(rota_installed_pc "${rota_pkgconfig_dir}/rota.pc")
else()
    set(rota_installed_pc "\${CMAKE_INSTALL_PREFIX}/${rota_pkgconfig_dir}/rota.pc")
endif()
if(NOT ROTA_MPI_NAME STREQUAL "")
    install(CODE "
set(pc \"\$ENV{DESTDIR}${rota_installed_pc}\")
if(EXISTS \"\${pc}\")
    file(STRINGS \"\${pc}\" mpi REGEX \"^mpi=\")
    string(REPLACE \"mpi=\" \"\" mpi \"\${mpi}\")
    if(mpi AND NOT mpi STREQUAL \"${ROTA_MPI_NAME}\")
        message(FATAL_ERROR \"\${pc} is of Rota for \${mpi}, and this build is \"
            \"for ${ROTA_MPI_NAME}. Install into another folder, or uninstall that one.\")
    endif()
endif()")
endif()

if(PROJECT_IS_TOP_LEVEL)
    add_custom_target(uninstall
        COMMAND ${CMAKE_COMMAND} -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake
        WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
        VERBATIM)
endif()
