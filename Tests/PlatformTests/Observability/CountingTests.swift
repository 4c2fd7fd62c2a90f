import Platform
import Testing

/// Counters, histograms, and their Prometheus text.
@Suite struct CountingTests {
  @Test func `a family counts keys past its maximum under the other key`() {
    let family = CounterFamily<Int>(maximum: 100, other: -1)
    for number in 0..<5000 { family.add(number) }
    family.add(0)
    let samples = family.samples
    #expect(samples.map(\.key) == Array(-1..<100))
    #expect(samples[0].count == 4900 && samples[1].count == 2 && samples[2].count == 1)
  }

  @Test func `concurrent additions are all counted`() async {
    let (family, counter, histogram) = (
      CounterFamily<String>(maximum: 1, other: "o"), Counter(), Histogram([1])
    )
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1000 {
            family.add("c")
            counter.add()
            histogram.observe(2)
          }
        }
      }
    }
    #expect(family.samples.map(\.count) == [8000] && counter.value == 8000)
    #expect(histogram.reading.cumulative == [0, 8000] && histogram.reading.sum == 16_000)
  }

  @Test func `a bucket contains its upper bound`() {
    let histogram = Histogram([0.5, 1, 2])
    for value in [0, 0.5, 0.50001, 1, 2, 2.1, 1e9] { histogram.observe(value) }
    #expect(histogram.reading.cumulative == [2, 4, 5, 7])
  }

  @Test func `writes counters, gauges and histograms in the text format`() {
    var page = PrometheusText()
    page.family("a_total", .counter, "Help\nwith \\ in it.")
    page.sample("a_total", [(name: "x", value: "q\"b\\n\n\u{202E}")], Int64(1))
    page.single("b", .gauge, "Two.", 2)
    let histogram = Histogram([0.25, 10])
    histogram.observe(0.125)
    page.histogram("c_seconds", "Three.", histogram)
    #expect(
      page.text == """
        # HELP a_total Help\\nwith \\\\ in it.
        # TYPE a_total counter
        a_total{x="q\\"b\\\\n<U+A><U+202E>"} 1
        # HELP b Two.
        # TYPE b gauge
        b 2
        # HELP c_seconds Three.
        # TYPE c_seconds histogram
        c_seconds_bucket{le="0.25"} 1
        c_seconds_bucket{le="10"} 1
        c_seconds_bucket{le="+Inf"} 1
        c_seconds_sum 0.125
        c_seconds_count 1

        """)
  }
}
