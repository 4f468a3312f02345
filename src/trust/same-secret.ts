import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const KEY = randomBytes(32)

/** A digest to compare secrets by; it means nothing outside this process. */
export function digestOf(secret: string): Buffer {
  return createHmac('sha256', KEY).update(secret).digest()
}

/** Whether one of the digests is that of the secret; takes as long whichever it is, and if it is none. */
export function includesSecret(secret: string, digests: readonly Buffer[]): boolean {
  const asked = digestOf(secret)
  let found = false
  for (const digest of digests) if (timingSafeEqual(digest, asked)) found = true
  return found
}
