#include "overlap/op_graph.hpp"

namespace overlap {

Bytes OpGraph::bytes(const Slice& s) const {
  return size_of(buffer(s.buffer).dtype) * static_cast<double>(s.elements());
}

Bytes OpGraph::bytes(Range range) const {
  Bytes sum;
  for (const Slice& s : slices(range)) sum += bytes(s);
  return sum;
}

std::string_view OpGraph::text(LabelId id) const {
  return id.valid() ? std::string_view(texts_[id.index()]) : "";
}

std::string OpGraph::text(const Label& label) const {
  std::string out;
  std::string_view rest = text(label.text);
  std::uint32_t numbers[] = {label.a, label.b};
  std::size_t next = 0;
  while (!rest.empty()) {
    const std::size_t hole = rest.find("{}");
    out += rest.substr(0, hole);
    if (hole == std::string_view::npos) break;
    if (next < 2) out += std::to_string(numbers[next++]);
    rest.remove_prefix(hole + 2);
  }
  return out;
}

}  // namespace overlap
