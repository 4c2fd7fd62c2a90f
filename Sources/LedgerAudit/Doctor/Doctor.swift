public import Configuration
import JournalStore
import Observability
import Platform
public import StrictJSON

/// Looks at everything an operator would look at, and says what is wrong and what to do.
///
/// Reads only: it works beside a running daemon and at rest, and changes no file.
public struct Doctor {
  /// One thing that was looked at.
  public struct Check: Sendable {
    /// What it is about: `disk`.
    public let topic: String
    public let what: String
    /// What to do about it; nil where nothing is wrong.
    public let next: String?

    public var isFinding: Bool { next != nil }

    public init(_ topic: String, _ what: String, next: String? = nil) {
      self.topic = topic
      self.what = what
      self.next = next
    }

    public var json: JSONValue {
      .object([
        ("object", .string("check")), ("topic", .string(topic)), ("finding", .boolean(isFinding)),
        ("what", .string(what)), ("next", .optional(next)),
      ])
    }
  }

  let folder: DataFolder
  let configuration: Configuration
  /// The configuration's file; nil where there is none.
  let file: String?
  /// Milliseconds since 1970.
  let now: Int64
  private(set) var checks: [Check] = []

  public init(_ configuration: Configuration, file: String?, at now: Int64) {
    folder = DataFolder(path: configuration.data)
    self.configuration = configuration
    self.file = file
    self.now = now
  }

  /// All checks, in the order of their importance to somebody who just installed it.
  public static func examine(
    _ configuration: Configuration, file: String?, at now: Int64
  ) -> [Check] {
    var doctor = Doctor(configuration, file: file, at: now)
    doctor.examineConfiguration()
    doctor.examineInstallation()
    doctor.examineLibraries()
    doctor.examineRoots()
    doctor.examineJournal()
    doctor.examineAnchors()
    return doctor.checks
  }

  mutating func note(_ topic: String, _ what: String) { checks.append(Check(topic, what)) }

  mutating func find(_ topic: String, _ what: String, next: String) {
    checks.append(Check(topic, what, next: next))
  }

  /// Runs a step that may fail; a failure is a finding of that topic.
  mutating func attempt(
    _ topic: String, _ step: (inout Doctor) throws(StoreError) -> Void
  ) {
    do throws(StoreError) {
      try step(&self)
    } catch {
      find(topic, "cannot be looked at: \(error)", next: "see the message, then run this again")
    }
  }

  // MARK: The configuration

  private mutating func examineConfiguration() {
    note("configuration", file.map { "\($0) is good" } ?? "none given: defaults, no app, no token")
    if configuration.apps.isEmpty {
      find(
        "configuration", "no app is configured: every notification goes to quarantine",
        next: "add your app's bundleId and appAppleId to \"apps\"; see subledger init --help")
    }
    if configuration.readTokens.isEmpty {
      find(
        "configuration", "no read token is configured: every read answers 401",
        next: "add one to \"readTokens\"; see subledger init --help")
    }
    for token in configuration.readTokens {
      let known = Set(configuration.apps.keys)
      if let wanted = token.bundleIds, known.isDisjoint(with: wanted) {
        find(
          "configuration", "the read token \(VisibleText.of(token.name)) covers no configured app",
          next: "mend its \"bundleIds\", or remove it")
      }
    }
  }
}

extension Doctor {
  /// A length of time for people: `3 days`, `4 hours`.
  static func words(_ milliseconds: Int64) -> String {
    let units: [(Int64, String)] = [
      (86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"),
    ]
    for (length, name) in units where milliseconds >= 2 * length || length == 1000 {
      let count = milliseconds / length
      return "\(count) \(name)\(count == 1 ? "" : "s")"
    }
    return "no time"
  }

  /// Bytes for people: `1.5 GiB`.
  static func words(bytes: Int64) -> String {
    var rest = Double(bytes)
    for unit in ["bytes", "KiB", "MiB", "GiB"] {
      if rest < 1024 { return unit == "bytes" ? "\(bytes) bytes" : "\(tenths(rest)) \(unit)" }
      rest /= 1024
    }
    return "\(tenths(rest)) TiB"
  }

  private static func tenths(_ value: Double) -> String {
    let scaled = Int64((value * 10).rounded())
    return scaled % 10 == 0 ? "\(scaled / 10)" : "\(scaled / 10).\(scaled % 10)"
  }
}
