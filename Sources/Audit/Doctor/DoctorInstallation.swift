import Glibc
import Ledger
import Platform
import Store

/// The machine: files and who can read them, the clock, and the disk.
extension Doctor {
  func examinePermissions() {
    if let file, let mode = try? FileMode.of(file), mode.isWritableByOthers {
      reportFinding(
        "\(file) can be changed by others (mode \(mode.text))",
        next: "chmod 640 it: anyone who can change it can grant themselves access to everything")
    }
    examineFolder()
  }

  func examineClock() {
    report("it is \(Timestamp.text(now))")
    // 2026-01-01. An earlier time is before this program was written, so the clock was never set.
    if now < 1_767_225_600_000 {
      reportFinding("the clock is years behind", next: "set it, and run a time service")
    }
  }

  private func examineFolder() {
    guard let mode = (try? FileMode.of(folder.path)) ?? nil else {
      return reportFinding(
        "there is no data folder \(folder.path)",
        next: "start the daemon, which makes it, or give the right --data or --config")
    }
    if mode.isOpenToOthers {
      reportFinding(
        "\(folder.path) is open to others (mode \(mode.text))",
        next: "chmod 700 \(folder.path)")
    }
    var isGood = !mode.isOpenToOthers
    for path in [folder.path, folder.journal]
    where access(path, W_OK) != 0 && errno != ENOENT {
      isGood = false
      reportFinding(
        "\(path) cannot be written by this user",
        next: "run doctor as the daemon's user, or chmod u+w \(path)")
    }
    for name in (try? FolderListing.names(folder.path)) ?? [] {
      let path = "\(folder.path)/\(name)"
      guard let own = (try? FileMode.of(path)) ?? nil else { continue }
      // Under a folder of mode 0700 no other user reaches a file, whatever its mode.
      if mode.isOpenToOthers, own.isOpenToOthers {
        isGood = false
        reportFinding(
          "\(path) is open to others (mode \(own.text))", next: "chmod 600 it")
      }
      guard own.owner != mode.owner else { continue }
      isGood = false
      reportFinding(
        "\(path) belongs to \(own.ownerName ?? String(own.owner)), the folder to "
          + (mode.ownerName ?? String(mode.owner)),
        next: "chown -R \(mode.ownerName ?? String(mode.owner)) \(folder.path)")
    }
    if isGood {
      report(
        "\(folder.path) is \(mode.ownerName ?? String(mode.owner))'s alone (mode \(mode.text))")
    }
  }

  func examineDisk() {
    guard let disk = try? DiskSpace.of(folder.path) else { return }
    let minimum = Int64(configuration.limits.diskBytes)
    let size =
      [folder.journal, folder.journalWAL].compactMap { (try? DurableFile.size($0)) ?? nil }
      .reduce(0, +)
    let text =
      "\(ReadableUnits.size(bytes: disk.free)) are free, the journal has "
      + ReadableUnits.size(bytes: size)
    if disk.free < minimum {
      reportFinding(
        text + ": less than diskBytes, \(ReadableUnits.size(bytes: minimum))",
        next: "free some space; until then /readyz answers 503, as notifications do on a full disk")
    } else if disk.free < size / 2 {
      reportFinding(
        text, next: "free some space: a rebuild writes all rows again beside the live ones")
    } else {
      report(text)
    }
  }
}
