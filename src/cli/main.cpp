#include "cli/options.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // The heap grows by a megabyte at a time and keeps what runs give back: the next one wants it.
  mallopt(M_TOP_PAD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
  return overlap::cli::run_program(argc, argv);
}
