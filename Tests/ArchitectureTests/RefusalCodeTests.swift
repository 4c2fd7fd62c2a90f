import Foundation
import Testing

/// Every code that the program refuses with stands in the table of codes.
@Suite struct RefusalCodeTests {
  private static let modules = ["SignedData", "AppStore", "Ledger", "Store", "API"]

  @Test func `every code has an entry`() {
    let patterns = [
      /\.(?:malformed|untrusted|notAdmitted|notFound|unavailable)\("([a-z0-9_]+)"\)/,
      /(?:PayloadFault\(|required: |Problem\.response\(\d+, |[^.]response\(\d+, )"([a-z0-9_]+)"/,
    ]
    let table = Repository.sources.filter { $0.path.hasPrefix("Sources/API/Refusals/") }
      .map(\.text).joined()
    var codes: Set<String> = []
    for file in Repository.sources
    where Self.modules.contains(where: { file.path.hasPrefix("Sources/\($0)/") }) {
      for pattern in patterns {
        codes.formUnion(file.text.matches(of: pattern).map { String($0.1) })
      }
    }
    #expect(codes.count > 80)
    // A root in the configuration refuses the start, no request.
    for code in codes.subtracting(["root_file"]).sorted() {
      #expect(table.contains("\"\(code)\""), "\(code)")
    }
  }
}
