public import AppStore
public import Entitlements
public import Platform
public import Store

/// Whose a purchase is: each account that claimed it, else its app account token, else its original
/// transaction id. A customer to whom something was granted is one too.
public struct CustomerKey: Sendable, Hashable {
  public let kind: LedgerReader.CustomerQuestion.IdKind
  public let id: String

  init(_ kind: LedgerReader.CustomerQuestion.IdKind, _ id: String) {
    (self.kind, self.id) = (kind, id)
  }

  public init(_ customer: CustomerName) {
    kind =
      switch customer.kind {
      case .account: .account
      case .appAccountToken: .appAccountToken
      case .appTransactionId: .appTransactionId
      }
    id = customer.name
  }
}

/// What customers have by name, one after the other.
extension LedgerReader {
  /// What counts for a customer.
  ///
  /// - Throws: as `customer`.
  func standing(
    _ customer: CustomerKey, of app: StreamKey, _ catalog: EntitlementCatalog,
    _ question: Question
  ) throws(LedgerError) -> Standing {
    var asked = CustomerQuestion(
      customer.id, customer.kind, app.environment, bundleId: app.bundleId, catalog,
      apps: [app.bundleId])
    asked.countsOwnAlone = true
    defer { endSnapshot() }
    return try standing(asked, question)
  }

  /// What a customer has of an app now, under each name of the mapping in force. Others that are
  /// asked about are not active.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - knownAt: answers by what was known then, and by the mapping then in force; nil: by all.
  /// - Returns: nil of a name that the mapping lacks.
  /// - Throws: as `customer`.
  public func entitlements(
    of customer: CustomerKey, in app: StreamKey, and others: [String], at now: Int64,
    knownAt: Int64? = nil
  ) throws(LedgerError) -> [(name: String, answer: NamedAnswer?)] {
    var catalog = EntitlementCatalog()
    let question = Question(knownAt: knownAt, now: now)
    try setInForce(&catalog, app.environment, question)
    let standing = try standing(customer, of: app, catalog, question)
    let names = catalog.names(in: [app.bundleId])
    let answers = try names.map {
      name throws(LedgerError) -> (name: String, answer: NamedAnswer?) in
      try limit?.check()
      return (name, standing.answer(name, catalog))
    }
    return answers + Set(others).subtracting(names).sorted().map { ($0, nil) }
  }

  /// Whom an event of a stream may concern.
  public struct Concerned: Sendable {
    /// Whose the stream is, and those that replaced each other with it.
    public fileprivate(set) var owners: Set<CustomerKey> = []
    /// Whose they may have been before.
    public fileprivate(set) var others: Set<CustomerKey> = []
  }

  /// - Throws: `LedgerError.notReady` while no projection can be read; what SQLite reports.
  public func concerned(by key: StreamKey) throws(LedgerError) -> Concerned {
    guard let opened = readable(), opened.isOwn else { throw .notReady(state) }
    defer { endSnapshot() }
    let found = rows { () throws(LedgerError) in
      try beginSnapshot()
      return try related([key], opened.reader)
    }
    guard let found else { throw .notReady(state) }
    var concerned = Concerned()
    for stream in found {
      let id = stream.key.originalTransactionId
      let ids = [
        mayHaveStatements
          ? try journal.accounts(of: stream.key).map { CustomerKey(.account, $0) } : [],
        stream.ids[0].map { CustomerKey(.appAccountToken, $0) },
        [CustomerKey(.originalTransactionId, id)],
        stream.ids[3].map { CustomerKey(.appAccountToken, $0) },
      ]
      let first = ids.firstIndex { !$0.isEmpty } ?? 0
      concerned.owners.formUnion(ids[first])
      concerned.others.formUnion(ids[(first + 1)...].joined())
    }
    return concerned
  }

  /// The customer whom a statement of the owner is about; nil if it is about none, or he was
  /// forgotten.
  ///
  /// - Throws: what SQLite reports.
  public func customer(ofStatement seq: Int64) throws(LedgerError) -> CustomerKey? {
    guard let event = try journal.event(seq: seq), let said = OwnerStatement(body: event.body)
    else { return nil }
    return try journal.customer(of: said.mac).map(CustomerKey.init)
  }

  /// A customer as files name him; nil if no statement was made of this account, or it was erased.
  ///
  /// - Throws: what SQLite reports.
  public func stored(
    _ customer: CustomerKey, of app: StreamKey
  ) throws(LedgerError) -> CustomerEntitlement.Customer? {
    let id =
      customer.kind == .account
      ? try journal.mac(of: CustomerName(.account, customer.id)) : Array(customer.id.utf8)
    return id.map {
      CustomerEntitlement.Customer(
        environment: app.environment, bundleId: app.bundleId, by: customer.kind.rawValue, id: $0)
    }
  }

  /// The customer whom a file names; nil if he was erased.
  ///
  /// - Throws: what SQLite reports.
  public func key(
    of customer: CustomerEntitlement.Customer
  ) throws(LedgerError) -> CustomerKey? {
    guard let kind = CustomerQuestion.IdKind(rawValue: customer.by) else { return nil }
    guard kind == .account else {
      return CustomerKey(kind, String(decoding: customer.id, as: UTF8.self))
    }
    return try journal.customer(of: customer.id).map(CustomerKey.init)
  }

  /// The purchases that an account had claimed, by its mac, whether or not it was erased since.
  ///
  /// - Throws: what SQLite reports.
  public func purchases(claimedBy mac: [UInt8]) throws(LedgerError) -> Set<StreamKey> {
    var found: Set<StreamKey> = []
    for said in try journal.statements(about: mac) {
      guard let id = said.statement.originalTransactionId else { continue }
      found.insert(
        StreamKey(
          environment: said.statement.environment, bundleId: said.statement.bundleId,
          originalTransactionId: id))
    }
    return found
  }

  /// Customers of an app, a part of its streams at a time: those that the streams after an original
  /// transaction id concern, and the last of them; nil behind the last stream.
  ///
  /// - Throws: as `concerned`.
  public func customers(
    of app: StreamKey, after id: String, limit: Int, at now: Int64
  ) throws(LedgerError) -> (found: Set<CustomerKey>, last: String)? {
    let ids = try projection().originalTransactionIds(of: app, after: id, limit: limit)
    guard let last = ids.last else { return nil }
    var found: Set<CustomerKey> = []
    for id in ids { found.formUnion(try owners(of: app.stream(id), at: now)) }
    return (found, last)
  }

  /// Whose a stream is at a time, or will be.
  ///
  /// - Throws: `LedgerError.notReady` while no projection can be read; what SQLite reports.
  func owners(of key: StreamKey, at now: Int64) throws(LedgerError) -> [CustomerKey] {
    let accounts = mayHaveStatements ? try journal.accounts(of: key) : []
    guard accounts.isEmpty else { return accounts.map { CustomerKey(.account, $0) } }
    let projection = try projection()
    defer { endSnapshot() }
    let found = rows { () throws(LedgerError) in
      try beginSnapshot()
      return try projection.rows(withOriginalTransactionId: key.originalTransactionId, .since(now))
    }
    guard let found else { throw .notReady(state) }
    let row = found.first { $0.key == key }?.row
    let tokens = Set((row?.purchases ?? []).compactMap { $0.appAccountToken?.lowercased() })
    return tokens.isEmpty
      ? [CustomerKey(.originalTransactionId, key.originalTransactionId)]
      : tokens.map { CustomerKey(.appAccountToken, $0) }
  }
}
