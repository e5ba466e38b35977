// The program's text, token by token, for edits that no single anchor of the
// facts covers: a whole statement, the end of an expression.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/report/Report.h"
#include "checker/solve/Solution.h"

namespace locktidy {

class SourceText {
 public:
  // Files are read below `root`, each when it is first asked for.
  SourceText(const Program& program, std::string root) : program_(program), root_(std::move(root)) {}

  struct Token {
    uint32_t offset = 0, length = 0;
    uint32_t end() const { return offset + length; }
  };
  struct File {
    uint32_t id = 0;
    std::string name, text;      // empty: unreadable, or no longer what was analysed
    std::vector<Token> tokens;   // without comments and preprocessor lines
    std::string_view at(size_t token) const {
      return token < tokens.size() ? std::string_view(text).substr(tokens[token].offset, tokens[token].length) : std::string_view();
    }
    // The token that begins at `offset`.
    std::optional<size_t> tokenAt(uint32_t offset) const;
    // The token that closes the bracket `open`.
    std::optional<size_t> closing(size_t open) const;
  };
  const File& file(uint32_t id) const;

  // Replaces [begin, end) of the file.
  Edit edit(const File& f, uint32_t begin, uint32_t end, std::string text) const;
  // Removes the tokens first ... last; their line too, if nothing else is on it
  // but a comment behind them.
  Edit removal(const File& f, size_t first, size_t last) const;

 private:
  const Program& program_;
  std::string root_;
  mutable std::map<uint32_t, File> files_;
};

// Does code begin a statement or member after this token?
bool endsStatement(std::string_view token);

}  // namespace locktidy
