// Shows a game to people, as text and as a picture, and saves its mapping.

#ifndef MALLOCMUZERO_TOOLS_GYM_NATIVE_SHOW_GAME_H_
#define MALLOCMUZERO_TOOLS_GYM_NATIVE_SHOW_GAME_H_

#include <string>

#include "absl/status/status.h"
#include "env/game.h"

namespace mallocmuzero::gym {

// Some lines about the game: cycles so far, the current decision, the legal actions and the use of
// fast memory.
std::string GameText(const Game& game);

// The picture of the game's mapping, as in view/mapping_svg.h, beside the default if the program
// has one. All accesses that are not decided yet are dropped where this is legal.
std::string GameSvg(const Game& game);

// Writes the mapping of a finished game to a file, which `mallocmuzero` reads. FailedPrecondition
// if the game is not finished; other errors name the file.
absl::Status SaveMapping(const Game& game, const std::string& path);

}  // namespace mallocmuzero::gym

#endif  // MALLOCMUZERO_TOOLS_GYM_NATIVE_SHOW_GAME_H_
