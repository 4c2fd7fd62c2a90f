import AppStore
import Entitlements
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes about what customers may use, by name.
extension Route {
  static let customer = Route(
    "getCustomer", .customers, "GET", "/v1/customers/{id}", .token(.read),
    "Returns what one customer may use by name, and the rows that say so.",
    [
      .customerId, .by, .environment, .onlyBundleId, .asOf, .knownAt, .knowledge, .mapping,
      .minSeq,
    ],
    replies: .usual(
      "The customer; `known` is false if nothing is known under the id, which says nothing "
        + "about access.", "Customer") + [.notModified], answer: LedgerHandler.getCustomer)

  static let customers = Route(
    "queryCustomers", .customers, "POST", "/v1/customers/query", .token(.read),
    "Returns the same for up to 500 customers, in the order of their ids.",
    bodies: [.customerQuery(nil)], bodyLimit: { _ in CustomerRoutes.bodyLimit },
    replies: .usual("The customers.", "CustomerList"), answer: LedgerHandler.queryCustomers)
}

extension LedgerHandler {
  fileprivate func getCustomer(_ call: Call) throws(ParameterFault) -> HTTPResponse? {
    service.read(call, try CustomerRoutes.Asked(call), configuration)
  }

  fileprivate func queryCustomers(_ call: Call) -> HTTPResponse? {
    // A body may be long: it is parsed where what it asks for is read.
    service.answer(.long, call, bytes: call.request.body.count) { [service, configuration] _ in
      do throws(ParameterFault) {
        let asked = try CustomerRoutes.Asked(call.request.body)
        return service.read(call, asked, configuration)
      } catch {
        return Problem.response(toBody: error)
      }
    }
  }
}

extension LedgerService {
  fileprivate func read(
    _ call: Call, _ asked: CustomerRoutes.Asked, _ configuration: Configuration
  ) -> HTTPResponse? {
    read(call, asked.length, minSeq: asked.minSeq) { reader, isShort throws(LedgerError) in
      try CustomerRoutes.response(asked, call, configuration, reader, isShort: isShort)
    }
  }
}

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
    init(_ call: Call) throws(ParameterFault) {
      isQuery = false
      read { call.query[$0] }
      let id = Parameter("id", kind.parameter, "")
      guard id.accepts(call.id) else { throw ParameterFault(.invalid, id) }
      ids = [call.id]
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
    _ asked: Asked, _ call: Call, _ configuration: Configuration, _ reader: LedgerReader,
    isShort: Bool
  ) throws(LedgerError) -> HTTPResponse? {
    let apps = configuration.apps.keys.filter { app in
      asked.bundleId ?? app == app
        && call.token.covers(environment: asked.environment, bundleId: app)
    }
    var question = LedgerReader.Question(
      asOf: asked.asOf, knownAt: asked.knownAt, now: Clock.now(), token: call.token)
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
      return isShort && customer.hasMore ? nil : EntityTag.response(customer.json, to: call.request)
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
