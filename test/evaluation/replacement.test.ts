import { beforeAll, describe, expect, test } from '@jest/globals'
import { CASES } from '../../lab/evaluation/replacement/cases.ts'
import type { Verdict } from '../../lab/evaluation/replacement/compare.ts'
import { controlPlane, judge } from '../../lab/evaluation/replacement/measure.ts'
import { METHODS } from '../../lab/evaluation/replacement/methods.ts'
import { playStory } from '../../lab/evaluation/replacement/play-story.ts'

const NEW_CPID = 0
const LAST_UNTIMED = 1
const LAST_TIMED = 2
const FIRST_TIMED = 4

function caseNamed(name: string): Promise<Verdict[]> {
  const found = CASES.find((one) => one.name === name)!
  return judge((instrument) => playStory(found.steps, instrument))
}

test('the methods stand in the order that the numbers here mean', () => {
  expect(METHODS[NEW_CPID]!.name).toContain('new CPID')
  expect(METHODS[LAST_UNTIMED]!.name).toMatch(/last stays; no timestamps/)
  expect(METHODS[LAST_TIMED]!.name).toMatch(/last stays; timestamps/)
  expect(METHODS[FIRST_TIMED]!.name).toMatch(/first stays; timestamps/)
})

test('upper case of Figure 12: what β did before it met α is wrongly given to α, unless timestamps help', async () => {
  const verdicts = await caseNamed('upper case')
  // Two spans of β alone, and α asks for them.
  expect(verdicts[LAST_UNTIMED]).toMatchObject({ wrong: 2, missed: 0 })
  expect(verdicts[LAST_TIMED]).toMatchObject({ wrong: 0, missed: 0 })
  expect(verdicts[NEW_CPID]).toMatchObject({ wrong: 0, missed: 0 })
})

test('lower case of Figure 12: when β has met both, timestamps do not tell α from γ', async () => {
  const verdicts = await caseNamed('lower case')
  expect(verdicts[LAST_UNTIMED]!.wrong).toBeGreaterThan(verdicts[LAST_TIMED]!.wrong)
  // α gets both spans on z, γ the later one on x.
  expect(verdicts[LAST_TIMED]).toMatchObject({ wrong: 3, missed: 0 })
  expect(verdicts[NEW_CPID]).toMatchObject({ wrong: 0, missed: 0 })
})

describe('two operators on one control plane', () => {
  let verdicts: Verdict[]
  beforeAll(async () => {
    verdicts = await judge(controlPlane(201))
  })

  test('a new CPID gives every span to the changes that it follows from', () => {
    expect(verdicts[NEW_CPID]).toMatchObject({ wrong: 0, missed: 0, misattributedSpans: 0 })
    expect(verdicts[NEW_CPID]!.pairs).toBeGreaterThan(verdicts[NEW_CPID]!.spans)
  })

  test('replacement gives spans to changes that they do not follow from, also with timestamps', () => {
    expect(verdicts[LAST_UNTIMED]!.wrong).toBeGreaterThan(verdicts[LAST_TIMED]!.wrong)
    expect(verdicts[LAST_TIMED]!.misattributedSpans).toBeGreaterThan(0)
    expect(verdicts[FIRST_TIMED]!.misattributedSpans).toBeGreaterThan(0)
  })
})
