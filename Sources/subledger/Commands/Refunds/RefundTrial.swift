import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import StrictJSON

/// `refunds try`: what a list of policies would have answered to every request of the journal,
/// beside what Apple then decided.
enum RefundTrial {
  static func run(_ file: String, _ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let policies = try Configuration.load(
      file: file, variables: ProcessEnvironment.variables, listen: nil, data: nil
    ).refundPolicies
    guard let policies else { throw .usage("the file has no refunds") }
    let reader = try QueryOptions.reader(try arguments.configuration())
    // By who decides what, then by what Apple decided.
    var counts: [String: [String: Int64]] = [:]
    var unasked = 0
    var place: (deadline: Int64, uuid: String)?
    repeat {
      let page = try reader.refundRequests(
        .init(), after: place, limit: 500, LedgerReader.Question(now: Clock.now()))
      for line in page.requests {
        guard let (request, known) = try reader.refundFacts(of: line) else { continue }
        var facts = known
        if facts.consent == nil, request.word == nil {
          unasked += 1
          facts.consent = (true, .min)
        }
        let decision = RefundDecision(on: request, facts, policies, at: nil)
        counts[decision.title, default: [:]][line["outcome"].text ?? "none", default: 0] += 1
      }
      place = page.next
    } while place != nil
    for (title, outcomes) in counts.sorted(by: { $0.key < $1.key }) {
      let all = outcomes.sorted { $0.key < $1.key }
      Terminal.print(
        .object([
          ("object", .string("refund_trial")), ("decision", .string(title)),
          ("outcomes", .object(all.map { ($0.key, .integer($0.value)) })),
        ]),
        or: title.padded(to: 40) + all.map { "\($0.value) \($0.key)" }.joined(separator: ", "),
        arguments)
    }
    Terminal.error(
      "of \(CountText.of(unasked, "requests")) nobody said whether the customer consents; they are "
        + "counted as if so")
    return .good
  }
}
