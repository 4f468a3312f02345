import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { optionsGiven } from '../../../lab/harness/command-options.ts'
import { lives } from './drawn-life.ts'
import type { Life } from './life.ts'
import { readRetentionOptions, USAGE, type RetentionOptions } from './options.ts'
import { kindOf, shorter } from './shorter.ts'
import { live } from './world.ts'

/** How long a life that failed is made shorter. */
const SHORTER_MS = 60_000
/** Of faults alike only so many are made shorter. */
const SHOWN_OF_A_KIND = 3
const SAY_EVERY_MS = 60_000
/** Seeds of other runs are far away. */
const SEEDS = 2 ** 31 - 2 ** 24

/** Lives one life after another until the time is over; returns how many failed. */
async function liveAll({ minutes, seed: first, one }: RetentionOptions): Promise<number> {
  const startedMs = performance.now()
  const untilMs = startedMs + minutes * 60_000
  const kinds = new Map<string, number>()
  let failed = 0
  let seed = first
  let saidMs = startedMs
  console.log(`from seed ${first}, for ${minutes} minutes`)
  do {
    const fault = await lived(seed, kinds)
    // What is gone gives its memory back between turns of the event loop alone.
    await setImmediate()
    if (fault) failed++
    seed++
    if (performance.now() - saidMs >= SAY_EVERY_MS) {
      saidMs += SAY_EVERY_MS
      const minute = Math.round((performance.now() - startedMs) / 60_000)
      console.log(`after ${minute} minutes: ${seed - first} lives up to seed ${seed - 1}, ${failed} failed`)
    }
  } while (!one && performance.now() < untilMs)
  console.log(`${seed - first} lives, seeds ${first} to ${seed - 1}: ${failed} failed`)
  for (const [kind, count] of kinds) console.log(`  ${count} times: ${kind}`)
  return failed
}

/** True when the life of this seed failed. */
async function lived(seed: number, kinds: Map<string, number>): Promise<boolean> {
  const life = drawn(seed)
  const fault = await faultOf(life)
  if (fault === undefined) return false
  const kind = kindOf(fault)
  const count = (kinds.get(kind) ?? 0) + 1
  kinds.set(kind, count)
  console.error(`seed ${seed}: ${kind}`)
  if (count > SHOWN_OF_A_KIND) return true
  const untilMs = performance.now() + SHORTER_MS
  const least = await shorter(life, fault, faultOf, () => performance.now() < untilMs)
  const { settings, steps, endsAnew } = least
  const lines = [{ settings, endsAnew }, ...steps].map((part) => `  ${JSON.stringify(part)}`)
  console.error([...lines, (await faultOf(least))?.stack ?? ''].join('\n'))
  return true
}

function drawn(seed: number): Life {
  const [life] = fc.sample(lives, { seed, numRuns: 1 })
  if (life === undefined) throw new Error(`no life was drawn from seed ${seed}`)
  return life
}

async function faultOf(life: Life): Promise<Error | undefined> {
  try {
    await live(life)
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

const options = optionsGiven(USAGE, (args) => readRetentionOptions(args, Date.now() % SEEDS))
if (options !== undefined) process.exitCode = (await liveAll(options)) === 0 ? 0 : 1
