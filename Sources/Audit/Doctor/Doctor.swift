public import Ledger
import Platform
import Store

/// Examines an installation as an operator would: what is wrong, and what to do about it.
///
/// It only reads, so it works whether a daemon runs or not.
public struct Doctor {
  let folder: DataFolder
  let configuration: Configuration
  /// The configuration file; nil if there is none.
  let file: String?
  /// Our clock, in milliseconds since 1970 UTC.
  let now: Int64
  private(set) var checks: [DoctorCheck] = []

  /// - Parameters:
  ///   - file: the configuration file; nil if there is none.
  ///   - now: our clock, in milliseconds since 1970 UTC.
  init(_ configuration: Configuration, file: String?, at now: Int64) {
    folder = DataFolder(path: configuration.data)
    self.configuration = configuration
    self.file = file
    self.now = now
  }

  /// Makes all checks, those first that matter most right after an installation.
  ///
  /// - Parameters:
  ///   - file: the configuration file; nil if there is none.
  ///   - now: our clock, in milliseconds since 1970 UTC.
  public static func examine(
    _ configuration: Configuration, file: String?, at now: Int64
  ) -> [DoctorCheck] {
    var doctor = Doctor(configuration, file: file, at: now)
    doctor.examineConfiguration()
    doctor.examineInstallation()
    doctor.examineLibraries()
    doctor.examineRoots()
    doctor.examineJournal()
    doctor.examineAnchors()
    doctor.examineSinks()
    return doctor.checks
  }

  /// Makes the checks that need the data folder alone, where the configuration is refused.
  ///
  /// - Parameters:
  ///   - configuration: of which the data folder is known.
  ///   - now: our clock, in milliseconds since 1970 UTC.
  public static func examineFolder(
    _ configuration: Configuration, at now: Int64
  ) -> [DoctorCheck] {
    var doctor = Doctor(configuration, file: nil, at: now)
    doctor.examineInstallation()
    doctor.examineLibraries()
    doctor.examineJournal()
    // The others are about apps, roots and products.
    let topics: Set = [
      "permissions", "disk", "clock", "libraries", "journal", "quarantine", "evidence", "rows",
    ]
    return doctor.checks.filter { topics.contains($0.topic) }
  }

  /// Reports something that is as it should be.
  mutating func report(_ topic: String, _ what: String) {
    checks.append(DoctorCheck(topic, what))
  }

  /// Reports something that is wrong, and what to do about it.
  ///
  /// - Parameter isNewer: whether it is data of a newer program.
  mutating func reportFinding(
    _ topic: String, _ what: String, next: String, isNewer: Bool = false
  ) {
    checks.append(DoctorCheck(topic, what, next: next, isNewer: isNewer))
  }

  /// Runs a step that may fail. A failure is a finding under that topic.
  mutating func attempt(
    _ topic: String, _ step: (inout Doctor) throws(LedgerError) -> Void
  ) {
    do throws(LedgerError) {
      try step(&self)
    } catch {
      var isNewer = false
      if error.code == .newer { isNewer = true }
      reportFinding(
        topic, "cannot be examined: \(error)", next: "see the message, then run this again",
        isNewer: isNewer)
    }
  }

  // MARK: The configuration

  private mutating func examineConfiguration() {
    report(
      "configuration", file.map { "\($0) is good" } ?? "none given: defaults, no app, no token")
    if configuration.apps.isEmpty {
      reportFinding(
        "configuration", "no app is configured: every notification goes to quarantine",
        next: "add your app's bundleId and appAppleId to \"apps\"; see subledger init --help")
    }
    if configuration.readTokens.isEmpty {
      reportFinding(
        "configuration", "no read token is configured: every read answers 401",
        next: "add one to \"readTokens\"; see subledger init --help")
    }
    for token in configuration.readTokens {
      let known = Set(configuration.apps.keys)
      if let wanted = token.bundleIds, known.isDisjoint(with: wanted) {
        reportFinding(
          "configuration", "the read token \(VisibleText.of(token.name)) covers no configured app",
          next: "correct its \"bundleIds\", or remove it")
      }
    }
  }
}
