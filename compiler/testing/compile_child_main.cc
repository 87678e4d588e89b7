// The child of the library's tests: the binary would load LibTorch each time.

#include "compiler/compile_child.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  mallocmuzero::RunCompileChild(argv[1], argv[2]);
}
