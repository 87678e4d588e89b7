# The target `torch`, of the LibTorch within an installed Python package: what PyPI's torch brings
# for GPUs. Its own CMake files want a CUDA toolkit; code without kernels does with the headers that
# come along as packages nvidia-*.
set(MMZ_TORCH_INCLUDE ${MALLOCMUZERO_TORCH_WHEEL}/include)
if(NOT EXISTS ${MMZ_TORCH_INCLUDE}/torch/csrc/api/include/torch/torch.h)
  message(FATAL_ERROR "MALLOCMUZERO_TORCH_WHEEL: ${MALLOCMUZERO_TORCH_WHEEL}: the folder of an "
    "installed torch package expected, such as: "
    "python3 -c 'import torch; print(torch.__path__[0])'")
endif()

# Some releases (2.11) also bring the headers of an old Protocol Buffers, which would hide those of
# this machine. So the compiler sees a folder with links to all headers but these.
set(MMZ_TORCH_LINKS ${CMAKE_BINARY_DIR}/torch_include)
file(REMOVE_RECURSE ${MMZ_TORCH_LINKS})
file(MAKE_DIRECTORY ${MMZ_TORCH_LINKS})
file(GLOB MMZ_TORCH_HEADERS RELATIVE ${MMZ_TORCH_INCLUDE} ${MMZ_TORCH_INCLUDE}/*)
list(REMOVE_ITEM MMZ_TORCH_HEADERS google)
foreach(name ${MMZ_TORCH_HEADERS})
  file(CREATE_LINK ${MMZ_TORCH_INCLUDE}/${name} ${MMZ_TORCH_LINKS}/${name} SYMBOLIC)
endforeach()

add_library(torch INTERFACE)
file(GLOB MMZ_NVIDIA_INCLUDES ${MALLOCMUZERO_TORCH_WHEEL}/../nvidia/*/include)
target_include_directories(torch SYSTEM INTERFACE
  ${MMZ_TORCH_LINKS} ${MMZ_TORCH_LINKS}/torch/csrc/api/include ${MMZ_NVIDIA_INCLUDES})
set(MMZ_TORCH_LIBRARIES "")
foreach(name c10 torch_cpu c10_cuda torch_cuda)
  find_library(MMZ_TORCH_${name} ${name} PATHS ${MALLOCMUZERO_TORCH_WHEEL}/lib NO_DEFAULT_PATH)
  if(MMZ_TORCH_${name})
    list(APPEND MMZ_TORCH_LIBRARIES ${MMZ_TORCH_${name}})
  endif()
endforeach()
# Nothing names what is in torch_cuda: it makes itself known when it is loaded.
target_link_libraries(torch INTERFACE
  -Wl,--push-state,--no-as-needed ${MMZ_TORCH_LIBRARIES} -Wl,--pop-state)
target_compile_definitions(torch INTERFACE
  USE_DISTRIBUTED USE_C10D_GLOO $<$<BOOL:${MMZ_TORCH_torch_cuda}>:USE_CUDA USE_C10D_NCCL>)

# Installed executables look for LibTorch first where an image has it (deploy/image/build).
set(CMAKE_INSTALL_RPATH
  "$ORIGIN/../../lib/mallocmuzero/torch/lib" "${MALLOCMUZERO_TORCH_WHEEL}/lib")
