import { fileURLToPath } from 'node:url'
import type { CausewayToStart } from '../harness/causeway-process.ts'

/** The Causeway of this checkout, as the bench measures it. */
export const OWN_CAUSEWAY: CausewayToStart = {
  causeway: fileURLToPath(new URL('../../bin/causeway.js', import.meta.url)),
  nodeOptions: [],
  compression: 'gzip',
}
