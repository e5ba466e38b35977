// Compile commands of any compiler as this Clang can take them, and where this
// Clang lives.
#include "checker/extract/Internal.h"

#include <cstdlib>
#include <dlfcn.h>

#include "llvm/TargetParser/Host.h"

namespace locktidy {

using namespace clang;

namespace {

bool isLauncher(StringRef program) {
  StringRef name = llvm::sys::path::filename(program);
  return name == "ccache" || name == "sccache" || name == "distcc" || name == "icecc" ||
         name == "env";
}

// Options that write files, read another compiler's files, or describe
// dependencies: none of them changes what the source means.
bool isUnwanted(const llvm::opt::Option& option) {
  using namespace clang::options;
  unsigned id = option.getID();
  switch (id) {
  case OPT_o:
  case OPT_M:
  case OPT_MM:
  case OPT_MD:
  case OPT_MMD:
  case OPT_MF:
  case OPT_MT:
  case OPT_MQ:
  case OPT_MG:
  case OPT_MP:
  case OPT_MJ:
  case OPT_MV:
  case OPT_include_pch:
  case OPT_save_temps:
  case OPT_save_temps_EQ:
  case OPT_ftime_trace:
  case OPT_ftime_trace_EQ:
  case OPT_gen_cdb_fragment_path:
  case OPT__serialize_diags:
  case OPT_fprofile_use_EQ:
  case OPT_fprofile_instr_use_EQ:
  case OPT_fprofile_sample_use_EQ:
    return true;
  default:
    return false;
  }
}

// Known to Clang by name only, or with values only GCC takes.
bool isForeign(StringRef text) {
  return text == "-Winvalid-pch" || text == "-fno-canonical-system-headers" ||
         text == "-fcanonical-system-headers" || text.starts_with("-fplugin") ||
         text.starts_with("-specs=") || text.starts_with("-Wp,-M") ||
         text.starts_with("-fconcepts") || text.starts_with("-fmodules-ts") ||
         text.starts_with("-fdeps-format") || text.starts_with("-fmodule-mapper") ||
         text.starts_with("-fdump-");
}

}  // namespace

std::vector<std::string> cleanArguments(const std::vector<std::string>& arguments,
                                        std::vector<std::string>* dropped) {
  std::vector<std::string> result;
  auto drop = [&](StringRef text) {
    if (dropped) dropped->push_back(text.str());
  };
  size_t first = 0;
  while (first + 1 < arguments.size() &&
         (isLauncher(arguments[first]) ||
          (first > 0 && StringRef(arguments[first]).contains('=') && arguments[first][0] != '-'))) {
    drop(arguments[first]);
    ++first;
  }
  if (first >= arguments.size()) return result;
  result.push_back(arguments[first]);

  std::vector<const char*> raw;
  for (size_t i = first + 1; i < arguments.size(); ++i) {
    const std::string& text = arguments[i];
    if (isForeign(text)) {
      drop(text);
      continue;
    }
    // -Xclang -include-pch -Xclang FILE
    if (text == "-Xclang" && i + 1 < arguments.size() &&
        (arguments[i + 1] == "-include-pch" || arguments[i + 1] == "-load" ||
         arguments[i + 1] == "-add-plugin")) {
      size_t end = std::min(i + 4, arguments.size());
      for (; i < end; ++i) drop(arguments[i]);
      --i;
      continue;
    }
    raw.push_back(text.c_str());
  }
  const llvm::opt::OptTable& table = getDriverOptTable();
  unsigned missingIndex = 0, missingCount = 0;
  llvm::opt::InputArgList parsed = table.ParseArgs(
      raw, missingIndex, missingCount, llvm::opt::Visibility(clang::options::ClangOption));
  for (const llvm::opt::Arg* arg : parsed) {
    const llvm::opt::Option& option = arg->getOption();
    bool unknown = option.getKind() == llvm::opt::Option::UnknownClass;
    if (unknown || isUnwanted(option)) {
      drop(arg->getAsString(parsed));
      continue;
    }
    llvm::opt::ArgStringList rendered;
    arg->render(parsed, rendered);
    for (const char* text : rendered) result.push_back(text);
  }
  return result;
}

std::string clangVersion() { return CLANG_VERSION_STRING; }

std::string findResourceDir() {
  auto isResourceDir = [](const std::string& dir) {
    return llvm::sys::fs::exists(dir + "/include/stddef.h");
  };
  if (const char* set = std::getenv("LOCKTIDY_RESOURCE_DIR"); set && *set) return set;
  std::string major = CLANG_VERSION_MAJOR_STRING;
  Dl_info info;
  std::vector<std::string> places;
  // Any function of the library will do to find the library.
  if (dladdr(reinterpret_cast<void*>(&clang::getDriverOptTable), &info) && info.dli_fname) {
    SmallString<256> real;
    if (!llvm::sys::fs::real_path(info.dli_fname, real)) {
      StringRef lib = llvm::sys::path::parent_path(real);
      places.push_back((lib + "/clang/" + major).str());
      places.push_back((lib + "/../llvm-" + major + "/lib/clang/" + major).str());
    }
  }
#ifdef LOCKTIDY_LLVM_PREFIX
  places.push_back(std::string(LOCKTIDY_LLVM_PREFIX) + "/lib/clang/" + major);
#endif
  places.push_back((llvm::Twine("/usr/lib/llvm-") + major + "/lib/clang/" + major).str());
  places.push_back((llvm::Twine("/usr/lib/clang/") + major).str());
  for (const std::string& dir : places) {
    if (!isResourceDir(dir)) continue;
    SmallString<256> clean(dir);
    llvm::sys::path::remove_dots(clean, true);
    return clean.str().str();
  }
  return "";
}

}  // namespace locktidy
