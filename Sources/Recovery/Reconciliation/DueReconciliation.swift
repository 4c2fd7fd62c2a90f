import AppStore
public import Clients
import Ledger
import Platform
public import Queries
import Store
import StrictJSON

/// Compares all customers that are due with what Apple says of them now, a part at a time, so that
/// the thread can do more urgent work in between. One thread.
///
/// A customer who was compared is no longer due, so a run that was given up costs nothing twice.
public final class DueReconciliation {
  /// What it found of one app in one environment.
  struct Result: Sendable {
    let environment: Environment
    let bundleId: String
    var found = RecoveryStatus.Reconciliation()
    /// The original transaction ids of the first of those of whom Apple still says something else.
    var remainingIds: [String] = []
  }

  /// One app in one environment, and for how many milliseconds after the end of a paid period
  /// nothing is done.
  public typealias App = (account: AppStoreAccount, reconcileAfter: Int64)

  private(set) var results: [Result]
  private let apps: [App]
  private let reader: LedgerReader
  private let reconciler: Reconciler
  /// The app whose customers are compared.
  private var index = 0
  private var pages: CustomerPages?
  /// Of the page that was read last, the next at the end.
  private var waiting: [StreamKey] = []
  private var failuresInARow = 0
  /// After so many failures one after the other Apple is taken for out of reach.
  private static let mostFailures = 20

  /// - Parameter reader: the one of `reconciler`.
  init(_ apps: [App], _ reader: LedgerReader, _ reconciler: Reconciler) {
    (self.apps, self.reader, self.reconciler) = (apps, reader, reconciler)
    results = apps.map { account, _ in
      Result(environment: account.environment, bundleId: account.bundleId)
    }
  }

  /// Whether it is about these apps; otherwise the configuration has changed.
  func isAbout(_ others: [AppStoreAccount]) -> Bool {
    apps.count == others.count && zip(apps, others).allSatisfy { $0.account === $1 }
  }

  /// Compares the next customers.
  ///
  /// - Parameters:
  ///   - clock: the time now, milliseconds since 1970.
  ///   - isEnough: called after each customer and each page; true ends this part.
  ///   - submit: journals any number of lines of NDJSON; returns what became of each. After what it
  ///     throws, the app is given up.
  /// - Returns: whether all that are due are done, or could not be asked about.
  func advance(
    clock: () -> Int64, until isEnough: () -> Bool,
    submit: ([[UInt8]]) throws(LedgerError) -> [Outcome]
  ) -> Bool {
    while index < apps.count {
      do throws(LedgerError) {
        while try hasMore(at: clock()) {
          if let stream = waiting.popLast() {
            guard try compare(stream, at: clock(), submit) else { return false }
          }
          if isEnough() { return false }
        }
      } catch {
        results[index].found.error = Self.text(error)
      }
      (index, pages, waiting, failuresInARow) = (index + 1, nil, [], 0)
    }
    return true
  }

  private static func text(_ error: LedgerError) -> String {
    [.notReady, .ambiguous].contains(error.code)
      ? "the rows cannot be read now" : error.description
  }

  /// Reads the next page, which may be empty, if nobody is waiting.
  ///
  /// - Returns: false after the last page of the app.
  private func hasMore(at now: Int64) throws(LedgerError) -> Bool {
    guard waiting.isEmpty else { return true }
    let app = apps[index]
    var pages =
      pages
      ?? CustomerPages(
        app.account.environment, bundleId: app.account.bundleId,
        endedBefore: now - app.reconcileAfter)
    let page = try pages.next(reader, at: now)
    self.pages = pages
    waiting = page?.reversed() ?? []
    return page != nil
  }

  /// - Returns: false if it was cancelled.
  /// - Throws: the failure after which this app is given up.
  private func compare(
    _ stream: StreamKey, at now: Int64,
    _ submit: ([[UInt8]]) throws(LedgerError) -> [Outcome]
  ) throws(LedgerError) -> Bool {
    do throws(LedgerError) {
      let found = try reconciler.compare(stream, apps[index].account, at: now, submit: submit)
      results[index].count(found)
      failuresInARow = 0
    } catch {
      if error.code == .stopped { return false }
      results[index].found.failed += 1
      results[index].found.error = Self.text(error)
      failuresInARow += 1
      guard error.code == .appStore, failuresInARow < Self.mostFailures else { throw error }
    }
    return true
  }
}

extension DueReconciliation.Result {
  private static let mostIds = 10

  mutating func count(_ compared: Reconciliation?) {
    found.count(compared)
    if let compared, compared.remains, remainingIds.count < Self.mostIds {
      remainingIds.append(compared.stream.originalTransactionId)
    }
  }
}

extension RecoveryStatus.Reconciliation {
  /// Adds a customer.
  ///
  /// - Parameter compared: nil if Apple does not know him.
  public mutating func count(_ compared: Reconciliation?) {
    asked += 1
    guard let compared else {
      unknown += 1
      return
    }
    if compared.differed { differed += 1 }
    if compared.remains { remaining += 1 }
    journaled += Int64(compared.journaled)
  }
}
