// The project's own sources, read as text.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "paths.hpp"

namespace house {

namespace fs = std::filesystem;

inline std::string text_of(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// C++ and CUDA files below root/`folder`, sorted, as paths relative to the root.
inline std::vector<std::string> sources(const std::string& folder) {
  std::vector<std::string> out;
  const fs::path root = source_dir();
  if (!fs::exists(root / folder)) return out;
  for (const auto& e : fs::recursive_directory_iterator(root / folder)) {
    const std::string ext = e.path().extension().string();
    if (ext == ".cpp" || ext == ".hpp" || ext == ".cu" || ext == ".cuh") {
      out.push_back(fs::relative(e.path(), root).string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Include {
  std::string name;
  bool quoted = false;
};

inline std::vector<Include> includes(const std::string& file) {
  static const std::regex line(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> out;
  std::ifstream in(fs::path(source_dir()) / file);
  for (std::string text; std::getline(in, text);) {
    std::smatch m;
    if (std::regex_search(text, m, line)) out.push_back({m[2], m[1] == "\""});
  }
  return out;
}

// All matches of group 1 of `pattern` in the text.
inline std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex re(pattern);
  std::set<std::string> out;
  for (auto i = std::sregex_iterator(text.begin(), text.end(), re); i != std::sregex_iterator(); ++i) {
    out.insert((*i)[1].str());
  }
  return out;
}

}  // namespace house
