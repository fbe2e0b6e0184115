# rota_options(TARGET): warnings, sanitizers and POSIX beside C11, for all code
# of the project. Who needs more of the system says so in its source.
# rota_warnings(TARGET): without sanitizers, for what comes before their libraries.

include(CheckCCompilerFlag)

# Constants of enumerations are of type int in C. Clang from 19 on warns of arithmetic
# that C++ would not allow.
check_c_compiler_flag(-Wenum-float-conversion ROTA_HAVE_WENUM_FLOAT_CONVERSION)

# For gcc, MPI_UNWEIGHTED of Open MPI is an array of no elements.
check_c_compiler_flag(-Wstringop-overread ROTA_HAVE_WSTRINGOP_OVERREAD)

function(rota_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion)
    if(ROTA_MPI_IS_OPENMPI AND ROTA_HAVE_WSTRINGOP_OVERREAD)
        target_compile_options(${target} PRIVATE
            -Wno-stringop-overread -Wno-stringop-overflow)
    endif()
    if(ROTA_HAVE_WENUM_FLOAT_CONVERSION)
        target_compile_options(${target} PRIVATE
            -Wno-enum-float-conversion -Wno-enum-enum-conversion)
    endif()
    target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
    if(ROTA_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()

function(rota_options target)
    rota_warnings(${target})
    if(ROTA_LIBFUZZER)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    if(ROTA_SANITIZE)
        target_compile_options(${target} PRIVATE
            -fsanitize=${ROTA_SANITIZE} -fno-sanitize-recover=all
            -fno-omit-frame-pointer)
        target_link_options(${target} PUBLIC -fsanitize=${ROTA_SANITIZE})
    endif()
endfunction()

# rota_program(TARGET SOURCE...): an executable.
function(rota_program target)
    add_executable(${target} ${ARGN})
    rota_options(${target})
    target_link_libraries(${target} PRIVATE MPI::MPI_C)
endfunction()
