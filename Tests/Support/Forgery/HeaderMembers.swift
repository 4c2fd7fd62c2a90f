/// Members of a JWS header beside `alg` and `x5c`.
package enum HeaderMembers {
  /// Members that change nothing of what is verified, with values of every kind.
  package static let unknown = [
    #""kid":"../../key""#, #""kid":null"#, #""kid":{"a":[1]}"#, #""typ":"JWT""#, #""typ":1"#,
    #""cty":"JWT""#, #""x5t":"AA""#, #""x5t#S256":"AA""#, #""iat":1767225600"#, #""nonce":"a""#,
    #""url":"http://127.0.0.1:1/""#, #""apple":true"#, #""Crit":["exp"]"#, #""":0"#,
  ]
}
