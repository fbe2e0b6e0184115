# Removes what the last installation from this folder installed, and folders below its
# prefix that are then empty. A name may hold any character: nothing here is a list or
# a pattern.
cmake_minimum_required(VERSION 3.25)

set(text "")
if(EXISTS install_manifest.txt)
    file(READ install_manifest.txt text)
endif()
set(n 0)
while(text MATCHES "^([^\n]+)\n*(.*)$")
    set(file_${n} "$ENV{DESTDIR}${CMAKE_MATCH_1}")
    set(text "${CMAKE_MATCH_2}")
    math(EXPR n "${n} + 1")
endwhile()
if(n EQUAL 0)
    message(FATAL_ERROR "Nothing has been installed from this folder")
endif()
math(EXPR last "${n} - 1")

# The prefix, or what is below it if all files are there: the folder of them all.
cmake_path(GET file_0 PARENT_PATH prefix)
foreach(i RANGE ${last})
    file(REMOVE "${file_${i}}")
    set(within FALSE)
    while(NOT within)
        cmake_path(IS_PREFIX prefix "${file_${i}}" within)
        if(NOT within)
            cmake_path(GET prefix PARENT_PATH prefix)
        endif()
    endwhile()
endforeach()

# rmdir fails where something is left.
foreach(i RANGE ${last})
    cmake_path(GET file_${i} PARENT_PATH folder)
    set(failed 0)
    while(failed EQUAL 0 AND NOT folder PATH_EQUAL prefix)
        execute_process(COMMAND rmdir -- "${folder}"
                        RESULT_VARIABLE failed ERROR_QUIET)
        cmake_path(GET folder PARENT_PATH folder)
    endwhile()
endforeach()
file(REMOVE install_manifest.txt)
message(STATUS "Removed ${n} files")
