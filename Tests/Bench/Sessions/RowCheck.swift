/// Reads rows back, so that no measurement is of a daemon that does not work.
enum RowCheck {
  /// Requires that a row has folded exactly `count` events.
  ///
  /// - Throws: `BenchError.unmeasurable` if it has not.
  static func require(events count: Int, of id: String, _ port: UInt16) throws(BenchError) {
    let report = try LoadGenerator.run(
      Reads([id]), connections: 1, port: port, marker: #""event_count":\#(count),"#)
    guard report.good == 1 else {
      throw .unmeasurable("the row of \(id) has not folded its \(count) accepted events")
    }
  }
}

extension Report {
  /// Measures reads of these rows in turn, after some reads that open the readers and fill caches.
  ///
  /// - Throws: `BenchError.unmeasurable` if an answer is not an entitlement.
  mutating func addReads(
    _ ids: [String], _ port: UInt16, _ options: Options
  ) throws(BenchError) {
    let warmUp = Reads(ids.prefix(1_000))
    for requests in [warmUp, Reads(ids, count: Session.reads)] {
      let reads = try LoadGenerator.run(
        requests, connections: options.connections, port: port,
        marker: #""object":"entitlement""#)
      try reads.requireAllGood("reads")
      guard requests.count == Session.reads else { continue }
      add(
        "reads", "reads of one row, \(options.connections) connections", reads.rate, "/s",
        target: (.atLeast(40_000), .value))
    }
  }
}
