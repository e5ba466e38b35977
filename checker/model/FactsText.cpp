// The facts' text form: writer, reader and checker.
//
//   locktidy-facts 1
//   strings 4            the empty string is number 0 and has no line
//   src/a.cpp            one line a string; `\n` and `\\` are escaped
//   ...
//   u 1 2 0 0 0 ...      then records: a letter, integers, one space between
//   ...
//   end
//
// A record says how many of each sub-record follow it. `-` stands for "none"
// where an index may be absent. Fields that are usually empty are announced by
// bits of the record's flags, so most lines are short.
//
// Each record's fields are listed once, in FactsFields.h, and visited by three
// archives: Writer, Reader and Checker. The reader accepts exactly what
// the writer writes (no leading zeros, no flag for an empty field), so reading
// and writing gives the same bytes; it compares every count with the bytes that
// are left before it allocates, and every id with its table.
//
// What has no meaning is not kept: the line of an invalid Loc, the field of a
// Deref step, the entity of a root that has none.
#include <cstring>

#include "checker/model/FactsFields.h"
#include "checker/model/FactsIo.h"

namespace locktidy {
namespace {

constexpr std::string_view kMagic = "locktidy-facts ";

using facts_text::Limits;
using facts_text::unit;

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  Limits limits;
  bool failed() const { return false; }

  void tag(char letter) { out_ += letter; }
  void end() { out_ += '\n'; }
  void num(const char*, uint32_t value) {
    char digits[12];
    char* at = digits + sizeof digits;
    do *--at = static_cast<char>('0' + value % 10);
    while (value /= 10);
    *--at = ' ';
    out_.append(at, digits + sizeof digits - at);
  }
  void str(const char* name, Str value) { num(name, value); }
  void index(const char* name, uint32_t value, size_t) { num(name, value); }
  void indexOrNone(const char* name, uint32_t value, size_t) {
    if (value == kNone)
      out_ += " -";
    else
      num(name, value);
  }
  template <class E>
  void kind(const char* name, E value, E) {
    num(name, static_cast<uint32_t>(value));
  }
  template <class... B>
  void flags(const char* name, const B&... bits) {
    uint32_t mask = 0, bit = 1;
    ((mask |= bits ? bit : 0, bit <<= 1), ...);
    num(name, mask);
  }
  void present(const char*, bool) {}
  template <class T>
  void count(const char* name, const std::vector<T>& list, size_t) {
    num(name, static_cast<uint32_t>(list.size()));
  }

 private:
  std::string& out_;
};

class Reader {
 public:
  Reader(std::string_view text, std::string& error)
      : at_(text.data()), end_(text.data() + text.size()), error_(error) {}
  Limits limits;
  size_t strings = 1;
  bool failed() const { return failed_; }

  void fail(std::string_view expected) {
    if (failed_) return;
    failed_ = true;
    const char* stop = at_;
    while (stop != end_ && *stop != '\n' && *stop != ' ' && stop - at_ < 40) ++stop;
    error_ = "line " + std::to_string(line_) + ": expected ";
    error_ += expected;
    error_ += at_ == end_   ? ", found the end of the text"
              : stop == at_ ? ", found the end of the field"
                            : ", found `" + std::string(at_, stop) + "`";
    at_ = end_;
  }

  bool literal(std::string_view text) {
    if (static_cast<size_t>(end_ - at_) < text.size() ||
        std::memcmp(at_, text.data(), text.size()) != 0)
      return false;
    at_ += text.size();
    return true;
  }
  bool atEnd() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  void setError(std::string text) {
    failed_ = true;
    error_ = std::move(text);
    at_ = end_;
  }

  void tag(char letter) {
    if (at_ != end_ && *at_ == letter)
      ++at_;
    else
      fail(std::string("a record `") + letter + "`");
  }
  void end() {
    if (at_ != end_ && *at_ == '\n')
      ++at_, ++line_;
    else
      fail("the end of the line");
  }
  // Digits at the reading position, in the only spelling the writer has.
  uint32_t digits(const char* name) {
    const char* start = at_;
    uint64_t value = 0;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - start < 11)
      value = value * 10 + static_cast<uint64_t>(*at_++ - '0');
    bool leadingZero = at_ - start > 1 && *start == '0';
    if (at_ == start || leadingZero || value > 0xffffffffu) {
      at_ = start;
      fail(std::string(name) + ": a number from 0 to 4294967295");
      return 0;
    }
    return static_cast<uint32_t>(value);
  }
  bool space(const char* name) {
    if (at_ != end_ && *at_ == ' ') return ++at_, true;
    fail(std::string("a space, then ") + name);
    return false;
  }
  void num(const char* name, uint32_t& value) { value = space(name) ? digits(name) : 0; }
  void str(const char* name, Str& value) { value = below(name, strings, "string id"); }
  void index(const char* name, uint32_t& value, size_t limit) {
    value = below(name, limit, "index");
  }
  void indexOrNone(const char* name, uint32_t& value, size_t limit) {
    if (end_ - at_ >= 2 && at_[0] == ' ' && at_[1] == '-') {
      at_ += 2;
      value = kNone;
      return;
    }
    value = below(name, limit, "index");
  }
  template <class E>
  void kind(const char* name, E& value, E last) {
    value = static_cast<E>(below(name, static_cast<size_t>(last) + 1, "kind"));
  }
  template <class... B>
  void flags(const char* name, B&... bits) {
    uint32_t mask = below(name, size_t{1} << sizeof...(bits), "flags");
    ((bits = mask & 1, mask >>= 1), ...);
  }
  void present(const char* name, bool there) {
    if (!there) fail(std::string(name) + " present, as the flags say");
  }
  // `least`: bytes that one item takes at least.
  template <class T>
  void count(const char* name, std::vector<T>& list, size_t least) {
    if (!space(name)) return;
    const char* start = at_;
    uint32_t size = digits(name);
    if (!failed_ && size > left() / least) {
      at_ = start;
      fail(std::string("number of ") + name + " that fits the text");
    }
    if (!failed_) list.resize(size);
  }

