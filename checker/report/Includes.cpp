// Where an #include goes, in the style of the file it goes into.
//
// 1. Into the last block of includes of the same kind (<> or ""), one that has
//    headers of the same look (<map>, <pthread.h>, <boost/x.hpp>) if there is
//    one: at its sorted position if the block is sorted, else after it.
// 2. Without such a block, after the last include, as a new block.
// 3. Without includes, after what has to stand first: `#pragma once`, the
//    include guard, `module;`, feature test macros, the leading comment.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>

#include "checker/report/Report.h"

namespace locktidy {
namespace {

using std::string_view;
constexpr size_t npos = string_view::npos;

enum class LineKind { Blank, Comment, Directive, Code };

struct Line {
  size_t begin = 0, end = 0, next = 0;  // `end` before the line end, `next` behind it
  LineKind kind = LineKind::Blank;
  bool continues = false;  // the line before
  bool brace = false;      // code of it opens a brace
};

// Walks over the text only as far as needed to tell comments and literals from
// code; a continued line has the kind of the line it continues.
class Scanner {
 public:
  explicit Scanner(string_view text) : text_(text) {
    if (text.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
  }

  std::optional<Line> next() {
    if (at_ >= text_.size()) return std::nullopt;
    Line line;
    line.begin = at_;
    const size_t newline = text_.find('\n', at_);
    line.next = newline == npos ? text_.size() : newline + 1;
    line.end = newline == npos ? text_.size() : newline;
    if (line.end > line.begin && text_[line.end - 1] == '\r') --line.end;
    classify(line);
    at_ = line.next;
    return line;
  }

 private:
  void classify(Line& line) {
    bool any = false;
    line.continues = continued_;
    if (continued_) {
      line.kind = continuedKind_;
      any = true;
    } else if (inComment_ || !rawEnd_.empty()) {
      line.kind = inComment_ ? LineKind::Comment : LineKind::Code;
      any = !inComment_;
    }
    const bool startsInComment = inComment_;
    bool lineComment = continued_ && inLineComment_;
    for (size_t i = line.begin; i < line.end && !lineComment;) {
      const string_view rest = text_.substr(i, line.end - i);
      if (inComment_) {
        const size_t close = rest.find("*/");
        inComment_ = close == npos;
        i = inComment_ ? line.end : i + close + 2;
      } else if (!rawEnd_.empty()) {
        const size_t close = rest.find(rawEnd_);
        if (close == npos) break;
        i += close + rawEnd_.size();
        rawEnd_.clear();
      } else if (std::isspace(static_cast<unsigned char>(rest[0]))) {
        ++i;
      } else if (rest.substr(0, 2) == "//") {
        lineComment = true;
      } else if (rest.substr(0, 2) == "/*") {
        if (!any && line.kind == LineKind::Blank) line.kind = LineKind::Comment;
        inComment_ = true;
        i += 2;
      } else {
        if (!any) line.kind = rest[0] == '#' && !startsInComment ? LineKind::Directive : LineKind::Code;
        any = true;
        i += token(line, rest, i);
      }
    }
    if (lineComment && !any) line.kind = LineKind::Comment;
    inLineComment_ = lineComment;
    continued_ = line.end > line.begin && text_[line.end - 1] == '\\' && !inComment_ && rawEnd_.empty();
    continuedKind_ = line.kind;
  }

  // The length of the literal or character that starts here.
  size_t token(Line& line, string_view rest, size_t at) {
    const char c = rest[0];
    const bool inWord =
        at > line.begin && (std::isalnum(static_cast<unsigned char>(text_[at - 1])) || text_[at - 1] == '_');
    if (c == '"' && at > line.begin && text_[at - 1] == 'R') {
      const size_t open = rest.find('(');
      if (open != npos && open <= 17) {
        rawEnd_ = ")" + std::string(rest.substr(1, open - 1)) + "\"";
        return open + 1;
      }
    }
    if (c == '"' || (c == '\'' && !inWord)) {  // 1'000 is no literal
      size_t i = 1;
      while (i < rest.size() && rest[i] != c) i += rest[i] == '\\' ? 2 : 1;
      return std::min(i + 1, rest.size());
    }
    // `#include <sys/*.h>` cannot be; braces of directives are text of macros.
    if (c == '{' && line.kind == LineKind::Code) line.brace = true;
    return 1;
  }

  string_view text_;
  size_t at_ = 0;
  bool inComment_ = false, inLineComment_ = false, continued_ = false;
  LineKind continuedKind_ = LineKind::Blank;
  std::string rawEnd_;
};

string_view trimmed(string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

// "#  define FOO 1" -> "define", "FOO 1"
std::pair<string_view, string_view> directive(string_view line) {
  line = trimmed(line);
  if (line.empty() || line[0] != '#') return {};  // a continuation
  line = trimmed(line.substr(1));
  size_t end = 0;
  while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_'))
    ++end;
  return {line.substr(0, end), trimmed(line.substr(end))};
}

string_view firstWord(string_view text) {
  size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
    ++end;
  return text.substr(0, end);
}

// The macro of `#ifndef X` and `#if !defined(X)`.
string_view guardMacro(string_view name, string_view rest) {
  if (name == "ifndef") return firstWord(rest);
  if (name != "if" || rest.substr(0, 1) != "!") return {};
  rest = trimmed(rest.substr(1));
  if (rest.substr(0, 7) != "defined") return {};
  rest = trimmed(rest.substr(7));
  if (rest.substr(0, 1) == "(") rest = trimmed(rest.substr(1));
  const string_view macro = firstWord(rest);
  const string_view tail = trimmed(rest.substr(macro.size()));
  return tail.empty() || tail == ")" ? macro : string_view();
}

struct Include {
  Line line;
  size_t number = 0;  // of the line
  size_t header = 0;  // offset of < or "
  string_view name;   // "<map>"
  bool angled() const { return name[0] == '<'; }
  string_view inner() const { return name.substr(1, name.size() - 2); }
};

// What of a header's name tells standard, system and library headers apart.
int lookOf(string_view header) {
  return (header.find('/') != npos ? 2 : 0) + (header.find('.') != npos ? 1 : 0);
}

struct Region {
  std::vector<Include> includes;  // unconditional
  size_t anchor = 0;              // without includes: insert before the line that starts here
};

string_view bodyOf(string_view text, const Line& line) {
  return text.substr(line.begin, line.end - line.begin);
}

bool startsDirective(const Line& line) { return line.kind == LineKind::Directive && !line.continues; }

// An include guard: line numbers of its #define and its #endif.
struct Guard {
  size_t define, end;
};

// A guard spans the file: nothing but comments before and behind. A default for
// a macro, `#ifndef N`, `#define N 4`, `#endif`, does not.
std::optional<Guard> findGuard(string_view text, const std::vector<Line>& lines) {
  std::vector<size_t> directives;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].kind == LineKind::Code && directives.size() < 2) return std::nullopt;
    if (!startsDirective(lines[i])) continue;
    const auto [name, rest] = directive(bodyOf(text, lines[i]));
    if (name != "pragma" || firstWord(rest) != "once") directives.push_back(i);
  }
  if (directives.size() < 3) return std::nullopt;
  const auto [name, rest] = directive(bodyOf(text, lines[directives[0]]));
  const auto [define, macro] = directive(bodyOf(text, lines[directives[1]]));
  const string_view guard = guardMacro(name, rest);
  if (guard.empty() || define != "define" || firstWord(macro) != guard) return std::nullopt;

