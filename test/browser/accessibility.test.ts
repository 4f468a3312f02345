import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { rollout, type Rollout } from '../support/rollout.ts'
import { accessibilityFaults, Dashboard } from './support/dashboard.ts'

let dashboard: Dashboard
let web: Rollout

beforeAll(async () => {
  dashboard = await Dashboard.start()
  web = rollout({ number: 1, atMs: 0, name: 'web', pods: 3 })
  const torn = rollout({ number: 2, atMs: 9_000, name: 'torn', pods: 1, losesMergelog: true })
  await dashboard.send([...web.requests, ...torn.requests])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

const SCREENS = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  narrow: { colorScheme: 'dark', viewport: { width: 390, height: 800 } },
} as const

const VIEWS: [name: string, path: () => string, sign: RegExp][] = [
  ['the list', () => '/', /deployments default\/web/],
  ['an empty list', () => '/?object=nowhere', /No cascade matches/],
  ['a flame graph', () => `/cascades/${web.alpha}?q=pull`, /Longest step/],
  ['a flame graph as a table', () => `/cascades/${web.alpha}?as=table`, /In time/],
  ['a critical path', () => `/cascades/${web.alpha}?view=critical`, /Each step waited/],
  ['objects', () => `/cascades/${web.alpha}?view=objects`, /only observed it/],
  ['objects as a table', () => `/cascades/${web.alpha}?view=objects&as=table`, /Observed by spans/],
  ['times', () => `/cascades/${web.alpha}?view=times`, /By kind of object/],
  ['merges', () => `/cascades/${web.alpha}?view=merges`, /kubectl applied service web/],
  ['missing mergelogs', () => '/cascades/00000000-0000-4000-8000-0000000007d3', /has not arrived/],
  ['a merge graph', () => `/cpids/${web.gamma}`, /Causes are on the left/],
  ['a merge graph as a table', () => `/cpids/${web.gamma}?view=table`, /Steps away/],
  ['a comparison', () => `/cascades/${web.alpha}/compare/${web.beta}`, /B took/],
  ['a choice to compare with', () => `/compare?a=${web.alpha}`, /services default\/web/],
  ['what was found', () => '/find?q=web', /Objects/],
  ['an object', () => '/objects?ref=v1/pods/default/web-7c9f6-b0', /Had read/],
  ['what happened to an object', () => '/objects?ref=v1/pods/default/web-7c9f6-b0&view=history', /wrote it/],
  ['an error', () => '/cascades/nonsense', /This is not a CPID/],
]

test.each(VIEWS)('%s is usable by all, light, dark and narrow', async (_name, path, sign) => {
  for (const [screen, options] of Object.entries(SCREENS)) {
    const page = await dashboard.open(path(), options)
    await page.getByText(sign).first().waitFor()
    expect({ screen, faults: await accessibilityFaults(page) }).toEqual({ screen, faults: [] })
    const widerBy = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
    expect({ screen, widerBy }).toEqual({ screen, widerBy: 0 })
    await page.context().close()
  }
})

test('span details are usable by all', async () => {
  for (const [screen, options] of Object.entries(SCREENS)) {
    const page = await dashboard.open(`/cascades/${web.alpha}?as=table`, options)
    await page.getByRole('button', { name: 'reconcile Deployment' }).click()
    await page.getByText('cpid.observed').waitFor()
    expect({ screen, faults: await accessibilityFaults(page) }).toEqual({ screen, faults: [] })
    await page.context().close()
  }
})

test('the colours follow the system until one is chosen, and stay chosen', async () => {
  const page = await dashboard.open('/', { colorScheme: 'dark' })
  const ground = () =>
    page.locator('html').evaluate((html) => {
      return getComputedStyle(html).backgroundColor
    })
  const dark = await ground()
  await page.emulateMedia({ colorScheme: 'light' })
  await eventually(async () => expect(await ground()).not.toBe(dark))
  await page.getByLabel('Colours').selectOption('dark')
  await eventually(async () => expect(await ground()).toBe(dark))
  await page.reload()
  await page.getByText('deployments').first().waitFor()
  expect(await ground()).toBe(dark)
})
