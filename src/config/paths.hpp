// Where files are looked up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace overlap::config {

// The project's root: the nearest folder above the program with topologies/ and configs/; empty when there is none.
[[nodiscard]] const std::string& project_root();

// `path` beside `referring_file` (empty: none), in the root, in the current folder; then, for a bare name with or
// without ".json", in root/`folder`. Throws InputError that names the nearest file of `folder`.
[[nodiscard]] std::string resolve(const std::string& path, const std::string& referring_file, std::string_view folder);

[[nodiscard]] std::string stem_of(const std::string& file);
// JSON files of root/`folder`, sorted, without its sub-folders.
[[nodiscard]] std::vector<std::string> bundled_files(std::string_view folder);

}  // namespace overlap::config
