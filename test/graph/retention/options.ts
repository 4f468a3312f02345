import { parseArgs } from 'node:util'
import { countOf } from '../../../lab/harness/command-options.ts'

export interface RetentionOptions {
  minutes: number
  /** Of the first life; each after it has the next number. */
  seed: number
  /** Only this one life. */
  one: boolean
}

export const USAGE = `npm run test:retention -- [options]
  --minutes <n>   how long lives are drawn and lived (1)
  --seed <n>      the seed of the first; those after it count up from there (of the time)
  --only <n>      only the life of this seed
Each seed whose life loses something, throws or leaves something behind is printed with the least of it that still does.`

const MINUTES = '1'

/** Reads the command line; throws an Error that says what to write instead. */
export function readRetentionOptions(args: string[], seedOfTime: number): RetentionOptions {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: MINUTES },
      seed: { type: 'string' },
      only: { type: 'string' },
    },
  })
  const seed = values.only ?? values.seed
  return {
    minutes: countOf('--minutes', values.minutes),
    seed: seed === undefined ? seedOfTime : countOf(values.only === undefined ? '--seed' : '--only', seed),
    one: values.only !== undefined,
  }
}
