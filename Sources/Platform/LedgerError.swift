import Glibc

/// An error above the parsers and the clients: what happened, what to do about it, and of which
/// kind it is. It is made where it happens and passes every module unchanged; an exit code and an
/// HTTP status are made of it in one place each.
///
/// No text of it holds anything that was sent to the daemon.
public struct LedgerError: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Kind: Sendable {
    /// Data, or a proof of it, is not what it has to be.
    case damaged
    /// The same call may succeed later, once what the text names has passed or is mended.
    case temporary
    /// What was asked for, or the configuration, is wrong.
    case usage
    /// The disk or the files of the journal cannot be relied on any more.
    case fatal
  }

  /// Names an error for code that decides by it. Each module has the codes of its own errors.
  public struct Code: Sendable, Hashable {
    let name: String

    public init(_ name: String) { self.name = name }
  }

  public let code: Code
  public let kind: Kind
  public let message: String
  /// What to do about it; nil if the message says that.
  public let next: String?
  /// What was found, without what it means.
  public let detail: String
  /// errno, or an extended result code of SQLite; 0 if there is neither.
  public let number: Int32

  /// - Parameters:
  ///   - detail: the message, if nil.
  public init(
    _ code: Code, _ kind: Kind, _ message: String, next: String? = nil, detail: String? = nil,
    number: Int32 = 0
  ) {
    self.code = code
    self.kind = kind
    self.message = message
    self.next = next
    self.detail = detail ?? message
    self.number = number
  }

  public var description: String { next.map { "\(message); \($0)" } ?? message }
}

extension LedgerError.Code {
  /// A system call failed.
  static let system = Self("system")
  /// The disk is full.
  public static let full = Self("disk_full")
  /// What was asked for is wrong.
  public static let usage = Self("usage")
  /// It cannot be had now; the text says all.
  public static let unavailable = Self("unavailable")
  /// Something was found that should not be, or was not found; the text says all.
  static let findings = Self("findings")
  /// The user stopped it.
  public static let stopped = Self("stopped")
}

extension LedgerError {
  public static func usage(_ text: String) -> LedgerError { LedgerError(.usage, .usage, text) }

  public static func unavailable(_ text: String) -> LedgerError {
    LedgerError(.unavailable, .temporary, text)
  }

  public static func findings(_ text: String) -> LedgerError {
    LedgerError(.findings, .damaged, text)
  }

  /// The user stopped it; the text says what is left.
  public static func stopped(_ text: String) -> LedgerError {
    LedgerError(.stopped, .temporary, text)
  }

  public static let stopped = stopped("stopped")

  /// The same with another next step, or with none.
  public func with(next: String?) -> LedgerError {
    LedgerError(code, kind, message, next: next, detail: detail, number: number)
  }

  /// The disk is full. Nothing was written; the same call may succeed later.
  public static let full = full(detail: nil, number: 0)

  private static func full(detail: String?, number: Int32) -> LedgerError {
    LedgerError(
      .full, .temporary, "the disk is full", next: "free space, nothing was lost", detail: detail,
      number: number)
  }

  /// A system call failed.
  ///
  /// - Parameters:
  ///   - attempt: what was attempted, worded to follow "could not".
  ///   - number: errno.
  public static func system(_ attempt: String, _ number: Int32) -> LedgerError {
    let what = "could not \(attempt): \(String(cString: strerror(number)))"
    if number == ENOSPC { return full(detail: what, number: number) }
    return LedgerError(
      .system, .fatal, what, next: "check the folder's owner, mode and disk", number: number)
  }

  /// The error of the last call that failed on this thread (errno).
  public static func last(_ attempt: String) -> LedgerError { .system(attempt, errno) }
}
