# HIP: what compiles with Debian's hipcc (no hipBLAS and no RCCL there, so no library GEMMs and collectives; the tile
# kernels are NVIDIA's own): the runtime layer and the kernels for copies, sums, inputs, gates and codes.
option(OVERLAPSIM_HIP "Compile the parts of the GPU backend that have no CUDA in them with hipcc (target overlap_hip)" OFF)
if(NOT OVERLAPSIM_HIP)
  return()
endif()
find_program(OVERLAPSIM_HIPCC hipcc REQUIRED)
set(OVERLAPSIM_HIP_ARCH "gfx90a" CACHE STRING "AMD architecture of overlap_hip")
set(hip_objects)
foreach(source kernels.cu codec.cu gpu_api.cpp)
  set(object ${CMAKE_BINARY_DIR}/hip/${source}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/hip
    COMMAND ${OVERLAPSIM_HIPCC} -x hip -D__HIP_PLATFORM_AMD__ --offload-arch=${OVERLAPSIM_HIP_ARCH} -std=c++20 -O2
            -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/include -c ${CMAKE_SOURCE_DIR}/src/cuda/device/${source} -o ${object}
    DEPENDS ${CMAKE_SOURCE_DIR}/src/cuda/device/${source} ${CMAKE_SOURCE_DIR}/src/cuda/device/gpu_types.cuh
            ${CMAKE_SOURCE_DIR}/src/cuda/device/gpu_api.hpp ${CMAKE_SOURCE_DIR}/src/cuda/device/kernels.hpp
    COMMENT "hipcc ${source}")
  list(APPEND hip_objects ${object})
endforeach()
add_custom_target(overlap_hip ALL DEPENDS ${hip_objects})
