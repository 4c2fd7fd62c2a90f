import Audit

/// Checks as text.
extension DoctorCheck {
  /// One line, marked if something is wrong; then what to do about it.
  var text: String {
    let line = (isFinding ? "✗ " : "  ") + topic.padded(to: 15) + what
    guard let next else { return line }
    var lines = TextWrapper()
    lines.add("→ " + next, indent: 4, hanging: 6)
    return line + "\n" + lines.text
  }
}
