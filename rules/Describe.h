// Turning parts of a solution into what findings carry.
#pragma once

#include <string>
#include <vector>

#include "checker/report/Report.h"
#include "checker/solve/Solution.h"

namespace locktidy {

Place placeOf(const Solution& s, const Loc& loc, uint32_t length = 0);
// "src/cache.cpp:12"
std::string lineOf(const Solution& s, const Loc& loc);
std::string fileSha(const Solution& s, const Loc& loc);
AccessNote accessNote(const Solution& s, const Decider& d);
SectionNote sectionNote(const Solution& s, const Section& section);
LockNote lockNote(const Solution& s, Str lock);
// Fills fingerprint and id: `parts` are what names the finding whatever line
// it is on.
void identify(Finding& f, const std::vector<std::string>& parts);
// Name of the text at a section's place: the guard variable or the call.
uint32_t sectionLength(const Solution& s, const Section& section);
const char* costName(int cost);
// An edit that replaces the anchor's text; no edit if it already reads so.
void addEdit(const Solution& s, const Anchor& a, const std::string& text, std::vector<Edit>& edits);
// 17 for "c++17", 0 for C.
int standardOf(const std::string& language);
// The oldest and the newest level among the units that see the place.
std::pair<int, int> standardsSeeing(const Solution& s, const Loc& loc);
// Are there units that failed whose text could name the lock or its state, or
// inactive text that does? Adds one assumption each.
void textAssumptions(const Solution& s, const Section& section, std::vector<std::string>& assumes);

}  // namespace locktidy
