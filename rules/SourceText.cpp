#include "rules/SourceText.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

namespace locktidy {
namespace {

bool wordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Tokens as far as edits need them: words and numbers whole, literals whole,
// `::`, `->`, everything else one character.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : t_(text) {}

  std::vector<SourceText::Token> run() {
    while (at_ < t_.size()) {
      char c = t_[at_];
      if (c == '\n') line_ = true, ++at_;
      else if (std::isspace(static_cast<unsigned char>(c))) ++at_;
      else if (c == '#' && line_) endOfLine();
      else if (t_.compare(at_, 2, "//") == 0) endOfLine();
      else if (t_.compare(at_, 2, "/*") == 0) at_ = after("*/", at_ + 2);
      else line_ = false, token(c);
    }
    return std::move(out_);
  }

 private:
  size_t after(std::string_view what, size_t from) const {
    size_t hit = t_.find(what, from);
    return hit == std::string_view::npos ? t_.size() : hit + what.size();
  }
  // Lines that a backslash continues count as one.
  void endOfLine() {
    while (at_ < t_.size() && t_[at_] != '\n') {
      if (t_.compare(at_, 2, "/*") == 0 && t_[at_] != '\n') {
        at_ = after("*/", at_ + 2);
        continue;
      }
      if (t_.compare(at_, 2, "//") == 0) {
        at_ = std::min(t_.find('\n', at_), t_.size());
        return;
      }
      at_ += t_[at_] == '\\' && at_ + 1 < t_.size() ? (t_[at_ + 1] == '\r' ? 3 : 2) : 1;
    }
    at_ = std::min(at_, t_.size());
  }
  void token(char c) {
    size_t begin = at_;
    if (wordChar(c)) {
      bool number = std::isdigit(static_cast<unsigned char>(c));
      while (at_ < t_.size() && (wordChar(t_[at_]) || (number && (t_[at_] == '.' || (t_[at_] == '\'' && at_ + 1 < t_.size() && wordChar(t_[at_ + 1])))))) ++at_;
      std::string_view word = t_.substr(begin, at_ - begin);
      if (at_ < t_.size() && t_[at_] == '"' && word.ends_with('R')) {
        size_t open = t_.find('(', at_);
        std::string close = ")" + std::string(t_.substr(at_ + 1, open == std::string_view::npos ? 0 : open - at_ - 1)) + "\"";
        at_ = after(close, at_);
      } else if (at_ < t_.size() && (t_[at_] == '"' || t_[at_] == '\'') && word.size() <= 2) {
        literal(t_[at_]);
      }
    } else if (c == '"' || c == '\'') {
      literal(c);
    } else {
      at_ += t_.compare(at_, 2, "::") == 0 || t_.compare(at_, 2, "->") == 0 ? 2 : 1;
    }
    out_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin)});
  }
  void literal(char quote) {
    ++at_;
    while (at_ < t_.size() && t_[at_] != quote && t_[at_] != '\n') at_ += t_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, t_.size());
  }

  std::string_view t_;
  size_t at_ = 0;
  bool line_ = true;  // only blanks so far
  std::vector<SourceText::Token> out_;
};

}  // namespace

bool endsStatement(std::string_view token) { return token == ";" || token == "{" || token == "}" || token == ":"; }

std::optional<size_t> SourceText::File::tokenAt(uint32_t offset) const {
  auto it = std::lower_bound(tokens.begin(), tokens.end(), offset, [](const Token& t, uint32_t o) { return t.offset < o; });
  if (it == tokens.end() || it->offset != offset) return std::nullopt;
  return static_cast<size_t>(it - tokens.begin());
}

std::optional<size_t> SourceText::File::closing(size_t open) const {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    std::string_view t = at(i);
    if (t == "(" || t == "[" || t == "{") ++depth;
    if ((t == ")" || t == "]" || t == "}") && --depth == 0) return i;
  }
  return std::nullopt;
}

const SourceText::File& SourceText::file(uint32_t id) const {
  auto [it, fresh] = files_.try_emplace(id);
  File& f = it->second;
  if (!fresh || id >= program_.files.size()) return f;
  f.id = id;
  f.name = program_.text(program_.files[id].path);
  std::ifstream in(f.name.starts_with('/') ? f.name : root_ + "/" + f.name, std::ios::binary);
  f.text.assign(std::istreambuf_iterator<char>(in), {});
  if (sha256Hex(f.text) != program_.text(program_.files[id].sha256)) f.text.clear();
  f.tokens = Lexer(f.text).run();
  return f;
}

Edit SourceText::edit(const File& f, uint32_t begin, uint32_t end, std::string text) const {
  Edit e;
  e.file = f.name;
  e.sha256 = program_.text(program_.files[f.id].sha256);
  e.offset = begin;
  e.length = end - begin;
  e.line = static_cast<uint32_t>(1 + std::count(f.text.begin(), f.text.begin() + begin, '\n'));
  size_t lineStart = begin == 0 ? 0 : f.text.rfind('\n', begin - 1) + 1;
  e.column = static_cast<uint32_t>(begin - lineStart + 1);
  e.oldText = f.text.substr(begin, end - begin);
  e.newText = std::move(text);
  return e;
}

Edit SourceText::removal(const File& f, size_t first, size_t last) const {
  uint32_t begin = f.tokens[first].offset, end = f.tokens[last].end();
  size_t lineStart = begin == 0 ? 0 : f.text.rfind('\n', begin - 1) + 1;
  size_t lineEnd = std::min(f.text.find('\n', end), f.text.size());
  std::string_view before = std::string_view(f.text).substr(lineStart, begin - lineStart);
  std::string_view behind = std::string_view(f.text).substr(end, lineEnd - end);
  auto blank = [](std::string_view t) { return t.find_first_not_of(" \t\r") == std::string_view::npos; };
  size_t comment = behind.find_first_not_of(" \t");
  bool alone = blank(behind) || behind.compare(comment, 2, "//") == 0;
  if (blank(before) && alone) {
    begin = static_cast<uint32_t>(lineStart);
    end = static_cast<uint32_t>(std::min(lineEnd + 1, f.text.size()));
  } else if (f.text.compare(end, 1, " ") == 0) {
    ++end;
  }
  return edit(f, begin, end, "");
}

}  // namespace locktidy
