import Platform
import StrictJSON
import SubscriptionLedger

/// What a command hands to the daemon that holds its data folder, over the folder's unix socket.
extension LedgerHandler {
  func control(
    _ route: Route, _ request: HTTPRequest, through answer: Answer
  ) -> HTTPResponse? {
    switch route {
    case .controlIngest: ingest(request, through: answer)
    case .controlAdopt: adopt(through: answer)
    case .controlQuarantine(let id, let isAdmission):
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
    BatchReceive.receive(
      lines, skipsBad: request.query == "skip_bad", receiver: receiver, ledger: service.ledger,
      at: Clock.now(), limit: service.configuration.bodyLimit
    ) { outcomes in
      answer.send(Self.json([("outcomes", BatchReceive.json(outcomes))]))
    }
  }

  private func adopt(through answer: Answer) {
    let ledger = service.ledger
    ledger.adopt(Rebuild.buildingPath(ledger.folder)) { error in
      answer.send(
        error.map { _ in Problem.response(.unavailable("adopt")) }
          ?? Self.json([("outcome", .string("live"))]))
    }
  }

  private func admitQuarantined(_ id: Int64, through answer: Answer) {
    let service = service
    let admission = Quarantine.admit(
      id, receiver: receiver, ledger: service.ledger, at: Clock.now()
    ) { received, outcome in
      answer.send(service.response(to: received, outcome))
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
