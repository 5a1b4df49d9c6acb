// Runs the program of this build in a folder of its own.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "paths.hpp"

namespace cli_test {

namespace fs = std::filesystem;

struct Result {
  int code = -1;
  std::string out;
  std::string err;
  double cpu_ms = 0;
};

class Folder {
 public:
  explicit Folder(const std::string& name) : path_(fs::temp_directory_path() / ("overlapsim-" + name)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code e;
    fs::remove_all(path_, e);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  // Names of what lies there, the captured streams left out.
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& e : fs::recursive_directory_iterator(path_)) {
      const std::string n = e.path().filename().string();
      if (n != "stdout" && n != "stderr") out.insert(n);
    }
    return out;
  }
  // `overlapsim ARGS` with this folder as the current one.
  [[nodiscard]] Result run(const std::string& args) const {
    const auto cpu = [] {
      rusage u{};
      getrusage(RUSAGE_CHILDREN, &u);
      const auto ms = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
      };
      return ms(u.ru_utime) + ms(u.ru_stime);
    };
    const double before = cpu();
    const int status = std::system(
        ("cd '" + path_.string() + "' && exec '" + binary_path() + "' " + args + " >stdout 2>stderr").c_str());
    Result r;
    r.cpu_ms = cpu() - before;
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    r.out = text("stdout");
    r.err = text("stderr");
    return r;
  }

 private:
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  fs::path path_;
};

}  // namespace cli_test
