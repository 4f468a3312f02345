import { parseArgs } from 'node:util'
import { countOf, oneOf } from '../../lab/harness/command-options.ts'
import type { Target } from './target.ts'
import { TARGETS } from './targets.ts'

const NAMES = TARGETS.map(({ name }) => name)

export interface FuzzOptions {
  /** For all targets together. */
  seconds: number
  seed: number
  targets: readonly Target[]
  /** Only name the targets. */
  list: boolean
}

export const USAGE = `npm run fuzz -- [options]
  --target <name>   ${NAMES.join(', ')}; may be given again (all)
  --seconds <n>     how long it takes, shared out among the targets (60)
  --seed <n>        another seed, other inputs (1)
  --list            name the targets and do nothing
Inputs that fail are written to test/fuzz/corpus, where npm test finds them.`

/** Reads the command line; throws an Error that says what to write instead. */
export function readFuzzOptions(args: string[]): FuzzOptions {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      target: { type: 'string', multiple: true, default: NAMES },
      list: { type: 'boolean', default: false },
    },
  })
  const chosen = values.target.map((name) => oneOf('--target', NAMES, name))
  return {
    seconds: countOf('--seconds', values.seconds),
    seed: countOf('--seed', values.seed),
    targets: TARGETS.filter(({ name }) => chosen.includes(name)),
    list: values.list,
  }
}
