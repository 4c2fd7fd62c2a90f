public import HTTPServer
import Ledger
import Platform
import Store
import StrictJSON

/// What the transport refuses by itself, and requests that come under overload.
extension LedgerHandler {
  public func refuse(status: Int) -> HTTPResponse { Problem.transport(status) }

  public func recordRefusal(status: Int) { record(Problem.transport(status)) }

  public func recordConnection(_ change: ConnectionChange) {
    switch change {
    case .opened: service.metrics.connections.add(1)
    case .closed: service.metrics.connections.add(-1)
    case .cut: service.metrics.cutConnections.add()
    }
  }

  public func overload() -> HTTPResponse {
    service.metrics.refusals.add("overload")
    overloadLog.record(at: Clock.now())
    return Self.overloaded
  }

  /// Built once, because under overload there is no time to build it.
  private static let overloaded = Problem.response(.unavailable("overload"))

  /// Counts a refusal, and logs it with its code unless `isLogged` is false.
  func record(_ refusal: HTTPResponse, isLogged: Bool = true) {
    service.record(refusal, isLogged: isLogged)
  }
}

extension LedgerService {
  /// The same for a refusal that is sent by another thread than the reactor's.
  func record(_ refusal: HTTPResponse, isLogged: Bool = true) {
    let status = refusal.status
    metrics.httpRefusals.add(status)
    guard isLogged else { return }
    refusalLog.write(
      "http_refused", status: status,
      [("status", .integer(Int64(status))), ("reason", .optional(refusal.code))])
  }
}

/// Logs overload at most once a second, because under overload each log line is load too.
struct OverloadLog {
  /// Requests refused since the last line.
  private var unlogged: Int64 = 0
  /// The earliest time of the next line, in milliseconds since 1970.
  private var nextLine: Int64 = 0

  mutating func record(at now: Int64) {
    unlogged += 1
    guard now >= nextLine else { return }
    Log.write(.warning, "overload", [("refused", .integer(unlogged))])
    (unlogged, nextLine) = (0, now + 1000)
  }
}
