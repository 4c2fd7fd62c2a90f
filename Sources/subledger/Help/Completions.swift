import AppStore
import Platform
import Queries

/// Completions for a shell, made from the table that `--help` is made from.
enum Completions {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    switch try arguments.operand("bash, zsh or fish") {
    case "bash": Terminal.print(bash)
    case "zsh": Terminal.print(zsh)
    case "fish": Terminal.print(fish)
    case let shell: throw .usage("unknown shell '\(shell)'; the shells are bash, zsh or fish")
    }
    return .good
  }

  private static var commands: [Command] { CommandTable.commands }

  private static func flags(_ command: Command) -> [Command.Flag] {
    command.flags + command.common + [.help]
  }

  /// The fixed operands of a command; `help` also takes the names of commands.
  private static func operands(_ command: Command) -> [String] {
    command.operands + (command.name == "help" ? commands.map(\.name) : [])
  }

  /// Prints the names of the configured sinks, the second operand of `sink`.
  private static let sinkNames = #"subledger sink list 2>/dev/null | tail -n +2 | cut -d" " -f1"#

  /// Flags whose value is a path on this machine.
  private static func isPath(_ flag: Command.Flag) -> Bool {
    ["FILE", "DIR", "FILE|-"].contains(flag.value)
  }

  /// The values that a flag takes, where they are few.
  private static func choices(_ flag: Command.Flag) -> String? {
    switch flag.name {
    case "--environment": Environment.all.map(\.rawValue).joined(separator: " ")
    case "--by" where flag.value == "KIND": IdKind.allCases.map(\.rawValue).joined(separator: " ")
    default: ["now", "signed"].contains(flag.value) ? flag.value : nil
    }
  }

  private typealias IdKind = LedgerReader.CustomerQuestion.IdKind

  // MARK: bash

  private static var bash: String {
    let names = commands.map(\.name).joined(separator: " ")
    var cases = ""
    for command in commands {
      let flags = flags(command).map(\.name).joined(separator: " ")
      let operands = operands(command).joined(separator: " ")
      let second =
        command.name == "sink"
        ? "\n      [ \"$COMP_CWORD\" -lt 3 ] || operands=$(\(sinkNames))" : ""
      cases += "    \(command.name)) flags='\(flags)' operands='\(operands)'\(second) ;;\n"
    }
    let paths = Set(commands.flatMap(flags).filter(isPath).map { "*' \($0.name)'" }).sorted()
    let valued = commands.flatMap(flags).filter { $0.value != nil && !isPath($0) }
    let open = Set(valued.filter { choices($0) == nil }.map { "*' \($0.name)'" }).sorted()
    // A flag of one name may take other values in another command.
    var places: [String: [String]] = [:]
    for command in commands {
      for flag in flags(command) {
        guard let choices = choices(flag) else { continue }
        places[choices, default: []].append("'\(command.name) \(flag.name)'")
      }
    }
    let closed = places.sorted { $0.key < $1.key }.map { choices, places in
      "    \(places.joined(separator: "|")))\n"
        + "      COMPREPLY=($(compgen -W '\(choices)' -- \"$word\")); return ;;"
    }.joined(separator: "\n")
    return """
      # bash completion for subledger
      _subledger() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= operands=
        COMPREPLY=()
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W '\(names) --help --version' -- "$word"))
          return
        fi
        case "${COMP_WORDS[1]} $before" in
      \(closed)
          \(paths.joined(separator: "|"))) compopt -o filenames
            COMPREPLY=($(compgen -f -- "$word")); return ;;
          \(open.joined(separator: "|"))) return ;;
        esac
        case ${COMP_WORDS[1]} in
      \(cases)  esac
        case $word in
          -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
          *) COMPREPLY=($(compgen -W "$operands" -- "$word"))
            [ ${#COMPREPLY[@]} -gt 0 ] || { compopt -o filenames
              COMPREPLY=($(compgen -f -- "$word")); } ;;
        esac
      }
      complete -F _subledger subledger
      """
  }

  // MARK: zsh

  /// Quoted for zsh's single quotes, and for what `_arguments` and `_describe` split at.
  private static func zshText(_ text: String) -> String {
    text.replacing("'", with: "'\\''").replacing("[", with: "\\[").replacing("]", with: "\\]")
      .replacing(":", with: "\\:")
  }

  private static var zsh: String {
    let list = commands.map { "    '\($0.name):\(zshText($0.summary))'" }
      .joined(separator: "\n")
    var cases = ""
    for command in commands {
      var lines = flags(command).map { flag in
        let action = isPath(flag) ? ":_files" : choices(flag).map { ":(\($0))" } ?? ":"
        let value = flag.value.map { ":\(zshText($0))\(action)" } ?? ""
        return "        '\(flag.name)[\(zshText(flag.meaning))]\(value)'"
      }
      let operands = operands(command).joined(separator: " ")
      if command.name == "sink" { lines.append("        '2: :{compadd -- $(\(sinkNames))}'") }
      lines.append("        '*: :\(operands.isEmpty ? "_files" : "(\(operands))")'")
      cases += "    \(command.name)) _arguments \\\n\(lines.joined(separator: " \\\n")) ;;\n"
    }
    return """
      #compdef subledger
      _subledger() {
        local -a commands
        commands=(
      \(list)
        )
        if (( CURRENT == 2 )); then
          _describe command commands
          return
        fi
        local name=$words[2]
        shift words
        (( CURRENT-- ))
        case $name in
      \(cases)  esac
      }
      if [ "$funcstack[1]" = _subledger ]; then _subledger "$@"
      else compdef _subledger subledger; fi
      """
  }

  // MARK: fish

  private static func fishText(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
  }

  private static var fish: String {
    var lines = ["# fish completion for subledger", "complete -c subledger -f"]
    for command in commands {
      lines.append(
        "complete -c subledger -n __fish_use_subcommand -a \(command.name) "
          + "-d '\(fishText(command.summary))'")
      let condition = "-n '__fish_seen_subcommand_from \(command.name)'"
      let operands = operands(command).joined(separator: " ")
      lines.append(
        "complete -c subledger \(condition) " + (operands.isEmpty ? "-F" : "-a '\(operands)'"))
      if command.name == "sink" {
        lines.append("complete -c subledger \(condition) -a '(\(sinkNames))'")
      }
      for flag in flags(command) {
        var line = "complete -c subledger \(condition) -l \(flag.name.dropFirst(2))"
        if let choices = choices(flag) {
          line += " -x -a '\(choices)'"
        } else if flag.value != nil {
          line += isPath(flag) ? " -r -F" : " -x"
        }
        lines.append(line + " -d '\(fishText(flag.meaning))'")
      }
    }
    return lines.joined(separator: "\n")
  }
}
