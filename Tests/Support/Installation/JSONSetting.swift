package import StrictJSON

extension JSONValue {
  /// A copy with the member at a path of names and dots set, or removed if the value is nil.
  package func setting(_ path: String, _ value: JSONValue?) -> JSONValue {
    setting(path.split(separator: ".").map(String.init)[...], value)
  }

  private func setting(_ path: ArraySlice<String>, _ value: JSONValue?) -> JSONValue {
    guard let name = path.first, case .object(var members) = self else { return value ?? .null }
    let index = members.firstIndex { $0.0 == name }
    let rest = path.dropFirst()
    let new = rest.isEmpty ? value : (self[name] ?? .object([])).setting(rest, value)
    switch (index, new) {
    case (let index?, let new?): members[index].1 = new
    case (let index?, nil): members.remove(at: index)
    case (nil, let new?): members.append((name, new))
    case (nil, nil): break
    }
    return .object(members)
  }
}
