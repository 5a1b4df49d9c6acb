// Where the rows of a shard lie.
#pragma once

#include <cstdint>
#include <string>

namespace overlap::sweep {

inline std::string shard_folder(const std::string& out, std::uint32_t shard, std::uint32_t shards) {
  return shards == 1 ? out : out + "/shard-" + std::to_string(shard) + "-of-" + std::to_string(shards);
}

}  // namespace overlap::sweep
