/// The console: pages that show what the public read routes answer. Plain files without a build
/// step, embedded in the binary; they load nothing from other hosts.
public enum Console {
  /// One file, with the path and the media type that it is served with.
  public struct Page: Sendable {
    public let path: String
    public let mediaType: String
    public let bytes: [UInt8]
  }

  private static let script = "text/javascript; charset=utf-8"

  /// All files of the console.
  public static let pages: [Page] = [
    Page(
      path: "/console", mediaType: "text/html; charset=utf-8",
      bytes: PackageResources.index_html),
    Page(
      path: "/console/style.css", mediaType: "text/css; charset=utf-8",
      bytes: PackageResources.style_css),
    Page(path: "/console/main.js", mediaType: script, bytes: PackageResources.main_js),
    Page(path: "/console/draw.js", mediaType: script, bytes: PackageResources.draw_js),
    Page(path: "/console/overview.js", mediaType: script, bytes: PackageResources.overview_js),
    Page(path: "/console/customer.js", mediaType: script, bytes: PackageResources.customer_js),
    Page(path: "/console/timeline.js", mediaType: script, bytes: PackageResources.timeline_js),
    Page(path: "/console/rebuild.js", mediaType: script, bytes: PackageResources.rebuild_js),
  ]
}
