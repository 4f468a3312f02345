import { test } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../../lab/harness/eventually.ts'
import { RunningProgram, type Program } from '../../../lab/harness/processes/running-program.ts'

const USUAL_PATIENCE_MS = 60_000
const LONGEST_TEST_MS = 400_000
const LONGEST_CLEANUP_MS = 90_000

/** The programs and the directory of one test. */
export class Scene implements AsyncDisposable {
  readonly directory: string
  readonly #programs: RunningProgram[] = []
  readonly #others = new AsyncDisposableStack()
  readonly #over = new AbortController()

  private constructor(directory: string) {
    this.directory = directory
  }

  static async open(): Promise<Scene> {
    const parent = process.env['CAUSEWAY_INTEROP_DIRECTORY'] ?? tmpdir()
    return new Scene(await mkdtemp(join(parent, 'causeway-interop-')))
  }

  start(program: Omit<Program, 'directory'>): RunningProgram {
    this.#over.signal.throwIfAborted()
    const running = new RunningProgram({ ...program, directory: this.directory, env: withoutTelemetry() })
    this.#programs.push(running)
    return running
  }

  /** Disposes of something when the test is over. */
  use<Resource extends AsyncDisposable>(resource: Resource): Resource {
    return this.#others.use(resource)
  }

  /** Waits until `probe` no longer throws; what it threw last is the cause, told with the last words of every program. */
  async eventually<T>(probe: () => Promise<T> | T, withinMs = USUAL_PATIENCE_MS): Promise<T> {
    try {
      return await eventually(probe, withinMs, this.#over.signal)
    } catch (error) {
      const words = this.#programs.map((program) => program.lastWords())
      throw new Error([`Waited ${withinMs / 1000} s in vain.`, ...words].join('\n'), { cause: error })
    }
  }

  /** Ends every program at once and removes the directory. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the test is over'))
    await Promise.all(this.#programs.map((program) => program.kill()))
    await this.#others.disposeAsync()
    await rm(this.directory, { recursive: true, force: true })
  }
}

/** What the machine's own telemetry is set to would change what is sent, and where. */
function withoutTelemetry(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('OTEL_')))
}

/**
 * A test that starts real programs. They and its directory are gone when it is over, however it ends. `longestMs` is longer for one
 * that also has Go compile what no cache has yet.
 */
export function sceneTest(
  name: string,
  play: (scene: Scene) => Promise<void>,
  longestMs = LONGEST_TEST_MS,
): void {
  test(name, () => playIn(play, longestMs), longestMs + LONGEST_CLEANUP_MS)
}

async function playIn(play: (scene: Scene) => Promise<void>, longestMs: number): Promise<void> {
  await using scene = await Scene.open()
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  const limit = setTimeout(() => {
    reject(new Error(`The test was not over within ${longestMs / 1000} s.`))
  }, longestMs)
  try {
    await Promise.race([play(scene), tooLate])
  } finally {
    clearTimeout(limit)
  }
}
