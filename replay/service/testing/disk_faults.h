// A disk that fails, hangs, or loses what was not synced, for tests.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_TESTING_DISK_FAULTS_H_
#define MALLOCMUZERO_REPLAY_SERVICE_TESTING_DISK_FAULTS_H_

#include <string>

namespace mallocmuzero::disk_faults {

// In a program that links this library, all calls of fsync, fdatasync and pwritev, RocksDB's
// included, go to this library. They do the same as the system's, except for these faults.

// The next `count` syncs of files under `folder` return EIO although all bytes are in the file.
void FailSyncs(const std::string& folder, int count);

// Writes and syncs of files under `folder` do not return before Release.
void Hang(const std::string& folder);
void Release();

// Marks all files and folders in the folder as synced: they survive a power cut.
void SyncAll(const std::string& folder);

// Copies the folder as a power cut leaves it. Each file ends where its last sync has ended. Each
// folder has only the files and folders that it had at its last sync. Removals are durable.
void CopyAfterPowerCut(const std::string& folder, const std::string& copy);

}  // namespace mallocmuzero::disk_faults

#endif  // MALLOCMUZERO_REPLAY_SERVICE_TESTING_DISK_FAULTS_H_
