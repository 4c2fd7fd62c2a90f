package import CSpawn
import Foundation
import Synchronization

/// A process with its output in files, no other descriptors of ours, and no signal blocked or
/// ignored.
///
/// It replaces Foundation's `Process`, which reads past the end of its list of descriptors if the
/// list is long: the address sanitizer aborted tests with many daemons because of that.
package final class SpawnedProcess: Sendable {
  package let id: pid_t
  /// The status as waitpid(2) encodes it; nil while it runs.
  private let status = Mutex<Int32?>(nil)

  package init(
    _ program: String, _ arguments: [String], in folder: String, environment: [String: String],
    output: String, errors: String
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    for (descriptor, file) in [(STDOUT_FILENO, output), (STDERR_FILENO, errors)] {
      posix_spawn_file_actions_addopen(
        &actions, descriptor, file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    }
    posix_spawn_file_actions_addchdir_np(&actions, folder)
    posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    var argv = ([program] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in argv + variables { free(text) } }
    var id = pid_t()
    let code = posix_spawn(&id, program, &actions, &attributes, &argv, &variables)
    guard code == 0 else { throw TestFailure("\(program): \(String(cString: strerror(code)))") }
    self.id = id
  }

  package var isRunning: Bool {
    status.withLock { status in
      guard status == nil else { return false }
      var ended: Int32 = 0
      guard waitpid(id, &ended, WNOHANG) == id else { return true }
      status = ended
      return false
    }
  }

  /// The exit code, or 128 plus the signal that ended it; nil while it runs.
  package var code: Int32? {
    guard !isRunning, let status = status.withLock({ $0 }) else { return nil }
    return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
  }

  /// Sends a signal unless the process has ended, because its id may belong to another one then.
  package func signal(_ number: Int32) {
    if isRunning { kill(id, number) }
  }
}