  int depth = 0;
  for (size_t i : directives) {
    const string_view word = directive(bodyOf(text, lines[i])).first;
    if (word.substr(0, 2) == "if") ++depth;
    if (word != "endif" || --depth > 0) continue;
    for (size_t behind = i + 1; behind < lines.size(); ++behind)
      if (lines[behind].kind == LineKind::Code || lines[behind].kind == LineKind::Directive)
        return std::nullopt;
    return Guard{directives[1], i};
  }
  return std::nullopt;
}

// Where the leading comment ends, unless it sits on the code that it explains.
size_t endOfLeadingComment(string_view text, const std::vector<Line>& lines) {
  const size_t start = lines.empty() ? text.size() : lines[0].begin;
  size_t first = 0;
  while (first < lines.size() && lines[first].kind == LineKind::Blank) ++first;
  size_t end = first;
  while (end < lines.size() && lines[end].kind == LineKind::Comment) ++end;
  if (end == first) return start;
  std::string words(text.substr(lines[first].begin, lines[end - 1].end - lines[first].begin));
  std::transform(words.begin(), words.end(), words.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool license =
      words.find("copyright") != std::string::npos || words.find("license") != std::string::npos;
  const bool onCode = end < lines.size() && lines[end].kind == LineKind::Code;
  return license || !onCode ? lines[end - 1].next : start;
}

// The part of the file that includes may stand in.
Region scan(string_view text, size_t limit) {
  std::vector<Line> lines;
  Scanner scanner(text);
  while (const auto line = scanner.next()) lines.push_back(*line);
  const std::optional<Guard> guard = findGuard(text, lines);
  const int base = guard ? 1 : 0;
  Region region;
  region.anchor = endOfLeadingComment(text, lines);

  int depth = 0;
  bool conditionHasInclude = false;
  bool codeSeen = false;
  for (size_t n = 0; n < lines.size(); ++n) {
    const Line& line = lines[n];
    if (line.begin >= limit || (guard && n == guard->end)) break;
    const string_view body = bodyOf(text, line);
    if (line.kind == LineKind::Code) {
      if (line.brace) break;
      // The global module fragment comes before any include.
      if (!codeSeen && trimmed(body).substr(0, 7) == "module;") region.anchor = line.next;
      codeSeen = true;
    }
    if (!startsDirective(line)) continue;
    const auto [name, rest] = directive(body);
    if (name.substr(0, 2) == "if") {
      ++depth;
      if (depth == base + 1) conditionHasInclude = false;
    } else if (name == "endif") {
      if (--depth == base && conditionHasInclude && !codeSeen)
        region.anchor = line.next;  // #include "config.h"
    } else if (depth == base && !codeSeen && name == "pragma" && firstWord(rest) == "once") {
      region.anchor = line.next;
    } else if ((guard && n == guard->define) ||
               (depth == base && !codeSeen && name == "define" && rest.substr(0, 1) == "_")) {
      region.anchor = line.next;
      // The definition may be continued.
      while (n + 1 < lines.size() && lines[n].end > lines[n].begin && text[lines[n].end - 1] == '\\')
        region.anchor = lines[++n].next;
    } else if (name == "include") {
      if (depth != base) conditionHasInclude = true;
      const char close = rest.empty() ? 0 : rest[0] == '<' ? '>' : rest[0] == '"' ? '"' : 0;
      const size_t end = close ? rest.find(close, 1) : npos;
      if (end == npos || depth != base) continue;
      Include include{line, n, 0, rest.substr(0, end + 1)};
      include.header = static_cast<size_t>(include.name.data() - text.data());
      region.includes.push_back(include);
    }
  }
  return region;
}

string_view lineEndOf(string_view text, const Line* near) {
  size_t newline = near && near->next > near->end ? near->next - 1 : text.find('\n');
  return newline != npos && newline > 0 && text[newline - 1] == '\r' ? "\r\n" : "\n";
}

bool lessIgnoringCase(string_view a, string_view b) {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(),
      [](unsigned char x, unsigned char y) { return std::tolower(x) < std::tolower(y); });
}

// `text` put in as a line of its own at `offset`, the start of a line or the end
// of the file; `block`: with blank lines around.
IncludePlace asLine(string_view text, size_t offset, const std::string& line, string_view newline,
                    bool block) {
  const size_t start = text.substr(0, 3) == "\xEF\xBB\xBF" ? 3 : 0;
  const auto blankBefore = [&] {
    if (offset <= start) return true;
    const string_view above = text.substr(start, offset - start);
    if (above.back() != '\n') return false;
    const size_t begin = above.substr(0, above.size() - 1).rfind('\n');
    return trimmed(above.substr(begin == npos ? 0 : begin + 1)).empty();
  };
  const string_view below = text.substr(offset);
  const bool blankAfter = trimmed(below.substr(0, std::min(below.find('\n'), below.size()))).empty();
  IncludePlace place;
  place.offset = offset;
  const bool openEnd = offset > start && text[offset - 1] != '\n';  // the last line has no end
  if (openEnd) place.text += newline;
  if (block && !blankBefore()) place.text += newline;
  place.text += line;
  // A last line without an end stays one.
  if (!openEnd) place.text += newline;
  if (block && !blankAfter) place.text += newline;
  return place;
}

}  // namespace

