#include "config/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "config/reader.hpp"
#include "overlap/error.hpp"

namespace overlap::config {
namespace fs = std::filesystem;
namespace {

bool is_root(const fs::path& p) {
  std::error_code e;
  return fs::is_directory(p / "topologies", e) && fs::is_directory(p / "configs", e);
}

std::string find_root() {
  std::error_code e;
  const fs::path program = fs::read_symlink("/proc/self/exe", e);
  for (fs::path p = program.parent_path(); !p.empty(); p = p.parent_path()) {
    if (is_root(p)) return p.string();
    if (p == p.root_path()) break;
  }
  for (fs::path p = fs::current_path(e); !p.empty(); p = p.parent_path()) {
    if (is_root(p)) return p.string();
    if (p == p.root_path()) break;
  }
  return {};
}

// Short for messages: relative to the current folder when below it.
std::string tidy(const fs::path& p) {
  std::error_code e;
  const fs::path full = fs::absolute(p, e).lexically_normal();
  const fs::path rel = full.lexically_relative(fs::current_path(e));
  return rel.empty() || *rel.begin() == ".." ? full.string() : rel.string();
}

}  // namespace

const std::string& project_root() {
  static const std::string root = find_root();
  return root;
}

std::string stem_of(const std::string& file) {
  return fs::path(file).stem().string();
}

std::vector<std::string> bundled_files(std::string_view folder) {
  std::vector<std::string> out;
  if (project_root().empty()) return out;
  std::error_code e;
  for (const auto& entry : fs::directory_iterator(fs::path(project_root()) / folder, e)) {
    if (entry.path().extension() == ".json") out.push_back(tidy(entry.path()));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string resolve(const std::string& path, const std::string& referring_file, std::string_view folder) {
  std::vector<fs::path> tries;
  const fs::path p(path);
  if (p.is_absolute()) {
    tries.push_back(p);
  } else {
    if (!referring_file.empty()) tries.push_back(fs::path(referring_file).parent_path() / p);
    if (referring_file.empty()) tries.push_back(p);
    if (!project_root().empty()) tries.push_back(fs::path(project_root()) / p);
    tries.push_back(p);
    if (!p.has_parent_path() && !project_root().empty()) {
      tries.push_back(fs::path(project_root()) / folder / p);
      tries.push_back(fs::path(project_root()) / folder / (path + ".json"));
    }
  }
  std::error_code e;
  for (const fs::path& t : tries) {
    if (fs::is_regular_file(t, e)) return tidy(t);
  }
  std::vector<std::string> known;
  for (const std::string& f : bundled_files(folder)) known.push_back(stem_of(f));
  const std::string near = nearest_name(stem_of(path).substr(0, 60), known);
  throw InputError(path.substr(0, 200), fmt::format("there is no such file{}{}",
                                                    folder.empty() ? "" : fmt::format(" (looked in {}/ too)", folder),
                                                    near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

}  // namespace overlap::config
