/** A request that is not OTLP. Its message says where; sending the same bytes again cannot help. */
export class MalformedOtlp extends Error {
  override readonly name = 'MalformedOtlp'
}
