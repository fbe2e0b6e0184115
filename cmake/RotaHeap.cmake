# Memory that processes allocate by themselves and share: rota_malloc.
#
# jemalloc 5 does the work; its code is put into librota_heap under other names.
# That takes its static library with position independent code, as Debian's
# libjemalloc-dev has it. Without it rota_malloc gives ordinary memory.
#
#   ROTA_JEMALLOC   AUTO (where it is found), ON (an error where it is not) or OFF
#
# Sets, besides what the user may:
#   ROTA_JEMALLOC_ARCHIVE, ROTA_JEMALLOC_INCLUDE_DIR

set(ROTA_JEMALLOC AUTO CACHE STRING "Shared memory for rota_malloc: AUTO, ON or OFF")
set_property(CACHE ROTA_JEMALLOC PROPERTY STRINGS AUTO ON OFF)

set(ROTA_HAVE_HEAP OFF)
if(ROTA_JEMALLOC AND ROTA_SANITIZE)
    message(STATUS "No shared memory for rota_malloc: sanitizers have their own malloc")
elseif(ROTA_JEMALLOC AND ROTA_MPI_FLAVOUR STREQUAL "smpi")
    message(STATUS "No shared memory for rota_malloc: ranks of SMPI share all memory")
elseif(ROTA_JEMALLOC)
    find_path(ROTA_JEMALLOC_INCLUDE_DIR jemalloc/jemalloc.h
              DOC "Folder of jemalloc's header")
    find_library(ROTA_JEMALLOC_ARCHIVE NAMES libjemalloc_pic.a
                 DOC "jemalloc's static library of position independent code")
    mark_as_advanced(ROTA_JEMALLOC_INCLUDE_DIR ROTA_JEMALLOC_ARCHIVE)
    set(rota_jemalloc_version "")
    if(ROTA_JEMALLOC_INCLUDE_DIR)
        file(STRINGS ${ROTA_JEMALLOC_INCLUDE_DIR}/jemalloc/jemalloc.h
             rota_jemalloc_version REGEX "define JEMALLOC_VERSION_MAJOR")
    endif()
    if(ROTA_JEMALLOC_ARCHIVE AND rota_jemalloc_version MATCHES " 5$")
        set(ROTA_HAVE_HEAP ON)
    elseif(NOT ROTA_JEMALLOC STREQUAL "AUTO")
        message(FATAL_ERROR "ROTA_JEMALLOC is on, but libjemalloc_pic.a and "
                            "jemalloc/jemalloc.h of jemalloc 5 are not found")
    endif()
endif()
message(STATUS "Shared memory for rota_malloc: ${ROTA_HAVE_HEAP}")
