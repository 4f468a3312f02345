import { createHash } from 'node:crypto'
import { stripTypeScriptTypes } from 'node:module'

/** Lets jest run TypeScript as Node itself does: types are stripped, nothing is compiled. */
const process = (code) => ({ code: stripTypeScriptTypes(code) })

export default {
  process,
  processAsync: (code) => Promise.resolve(process(code)),
  getCacheKey: (code) => createHash('sha256').update(code).update(globalThis.process.version).digest('hex'),
}
