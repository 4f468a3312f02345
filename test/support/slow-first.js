import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Sequencer from '@jest/test-sequencer'
import { LONG_TESTS } from './long-tests.js'

/** What takes long among the other tests, in seconds on two slow cores. Files that stand nowhere are told apart by their size. */
const SECONDS = {
  ...LONG_TESTS,
  'graph/every-table': 15,
  'config/ignored-keys': 14,
  'api/traceql-search': 9,
  'api/object-tree': 7,
  'receiver/k8s-admission': 5,
  'api/described-parameters': 5,
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
  if (!existsSync(path)) throw new Error(`there is no ${path}; slow-first.js or long-tests.js names it`)
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
