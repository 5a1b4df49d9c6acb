#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "overlap/error.hpp"
#include "overlap/report.hpp"

namespace overlap {

void write_file(const std::string& file, std::string_view text) {
  const std::string temporary = file + ".tmp" + std::to_string(::getpid());
  const auto fail = [&](int error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw InputError(file, std::string("cannot write: ") + std::strerror(error));
  };
  if (std::filesystem::is_directory(file)) throw InputError(file, "cannot write: it is a folder");
  std::FILE* f = std::fopen(temporary.c_str(), "wb");
  if (f == nullptr) throw InputError(file, std::string("cannot write: ") + std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), f) == text.size();
  const int error = errno;
  if (std::fclose(f) != 0 || !written) fail(written ? errno : error);
  if (std::rename(temporary.c_str(), file.c_str()) != 0) fail(errno);
}

}  // namespace overlap
