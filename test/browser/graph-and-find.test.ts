import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { rollout, type Rollout } from '../support/rollout.ts'
import { Dashboard } from './support/dashboard.ts'

const NASTY = 'v1/pods/default/<img src=x onerror=alert(1)>"\'%&amp;'
const NASTY_SERVICE = '"><script>alert(2)</script>'

/** It begins as no other CPID here does. */
const OWN_DIGITS = 'dfd6a0d7-115b-4a53-8016-5f112e033bdb'

let dashboard: Dashboard
let web: Rollout

beforeAll(async () => {
  dashboard = await Dashboard.start()
  web = rollout({ number: 1, atMs: 0, name: 'web', pods: 1 })
  const nasty = cpid(7)
  await dashboard.send([
    ...web.requests,
    {
      signal: 'logs',
      bytes: mergelogsRequest(NASTY_SERVICE, [{ new: nasty, object: NASTY, reason: '<b>bold</b>' }], '<i>'),
    },
    {
      signal: 'logs',
      bytes: mergelogsRequest('kubectl', [{ new: OWN_DIGITS, object: 'v1/secrets/default/own' }]),
    },
    {
      signal: 'traces',
      bytes: spansRequest(NASTY_SERVICE, [
        {
          trace: 9,
          id: 1,
          name: '<h1>span</h1>',
          cpid: nasty,
          attributes: { '<u>key</u>': '<script>alert(3)</script>', 'cpid.wrote': [`${NASTY}?rv=1`] },
        },
      ]),
    },
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test('the merge graph shows both ways, and leads to the cascade of the other change', async () => {
  const page = await dashboard.open(`/cpids/${web.gamma}`)
  const drawn = (name: RegExp) => page.getByRole('link', { name })
  expect(
    await drawn(/endpointslices web-x2x endpointslice-controller/).getAttribute('aria-description'),
  ).toMatch(/the CPID asked about$/)
  expect(await drawn(/deployments web kubectl/).getAttribute('aria-description')).toMatch(
    /^apps\/v1\/deployments\/default\/web.*sent by kubectl.*a root.*ancestor, 1 away$/,
  )
  await drawn(/services web kubectl/).click()
  await page.getByRole('heading', { name: 'services default/web' }).waitFor()

  const forward = await dashboard.open(`/cpids/${web.alpha}`)
  await forward.getByRole('link', { name: /endpointslices web-x2x/ }).waitFor()
  const legend = forward.getByRole('list', { name: 'Boxes and lines' })
  await legend.getByText('another change that was merged here').waitFor()
  await forward.getByRole('link', { name: /kubectl applied service web 900 ms before/ }).focus()
  await forward.keyboard.press('Enter')
  await forward.getByRole('heading', { name: 'services default/web' }).waitFor()

  const table = await dashboard.open(`/cpids/${web.gamma}?view=table`)
  await table.getByRole('row', { name: /-1 .*deployments default\/web kubectl/ }).waitFor()
})

test.each([
  ['dashed', (text: string) => text],
  ['without dashes, as a trace id', (text: string) => text.replaceAll('-', '')],
  ['in capitals', (text: string) => text.toUpperCase()],
])('a CPID %s leads to its cascade', async (_form, write) => {
  const page = await dashboard.open('/')
  await page.getByRole('searchbox', { name: 'Find a CPID or an object' }).fill(` ${write(web.alpha)} `)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'deployments default/web' }).waitFor()
  expect(page.url()).toContain(`/cascades/${web.alpha}`)
})

test('the digits that lists show of a CPID lead to its cascade, and several CPIDs are named', async () => {
  for (const path of [`/find?q=${OWN_DIGITS.slice(0, 8)}`, `/cascades/${OWN_DIGITS.slice(0, 13)}`]) {
    const page = await dashboard.open(path)
    await page.getByRole('heading', { name: 'secrets default/own' }).waitFor()
    expect(page.url()).toContain(`/cascades/${OWN_DIGITS}`)
  }
  const page = await dashboard.open(`/cpids/${web.gamma.slice(0, 8)}`)
  await page.getByRole('link', { name: web.gamma }).click()
  await page.getByRole('heading', { name: /^Merge graph/ }).waitFor()
  expect(page.url()).toContain(`/cpids/${web.gamma}`)
})

test('an object is found by part of its name, with its history', async () => {
  const page = await dashboard.open('/find?q=web-7c9f6-b0')
  await page.getByRole('link', { name: 'pods default/web-7c9f6-b0' }).click()
  await page
    .getByRole('row', { name: /start Pod|reconcile|sync/ })
    .first()
    .waitFor()
  await page.getByRole('tab', { name: 'All that happened' }).click()
  await page.getByRole('row', { name: /kubelet wrote it/ }).waitFor()
  await page.getByRole('row', { name: /scheduler observed it/ }).waitFor()
  await page
    .getByRole('link', { name: web.alpha.slice(0, 8) })
    .first()
    .waitFor()
  const nothing = await dashboard.open('/find?q=nowhere')
  await nothing.getByText('Nothing matches').waitFor()
  const unknown = await dashboard.open(`/find?q=${cpid(99)}`)
  await unknown.getByText('Nothing is known of this CPID').waitFor()
  const empty = await dashboard.open('/find')
  await empty.getByText('What are you looking for?').waitFor()
})

test('names with HTML, quotes and percent signs are text everywhere', async () => {
  const name = '<img src=x onerror=alert(1)>"\'%&amp;'
  const list = await dashboard.open('/')
  const row = list.getByRole('row').filter({ hasText: name })
  await row.filter({ hasText: NASTY_SERVICE }).filter({ hasText: '<i>' }).waitFor()
  await row.getByRole('link').first().click()
  await list.getByRole('heading').filter({ hasText: name }).waitFor()
  await list.getByText('<b>bold</b>').waitFor()
  await list.getByRole('button', { name: 'Table' }).click()
  await list.getByRole('button', { name: '<h1>span</h1>' }).click()
  const details = list.getByRole('complementary', { name: 'Span' })
  await details.getByText('<u>key</u>').waitFor()
  await details.getByText('<script>alert(3)</script>').waitFor()
  for (const view of ['critical', 'objects', 'times', 'merges']) {
    await list
      .getByRole('tab')
      .and(list.locator(`[data-view=${view}]`))
      .click()
    await list.getByRole('tabpanel').waitFor()
  }
  const graph = await dashboard.open(`/cpids/${cpid(7)}`)
  await graph
    .getByRole('link', { name: /<img src=x/ })
    .first()
    .waitFor()
  const found = await dashboard.open(`/find?q=${encodeURIComponent('<img src=x onerror=alert(1)>')}`)
  await found.getByText('<img src=x onerror=alert(1)>', { exact: true }).waitFor()
})

test('a page that is not there says so', async () => {
  const page = await dashboard.open('/no/such/page')
  await page.getByText('There is no such page').waitFor()
})
