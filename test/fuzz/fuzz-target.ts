import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Coverage } from './coverage.ts'
import { mutate } from './mutate.ts'
import { SeededRandom } from './seeded-random.ts'
import type { Target } from './target.ts'

const CORPUS = join(import.meta.dirname, 'corpus')
const MAX_A_ROUND = 50

/** An input that a target does not stand. */
class FuzzFailure extends Error {
  readonly input: Buffer

  constructor(target: string, input: Buffer, cause: unknown) {
    const reason = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    super(
      `${target} does not stand ${input.length} bytes (base64 ${input.toString('base64').slice(0, 400)}): ${reason}`,
    )
    this.input = input
  }
}

interface FuzzRun {
  readonly seed: number
  /** Asked before each input. */
  readonly goesOn: (executions: number) => boolean
  /** Inputs that reach something new are kept and mutated on. */
  readonly coverage?: Coverage
}

interface FuzzResult {
  readonly executions: number
  /** Inputs kept for what they reached. */
  readonly kept: number
  readonly failures: readonly FuzzFailure[]
}

/** Inputs that failed once. */
export function corpusOf(target: string): { name: string; input: Buffer }[] {
  return readdirSync(CORPUS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name === target)
    .flatMap(({ name: folder }) =>
      readdirSync(join(CORPUS, folder)).map((name) => ({
        name,
        input: readFileSync(join(CORPUS, folder, name)),
      })),
    )
}

/** Runs mutations of a target's seeds and corpus. Different failures are told apart by where they were thrown. */
export async function fuzz(target: Target, { seed, goesOn, coverage }: FuzzRun): Promise<FuzzResult> {
  const random = new SeededRandom(seed)
  const corpus = [...target.seeds(), ...corpusOf(target.name).map(({ input }) => input)]
  const failures = new Map<string, FuzzFailure>()
  const tryOut = async (input: Buffer): Promise<void> => {
    try {
      await target.run(input)
    } catch (error) {
      const failure = new FuzzFailure(target.name, input, error)
      const stack = error instanceof Error ? (error.stack ?? '') : String(error)
      const place =
        stack
          .split('\n')
          .filter((line) => line.includes(' at '))
          .slice(0, 2)
          .join() || stack
      if ((failures.get(place)?.input.length ?? Infinity) > input.length) failures.set(place, failure)
    }
  }
  for (const input of corpus) await tryOut(input)
  coverage?.take()
  const before = corpus.length
  let executions = corpus.length
  while (goesOn(executions)) {
    const round: Buffer[] = []
    while (round.length < MAX_A_ROUND && goesOn(executions)) {
      const input = mutate(target, corpus, random)
      round.push(input)
      await tryOut(input)
      executions++
    }
    if (coverage === undefined || coverage.take({ peek: true }) === 0) continue
    for (const input of round) {
      await tryOut(input)
      if (coverage.take() > 0) corpus.push(input)
    }
  }
  return { executions, kept: corpus.length - before, failures: [...failures.values()] }
}
