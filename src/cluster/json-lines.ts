const NEWLINE = 10

/** A line that is longer than may be held; how long, so far as it was read. */
export interface LongLine {
  readonly passedOver: number
}

/**
 * The lines of a stream, as many at a time as came together; what stands after the last end of line is no line. No more than
 * `maxBytes` of one are held: a longer one is passed over and told of in its place.
 */
export async function* linesOf(
  stream: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<readonly (Buffer | LongLine)[]> {
  let begun: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    const lines: (Buffer | LongLine)[] = []
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const rest = chunk.subarray(from, end)
      length += rest.length
      lines.push(
        length > maxBytes
          ? { passedOver: length }
          : begun.length === 0
            ? rest
            : Buffer.concat([...begun, rest], length),
      )
      begun = []
      length = 0
      from = end + 1
    }
    const rest = chunk.subarray(from)
    length += rest.length
    if (length > maxBytes) begun = []
    else if (rest.length > 0) begun.push(rest)
    if (lines.length > 0) yield lines
  }
}
