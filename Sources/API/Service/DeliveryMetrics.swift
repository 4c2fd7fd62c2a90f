import Delivery
import Platform
import Store

/// What `/metrics` says of sinks.
extension DeliveryService {
  func write(_ page: inout PrometheusText) {
    let sinks = statuses.filter { $0.id.replay == 0 && $0.isHere }
    guard !sinks.isEmpty else { return }
    let gauges: [(String, String, (DeliveryStatus) -> Double)] = [
      (
        "subledger_sink_up",
        "Whether a sink sends: 0 while the receiver is down, or it is stopped.",
        { $0.state == "up" ? 1 : 0 }
      ),
      (
        "subledger_sink_lag_events", "Events of the journal that a sink is not done with.",
        { Double($0.lagEvents) }
      ),
      (
        "subledger_sink_lag_seconds", "How long the oldest of them has waited.",
        { Double($0.lagMilliseconds) / 1000 }
      ),
      (
        "subledger_sink_held", "Messages that were refused and are tried again.",
        { Double($0.held) }
      ),
      ("subledger_sink_dead", "Messages that were given up.", { Double($0.dead) }),
    ]
    for (name, meaning, value) in gauges {
      page.family(name, .gauge, meaning)
      for sink in sinks { page.sample(name, [(name: "sink", value: sink.id.name)], value(sink)) }
    }
    let deliveries = "subledger_sink_deliveries_total"
    page.family(deliveries, .counter, "Attempts to deliver, by what became of them.")
    for sink in sinks {
      let outcomes = [
        ("delivered", sink.counts.delivered), ("failed", sink.counts.failed),
        ("refused", sink.counts.refused), ("blocked", sink.counts.blocked),
      ]
      for (outcome, count) in outcomes {
        page.sample(
          deliveries, [(name: "sink", value: sink.id.name), (name: "outcome", value: outcome)],
          count)
      }
    }
    page.histogram(
      "subledger_sink_delivery_seconds", "Time from receipt to a receiver's acceptance.", latencies)
  }
}