IncludePlace placeInclude(string_view text, const std::string& header, size_t limit) {
  const Region region = scan(text, limit);
  const bool angled = header.substr(0, 1) == "<";
  const string_view inner =
      header.size() > 2 ? string_view(header).substr(1, header.size() - 2) : string_view(header);
  for (const Include& include : region.includes) {
    // <a/b.h> serves who asks for "a/b.h"; the reverse may find another file.
    if (include.inner() == inner && (include.angled() == angled || include.angled())) {
      IncludePlace place;
      place.present = true;
      return place;
    }
  }
  if (region.includes.empty())
    return asLine(text, region.anchor, "#include " + header, lineEndOf(text, nullptr), true);

  // Blocks of includes of one kind, on lines that touch.
  struct Block {
    size_t first, last;  // of region.includes
  };
  std::vector<Block> blocks;
  const auto& includes = region.includes;
  for (size_t i = 0; i < includes.size(); ++i) {
    const bool joins = i > 0 && includes[i].number == includes[i - 1].number + 1 &&
                       includes[i].angled() == includes[i - 1].angled();
    if (joins) {
      blocks.back().last = i;
    } else {
      blocks.push_back({i, i});
    }
  }
  // A quoted include that stands first and alone is the file's own header.
  const auto ofKind = [&](const Block& block) {
    const bool own = !angled && block.first == 0 && block.last == 0 && includes.size() > 1;
    return includes[block.first].angled() == angled && !own && !(includes.size() == 1 && !angled);
  };
  const Block* chosen = nullptr;
  bool sameLook = false;
  for (const Block& block : blocks) {
    if (!ofKind(block)) continue;
    const bool look =
        std::any_of(includes.begin() + static_cast<ptrdiff_t>(block.first),
                    includes.begin() + static_cast<ptrdiff_t>(block.last) + 1,
                    [&](const Include& include) { return lookOf(include.inner()) == lookOf(inner); });
    if (look || !sameLook) chosen = &block;
    sameLook |= look;
  }
  const auto spelling = [&](const Include& like) {
    return std::string(text.substr(like.line.begin, like.header - like.line.begin)) + header;
  };
  if (!chosen) {
    const Include& last = includes.back();
    return asLine(text, last.line.next, spelling(last), lineEndOf(text, &last.line), true);
  }

  // The first include of all may have to stay first even in a sorted block.
  const auto sortedFrom = [&](size_t first, auto less) {
    for (size_t i = first + 1; i <= chosen->last; ++i)
      if (less(includes[i].inner(), includes[i - 1].inner())) return false;
    return true;
  };
  const size_t first = chosen->first + (!angled && chosen->first == 0 ? 1 : 0);
  size_t position = chosen->last + 1;
  const auto insertSorted = [&](auto less) {
    if (!sortedFrom(first, less)) return false;
    position = first;
    while (position <= chosen->last && !less(inner, includes[position].inner())) ++position;
    return true;
  };
  if (!insertSorted([](string_view a, string_view b) { return a < b; })) insertSorted(lessIgnoringCase);
  if (position > chosen->last) {
    const Include& last = includes[chosen->last];
    return asLine(text, last.line.next, spelling(last), lineEndOf(text, &last.line), false);
  }
  const Include& after = includes[position];
  return asLine(text, after.line.begin, spelling(after), lineEndOf(text, &after.line), false);
}

}  // namespace locktidy
