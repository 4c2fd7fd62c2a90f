import HTTPServer
import Ledger
import Platform
import Queries

/// A read of rows or of customers whose parameters are valid.
struct LedgerRead: Sendable {
  private enum Asked {
    case rows(QueryString)
    case customers(CustomerRoutes.Asked)
  }

  private let asked: Asked
  private let admitted: AdmittedRequest
  private let request: HTTPRequest
  private let token: Configuration.ReadToken

  /// - Throws: `ParameterFault` for the first parameter, or member of the body, that is not valid.
  init(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, _ token: Configuration.ReadToken
  ) throws(ParameterFault) {
    asked =
      switch admitted.route.name {
      case .customers: .customers(try CustomerRoutes.Asked(request.body))
      case .customer: .customers(try CustomerRoutes.Asked(admitted, request))
      default: .rows(try QueryString(request.query, of: admitted.route))
      }
    self.admitted = admitted
    self.request = request
    self.token = token
  }

  /// The name of the token that it is for.
  var owner: String { token.name }

  /// The event that the rows must have; 0 if none was asked for.
  var minSeq: Int64 {
    switch asked {
    case .rows(let query): query[Parameter.minSeq.name].flatMap { Int64($0) } ?? 0
    case .customers(let asked): asked.minSeq
    }
  }

  /// What the answer may cost.
  var length: ReaderPool.Length {
    switch asked {
    case .rows(let query):
      admitted.route.name == .entitlement && query["as_of"] == nil && query["known_at"] == nil
        ? .short : .long
    case .customers(let asked): asked.length
    }
  }

  /// - Parameter isShort: whether the answer is nil if it takes long.
  func response(
    _ reader: LedgerReader, _ configuration: Configuration, isShort: Bool
  ) throws(LedgerError) -> HTTPResponse? {
    switch asked {
    case .rows(let query):
      try EntitlementRoutes.answer(admitted, request, query, token, reader)
    case .customers(let asked):
      try CustomerRoutes.response(
        asked, request, configuration, token, reader, isShort: isShort)
    }
  }
}
