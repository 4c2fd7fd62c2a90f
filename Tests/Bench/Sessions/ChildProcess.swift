import Glibc

/// A program started by this one, its output in files: nobody has to drain a pipe while a load is
/// under way.
struct ChildProcess: ~Copyable {
  let pid: pid_t

  /// Starts a program, searched in PATH where its name has no slash.
  ///
  /// - Parameters:
  ///   - output: a file for standard output, created or emptied.
  ///   - errors: the same for standard error.
  static func start(
    _ words: [String], output: String, errors: String
  ) throws(BenchError) -> ChildProcess {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let fresh = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, fresh, 0o600)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, fresh, 0o600)
    var arguments = words.map { strdup($0) }
    defer { for argument in arguments { free(argument) } }
    arguments.append(nil)
    var pid = pid_t()
    let code = posix_spawnp(&pid, words[0], &actions, nil, arguments, environ)
    guard code == 0 else {
      throw .unmeasurable("could not start \(words[0]): \(String(cString: strerror(code)))")
    }
    return ChildProcess(pid: pid)
  }

  /// Takes over a process that nobody else waits for.
  private init(pid: pid_t) { self.pid = pid }

  /// Asks it to end in order.
  func terminate() { kill(pid, SIGTERM) }

  /// Whether it has ended; it still must be waited for.
  var hasEnded: Bool {
    var status = siginfo_t()
    return waitid(P_PID, id_t(pid), &status, WEXITED | WNOHANG | WNOWAIT) == 0
      && status.si_signo == SIGCHLD
  }

  /// Waits for its end.
  ///
  /// - Returns: the exit code; nil where a signal ended it.
  consuming func wait() -> Int32? { end().code }

  /// Waits for its end.
  ///
  /// - Returns: the exit code, nil where a signal ended it, and the processor time of all its
  ///   threads.
  consuming func end() -> (code: Int32?, processorSeconds: Double) {
    let (status, usage) = Self.reap(pid)
    discard self
    let times = [usage.ru_utime, usage.ru_stime]
    let seconds = times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    return (status & 0x7F == 0 ? status >> 8 & 0xFF : nil, seconds)
  }

  /// Nothing that was started outlives a measurement that failed.
  deinit {
    kill(pid, SIGKILL)
    Self.reap(pid)
  }

  /// The raw status, as wait(2) packs it: the signal in the low seven bits, else the exit code in
  /// the next eight.
  @discardableResult
  private static func reap(_ pid: pid_t) -> (status: Int32, usage: rusage) {
    var status: Int32 = 0
    var usage = rusage()
    while wait4(pid, &status, 0, &usage) < 0 && errno == EINTR {}
    return (status, usage)
  }
}
