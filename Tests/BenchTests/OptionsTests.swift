import Testing

@testable import subledger_bench

/// The command line of `subledger-bench`, and targets.
@Suite struct OptionsTests {
  @Test func `each form accepts only its own flags`() throws {
    #expect(try Options(["--customers", "500"]).customers == 500)
    let large = try Options(["--large", "--events", "300000", "--data", "d"])
    #expect(large.isLarge && large.events == 300_000)
    let siege = try Options(["--siege", "--input", "f"])
    #expect(siege.isSiege && siege.customers == 1_500 && siege.input == "f")
    #expect(try Options(["--customers", "500", "--siege"]).customers == 500)
    let wrong = [
      ["--siege", "--large"], ["--siege", "--events", "300000"], ["--siege", "--connections", "5"],
      ["--events", "300000"], ["--large", "--customers", "500"], ["--large", "--input", "f"],
      ["--customers", "1"], ["--large", "--events", "5"], ["--events"], ["--what"],
    ]
    for arguments in wrong {
      #expect(throws: BenchError.self, "\(arguments)") { try Options(arguments) }
    }
  }

  @Test func `a target applies to the value or to the ratio`() {
    let value = Measurement("a", "a", 5, "ms", ratio: (2, "×"), target: (.atMost(5), .value))
    #expect(value.isMet == true)
    let ratio = Measurement("a", "a", 5, "ms", ratio: (2, "×"), target: (.atLeast(3), .ratio))
    #expect(ratio.isMet == false)
    #expect(Measurement("a", "a", 5, "ms").isMet == nil)
  }
}
