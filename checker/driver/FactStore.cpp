#include "checker/driver/FactStore.h"

#include <zstd.h>

#include <cstdlib>
#include <filesystem>

#include "ExtractStamp.h"
#include "checker/driver/System.h"
#include "checker/report/Report.h"

namespace locktidy {
namespace {

// First line of an entry: another layout is another word.
constexpr std::string_view kMagic = "locktidy-facts-1";

std::string compressed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  size_t size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  out.resize(ZSTD_isError(size) ? 0 : size);
  return out;
}

bool decompressed(const std::string& data, std::string& text) {
  unsigned long long size = ZSTD_getFrameContentSize(data.data(), data.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > (1ull << 32))
    return false;
  text.resize(size);
  size_t got = ZSTD_decompress(text.data(), text.size(), data.data(), data.size());
  return !ZSTD_isError(got) && got == size;
}

// The command with the checkout's own path taken out: another checkout of the
// same program has the same entries.
std::string withoutRoot(const std::string& text, const std::string& root) {
  if (root.size() < 2) return text;
  std::string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(root, at)) != std::string::npos; at = hit + root.size()) {
    char after = hit + root.size() < text.size() ? text[hit + root.size()] : '/';
    out += text.substr(at, hit - at);
    out += after == '/' ? std::string(1, '\0') : root;
  }
  return out + text.substr(at);
}

// The first line of `text` from `at` on, and `at` behind it.
bool nextLine(const std::string& text, size_t& at, std::string& line) {
  size_t end = text.find('\n', at);
  if (end == std::string::npos) return false;
  line = text.substr(at, end - at);
  at = end + 1;
  return true;
}

}  // namespace

bool FactStore::open(const std::string& directory, std::string& error) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (!isDirectory(directory)) {
    error = directory + ": cannot be made a directory for stored facts" +
            (failed ? " (" + failed.message() + ")" : "") + "; name another with --cache-dir";
    return false;
  }
  directory_ = absolutePath(directory);
  return true;
}

std::string FactStore::entryPath(const ExtractJob& job) const {
  std::string text = LOCKTIDY_EXTRACT_STAMP;
  auto add = [&](const std::string& part) {
    text += withoutRoot(part, job.root);
    text += '\n';
  };
  add(clangVersion());
  add(job.resourceDir);
  add(job.directory);
  add(job.file);
  for (const std::string& argument : job.arguments) {
    add(argument);
    std::string content, ignored;
    if (argument.size() > 1 && argument[0] == '@' &&
        readFile(absolutePath(argument.substr(1), job.directory), content, ignored))
      add(content);
  }
  for (const char* name : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS"})
    if (const char* value = std::getenv(name)) add(std::string(name) + "=" + value);
  std::string name = sha256Hex(text);
  return directory_ + "/" + name.substr(0, 2) + "/" + name.substr(2);
}

const std::string& FactStore::digestOf(const std::string& path) {
  auto [it, fresh] = digests_.try_emplace(path);
  std::string text, ignored;
  if (fresh && readFile(path, text, ignored)) it->second = sha256Hex(text);
  return it->second;
}

bool FactStore::get(const ExtractJob& job, std::string& bytes) {
  if (directory_.empty()) return false;
  std::string entry, ignored, line;
  if (!readFile(entryPath(job), entry, ignored)) return false;
  size_t at = 0;
  if (!nextLine(entry, at, line) || line != kMagic) return false;
  while (nextLine(entry, at, line) && !line.empty()) {
    size_t space = line.find(' ');
    if (space == std::string::npos) return false;
    if (digestOf(absolutePath(line.substr(space + 1), job.root)) != line.substr(0, space))
      return false;
  }
  return line.empty() && decompressed(entry.substr(at), bytes);
}

void FactStore::put(const ExtractJob& job, const TuFacts& facts, const std::string& bytes) const {
  if (directory_.empty() || facts.status != UnitStatus::Ok) return;
  std::string entry = std::string(kMagic) + "\n";
  for (const FileFact& file : facts.files) {
    if (!file.sha256) continue;
    const std::string& path = facts.strings[file.path];
    if (path.find('\n') != std::string::npos) return;
    entry += facts.strings[file.sha256] + " " + path + "\n";
  }
  std::string data = compressed(bytes), path = entryPath(job), ignored;
  if (data.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(parentPath(path), failed);
  writeFile(path, entry + "\n" + data, ignored);
}

}  // namespace locktidy
