public import Ledger
import Platform
public import Store

/// Examines an installation as an operator would: what is wrong, and what to do about it.
///
/// It only reads, so it works whether a daemon runs or not.
public final class Doctor {
  public let folder: DataFolder
  public let configuration: Configuration
  /// The configuration file; nil if there is none.
  let file: String?
  /// Our clock, in milliseconds since 1970 UTC.
  let now: Int64
  /// Nil before it was examined, if there is none, or if it cannot be read.
  private(set) var journal: JournalReader?
  /// As `journal`.
  private(set) var projection: ProjectionReader?
  private var topic = ""
  private var checks: [DoctorCheck] = []

  /// What is examined, in this order: first what matters most right after an installation.
  public static let all = [
    Examination("configuration", Doctor.examineConfiguration),
    Examination("permissions", isOfFolder: true, Doctor.examinePermissions),
    Examination("disk", isOfFolder: true, Doctor.examineDisk),
    Examination("clock", isOfFolder: true, Doctor.examineClock),
    Examination("libraries", isOfFolder: true, Doctor.examineLibraries),
    Examination("roots", Doctor.examineRoots),
    Examination("journal", isOfFolder: true, Doctor.examineJournal),
    Examination("clock", isOfFolder: true, Doctor.examineReceiveTimes),
    Examination("chains", Doctor.examineChains),
    Examination("arrivals", Doctor.examineArrivals),
    Examination("quarantine", isOfFolder: true, Doctor.examineQuarantine),
    Examination("journal", isOfFolder: true, Doctor.examineFiling),
    Examination("evidence", isOfFolder: true, Doctor.examineHeld),
    Examination("journal", isOfFolder: true, Doctor.examineWAL),
    Examination("members", Doctor.examineMembers),
    Examination("rows", isOfFolder: true, Doctor.examineProjection),
    Examination("entitlements", Doctor.examineEntitlements),
    Examination("rows", isOfFolder: true, Doctor.examineRows),
    Examination("anchors", Doctor.examineAnchors),
    Examination("sinks", Doctor.examineSinks),
  ]

  private init(_ configuration: Configuration, _ file: String?, _ now: Int64) {
    folder = DataFolder(path: configuration.data)
    (self.configuration, self.file, self.now) = (configuration, file, now)
  }

  /// Makes checks, one after another.
  ///
  /// - Parameters:
  ///   - file: the configuration file; nil if there is none.
  ///   - now: our clock, in milliseconds since 1970 UTC.
  public static func examine(
    _ configuration: Configuration, file: String?, at now: Int64, _ list: [Examination] = all
  ) -> [DoctorCheck] {
    let doctor = Doctor(configuration, file, now)
    for examination in list { doctor.make(examination) }
    return doctor.checks
  }

  private func make(_ examination: Examination) {
    topic = examination.topic
    do throws(LedgerError) {
      try examination.body(self)()
    } catch {
      let next = "see the message, then run this again"
      report(
        DoctorCheck(
          topic, "cannot be examined: \(error)", next: next, isNewer: error.code == .newer))
    }
  }

  /// Reports something that is as it should be.
  public func report(_ what: String) { report(DoctorCheck(topic, what)) }

  /// Reports something that is wrong, and what to do about it.
  public func reportFinding(_ what: String, next: String) {
    report(DoctorCheck(topic, what, next: next))
  }

  public func report(_ check: DoctorCheck) { checks.append(check) }

  func openJournal() throws(LedgerError) -> JournalReader {
    let reader = try JournalReader.open(folder)
    journal = reader
    return reader
  }

  func openProjection(_ path: String) throws(LedgerError) -> ProjectionReader {
    let reader = try ProjectionReader.open(folder, path: path)
    projection = reader
    return reader
  }

  // MARK: The configuration

  private func examineConfiguration() {
    report(
      file.map { "\($0) is good" } ?? "none given: defaults, no app, no token")
    if configuration.apps.isEmpty {
      reportFinding(
        "no app is configured: every notification goes to quarantine",
        next: "add your app's bundleId and appAppleId to \"apps\"; see subledger init --help")
    }
    if configuration.readTokens.isEmpty {
      reportFinding(
        "no read token is configured: every read answers 401",
        next: "add one to \"readTokens\"; see subledger init --help")
    }
    for token in configuration.readTokens {
      let known = Set(configuration.apps.keys)
      if let wanted = token.bundleIds, known.isDisjoint(with: wanted) {
        reportFinding(
          "the read token \(VisibleText.of(token.name)) covers no configured app",
          next: "correct its \"bundleIds\", or remove it")
      }
    }
  }
}
