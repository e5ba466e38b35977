// A string table: equal strings get equal ids, id 0 is the empty string.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace locktidy {

class Interner {
 public:
  Interner() { intern(""); }

  uint32_t intern(std::string_view text) {
    auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    texts_.emplace_back(text);
    uint32_t id = static_cast<uint32_t>(texts_.size() - 1);
    ids_.emplace(texts_.back(), id);
    return id;
  }
  // 0 if the text was never interned.
  uint32_t find(std::string_view text) const {
    auto found = ids_.find(text);
    return found == ids_.end() ? 0 : found->second;
  }
  const std::string& text(uint32_t id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // stable addresses for the keys below
  std::unordered_map<std::string_view, uint32_t> ids_;
};

}  // namespace locktidy
