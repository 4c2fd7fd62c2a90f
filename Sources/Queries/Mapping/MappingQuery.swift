public import AppStore
public import Entitlements
public import Ledger
public import Platform
public import Store
public import StrictJSON

/// Which products gave which entitlements when: the mappings that were journaled as they took
/// effect.
extension LedgerReader {
  /// Puts into a catalog what was in force in an environment: of each app the mapping that
  /// `inForce` gives. An app of which none was ever journaled keeps what is configured.
  ///
  /// - Parameter question: nil for what is in force now.
  /// - Throws: what SQLite reports.
  func setInForce(
    _ catalog: inout EntitlementCatalog, _ environment: Environment, _ question: Question?
  ) throws(LedgerError) {
    let known = try mappings()
    // Most questions are about now, and of one environment.
    let last = (known.last?.seq ?? 0, environment, catalog)
    let isNow = !(question?.hasMoment ?? false)
    if isNow, let kept = keptCatalog, kept.of == last {
      catalog = kept.catalog
      return
    }
    defer { if isNow { keptCatalog = (last, catalog) } }
    let all = known.filter { $0.statement.environment == environment }
    for (bundleId, said) in Dictionary(grouping: all, by: \.statement.bundleId) {
      guard let mapping = Self.inForce(said, question)?.mapping else { continue }
      catalog.setInForce(mapping, for: bundleId)
    }
  }

  /// The mapping that was in force for an app; nil if none was ever journaled.
  ///
  /// - Throws: what SQLite reports.
  func mapping(of key: StreamKey, _ question: Question) throws(LedgerError) -> StoredStatement? {
    Self.inForce(try mappings(of: key), question)
  }

  /// Whether an event is the first mapping of an app.
  ///
  /// - Throws: what SQLite reports.
  public func isFirstMapping(_ seq: Int64, of app: StreamKey) throws(LedgerError) -> Bool {
    try mappings(of: app).first?.seq == seq
  }

  /// What the mapping of the same app said that another one replaced; nil of the first.
  ///
  /// - Throws: what SQLite reports.
  func mapping(before event: StoredEvent) throws(LedgerError) -> ProductMapping? {
    let app = StreamKey(
      environment: event.environment, bundleId: event.bundleId, originalTransactionId: "")
    return try mappings(of: app).last { $0.seq < event.seq }?.mapping
  }

  private func mappings(of key: StreamKey) throws(LedgerError) -> [StoredStatement] {
    try mappings().filter {
      $0.statement.environment == key.environment
        && ByteSearch.areEqual($0.statement.bundleId, key.bundleId)
    }
  }

  /// Of the mappings of one app the last by both times of a question, or the first if there was
  /// none by then.
  private static func inForce(
    _ said: [StoredStatement], _ question: Question?
  ) -> StoredStatement? {
    guard let question, question.hasMoment else { return said.last }
    return said.last(where: question.includes) ?? said.first
  }

  /// The mapping in force of each app; keys have no original transaction id.
  ///
  /// - Parameter time: what was in force then, milliseconds since 1970; nil for now.
  /// - Throws: what SQLite reports.
  public func mappingsInForce(at time: Int64? = nil) throws(LedgerError) -> [StreamKey:
    StoredStatement]
  {
    try mappings().reduce(into: [:]) {
      if $1.receivedAt <= time ?? .max { $0[$1.app] = $1 }
    }
  }

  /// The mapping in force of each app; keys have no original transaction id.
  ///
  /// - Throws: what SQLite reports.
  public func namesInForce() throws(LedgerError) -> [StreamKey: EntitlementCatalog.Mapping] {
    try mappingsInForce().compactMapValues(\.mapping)
  }

  /// Every mapping that was put in force, in order, with the one of the same app that it replaced.
  ///
  /// - Throws: what SQLite reports.
  public func mappingLog() throws(LedgerError) -> [(
    said: StoredStatement, before: StoredStatement?
  )] {
    var last: [StreamKey: StoredStatement] = [:]
    return try mappings().map { said in
      defer { last[said.app] = said }
      return (said, last[said.app])
    }
  }

  /// The configured mappings that are not in force, by app: of every environment of the app.
  ///
  /// - Throws: what SQLite reports.
  public func changedMappings(
    _ configuration: Configuration
  ) throws(LedgerError) -> [StreamKey: EntitlementCatalog.Mapping] {
    let inForce = try mappingsInForce()
    var changed: [StreamKey: EntitlementCatalog.Mapping] = [:]
    for app in configuration.apps.values {
      let configured = configuration.entitlements.mapping(of: app.bundleId)
      for environment in app.environments {
        let key = StreamKey(
          environment: environment, bundleId: app.bundleId, originalTransactionId: "")
        let known = inForce[key]?.mapping ?? ProductMapping()
        // What was said of durations stays until it is taken back.
        let said = durations.said(of: key)?.last
        var wanted = configured
        if said != nil { wanted.durations = configured.durations ?? [:] }
        if wanted.names != known.names || wanted.durations != said { changed[key] = wanted }
      }
    }
    return changed
  }

