#include "paths.hpp"

std::string source_dir() {
  return OVERLAPSIM_SOURCE_DIR;
}
std::string data_dir() {
  return OVERLAPSIM_DATA_DIR;
}
std::string binary_path() {
  return OVERLAPSIM_BINARY;
}
