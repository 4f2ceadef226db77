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
  target_link_options(tercel_options INTERFACE -fsanitize=${TERCEL_SANITIZE})
endif()

function(tercel_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC tercel_options ${ARG_DEPS})
endfunction()

function(tercel_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  target_compile_options(${name} PRIVATE -O1)  # compiles in two thirds of the time
  add_test(NAME ${name} COMMAND ${name})
endfunction()
