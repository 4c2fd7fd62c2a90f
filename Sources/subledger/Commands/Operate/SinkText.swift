import Delivery
import Platform
import StrictJSON

/// What `sink` prints for people.
enum SinkText {
  static func of(_ verb: SinkCommand.Verb, _ result: JSONElement) -> String {
    switch verb {
    case .retry: tried(result)
    case .replay where result["messages"] != nil: tried(result)
    case .replay:
      "replay \(result["replay"]?.integer ?? 0) sends what follows seq "
        + "\(result["after"]?.integer ?? 0), through \(result["last"]?.integer ?? 0)"
    case .test: "the receiver answered \(result["status"]?.integer ?? 0)"
    case .show, .pause, .resume, .skip: description(result)
    }
  }

  private static func tried(_ result: JSONElement) -> String {
    let count = result["messages"]?.integer ?? 0
    return CountText.of(count, "messages") + (count == 1 ? " is" : " are") + " tried again"
  }

  static func table(_ sinks: [JSONElement]) -> String {
    let head =
      "NAME".padded(to: 24) + "KIND".padded(to: 10) + "STATE".padded(to: 9)
      + ["LAG", "HELD", "DEAD"].map { $0.padded(left: 9) }.joined() + "  SINCE"
    let lines = sinks.map { sink in
      (sink["name"]?.string ?? "").padded(to: 24) + (sink["kind"]?.string ?? "").padded(to: 10)
        + (sink["state"]?.string ?? "").padded(to: 9)
        + ["lag_events", "held", "dead"]
        .map { "\(sink[$0]?.integer ?? 0)".padded(left: 9) }.joined()
        + "  " + Timestamp.text(sink["since"]?.integer ?? 0)
    }
    return ([head] + lines).joined(separator: "\n")
  }

  private static func description(_ result: JSONElement) -> String {
    guard let sink = result["sink"] else { return "" }
    var lines = [
      "\(sink["name"]?.string ?? "") is \(sink["state"]?.string ?? "") since "
        + Timestamp.text(sink["since"]?.integer ?? 0)
        + (sink["reason"]?.string.map { ": \($0)" } ?? ""),
      "  to       \(sink["url"]?.string ?? "") (\(sink["kind"]?.string ?? ""))",
      "  cursor   \(sink["cursor"]?.string ?? ""), "
        + CountText.of(sink["lag_events"]?.integer ?? 0, "events") + " behind",
      "  since the start \(sink["delivered"]?.integer ?? 0) delivered, "
        + "\(sink["failed"]?.integer ?? 0) without an answer, "
        + "\(sink["refused"]?.integer ?? 0) refused",
    ]
    if let next = sink["next_attempt_at"]?.integer {
      lines.append("  next attempt \(Timestamp.text(next))")
    }
    for (name, title) in [("held", "held"), ("dead", "given up")] {
      let messages = result[name]?.elements ?? []
      if !messages.isEmpty { lines.append("  \(title):") }
      lines += messages.map(message)
    }
    for replay in result["replays"]?.elements ?? [] {
      lines.append(
        "  replay \(replay["replay"]?.integer ?? 0): at \(replay["seq"]?.integer ?? 0) of "
          + "\(replay["last"]?.integer ?? 0), \(replay["state"]?.string ?? "")")
    }
    return lines.joined(separator: "\n")
  }

  private static func message(_ message: JSONElement) -> String {
    "    seq \(message["seq"]?.integer ?? 0), attempts \(message["attempts"]?.integer ?? 0), "
      + (message["failure"]?.string ?? "waits for the one before")
  }
}
