import Glibc

/// A child process whose output goes to files, so that no pipe must be read while a load runs.
struct ChildProcess: ~Copyable {
  let pid: pid_t

  /// Starts a program, which is searched in PATH if its name has no slash.
  ///
  /// - Parameters:
  ///   - arguments: the program and its arguments.
  ///   - output: a file for standard output, created or emptied.
  ///   - errors: a file for standard error, created or emptied.
  /// - Throws: `BenchError.unmeasurable` if the program cannot be started.
  static func start(
    _ arguments: [String], output: String, errors: String
  ) throws(BenchError) -> ChildProcess {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let fresh = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, fresh, 0o600)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, fresh, 0o600)
    var pointers = arguments.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    pointers.append(nil)
    var pid = pid_t()
    let code = posix_spawnp(&pid, arguments[0], &actions, nil, pointers, environ)
    guard code == 0 else {
      throw .unmeasurable("could not start \(arguments[0]): \(String(cString: strerror(code)))")
    }
    return ChildProcess(pid: pid)
  }

  /// Owns a process: nothing else may wait for it.
  private init(pid: pid_t) { self.pid = pid }

  /// Sends SIGTERM.
  func terminate() { kill(pid, SIGTERM) }

  /// Whether it has ended. It must still be waited for.
  var hasEnded: Bool {
    var status = siginfo_t()
    return waitid(P_PID, id_t(pid), &status, WEXITED | WNOHANG | WNOWAIT) == 0
      && status.si_signo == SIGCHLD
  }

  /// Waits for its end.
  ///
  /// - Returns: the exit code; nil if a signal ended it.
  consuming func wait() -> Int32? { end().code }

  /// Waits for its end.
  ///
  /// - Returns: the exit code, nil if a signal ended it, and the processor time of all its threads.
  consuming func end() -> (code: Int32?, processorSeconds: Double) {
    let (status, usage) = Self.reap(pid)
    discard self
    let times = [usage.ru_utime, usage.ru_stime]
    let seconds = times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    return (status & 0x7F == 0 ? status >> 8 & 0xFF : nil, seconds)
  }

  /// Kills the process, so that it does not outlive a failed measurement.
  deinit {
    kill(pid, SIGKILL)
    Self.reap(pid)
  }

  /// The status as wait(2) encodes it: the signal in the low seven bits, or the exit code in the
  /// next eight bits.
  @discardableResult
  private static func reap(_ pid: pid_t) -> (status: Int32, usage: rusage) {
    var status: Int32 = 0
    var usage = rusage()
    while wait4(pid, &status, 0, &usage) < 0 && errno == EINTR {}
    return (status, usage)
  }
}
