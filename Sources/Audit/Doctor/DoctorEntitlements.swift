import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import Store

/// The products that were sold: which entitlements they give, and how long they last.
extension Doctor {
  func examineEntitlements() throws(LedgerError) {
    guard let projection else { return }
    let sold = try projection.soldProducts()
    let reader = try LedgerReader(folder, durations: configuration.durations)
    try examineMapping(sold, reader)
    try examineMappingInForce(reader)
    let (durations, now) = (reader.durations, Clock.now())
    let endless = Set(
      sold.filter { product in
        let app = StreamKey(
          environment: product.environment, bundleId: product.bundleId, originalTransactionId: "")
        return product.type == ProductType.nonRenewing
          && durations[app].duration(of: product.productId, at: now) == nil
      }.map { VisibleText.of($0.productId) })
    if !endless.isEmpty {
      reportFinding(
        "products that do not renew and have no configured duration give access for ever: "
          + endless.sorted().joined(separator: ", "),
        next: "add them to \"nonRenewingDurations\"; see subledger help configuration")
    }
    try examineKinds(sold, projection)
  }

  /// A kind that is not Apple's is in no way wrong where the product has an end.
  private func examineKinds(
    _ sold: [SoldProduct], _ projection: ProjectionReader
  ) throws(LedgerError) {
    let others = Set(
      sold.compactMap { product -> String? in
        guard let type = product.type, !ProductType.all.contains(type) else { return nil }
        return "\(VisibleText.of(product.productId)) (\(VisibleText.of(type)))"
      })
    guard !others.isEmpty, try !projection.anomalous(limit: 1).isEmpty else { return }
    reportFinding(
      "products of kinds that are not Apple's give no access where they have no end: "
        + others.sorted().joined(separator: ", "),
      next: "the column anomaly of entitlement_v1 finds their customers; look for a newer version")
  }

  /// Whether the configured mapping is the one in force.
  private func examineMappingInForce(_ reader: LedgerReader) throws(LedgerError) {
    guard try !reader.mappingsInForce().isEmpty else { return }
    for other in try reader.otherMappings(configuration) {
      let (seq, token) = (other.seq.map { " #\($0)" } ?? "", other.token ?? "nobody yet")
      reportFinding(
        "the configured mapping of \(VisibleText.of(other.app.bundleId)) in "
          + "\(other.app.environment) is not in force, but one that was said by "
          + "\(VisibleText.of(token))\(seq)",
        next: "a daemon puts it in force when it starts or reloads, unless too many would lose an "
          + "entitlement: subledger entitlements --diff FILE says who, --accept FILE does it")
    }
  }

  private func examineMapping(
    _ sold: [SoldProduct], _ reader: LedgerReader
  ) throws(LedgerError) {
    let catalog = configuration.entitlements
    guard !catalog.isEmpty else {
      return report("none configured: /v1/customers answers with rows alone")
    }
    let unmapped = catalog.unmapped(sold, inForce: try reader.namesInForce())
    let names = catalog.names(in: configuration.apps.keys)
    if unmapped.isEmpty {
      report("every product that was sold gives one of \(names.count) configured")
    }
    for found in unmapped {
      let product = VisibleText.of(found.product.productId)
      if let misspelt = found.misspelt.map(VisibleText.of), let name = found.suggestion {
        reportFinding(
          "\(product) of \(VisibleText.of(found.product.bundleId)) was sold and is mapped to "
            + "nothing; \"\(name)\" has \"\(misspelt)\", which nobody bought",
          next: "did you mean \(product)? Correct \"\(misspelt)\" in \"entitlements\"")
        continue
      }
      let likely = found.suggestion.map { "\"\($0)\", as others of its group, or to another of " }
      reportFinding(
        "\(product) of \(VisibleText.of(found.product.bundleId)) was sold and is mapped to nothing",
        next: "add it to "
          + (likely ?? "one of ")
          + "\"entitlements\" in the configuration")
    }
  }
}
