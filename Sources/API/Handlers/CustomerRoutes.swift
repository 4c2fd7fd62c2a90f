import AppStore
import Entitlements
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes about what customers may use, by name.
enum CustomerRoutes {
  /// Bytes that a query of the most and longest ids needs, each character written as two escapes of
  /// six bytes, with room for white space.
  static let bodyLimit = 819_200
  static let maximumIds = 500
  /// Rows in the answer to a query after which it ends; about a kilobyte each. A single customer
  /// has at most a thousand.
  private static let maximumRows = 5000

  /// A valid question, for one customer or for several.
  struct Asked: Sendable {
    typealias IdKind = LedgerReader.CustomerQuestion.IdKind

    /// Whether it is a query of several, which is answered with a list.
    let isQuery: Bool
    private(set) var ids: [String] = []
    private(set) var kind = IdKind.appAccountToken
    private(set) var environment = Environment.production
    private(set) var bundleId: String?
    private(set) var asOf: Int64?
    private(set) var knownAt: Int64?
    private(set) var minSeq: Int64 = 0
    private(set) var usesPresentKnowledge = false
    private(set) var usesPresentMapping = false
    /// How many of the ids were answered before.
    private(set) var after = 0

    /// The question of `GET /v1/customers/{id}`.
    ///
    /// - Throws: `ParameterFault` for the first that is not valid.
    init(_ admitted: AdmittedRequest, _ request: HTTPRequest) throws(ParameterFault) {
      isQuery = false
      let query = try QueryString(request.query, of: admitted.route)
      read { query[$0] }
      let id = Parameter("id", kind.parameter, "")
      guard id.accepts(admitted.id) else { throw ParameterFault(.invalid, id) }
      ids = [admitted.id]
    }

    /// The question of `POST /v1/customers/query`.
    ///
    /// - Throws: `ParameterFault` for the first member that is not valid.
    init(_ body: [UInt8]) throws(ParameterFault) {
      isQuery = true
      let root = try RequestBody.customerQuery(nil).root(body)
      let kind = root["by"]?.string.flatMap(IdKind.init) ?? kind
      let values = try RequestBody.customerQuery(kind).values(root)
      read { values[$0] }
      var known: Set<ExactText> = []
      ids = values.list("ids").filter { id in
        known.insert(ExactText(kind == .appAccountToken ? id.lowercased() : id)).inserted
      }
      guard let after = Int(values["after"] ?? "0"), ids.indices.contains(after) else {
        throw .after
      }
      self.after = after
    }

    /// What both routes take.
    ///
    /// - Parameter value: the value of a parameter, if it is given.
    private mutating func read(_ value: (String) -> String?) {
      kind = value("by").flatMap(IdKind.init) ?? kind
      environment = value("environment").map(Environment.init(rawValue:)) ?? environment
      bundleId = value("bundle_id")
      asOf = value("as_of").flatMap(Timestamp.parse)
      knownAt = value("known_at").flatMap(Timestamp.parse)
      minSeq = value("min_seq").flatMap { Int64($0) } ?? 0
      usesPresentKnowledge = value("knowledge") != nil
      usesPresentMapping = value("mapping") != nil
    }

    /// What the answer may cost.
    var length: ReaderPool.Length {
      isQuery || asOf != nil || knownAt != nil ? .long : .short
    }
  }

  /// Rows of one customer that a short read may have, and statements about him: a row costs about
  /// 20 µs, and a grant 13.
  private static let maximumShortRows = 100

  /// - Parameter isShort: whether the answer is nil if it takes long.
  static func response(
    _ asked: Asked, _ request: HTTPRequest, _ configuration: Configuration,
    _ token: Configuration.ReadToken, _ reader: LedgerReader, isShort: Bool
  ) throws(LedgerError) -> HTTPResponse? {
    let apps = configuration.apps.keys.filter { app in
      asked.bundleId ?? app == app && token.covers(environment: asked.environment, bundleId: app)
    }
    var question = LedgerReader.Question(
      asOf: asked.asOf, knownAt: asked.knownAt, now: Clock.now(), token: token)
    question.usesPresentKnowledge = asked.usesPresentKnowledge
    func about(_ id: String) -> LedgerReader.CustomerQuestion {
      var about = LedgerReader.CustomerQuestion(
        id, asked.kind, asked.environment, bundleId: asked.bundleId,
        configuration.entitlements, apps: apps)
      about.usesPresentMapping = asked.usesPresentMapping
      if isShort { about.maximumRows = maximumShortRows }
      return about
    }
    guard asked.isQuery else {
      let about = about(asked.ids[0])
      if isShort, try reader.hasStatements(about: about, moreThan: maximumShortRows) { return nil }
      let customer = try reader.customer(about, question)
      return isShort && customer.hasMore ? nil : EntityTag.response(customer.json, to: request)
    }
    var customers = EncodedItems(limit: maximumIds)
    var rows = 0
    var next = asked.after
    while next < asked.ids.count, rows < maximumRows {
      let customer = try reader.customer(about(asked.ids[next]), question)
      customers.append(customer.json)
      rows += customer.rows.count
      next += 1
    }
    return .json(
      customers.items, next: next < asked.ids.count ? String(next) : nil,
      of: CustomerDocument.object)
  }
}
