# cmake -DNM= -DOBJCOPY= -DOBJECT= -P rename_unique.cmake
# Gives what libstdc++ says is unique in a process a name of ours: objcopy makes none of it local, and
# a program that has libstdc++ itself would have two of each.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} --format=posix ${OBJECT} OUTPUT_VARIABLE text
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n ]+ u " unique "${text}")
foreach(symbol ${unique})
  string(REPLACE " u " "" name ${symbol})
  list(APPEND renamed --redefine-sym ${name}=tercel_own_${name})
endforeach()
execute_process(COMMAND ${OBJCOPY} ${renamed} ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
