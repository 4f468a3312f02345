/** How many bytes of stored spans, log records and envelopes were read through a connection. */
export class BytesRead {
  count = 0
}
