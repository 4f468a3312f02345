import type { InferenceData } from '../inference/measure.ts'
import type { Tally } from '../inference/measure-histories.ts'
import type { Right } from '../inference/measure-recording.ts'

interface Aim {
  what: string
  percent: number
  aim: string
  isMet: boolean
}

export function rootsRight({ writes, unseen, wrongRoots }: Tally): number {
  return (100 * (writes - unseen - wrongRoots)) / (writes - unseen)
}

export function parentsRight({ asked, wrongParents }: Tally): number {
  return (100 * (asked - wrongParents)) / asked
}

/** What was read of a recording as it was said to be. */
function recordedRight({ events, requests, templates }: InferenceData['recording']): Right {
  const all = [...Object.values(events), requests, templates]
  return {
    right: all.reduce((sum, { right }) => sum + right, 0),
    of: all.reduce((sum, { of }) => sum + of, 0),
  }
}

/** The aims of inference, and what came out. */
export function aimsOf(data: InferenceData | undefined): Aim[] {
  if (data === undefined) return []
  const [both, watch] = data.histories.sources
  if (both === undefined || watch === undefined) return []
  const { right, of } = recordedRight(data.recording)
  const aims = [
    least('writes given the right changes, audit log and watch', rootsRight(both.all), 99.5),
    least('writes given the right changes, watch alone', rootsRight(watch.all), 98),
    least('the same where the newest was read, audit log and watch', rootsRight(both.ofNewest), 99.5),
    least('the same where the newest was read, watch alone', rootsRight(watch.ofNewest), 97),
    least('causal parents, audit log and watch', parentsRight(both.all), 99),
    least(
      'writes called exact that are',
      (100 * (both.all.exact - both.all.wronglyExact)) / both.all.exact,
      100,
    ),
    least('versions read, of those said in a recording', (100 * right) / of, 99),
  ]
  if ('absent' in data.apps) return aims
  const { writes, wrong } = data.apps
  return [
    ...aims,
    least('writes given no other app’s change, 40 apps', (100 * (writes - wrong)) / writes, 100),
  ]
}

function least(what: string, percent: number, aim: number): Aim {
  return { what, percent, aim: `at least ${aim} %`, isMet: percent >= aim }
}
