// The child process of the library's tests. The real binary would load LibTorch for each test.

#include "compiler/compile_child.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  mallocmuzero::RunCompileChild(argv[1], argv[2]);
}
