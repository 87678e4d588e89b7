// A disk that fails, hangs, or loses what was not synced, for tests.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_TESTING_DISK_FAULTS_H_
#define MALLOCMUZERO_REPLAY_SERVICE_TESTING_DISK_FAULTS_H_

#include <string>

namespace mallocmuzero::disk_faults {

// A program that links this library has fsync, fdatasync and pwritev of this library, RocksDB's
// calls included. They do what the system's do, but for the following.

// The next `count` syncs of files under `folder` return EIO although all bytes are in the file.
void FailSyncs(const std::string& folder, int count);

// Writes and syncs of files under `folder` do not return before Release.
void Hang(const std::string& folder);
void Release();

// What a sync of everything would do: all that is in the folder survives a power cut.
void SyncAll(const std::string& folder);

// Copies the folder as a power cut leaves it: each file ends where its last sync has ended.
void CopyAfterPowerCut(const std::string& folder, const std::string& copy);

}  // namespace mallocmuzero::disk_faults

#endif  // MALLOCMUZERO_REPLAY_SERVICE_TESTING_DISK_FAULTS_H_
