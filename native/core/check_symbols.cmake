# Fails when an object of a level defines a weak symbol outside the level's namespace (see CMakeLists.txt).
string(LENGTH "${LEVEL}" length)
set(mark "${length}${LEVEL}") # how the Itanium ABI spells a namespace inside a symbol
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND "${NM}" --defined-only "${object}" OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+ [WVu] [^\n]+" weak "${listing}")
  foreach(line IN LISTS weak)
    if(NOT line MATCHES "${mark}" AND NOT line MATCHES "DW\\.ref")
      message(FATAL_ERROR "${object}: ${line}\nis not in namespace ${LEVEL}: the linker may merge it with another level's. "
                          "Keep C++ library templates out of level sources (native/README.md).")
    endif()
  endforeach()
endforeach()
file(TOUCH "${STAMP}")
