import { expect } from '@jest/globals'
import { CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'
import {
  freshSettings,
  type CausewaySettings,
  type SettingsChoice,
} from '../../lab/harness/causeway/causeway-settings.ts'
import { storedMarkers } from '../process/support/marker-span.ts'
import { Victim, type VictimChoice } from './victim.ts'
import { Vitals } from './vitals.ts'

const MIB = 2 ** 20
const isLinux = process.platform === 'linux'
/** What the memory limiter is told that Causeway may take, in MiB; a real one would have more. */
const LIMIT_MIB = 400
/** How far beyond the limiter's limit an attack may push the process: the limiter looks once in a while. */
const MEMORY_OVERSHOOT = 100 * MIB
/** Most descriptors that an attack may have open, unless it says otherwise. */
const MAX_DESCRIPTORS = 4_000
/** Before, meanwhile and after. */
const FEWEST_ANSWERS = 3
const LONGEST_ATTACK_MS = 20_000

interface AttackedChoice extends SettingsChoice {
  /** Laid over the configuration; an extension in it is switched on, and `service.extensions` must not stand in it. */
  patch?: Record<string, unknown>
  /** The limit of open files that the process is started with. */
  openFiles?: number
  /** The limit of the memory limiter, in MiB. */
  limitMib?: number
  /** Most descriptors that the process may have open at any time. */
  mostDescriptors?: number
  victim?: VictimChoice
  /** How often the victim may have to try again; as often as it likes unless given. */
  mostTriesAgain?: number
}

interface AttackOptions {
  /** What is attacked, for the line that is printed. */
  what: string
  /** After so many milliseconds the attack is told to end. */
  longestMs?: number
}

/** Gives itself up to an attack; `signal` tells when to end. Attackers come from 127.0.0.1, the victim from 127.0.0.2. */
type Attack = (settings: CausewaySettings, signal: AbortSignal) => Promise<void>

/** To be called once in every file of attacks: what a test leaves running makes it fail. */
export { leaveNothingBehind }

/**
 * A real Causeway on free ports of this machine, with a memory limiter that is at work, and a victim who sends and asks
 * through every listener while it is attacked.
 */
export class AttackedCauseway implements AsyncDisposable {
  readonly settings: CausewaySettings
  readonly #process: CausewayProcess
  readonly #choice: AttackedChoice

  private constructor(process: CausewayProcess, choice: AttackedChoice) {
    this.#process = process
    this.settings = process.settings
    this.#choice = choice
  }

  /** Resolves once it is healthy. */
  static async start(choice: AttackedChoice = {}): Promise<AttackedCauseway> {
    if (!isLinux) throw new Error('attacks are measured in /proc, which Linux has')
    const { patch = {}, openFiles, limitMib = LIMIT_MIB, ...settingsChoice } = choice
    const settings = await freshSettings(settingsChoice)
    const limiter = { limit_mib: limitMib, check_interval: '200ms' }
    const extensions = { memory_limiter: limiter, ...(patch['extensions'] as object | undefined) }
    settings.patch = { ...patch, extensions }
    const through =
      openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'limited']
    const causeway = new CausewayProcess(settings, undefined, through)
    await causeway.ready()
    return new AttackedCauseway(causeway, choice)
  }

  get pid(): number {
    return this.#process.pid
  }

  /** What it has written to its standard error. */
  get errors(): string {
    return this.#process.errors
  }

  /**
   * Lets the attack go on until it ends or its time is up, the victim sending and asking before, meanwhile and after. Then
   * all that every attack has to leave whole is expected: every request of the victim answered as it should be, memory and
   * descriptors within their bounds, the process alive, so that it ends in order when it is told to, and every span that the
   * victim was told is stored there once.
   */
  async withstands(attack: Attack, { what, longestMs = LONGEST_ATTACK_MS }: AttackOptions): Promise<void> {
    const { limitMib = LIMIT_MIB, mostDescriptors = MAX_DESCRIPTORS } = this.#choice
    const over = new AbortController()
    const timer = setTimeout(() => over.abort(), longestMs)
    using vitals = new Vitals(this.pid)
    using victim = new Victim(this.settings, this.#choice.victim)
    await victim.oneRound()
    victim.goOn()
    try {
      await attack(this.settings, over.signal)
    } finally {
      clearTimeout(timer)
      over.abort()
      await victim.stop()
    }
    await victim.oneRound()
    vitals.look()
    process.stderr.write(`${what}: ${victim.summary}; ${vitals.summary}\n`)
    expect(victim.failures).toEqual([])
    expect(victim.triedAgain).toBeLessThanOrEqual(this.#choice.mostTriesAgain ?? Infinity)
    expect(victim.fewestAnswers).toBeGreaterThanOrEqual(FEWEST_ANSWERS)
    expect(vitals.memoryBytes).toBeLessThan(limitMib * MIB + MEMORY_OVERSHOOT)
    expect(vitals.descriptors).toBeLessThanOrEqual(mostDescriptors)
    expect(await this.#process.end('SIGTERM')).toEqual({ code: 0, signal: null })
    const stored = storedMarkers(this.settings)
    expect(stored.filter((id, at) => stored.indexOf(id) !== at)).toEqual([])
    expect([...victim.acknowledged].filter((id) => !stored.includes(id))).toEqual([])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
  }
}
