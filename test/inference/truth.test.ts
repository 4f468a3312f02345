import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from '@jest/globals'
import {
  judgeAll,
  judgeSharedNames,
  type JudgedRecording,
  type RecordingOfOneName,
  begunHereAlone,
  renderTruth,
  alsoFromOthers,
  shareRight,
} from '../../lab/evaluation/truth/judge-recordings.ts'

/** How many commits the stories of `gitops` push while Flux looks for them. */
const PUSHED = 6

/** After this it counts as hung. It takes two minutes where nothing else runs. */
const LONGEST_MS = 900_000

/** Programs of the recording `programs` that have no custom resource, by their accounts: a watch alone does not tell them from people. */
const LIKE_PEOPLE = ['inventory', 'job-admitter', 'mesh-injector', 'node-retirer'].map(
  (name) => `system:serviceaccount:controllers:${name}`,
)

let all: JudgedRecording[]
let shared: RecordingOfOneName[]

/** Who wrote what begins a change with a watch alone: audit knows. */
function writersOfBegunAlone(one: JudgedRecording): string[] {
  const versions = all
    .filter(({ recording, view }) => recording === one.recording && view === 'audit and watch')
    .flatMap((audited) => audited.versions)
  return begunHereAlone(one, all).map((begun) => {
    const span = versions.find(({ object, version }) => `${object} ${version}` === begun)?.span ?? ''
    return span.slice(span.lastIndexOf(' ') + 1)
  })
}

beforeAll(async () => {
  all = await judgeAll()
  shared = await judgeSharedNames()
}, LONGEST_MS)

test('what is called exact is what was meant, in every recording', () => {
  const wrong = all.flatMap(({ versions }) =>
    versions.filter(
      ({ claim, verdict }) => claim === 'exact' && (verdict === 'wrong' || verdict === 'mixed'),
    ),
  )
  expect(wrong).toEqual([])
})

test('of what can only come from one step, nearly all is said to come from it', () => {
  for (const { view, versions } of all)
    expect(shareRight(versions)).toBeGreaterThan(view === 'watch alone' ? 0.97 : 0.995)
})

test('of what programs that share a name wrote, nearly all is said to come from what it was meant by', () => {
  expect(shared.map(({ recording, name }) => `${recording} of ${name}`)).toEqual([
    'programs of manager',
    'shops of unknown',
  ])
  for (const { versions } of shared) expect(shareRight(versions)).toBeGreaterThan(0.99)
})

test('hardly anything is said to come from something else too', () => {
  for (const { versions } of all) expect(alsoFromOthers(versions).length).toBeLessThanOrEqual(6)
})

test('of the changes that begin, hardly any begins by nobody known and for no known reason', () => {
  for (const { changes } of all) {
    const unexplained = changes.filter(({ isUnexplained }) => isUnexplained)
    expect(unexplained.length).toBeLessThan(changes.length / 100)
  }
})

test('with a watch alone the same changes begin as with audit, but for a few', () => {
  for (const one of all.filter(({ recording }) => recording !== 'plain'))
    expect(
      writersOfBegunAlone(one).filter((writer) => !LIKE_PEOPLE.includes(writer)).length,
    ).toBeLessThanOrEqual(2)
})

test('each program that is excused from that is taken for a person with a watch alone, and not with audit', () => {
  for (const one of all.filter(({ recording }) => recording === 'programs')) {
    const excused = writersOfBegunAlone(one).filter((writer) => LIKE_PEOPLE.includes(writer))
    expect([...new Set(excused)].sort()).toEqual(one.view === 'watch alone' ? LIKE_PEOPLE : [])
  }
})

test('with a watch alone, controllers without custom resources are taken for people, and nobody else is', () => {
  for (const one of all.filter(({ recording }) => recording === 'plain')) {
    const alone = new Set(begunHereAlone(one, all))
    const actors = one.changes.flatMap(({ object, actor }) => (alone.has(object) ? [actor] : []))
    const expected = one.view === 'watch alone' ? ['namespace-starter'] : []
    expect([...new Set(actors)].sort()).toEqual(expected)
  }
})

test('each commit that was pushed and found begins one change, and its revision is who began that', () => {
  for (const { recording, changes } of all) {
    const revisions = changes.flatMap(({ actor }) => (actor?.includes('@sha1:') === true ? [actor] : []))
    expect(new Set(revisions).size).toBe(recording === 'gitops' ? PUSHED : 0)
    expect(revisions).toHaveLength(new Set(revisions).size)
  }
})

test('docs/reports/truth.md has these figures; lab/evaluation/truth/judge-recordings.ts writes it', async () => {
  const document = readFileSync(new URL('../../docs/reports/truth.md', import.meta.url), 'utf8')
  expect(document).toBe(await renderTruth(all, shared))
})
