import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Sequencer from '@jest/test-sequencer'

/** What takes long, in seconds on two cores. The others are told apart by their size. */
const SECONDS = {
  'inference/truth': 45,
  'query/large-cascade': 25,
  'documents/walk': 40,
  'config/ignored-keys': 20,
  'kit/sqlite': 30,
  'documents/commands': 28,
  'cli/sql': 19,
  'process/sending/logs-out': 16,
  'process/kill': 14,
  'demo/demo-kills': 14,
  'cli/import': 13,
  'process/bombs': 13,
  'evaluation/traceability': 11,
  'demo/demo': 11,
  'process/doctor': 11,
  'process/two-causeways': 10,
  'receiver/slow-senders': 10,
  'process/shutdown': 10,
  'process/thread-ends': 10,
  'audit/audit-views': 9,
  'audit/audit-docs': 9,
  'receiver/hostile-connections': 9,
  'process/reload': 9,
  'linker/recorded-api-server': 9,
  'sqlite/salvage': 8,
  'linker/drives.property': 8,
  'linker/chaos.property': 8,
  'inference/streams-behind': 7,
  'process/up-time': 7,
}

/** A few files that take less than this each are run one after another by jest; of these nobody knows. */
const FAST_MS = 1000

const known = new Map(
  Object.entries(SECONDS).map(([name, seconds]) => [
    fileURLToPath(new URL(`../${name}.test.ts`, import.meta.url)),
    seconds * 1000,
  ]),
)
for (const path of known.keys()) {
  if (!existsSync(path)) throw new Error(`there is no ${path}; slow-first.js names it`)
}

/**
 * Lets slow files start first in a checkout where no tests have run yet, as they do where jest knows how long each one
 * took: a slow one that starts last leaves all cores but one idle.
 */
export default class SlowFirst extends Sequencer {
  time(test) {
    return (
      super.time(test) ??
      known.get(test.path) ??
      FAST_MS + (test.context.hasteFS.getSize(test.path) ?? 0) / 10
    )
  }
}
