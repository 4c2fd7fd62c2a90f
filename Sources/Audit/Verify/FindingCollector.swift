import Synchronization

/// Collects the findings of all threads of one verification.
final class FindingCollector: Sendable {
  private let state = Mutex<(retained: [Finding], count: Int)>(([], 0))

  func add(_ promise: Int, _ seq: Int64?, _ what: String) {
    add(Finding(promise: promise, seq: seq, what: what))
  }

  func add(_ finding: Finding) {
    state.withLock { state in
      state.count += 1
      state.retained.append(finding)
      // Those with the lowest seqs are retained, whichever thread found something first.
      guard state.retained.count >= 2 * Verify.maximumFindings else { return }
      state.retained = Array(Self.ordered(state.retained).prefix(Verify.maximumFindings))
    }
  }

  /// The retained findings, lowest seq first, and how many there were in all.
  var sorted: ([Finding], Int) {
    state.withLock { (Array(Self.ordered($0.retained).prefix(Verify.maximumFindings)), $0.count) }
  }

  private static func ordered(_ findings: [Finding]) -> [Finding] {
    findings.sorted { ($0.seq ?? .max, $0.promise) < ($1.seq ?? .max, $1.promise) }
  }
}