  std::string string() {
    std::string text;
    while (at_ != end_ && *at_ != '\n') {
      const char* start = at_;
      while (at_ != end_ && *at_ != '\n' && *at_ != '\\') ++at_;
      text.append(start, at_);
      if (at_ == end_ || *at_ != '\\') break;
      if (literal("\\n"))
        text += '\n';
      else if (literal("\\\\"))
        text += '\\';
      else
        return fail("`\\n` or `\\\\`"), text;
    }
    end();
    return text;
  }

 private:
  uint32_t below(const char* name, size_t limit, const char* what) {
    if (!space(name)) return 0;
    const char* start = at_;
    uint32_t value = digits(name);
    if (failed_ || value < limit) return failed_ ? 0 : value;
    at_ = start;
    fail(std::string(name) + ": " + what + " below " + std::to_string(limit));
    return 0;
  }

  const char* at_;
  const char* end_;
  uint32_t line_ = 1;
  bool failed_ = false;
  std::string& error_;
};

// Looks at facts in memory: every id and index within its table.
class Checker {
 public:
  explicit Checker(size_t strings) : strings_(strings) {}
  Limits limits;
  std::string error;
  bool failed() const { return !error.empty(); }
  void where(const char* list, size_t at) { list_ = list, at_ = at; }

  void tag(char) {}
  void end() {}
  void num(const char*, uint32_t) {}
  void str(const char* name, Str value) {
    if (value >= strings_) fail(name, "string id", value, strings_);
  }
  void index(const char* name, uint32_t value, size_t limit) {
    if (value >= limit) fail(name, "index", value, limit);
  }
  void indexOrNone(const char* name, uint32_t value, size_t limit) {
    if (value != kNone) index(name, value, limit);
  }
  template <class E>
  void kind(const char* name, E value, E last) {
    if (value > last) fail(name, "kind", static_cast<size_t>(value), static_cast<size_t>(last) + 1);
  }
  template <class... B>
  void flags(const char*, const B&...) {}
  // Absence of what must be there; flags and fields agree by construction.
  void present(const char* name, bool there) {
    if (!there) fail(name, "is missing");
  }
  template <class T>
  void count(const char* name, const std::vector<T>& list, size_t) {
    if (list.size() >= kNone) fail(name, "count", list.size(), kNone);
  }
  void fail(const char* name, const std::string& what) {
    if (!failed())
      error = std::string(list_) + " " + std::to_string(at_) + ": " + name + " " + what;
  }
  void fail(const char* name, const char* what, size_t value, size_t limit) {
    fail(name, std::string(what) + " " + std::to_string(value) + " is not below " +
                   std::to_string(limit));
  }

 private:
  size_t strings_;
  const char* list_ = "unit";
  size_t at_ = 0;
};

void writeStrings(const std::vector<std::string>& strings, std::string& out) {
  out += "strings " + std::to_string(strings.size()) + "\n";
  for (size_t i = 1; i < strings.size(); ++i) {
    for (char c : strings[i]) {
      if (c == '\n')
        out += "\\n";
      else if (c == '\\')
        out += "\\\\";
      else
        out += c;
    }
    out += '\n';
  }
}

bool readHeader(Reader& reader) {
  if (!reader.literal(kMagic)) return reader.fail("`locktidy-facts N`"), false;
  uint32_t version = reader.digits("version");
  if (!reader.failed() && version != static_cast<uint32_t>(kFactsVersion))
    reader.setError("line 1: expected facts version " + std::to_string(kFactsVersion) + ", found " +
                    std::to_string(version) + ": written by another locktidy, extract again");
  reader.end();
  return !reader.failed();
}

bool readStrings(Reader& reader, std::vector<std::string>& strings) {
  if (!reader.literal("strings")) return reader.fail("`strings N`"), false;
  strings.clear();
  reader.count("strings", strings, 1);
  reader.end();
  if (!reader.failed() && strings.empty()) reader.setError("line 2: expected at least 1 string");
  for (size_t i = 1; i < strings.size() && !reader.failed(); ++i) strings[i] = reader.string();
  return !reader.failed();
}

}  // namespace

std::string writeFacts(const TuFacts& facts) {
  std::string out;
  out.reserve(1 << 16);
  out += kMagic;
  out += std::to_string(facts.version) + "\n";
  writeStrings(facts.strings, out);
  Writer writer(out);
  unit(writer, facts);
  out += "end\n";
  return out;
}

bool readFacts(std::string_view text, TuFacts& facts, std::string& error) {
  error.clear();
  facts = TuFacts();
  Reader reader(text, error);
  if (!readHeader(reader) || !readStrings(reader, facts.strings)) return false;
  facts.version = kFactsVersion;
  reader.strings = facts.strings.size();
  unit(reader, facts);
  if (!reader.failed() && !reader.literal("end\n")) reader.fail("`end`");
  if (!reader.failed() && !reader.atEnd()) reader.fail("nothing after `end`");
  return !reader.failed();
}

std::string validateFacts(const TuFacts& facts) {
  if (facts.version != kFactsVersion)
    return "version " + std::to_string(facts.version) + " is not " + std::to_string(kFactsVersion);
  if (facts.strings.empty() || !facts.strings[0].empty()) return "string 0 is not the empty string";
  Checker checker(facts.strings.size());
  unit(checker, facts);
  return checker.error;
}

}  // namespace locktidy