  /// How long products lasted until now, to be journaled where the first durations of an app that
  /// has rows are configured: what is said next is compared with that.
  ///
  /// - Parameter former: by which durations its rows were evaluated, by app; nil if that is not
  ///   known: then by the configured ones, for a program that did not journal them.
  /// - Throws: what SQLite reports.
  public func heldMappings(
    _ configuration: Configuration, former: [StreamKey: [String: Int64]]?
  ) throws(LedgerError) -> [StreamKey: EntitlementCatalog.Mapping] {
    let inForce = try mappingsInForce()
    var held: [StreamKey: EntitlementCatalog.Mapping] = [:]
    for (app, mapping) in try changedMappings(configuration) {
      guard durations.said(of: app) == nil, let wanted = mapping.durations, try hasRows(of: app)
      else { continue }
      let then = former.map { $0[app] ?? [:] }
      let isSame = then == nil || then == wanted.mapValues(\.milliseconds)
      held[app] = ProductMapping(
        inForce[app]?.mapping?.names ?? mapping.names,
        durations: isSame ? wanted : then?.mapValues { ProductDuration(milliseconds: $0) })
    }
    return held
  }

  /// By which durations the rows of a data folder are evaluated, in milliseconds by app and
  /// product; nil if that is not known.
  ///
  /// - Throws: what SQLite reports.
  public func evaluatedDurations() throws(LedgerError) -> [StreamKey: [String: Int64]]? {
    guard let opened = readable(), opened.isOwn else { return nil }
    return rows { () throws(LedgerError) in try opened.reader.evaluatedDurations() }
  }

  /// The apps whose mapping in force is not the configured one, whoever said it.
  ///
  /// - Throws: what SQLite reports.
  public func otherMappings(
    _ configuration: Configuration
  ) throws(LedgerError) -> [OtherMapping] {
    let inForce = try mappingsInForce()
    return try changedMappings(configuration).keys.sorted().map { app in
      OtherMapping(app: app, seq: inForce[app]?.seq, token: inForce[app]?.statement.token)
    }
  }

  /// The mappings that changed which names the products of a stream give, or how long they last.
  ///
  /// - Throws: what SQLite reports.
  func changes(
    ofNamesGivenBy products: Set<String>, of key: StreamKey, _ question: Question
  ) throws(LedgerError) -> [HistoryMapping] {
    var names: Set<String>?
    var lasting: [String: ProductDuration]?
    return try mappings(of: key).filter(question.includes).compactMap { said in
      guard let mapping = said.mapping else { return nil }
      let given = Set(products.flatMap(mapping.names.names(givenBy:)))
      let lasts = (mapping.durations ?? lasting).map { $0.filter { products.contains($0.key) } }
      defer { (names, lasting) = (given, lasts) }
      // What the first one says held before it too.
      guard let names, names != given || lasting ?? lasts != lasts else { return nil }
      return HistoryMapping(
        said, gained: given.subtracting(names), lost: names.subtracting(given),
        durations: lasting == nil ? [:] : lasts?.filter { lasting?[$0.key] != $0.value } ?? [:],
        ended: Set((lasting ?? [:]).keys).subtracting((lasts ?? [:]).keys))
    }
  }
}

/// An app whose mapping in force is not the one that is configured here.
public struct OtherMapping: Sendable, Equatable {
  /// Without an original transaction id.
  public let app: StreamKey
  /// The event by which a mapping is in force; nil if none was ever journaled.
  public let seq: Int64?
  /// Who said it, as the event has it.
  public let token: String?

  /// For the log and `/readyz`, which is open and names no app.
  public static let object = JSONObject<OtherMapping>([
    JSONMember("environment", .environment) { $0.app.environment.rawValue },
    JSONMember("seq", .integer("The event of the mapping in force.")) { $0.seq },
    JSONMember("token", .text("Who said it: a configuration, or a command.")) { $0.token },
  ])
}

extension LedgerReader.Question {
  /// Whether a statement of the owner had been made, and received, by the times asked about.
  fileprivate func includes(_ said: StoredStatement) -> Bool {
    said.statement.at <= asOf ?? .max && said.receivedAt <= knownAt ?? .max
  }
}
