import { randomBytes } from 'node:crypto'

/** A name for an object made for another: `web` gives `web-7c9f6`. */
export function shortName(owner: string): string {
  return `${owner}-${randomBytes(3).toString('hex').slice(1)}`
}
