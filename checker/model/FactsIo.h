// The text form of facts: one format for storage, `locktidy facts dump`, golden
// files, and for writing solver tests by hand without Clang.
//
//   writeFacts . readFacts == identity, byte for byte.
//
// Errors name the line of the text and what was expected there.
#pragma once

#include <string>
#include <string_view>

#include "checker/model/Facts.h"

namespace locktidy {

std::string writeFacts(const TuFacts& facts);

// Reads what writeFacts wrote. On malformed text, another version, or ids out
// of range returns false, sets `error`, and leaves `facts` unspecified.
bool readFacts(std::string_view text, TuFacts& facts, std::string& error);

// Checks every index and id of `facts`. Returns an empty string, or what is wrong.
std::string validateFacts(const TuFacts& facts);

// Indented text for people and golden tests: one line an event, places spelled
// `this.mu_`, `local it.*`, `param k.*`. Not read back.
std::string dumpFacts(const TuFacts& facts);

}  // namespace locktidy
