# cmake -DCOMPILER= -DNM= -DOBJECT= -DFOLDER= -P c_library.cmake
# Writes FOLDER/libc.so.6 and libm.so.6: libraries without code that have, of those that COMPILER
# links, the names that OBJECT needs, with their versions.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} --undefined-only ${OBJECT} OUTPUT_VARIABLE text
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" needed "${text}")
string(REPLACE "\n" "" needed "${needed}")

foreach(library libc.so.6 libm.so.6)
  execute_process(COMMAND ${COMPILER} -print-file-name=${library} OUTPUT_VARIABLE path
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${NM} -D --defined-only --with-symbol-versions ${path}
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[A-Za-z] [^ @\n]+@@[^\n]+" symbols "${text}")
  set(code "")
  set(versions "")
  foreach(symbol ${symbols})
    string(REGEX MATCH "^(.) (.*)@@(.*)$" matched "${symbol}")
    set(kind ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    set(version ${CMAKE_MATCH_3})
    if(NOT name IN_LIST needed)
      continue()
    endif()
    set(type function)
    if(kind MATCHES "[BDRVbdrv]")
      set(type object)
    endif()
    string(APPEND code ".globl ${name}\n.type ${name}, %${type}\n${name}: .quad 0\n"
      ".size ${name}, 8\n")
    list(APPEND versions ${version})
    string(APPEND names_of_${version} " ${name};")
  endforeach()
  list(REMOVE_DUPLICATES versions)
  set(script "")
  foreach(version ${versions})
    string(APPEND script "${version} { global:${names_of_${version}} };\n")
    unset(names_of_${version})
  endforeach()
  set(base ${CMAKE_CURRENT_BINARY_DIR}/${library})
  file(WRITE ${base}.s "${code}")
  file(WRITE ${base}.versions "${script}")
  execute_process(COMMAND ${COMPILER} -shared -nostdlib -s -Wl,--build-id=none
    -Wl,-z,max-page-size=4096 -Wl,-soname,${library} -Wl,--version-script=${base}.versions
    -o ${FOLDER}/${library} ${base}.s COMMAND_ERROR_IS_FATAL ANY)
endforeach()
