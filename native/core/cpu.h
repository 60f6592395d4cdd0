// The processor's instruction levels, and the one in use. Baseline code.
#pragma once
#include <string>
#include <vector>

// Names of the levels that this processor runs, lowest first.
std::vector<std::string> available_levels();

// Name of the level in use.
std::string level_name();

// Whether the processor adds up products of bytes (AVX-512 VNNI), which is part of no level. Only for code of level v4.
bool multiplies_bytes();

// Use this level from now on; std::invalid_argument names the allowed values when it is unknown or not available.
void use_level(const std::string& name);

// The best level, or the one that MAXMARGIN_CPU names. std::runtime_error when there is none.
void choose_level_at_import();
