#include "cli/options.hpp"

int main(int argc, char** argv) {
  return overlap::cli::run_program(argc, argv);
}
