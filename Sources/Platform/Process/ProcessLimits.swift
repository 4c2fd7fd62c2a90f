import CLinux
import Glibc

/// What this process leaves behind for others to read: as little as possible.
public enum ProcessLimits {
  /// New files are the owner's alone, and a crash writes no core, which would hold secrets and
  /// bodies: neither to a file nor to a program that the system pipes cores to, which the limit
  /// does not stop (core(5)). Nor may other processes of this user look into the memory
  /// (ptrace(2)).
  public static func keepPrivate() {
    umask(0o077)
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    _ = subledger_no_core_dumps()
    keepMemoryOutOfTheLog()
  }

  /// Swift's runtime shows the registers of a crash on standard error, which is the log, and the
  /// bytes they point to: of a body or a secret, as likely as not. A crash is silent here, unless
  /// SWIFT_BACKTRACE says otherwise.
  private static func keepMemoryOutOfTheLog() {
    guard getenv("SWIFT_BACKTRACE") == nil else { return }
    for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
      signal(number, SIG_DFL)
    }
  }

  /// For whom a thread stands aside, by its niceness; ten steps are a tenth of the processor for
  /// each that others get who want it (sched(7)).
  public enum Niceness: Int32 {
    /// A reactor: whoever waits for an answer waits for the writer, and while that waits for a
    /// processor nothing is on its way to the disk.
    case toTheWriter = 5
    /// Work that no notification and no request waits for.
    case toAll = 15
  }

  /// From here on the calling thread stands aside, if it did not stand further back already
  /// (setpriority(2): on Linux a thread has a niceness of its own, and threads that it starts
  /// inherit it). Where the system forbids that, all goes on as before.
  public static func yield(_ courtesy: Niceness) {
    let thread = __priority_which_t(PRIO_PROCESS.rawValue)
    if getpriority(thread, 0) < courtesy.rawValue { setpriority(thread, 0, courtesy.rawValue) }
  }

  /// Processors this process may use.
  public static var processors: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

  /// Whether a descriptor is a terminal.
  public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }
}
