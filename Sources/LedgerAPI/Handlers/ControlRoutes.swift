import HTTPServer
import LedgerEngine
import Platform
import StrictJSON

/// What a command hands to the daemon that holds its data folder, over the folder's unix socket.
extension LedgerHandler {
  func control(
    _ found: MatchedRoute, _ request: HTTPRequest, through answer: Answer
  ) -> HTTPResponse? {
    switch found.route.name {
    case .controlIngest: ingest(request, through: answer)
    case .controlProjection(let order): return rows(order, request, through: answer)
    case .controlAdmit, .controlDrop:
      guard let id = Int64(found.id) else { return Problem.notFound }
      let isAdmission = found.route.name == .controlAdmit
      if isAdmission { admitQuarantined(id, through: answer) } else { drop(id, through: answer) }
    default: return Problem.notFound
    }
    return nil
  }

  private func ingest(_ request: HTTPRequest, through answer: Answer) {
    let lines = request.body.split(separator: 0x0A, omittingEmptySubsequences: false)
    guard lines.count <= BatchReceive.maximumLines else {
      return answer.send(Problem.response(.malformed("too_many_lines")))
    }
    let (service, began) = (service, Clock.monotonicNanoseconds())
    BatchReceive.receive(
      lines, skipsBad: request.query == "skip_bad", receiver: receiver, ledger: service.ledger,
      at: Clock.now(), limit: bodyLimit, note: { service.note($0, $1) }
    ) { outcomes in
      service.note(batch: outcomes, began: began)
      answer.send(Self.json([("outcomes", BatchReceive.json(outcomes))]))
    }
    countChains()
  }

  private func rows(
    _ order: Route.ProjectionOrder, _ request: HTTPRequest, through answer: Answer
  ) -> HTTPResponse? {
    let allowed: Set<String> = ["fingerprint", "keep", "id"]
    guard let query = QueryString(request.query, allowed: allowed) else {
      return Problem.response(.malformed("query"))
    }
    let kept = query["keep"].map { Int($0) } ?? Rebuild.retainedByDefault
    guard let kept, (0...100).contains(kept) else {
      return Problem.response(.malformed("query"))
    }
    switch order {
    case .adopt:
      guard query["fingerprint"] == FoldIdentity.fingerprint else {
        return Problem.response(409, "other_fold", "This daemon has another fold.")
      }
      service.ledger.adopt(keeping: kept) { answer.send(Self.answer(to: $0)) }
    case .rollback:
      service.ledger.rollBack { answer.send(Self.answer(to: $0)) }
    case .refold:
      service.ledger.refold(only: query["id"] ?? "") { counts in
        let members = counts.map { counts in
          [
            ("streams", JSONValue.integer(Int64(counts.streams))),
            ("changed", .integer(Int64(counts.changed))),
          ]
        }
        let others = Problem.response(409, "other_fold", "The live rows are of another fold.")
        answer.send(members.map { Self.json($0) } ?? others)
      }
    case .prune:
      service.ledger.prune(keeping: kept) { answer.send(Self.answer(to: $0)) }
    }
    return nil
  }

  private static func answer(to outcome: Ledger.ProjectionOutcome) -> HTTPResponse {
    switch outcome {
    case .done: json([("outcome", .string("done"))])
    case .nothing: Problem.notFound
    case .failed: Problem.response(.unavailable("rows"))
    }
  }

  private func admitQuarantined(_ id: Int64, through answer: Answer) {
    let (service, began) = (service, Clock.monotonicNanoseconds())
    let admission = Quarantine.admit(
      id, receiver: receiver, ledger: service.ledger, at: Clock.now()
    ) { received, outcome in
      answer.send(service.response(to: received, outcome, began: began))
    }
    switch admission {
    case .submitted: break
    case .absent: answer.send(Problem.notFound)
    case .refused(let refusal): answer.send(Problem.response(refusal))
    case .unreadable: answer.send(Problem.response(.unavailable("journal")))
    }
  }

  private func drop(_ id: Int64, through answer: Answer) {
    service.ledger.dropQuarantined(id) { found in
      answer.send(found ? Self.json([("outcome", .string("dropped"))]) : Problem.notFound)
    }
  }
}
