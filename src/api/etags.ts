const ETAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g
const MOST = 100

/** The entity tags of an If-None-Match header (RFC 9110, section 13.1.2). */
export function readEtags(header: string | undefined): string[] {
  return (header?.match(ETAG) ?? []).slice(0, MOST)
}
