# Accelerators that buffers may lie on.
#
# CUDA and HIP are compiled in where their headers are, which takes neither a GPU
# nor their compilers. Nothing of them is linked: at run time they are found in
# processes that have loaded them.
#
#   ROTA_CUDA          AUTO (where cudaTypedefs.h is found), ON (an error where
#                      it is not) or OFF
#   ROTA_HIP           the same for AMD's HIP (hip/hip_runtime_api.h)
#   CUDAToolkit_ROOT   where the toolkit is, if not where it mostly is
#
# Sets, besides what the user may:
#   ROTA_CUDA_INCLUDE_DIR   its headers, if it is compiled in
#   ROTA_CUDA_STUB          the toolkit's stand-in for the driver's library, by
#                           which tests see that all functions are in it
#   ROTA_HIP_INCLUDE_DIR    HIP's headers, if it is compiled in
#   ROTA_CUFFT_VERSION      of cuFFT's library, if its header is there, too

set(ROTA_CUDA AUTO CACHE STRING "Buffers in memory of CUDA: AUTO, ON or OFF")
set_property(CACHE ROTA_CUDA PROPERTY STRINGS AUTO ON OFF)

set(ROTA_HAVE_CUDA OFF)
if(ROTA_CUDA)
    set(rota_cuda_hints ${CUDAToolkit_ROOT} ENV CUDAToolkit_ROOT ENV CUDA_HOME
        ENV CUDA_PATH /usr/local/cuda)
    find_path(ROTA_CUDA_INCLUDE_DIR cudaTypedefs.h
              HINTS ${rota_cuda_hints} PATH_SUFFIXES include
              DOC "Folder of CUDA's headers")
    find_library(ROTA_CUDA_STUB cuda
                 HINTS ${rota_cuda_hints} PATH_SUFFIXES lib64/stubs lib/stubs
                 PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/stubs
                 NO_DEFAULT_PATH DOC "CUDA's stub of libcuda")
    mark_as_advanced(ROTA_CUDA_INCLUDE_DIR ROTA_CUDA_STUB)
    if(ROTA_CUDA_INCLUDE_DIR)
        set(ROTA_HAVE_CUDA ON)
        if(EXISTS ${ROTA_CUDA_INCLUDE_DIR}/cufft.h)
            file(STRINGS ${ROTA_CUDA_INCLUDE_DIR}/cufft.h rota_cufft_line
                 REGEX "define CUFFT_VER_MAJOR")
            string(REGEX MATCH "[0-9]+$" ROTA_CUFFT_VERSION
                   "${rota_cufft_line}")
        endif()
    elseif(NOT ROTA_CUDA STREQUAL "AUTO")
        message(FATAL_ERROR "ROTA_CUDA is on, but cudaTypedefs.h (CUDA 11.3 or "
                            "later) is not found; -DCUDAToolkit_ROOT says where")
    endif()
endif()
message(STATUS "Buffers in memory of CUDA: ${ROTA_HAVE_CUDA}")

set(ROTA_HIP AUTO CACHE STRING "Buffers in memory of HIP: AUTO, ON or OFF")
set_property(CACHE ROTA_HIP PROPERTY STRINGS AUTO ON OFF)

set(ROTA_HAVE_HIP OFF)
if(ROTA_HIP)
    find_path(ROTA_HIP_INCLUDE_DIR hip/hip_runtime_api.h
              HINTS ENV ROCM_PATH /opt/rocm PATH_SUFFIXES include
              DOC "Folder of HIP's headers")
    mark_as_advanced(ROTA_HIP_INCLUDE_DIR)
    if(ROTA_HIP_INCLUDE_DIR)
        set(ROTA_HAVE_HIP ON)
    elseif(NOT ROTA_HIP STREQUAL "AUTO")
        message(FATAL_ERROR "ROTA_HIP is on, but hip/hip_runtime_api.h is not "
                            "found; the environment variable ROCM_PATH says "
                            "where")
    endif()
endif()
message(STATUS "Buffers in memory of HIP: ${ROTA_HAVE_HIP}")
