# MLIR and LLVM: their shared libraries, or for programs with the property POLYATTN_STATIC their
# archives, of which the linker takes what is used. Debian's package of MLIR has both.
file(GLOB POLYATTN_ARCHIVES ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER POLYATTN_ARCHIVES EXCLUDE REGEX "libMLIRCAPI")
add_library(PolyAttnMLIR INTERFACE)
set(is_static $<BOOL:$<TARGET_PROPERTY:POLYATTN_STATIC>>)
target_link_libraries(PolyAttnMLIR INTERFACE
  $<$<NOT:${is_static}>:MLIR> $<$<NOT:${is_static}>:LLVM>
  "$<${is_static}:${POLYATTN_ARCHIVES};-l:libz.a;-l:libzstd.a>")

# One static library of the project: sources, the libraries it needs, and the shared precompiled header.
# OBJECTS makes it a set of objects, which others link whole.
function(polyattn_library name)
  cmake_parse_arguments(ARG "OBJECTS" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  if(ARG_OBJECTS)
    add_library(${name} OBJECT ${ARG_SOURCES})
  else()
    add_library(${name} STATIC ${ARG_SOURCES})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PolyAttnMLIR)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  polyattn_precompile(${name})
endfunction()

# What TableGen has written for a folder, as a target; all of them are what `make lint` needs of a build.
add_custom_target(polyattn-generated)
macro(polyattn_generated name)
  add_public_tablegen_target(${name})
  add_dependencies(polyattn-generated ${name})
endmacro()

# One dialect, NAME in IR: FILEOps.td of this folder as C++ and as a reference, FILE.md, and its library.
# TYPES says that it has types of its own; enums and attributes all have. INTERFACES are files of op interfaces.
function(polyattn_dialect file name)
  cmake_parse_arguments(ARG "TYPES" "" "INTERFACES;SOURCES;LINK" ${ARGN})
  foreach(interface ${ARG_INTERFACES})
    set(LLVM_TARGET_DEFINITIONS ${interface}.td)
    mlir_tablegen(${interface}.h.inc -gen-op-interface-decls)
    mlir_tablegen(${interface}.cpp.inc -gen-op-interface-defs)
  endforeach()
  set(LLVM_TARGET_DEFINITIONS ${file}Ops.td)
  mlir_tablegen(${file}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${file}Ops.cpp.inc -gen-op-defs)
  mlir_tablegen(${file}Dialect.h.inc -gen-dialect-decls -dialect=${name})
  mlir_tablegen(${file}Dialect.cpp.inc -gen-dialect-defs -dialect=${name})
  if(ARG_TYPES)
    mlir_tablegen(${file}Types.h.inc -gen-typedef-decls -typedefs-dialect=${name})
    mlir_tablegen(${file}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${name})
  endif()
  mlir_tablegen(${file}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${file}Enums.cpp.inc -gen-enum-defs)
  mlir_tablegen(${file}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${name})
  mlir_tablegen(${file}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${name})
  mlir_tablegen(${file}.md -gen-dialect-doc -dialect=${name})
  polyattn_generated(${file}DialectIncGen)
  polyattn_library(${file}Dialect
    SOURCES ${ARG_SOURCES}
    LINK ${ARG_LINK}
    DEPENDS ${file}DialectIncGen)
endfunction()

# MLIR's headers and those of our dialects dominate compile time: they are precompiled. A source includes what it
# uses all the same, as `make lint` compiles without. A folder sets POLYATTN_PRECOMPILED to choose another form:
#   Tile   without the polyattn dialect, whose names code that uses all of the tile dialect's cannot see
#   Tests  with GoogleTest; the tests' own code is not optimized as far
function(polyattn_precompiled form)
  set(name PolyAttnPrecompiled${form})
  add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/Precompiled.cpp)
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/Precompiled${form}.h)
  add_dependencies(${name} polyattn-generated)
  target_compile_options(${name} PRIVATE ${POLYATTN_OPTIONS_${form}})
  target_link_libraries(${name} PRIVATE ${ARGN})
endfunction()
set(POLYATTN_OPTIONS_Tests $<$<CONFIG:Release>:-O1>)
polyattn_precompiled("")
polyattn_precompiled(Tile)
if(TARGET GTest::gtest)
  polyattn_precompiled(Tests GTest::gtest)
endif()

function(polyattn_precompile name)
  target_compile_options(${name} PRIVATE ${POLYATTN_OPTIONS_${POLYATTN_PRECOMPILED}})
  target_precompile_headers(${name} REUSE_FROM PolyAttnPrecompiled${POLYATTN_PRECOMPILED})
endfunction()

# One program of the project. Its objects are a target of their own, NAME-objects: they are compiled
# once for all forms of it, and as those of libraries are, which the precompiled headers ask for.
function(polyattn_tool name)
  polyattn_library(${name}-objects OBJECTS ${ARGN})
  add_executable(${name})
  target_link_libraries(${name} PRIVATE ${name}-objects)
endfunction()

# A statically linked copy of a tool for machines without LLVM's libraries: build/static/NAME, made by `static-tools`.
# Programs with sanitizers travel nowhere.
add_custom_target(static-tools)
function(polyattn_static_tool name)
  if(POLYATTN_SANITIZE)
    return()
  endif()
  add_executable(${name}-static EXCLUDE_FROM_ALL)
  set_target_properties(${name}-static PROPERTIES
    POLYATTN_STATIC ON
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/static)
  target_link_libraries(${name}-static PRIVATE ${name}-objects)
  # glibc stays shared: what is linked against all of it cannot load the CUDA driver.
  target_link_options(${name}-static PRIVATE
    -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--strip-all)
  add_dependencies(static-tools ${name}-static)
endfunction()

# For programs that are measured here and travel nowhere: this machine's own vectors, all of
# them. Compilers tuned for AVX-512 servers stop at 256 bits unless told otherwise, and a peak
# measured with half a vector is half a peak.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-march=native POLYATTN_HAS_MARCH_NATIVE)
check_cxx_compiler_flag(-mprefer-vector-width=512 POLYATTN_HAS_VECTOR_WIDTH)
function(polyattn_for_this_machine name)
  target_compile_options(${name} PRIVATE -O3)
  if(POLYATTN_HAS_MARCH_NATIVE)
    target_compile_options(${name} PRIVATE -march=native)
  endif()
  if(POLYATTN_HAS_VECTOR_WIDTH)
    target_compile_options(${name} PRIVATE -mprefer-vector-width=512)
  endif()
endfunction()
