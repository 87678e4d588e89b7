// Snapshots of one game at many accesses, from which the game is played on with changes.

#ifndef MALLOCMUZERO_ENV_SOLVERS_SNAPSHOT_STORE_H_
#define MALLOCMUZERO_ENV_SOLVERS_SNAPSHOT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "env/game.h"
#include "env/program_rules.h"

namespace mallocmuzero {

// The places for snapshots are at multiples of a distance. Thread-compatible.
class SnapshotStore {
 public:
  // A game at the first decision at or after its place.
  struct Snapshot {
    std::unique_ptr<Game> game;  // null: the place is empty

    // Cycles that the decisions before the snapshot take more than Game::cycles says. Not 0 if
    // decisions before the snapshot have changed since it was taken.
    double shift = 0;

    uint64_t taken_after = 0;  // marks that had been set before it was taken
  };

  // The store as it was at some time: see SetMark.
  struct Mark {
    uint64_t number = 0;
    std::vector<double> shifts;  // by place
  };

  // The purpose of the snapshots.
  enum class Use : uint8_t {
    kWholeGames,  // tries are played to their end
    kParts,       // tries end at a snapshot soon after their changes
  };

  // Holds the game before its first decision at place 0, which is never dropped. `rules` must
  // outlive the store.
  explicit SnapshotStore(const ProgramRules& rules);

  // Drops all snapshots but the first, and chooses the distance for snapshots of so many bytes. For
  // kParts these are the bytes that a snapshot has for itself, as all must fit into the memory.
  void Restart(size_t game_bytes, Use use);

  // The last snapshot at or before the access.
  const Snapshot& Before(AccessIndex access) const;

  // The snapshot at exactly this access; null if there is none.
  const Snapshot* At(AccessIndex access) const;

  // The access of the first empty place after `access` and before `end`; `end` if there is none.
  AccessIndex NextEmpty(AccessIndex access, AccessIndex end) const;

  // Keeps the game, which has moved to its access from the decision at `previous`, at the places
  // between that are empty. It must be at the first decision at or after the first of them.
  void Offer(AccessIndex previous, const Game& game, double shift);

  // Drops all snapshots after `first` and before `end`. The shift of those from `end` on grows by
  // `shift`.
  void Change(AccessIndex first, AccessIndex end, double shift);

  // Keeps a game of a trial. The trial's snapshots are no part of the store before AcceptTrial.
  void OfferTrial(AccessIndex previous, const Game& game, double shift);

  // AcceptTrial makes the trial the game of the store; call it after Change. DropTrial forgets the
  // trial.
  void AcceptTrial();
  void DropTrial();

  // Remembers the game that the store is about. GoBackTo goes back to it, however often the game
  // has changed since, and keeps the snapshots that are still right. A mark ends with Restart.
  void SetMark(Mark& mark);
  void GoBackTo(const Mark& mark);

 private:
  // The last place at or before the access.
  size_t PlaceBefore(AccessIndex access) const { return access.number() / distance_; }
  void Drop(size_t place);
  void NoteChange(AccessIndex first);
  void Put(Snapshot& snapshot, const Game& game, double shift);

  uint32_t accesses_;
  uint32_t distance_ = 1;  // accesses between places
  uint64_t marks_ = 0;

  // The first accesses of changes, and the marks that had been set before them; ascending. Entries
  // may stand for several changes: then they have the later marks and the earlier access.
  struct Changed {
    uint64_t after = 0;
    AccessIndex first = 0;
  };
  std::vector<Changed> changed_;
  std::vector<Snapshot> snapshots_;                 // by place
  std::vector<std::pair<size_t, Snapshot>> trial_;  // places and snapshots of a trial
  std::vector<std::unique_ptr<Game>> spare_;        // dropped games, whose memory the next ones use
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_SNAPSHOT_STORE_H_
