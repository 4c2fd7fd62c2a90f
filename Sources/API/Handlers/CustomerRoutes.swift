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
    /// How many of the ids were answered before.
    private(set) var after = 0

    /// The question of `GET /v1/customers/{id}`.
    ///
    /// - Throws: `ParameterFault` for the first that is not valid.
    init(_ admitted: AdmittedRequest, _ request: HTTPRequest) throws(ParameterFault) {
      isQuery = false
      let query = try QueryString(request.query, of: admitted.route)
      for parameter in Self.shared { query[parameter.name].map { set(parameter.name, $0) } }
      guard accepts(admitted.id) else {
        throw ParameterFault(.invalid, "id", expected: idSchema)
      }
      ids = [admitted.id]
    }

    /// The question of `POST /v1/customers/query`.
    ///
    /// - Throws: `ParameterFault` for the first member that is not valid.
    init(_ body: [UInt8]) throws(ParameterFault) {
      isQuery = true
      guard let root = try? JSONDocument(parsing: body, within: .unproven).root,
        root.kind == .object
      else { throw ParameterFault(.invalid, nil, expected: .named("CustomerQuery")) }
      for member in root.members where member.name != "ids" {
        guard let parameter = Self.ofQuery.first(where: { $0.name == member.name }) else {
          throw ParameterFault(
            .unknown, nil, expected: .oneOf(["ids"] + Self.ofQuery.map(\.name)))
        }
        guard let value = member.value.string ?? member.value.integer.map(String.init),
          !value.isEmpty, parameter.accepts(value)
        else { throw ParameterFault(.invalid, parameter) }
        set(parameter.name, value)
      }
      let expected = JSONSchema.list(idSchema, count: 1...Int64(maximumIds))
      guard let list = root["ids"] else {
        throw ParameterFault(.missing, "ids", expected: expected)
      }
      ids = list.elements.map { $0.string ?? "" }
      guard (1...maximumIds).contains(ids.count), ids.allSatisfy(accepts) else {
        throw ParameterFault(.invalid, "ids", expected: expected)
      }
      var known: Set<ExactText> = []
      ids.removeAll { id in
        let id = kind == .appAccountToken ? id.lowercased() : id
        return !known.insert(ExactText(id)).inserted
      }
      guard after < ids.count else { throw .after }
    }

    /// What both routes take.
    private static let shared: [Parameter] = [
      .by, .environment, .onlyBundleId, .asOf, .knownAt, .minSeq,
    ]

    /// What a query takes beside its ids.
    private static let ofQuery =
      shared + [
        Parameter("after", .integer(1...Int64(maximumIds), default: 0), Parameter.after.meaning)
      ]

    /// - Parameter value: one that the parameter accepts.
    private mutating func set(_ name: String, _ value: String) {
      switch name {
      case Parameter.by.name: kind = IdKind(rawValue: value) ?? kind
      case Parameter.environment.name: environment = Environment(rawValue: value)
      case Parameter.asOf.name: asOf = Timestamp.parse(value)
      case Parameter.knownAt.name: knownAt = Timestamp.parse(value)
      case Parameter.minSeq.name: minSeq = Int64(value) ?? 0
      case Parameter.after.name: after = Int(value) ?? 0
      default: bundleId = value
      }
    }

    /// Account tokens are UUIDs: any other text is a mistake, not an unknown customer.
    private func accepts(_ id: String) -> Bool {
      switch kind {
      case .appAccountToken: NotificationUUID(id) != nil
      case .account: CustomerName.isValid(id)
      case .appTransactionId, .originalTransactionId: Route.isIdentifier(id.utf8)
      }
    }

    private var idSchema: JSONSchema {
      switch kind {
      case .appAccountToken: .uuid
      case .account: Parameter.customerId.schema
      case .appTransactionId, .originalTransactionId: Parameter.id.schema
      }
    }

    /// What the answer may cost.
    var length: ReaderPool.Length {
      isQuery || asOf != nil || knownAt != nil ? .long : .short
    }
  }

  /// Rows of one customer that a short read may have; a row costs about 20 µs.
  private static let maximumShortRows = 100

  /// - Parameter isShort: whether the answer is nil if it takes long.
  static func response(
    _ asked: Asked, _ request: HTTPRequest, _ configuration: Configuration,
    _ token: Configuration.ReadToken, _ reader: LedgerReader, isShort: Bool
  ) throws(LedgerError) -> HTTPResponse? {
    let apps = configuration.apps.keys.filter { app in
      asked.bundleId ?? app == app && token.covers(environment: asked.environment, bundleId: app)
    }
    let names = configuration.entitlements.names(in: apps)
    let question = LedgerReader.Question(
      asOf: asked.asOf, knownAt: asked.knownAt, now: Clock.now(), token: token)
    func customer(_ id: String) throws(LedgerError) -> CustomerDocument {
      var about = LedgerReader.CustomerQuestion(
        id, asked.kind, asked.environment, bundleId: asked.bundleId,
        configuration.entitlements, names: names)
      if isShort { about.maximumRows = maximumShortRows }
      return try reader.customer(about, question)
    }
    guard asked.isQuery else {
      let customer = try customer(asked.ids[0])
      return isShort && customer.hasMore ? nil : EntityTag.response(customer.json, to: request)
    }
    var customers = EncodedItems(limit: maximumIds)
    var rows = 0
    var next = asked.after
    while next < asked.ids.count, rows < maximumRows {
      let customer = try customer(asked.ids[next])
      customers.append(customer.json)
      rows += customer.rows.count
      next += 1
    }
    return .json(
      customers.items, next: next < asked.ids.count ? String(next) : nil,
      of: CustomerDocument.object)
  }
}
