import HTTPServer
import Platform
import StrictJSON

/// Answers the requests to one base URL.
final class AppStoreHandler: RequestHandler {
  struct Context {}

  private let environment: Environment
  private let state: SharedState
  private let log: @Sendable (String) -> Void

  init(
    _ environment: Environment, _ state: SharedState, log: @escaping @Sendable (String) -> Void
  ) {
    (self.environment, self.state, self.log) = (environment, state, log)
  }

  func admit(_ head: RequestHead) -> Admission<Context> { .body(limit: 4 << 20, Context()) }

  func isQueued(_ context: Context) -> Bool { false }

  func respond(
    to request: HTTPRequest, _ context: Context, through sender: ResponseSender
  ) -> HTTPResponse? {
    if request.path == "/control" { return control(request, sender) }
    let environment = environment
    let endpoint = RequestCounts.endpoint(request.method, request.path)
    let answer = state.withLock { $0.answer(request, endpoint, environment) }
    log("\(environment.name) \(endpoint) \(answer.response.status)")
    guard answer.isTimed else { return answer.response }
    let thread = try? Thread.start("answer") { answer.send(through: sender) }
    return thread == nil ? answer.response : nil
  }

  /// `GET /control` shows the state. `POST /control` changes the behaviour and may advance the
  /// clock; it is answered when all that is then due has been sent.
  private func control(_ request: HTTPRequest, _ sender: ResponseSender) -> HTTPResponse? {
    let state = state
    let report: @Sendable () -> HTTPResponse = { .json(state.withLock { $0.report }) }
    if request.method == "GET" { return report() }
    guard request.method == "POST", let root = try? JSONDocument(parsing: request.body).root
    else { return .json([("error", .string("POST a JSON object"))], status: 400) }
    let applied = state.withLock { state -> Result<Int64, ControlError> in
      do throws(ControlError) { return .success(try state.behaviour.apply(root)) } catch {
        return .failure(error)
      }
    }
    switch applied {
    case .failure(let error):
      return .json([("error", .string(error.description))], status: 400)
    case .success(let milliseconds):
      let isQueued = state.advance(milliseconds) { sender.send(report()) }
      return isQueued ? nil : HTTPResponse(status: 503)
    }
  }

  func refuse(status: Int) -> HTTPResponse { HTTPResponse(status: status) }

  func recordRefusal(status: Int) { log("\(environment.name) refused \(status)") }

  func recordConnection(_ change: ConnectionChange) {}
}
