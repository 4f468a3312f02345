const MAX_LENGTH = 1024

/**
 * A message for people, cut to 1,024 UTF-16 units so that it fits gRPC headers, which carry it percent-encoded and
 * again as base64; a character cut in half becomes U+FFFD.
 */
export function cutMessage(message: string): string {
  const cut = message.length > MAX_LENGTH ? `${message.slice(0, MAX_LENGTH - 1)}…` : message
  return cut.toWellFormed()
}
