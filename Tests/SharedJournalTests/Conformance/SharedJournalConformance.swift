import Platform
import Store

/// What must hold of every `SharedJournal`: one suite for each engine. It writes into the shared
/// journal that it is given, which should be empty and thrown away afterwards.
struct SharedJournalConformance {
  /// The result of one check.
  struct Result: Sendable {
    /// A sentence of what must hold.
    let name: String
    /// What does not hold; nil if all of it does.
    let failure: String?
  }

  /// - Parameters:
  ///   - open: makes one more value of the same shared journal. Called from several threads.
  ///   - openDuties: the same for its duties; nil leaves their checks out.
  init(
    open: @escaping @Sendable () -> any SharedJournal,
    openDuties: (@Sendable () -> any DutyTable)? = nil
  ) {
    self.open = open
    self.openDuties = openDuties
  }

  private let open: @Sendable () -> any SharedJournal
  private let openDuties: (@Sendable () -> any DutyTable)?

  typealias Check = (
    name: String, run: @Sendable (JournalTrial) throws(ConformanceFailure) -> Void
  )

  /// Runs all checks, each on what the ones before left.
  ///
  /// - Parameter observe: told of each result as soon as it is known.
  /// - Returns: whether everything holds.
  func run(_ observe: (Result) -> Void) -> Bool {
    let trial = JournalTrial(open: open)
    var holds = true
    for check in AppendChecks.all + HeadChecks.all + TailChecks.all + RefusalChecks.all {
      holds =
        report(check.name, observe) { () throws(ConformanceFailure) in
          defer { trial.endConnections() }
          try trial.catchUp()
          try check.run(trial)
        } && holds
    }
    guard let openDuties else { return holds }
    for check in DutyChecks.all {
      holds =
        report(check.name, observe) { () throws(ConformanceFailure) in
          try check.run(openDuties(), openDuties())
        } && holds
    }
    return holds
  }

  private func report(
    _ name: String, _ observe: (Result) -> Void,
    _ check: () throws(ConformanceFailure) -> Void
  ) -> Bool {
    do throws(ConformanceFailure) {
      try check()
      observe(Result(name: name, failure: nil))
      return true
    } catch {
      observe(Result(name: name, failure: error.reason))
      return false
    }
  }
}

/// Why a check does not hold.
struct ConformanceFailure: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }

  init(_ error: LedgerError) { reason = "an error: \(error)" }
}
