import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { drawBetween, seededRandom, shuffled } from '../../lab/harness/seeded-random.ts'
import { DemoRun } from './demo-run.ts'

const SEED = Number(process.env['CAUSEWAY_SEED'] ?? 20_260_801)
/** With CAUSEWAY_KILLS, as npm run test:faults has it, everyone is killed, and more than once. */
const IS_LONG = process.env['CAUSEWAY_KILLS'] !== undefined
const ROUNDS = IS_LONG ? 2 : 1
const LONGEST_MS = 400_000

/** Who is killed, and how: what a system, an operator, a terminal and a script do. */
const KILLS: Record<string, (demo: DemoRun) => Promise<void>> = {
  'SIGKILL of the demo': (demo) => killOne(demo, /(?<!bin\/node\.js) examples\/demo\/demo\.ts/),
  'SIGTERM of npm': async ({ pid }) => void process.kill(pid, 'SIGTERM'),
  'a terminal that hangs up': async ({ pid }) => void process.kill(-pid, 'SIGHUP'),
  ...(IS_LONG && {
    'SIGKILL of bin/node.js': (demo) => killOne(demo, /bin\/node\.js examples\/demo\/demo\.ts/),
    'SIGKILL of npm': async ({ pid }) => void process.kill(pid, 'SIGKILL'),
    'Ctrl-C in its terminal': async ({ pid }) => void process.kill(-pid, 'SIGINT'),
  }),
}

/** When: once this was printed, and some milliseconds later. */
const MOMENTS = [
  /node\.js examples\/demo\/demo\.ts .*\n/,
  /Causeway starts/,
  /kubectl +created/,
  /γ = /,
  /Causeway keeps running/,
]
const MAX_MS_LATER = 1_500

const random = seededRandom(SEED)
const cases = Array.from({ length: ROUNDS }, () => {
  const moments = shuffled(random, [...MOMENTS, ...MOMENTS])
  return Object.keys(KILLS).map((kill, index) => ({
    kill,
    moment: moments[index]?.source ?? '',
    later: drawBetween(random, 0, MAX_MS_LATER),
  }))
}).flat()

// Side by side, since all that each does is wait.
test.concurrent.each(cases)(
  `$kill $later ms after it printed /$moment/ leaves no process (CAUSEWAY_SEED=${SEED})`,
  async ({ kill, moment, later }) => {
    await using demo = await DemoRun.start('pipe', '--keep')
    await eventually(() => expect(demo.printed).toMatch(new RegExp(moment)), LONGEST_MS / 2)
    await pause(later)
    await KILLS[kill]?.(demo)
    await demo.untilGone()
    expect(await demo.ending()).not.toMatchObject({ code: 0 })
  },
  LONGEST_MS,
)

/** A moment that is drawn may be one at which it has not been started yet. */
async function killOne(demo: DemoRun, which: RegExp): Promise<void> {
  const pid = await eventually(async () => {
    const found = (await demo.processes()).find(({ args }) => which.test(args) && !/^(npm|sh) /.test(args))
    if (found === undefined) throw new Error(`nothing runs that is ${String(which)}`)
    return found.pid
  })
  process.kill(pid, 'SIGKILL')
}
