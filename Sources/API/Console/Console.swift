/// The console: pages that show what the public read routes answer. Plain files without a build
/// step, embedded in the binary; they load nothing from other hosts.
public enum Console {
  /// One file, with the path and the media type that it is served with.
  public struct Page: Sendable {
    public let path: String
    public let mediaType: String
    public let bytes: [UInt8]
  }

  private static func script(_ name: String, _ bytes: [UInt8]) -> Page {
    Page(
      path: "/console/\(name).js", mediaType: "text/javascript; charset=utf-8", bytes: bytes)
  }

  /// All files of the console.
  public static let pages: [Page] = [
    Page(
      path: "/console", mediaType: "text/html; charset=utf-8",
      bytes: PackageResources.index_html),
    Page(
      path: "/console/style.css", mediaType: "text/css; charset=utf-8",
      bytes: PackageResources.style_css),
    script("main", PackageResources.main_js),
    script("api", PackageResources.api_js),
    script("draw", PackageResources.draw_js),
    script("names", PackageResources.names_js),
    script("overview", PackageResources.overview_js),
    script("chart", PackageResources.chart_js),
    script("subscriptions", PackageResources.subscriptions_js),
    script("subscription", PackageResources.subscription_js),
    script("timeline", PackageResources.timeline_js),
    script("customer", PackageResources.customer_js),
    script("grants", PackageResources.grants_js),
    script("history", PackageResources.history_js),
    script("moment", PackageResources.moment_js),
    script("events", PackageResources.events_js),
    script("event", PackageResources.event_js),
    script("refunds", PackageResources.refunds_js),
    script("reports", PackageResources.reports_js),
    script("quarantine", PackageResources.quarantine_js),
    script("sinks", PackageResources.sinks_js),
    script("recovery", PackageResources.recovery_js),
    script("rebuild", PackageResources.rebuild_js),
  ]
}
