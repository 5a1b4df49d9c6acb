# Included by the top directory, where CMake wants languages enabled. The device half of the GPU backend is built where a CUDA toolkit is found (AUTO), demanded (ON) or left out (OFF).
# cuBLASLt, NCCL and NVML are loaded when they are needed, so the program links none of them.
set(OVERLAPSIM_CUDA "AUTO" CACHE STRING "GPU backend: AUTO (where a CUDA toolkit with cuBLASLt and NCCL headers is found), ON or OFF")
set_property(CACHE OVERLAPSIM_CUDA PROPERTY STRINGS AUTO ON OFF)
if(OVERLAPSIM_CUDA STREQUAL "OFF")
  return()
endif()

find_package(CUDAToolkit 12.4 QUIET)
find_program(OVERLAPSIM_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
find_path(OVERLAPSIM_CUBLASLT_INCLUDE cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_path(OVERLAPSIM_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(NOT CUDAToolkit_FOUND OR NOT OVERLAPSIM_NVCC OR NOT OVERLAPSIM_CUBLASLT_INCLUDE OR NOT OVERLAPSIM_NCCL_INCLUDE)
  if(OVERLAPSIM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "OVERLAPSIM_CUDA=ON needs a CUDA toolkit of 12.4 or later with nvcc, cublasLt.h and nccl.h")
  endif()
  message(STATUS "GPU backend: not built (no CUDA toolkit with cublasLt.h and nccl.h)")
  return()
endif()
message(STATUS "GPU backend: built with CUDA ${CUDAToolkit_VERSION}")

set(CMAKE_CUDA_COMPILER ${OVERLAPSIM_NVCC})
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "80-virtual;90-real")
endif()
if(CCACHE_PROGRAM AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)  # CMake 3.25 knows no later one for nvcc
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(OVERLAPSIM_HAVE_CUDA ON)
# That one file alone is compiled differently, so that all other objects are the same with and without the backend.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/cuda/no_backend.cpp PROPERTIES COMPILE_DEFINITIONS OVERLAPSIM_HAVE_CUDA)
