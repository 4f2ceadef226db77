# tercel_library(name SOURCES ... DEPS ...): one static library a folder, linked only to what the
# layering of ARCHITECTURE.md lets it use.
include(CMakeParseArguments)
find_program(TERCEL_CCACHE ccache)
if(TERCEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${TERCEL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TERCEL_CCACHE})
endif()

# As saved programs name it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(TERCEL_ARCHITECTURE aarch64)
else()
  set(TERCEL_ARCHITECTURE x86-64)
endif()

add_library(tercel_options INTERFACE)
target_compile_options(tercel_options INTERFACE -Wall -Wextra -Werror
  -Wno-missing-field-initializers -Wno-restrict -fno-semantic-interposition -fno-math-errno -g1)
target_include_directories(tercel_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(TERCEL_SANITIZE)
  target_compile_options(tercel_options INTERFACE -fsanitize=${TERCEL_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all
    -Wno-maybe-uninitialized)  # g++ 12 is often wrong about it in instrumented code
  if(TERCEL_UNCHECKED)
    target_compile_options(tercel_options INTERFACE -fno-sanitize=${TERCEL_UNCHECKED})
  endif()
  target_link_options(tercel_options INTERFACE -fsanitize=${TERCEL_SANITIZE})
endif()

# Headers that many files read, compiled once for all targets with the same options. Each file still
# includes what it uses: -DTERCEL_PRECOMPILE=OFF finds where one does not.
option(TERCEL_PRECOMPILE "Precompile headers" ON)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "")

function(tercel_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS;DEPS" ${ARGN})
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cc)
  target_link_libraries(${name} PRIVATE tercel_options ${ARG_DEPS})
  # -fpch-preprocess: for ccache.
  target_compile_options(${name} PRIVATE -fpch-preprocess ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# g++ 12 warns of what it makes of std::string's own code where that is precompiled.
function(tercel_use_precompiled target name)
  if(TERCEL_PRECOMPILE)
    target_compile_options(${target} PRIVATE -fpch-preprocess -Wno-stringop-overflow)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

set(standard_headers <algorithm> <array> <atomic> <bit> <charconv> <cmath> <complex> <cstdint>
  <cstring> <filesystem> <fstream> <functional> <limits> <map> <memory> <mutex> <numeric> <optional>
  <set> <span> <string> <string_view> <thread> <unordered_map> <unordered_set> <utility> <vector>)
tercel_precompiled(tercel_standard_headers HEADERS ${standard_headers})

# PLAIN: some of its files have options of their own, with which no precompiled headers go.
# ALIKE: its files name what is their own alike, and are not compiled together in a unity build.
function(tercel_library name)
  cmake_parse_arguments(ARG "PLAIN;ALIKE" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_ALIKE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  target_link_libraries(${name} PUBLIC tercel_options ${ARG_DEPS})
  if(NOT ARG_PLAIN)
    tercel_use_precompiled(${name} tercel_standard_headers)
  endif()
endfunction()

function(tercel_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  target_compile_options(${name} PRIVATE -O1)  # compiles in two thirds of the time
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # as its headers
  tercel_use_precompiled(${name} tercel_test_headers)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
