import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { rollout } from '../support/rollout.ts'
import { accessibilityFaults, Dashboard } from './support/dashboard.ts'

/** For a test that starts a browser of its own. */
const LONGEST_MS = 300_000

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start({ settleAfter: '15s' })
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test('says what to do while there is nothing, then shows cascades as they arrive and settle, without loading again', async () => {
  const page = await dashboard.open('/')
  await page.getByText('No cascade has arrived yet').waitFor()
  await page.getByText('npm run demo -- --keep').waitFor()

  await dashboard.send(rollout({ number: 1, atMs: 0, name: 'web', pods: 2, cluster: 'east' }).requests)
  const row = page.getByRole('row', { name: /deployments default\/web/ })
  await row.getByText('settled').waitFor()
  expect(await row.getByRole('cell').allTextContents()).toEqual(
    expect.arrayContaining([expect.stringContaining('kubectl in east'), '35', '7', '1', '0']),
  )

  await dashboard.send(rollout({ number: 2, atMs: 5_000, name: 'cart', pods: 1, cluster: 'west' }).requests)
  await page.getByRole('row', { name: /deployments default\/cart/ }).waitFor()
})

test(
  'a cascade is open until it settles',
  async () => {
    await using patient = await Dashboard.start()
    const page = await patient.open('/')
    await page.getByText('No cascade has arrived yet').waitFor()
    await patient.send(rollout({ number: 1, atMs: 0, name: 'web', pods: 2, cluster: 'east' }).requests)
    await page
      .getByRole('row', { name: /deployments default\/web/ })
      .getByText('open')
      .waitFor()
    expect(patient.faults).toEqual([])
  },
  LONGEST_MS,
)

test('filters stand in the address, and an address opens with its filters', async () => {
  const page = await dashboard.open('/')
  await page.getByRole('row', { name: /deployments default\/cart/ }).waitFor()
  await page.getByLabel('Object', { exact: true }).fill('cart')
  await page.keyboard.press('Enter')
  await page
    .getByRole('row', { name: /default\/web/ })
    .first()
    .waitFor({ state: 'detached' })
  await page.getByLabel('State').selectOption('settled')
  await page.getByLabel('Begun').selectOption('operator')
  await page.getByLabel('Cluster').fill('west')
  await page.waitForURL((url) => url.search === '?object=cart&state=settled&cause=operator&cluster=west')
  await page.getByRole('row', { name: /deployments default\/cart/ }).waitFor()

  const other = await dashboard.open('/?object=cart&state=settled&cluster=east')
  await other.getByText('No cascade matches these filters').waitFor()
  const clear = other.getByRole('button', { name: 'Clear' })
  for (const width of [1440, 1280]) {
    await other.setViewportSize({ width, height: 800 })
    const [button, first] = [await clear.boundingBox(), await other.getByLabel('State').boundingBox()]
    expect([width, button?.y]).toEqual([width, first?.y])
  }
  await clear.click()
  await other.getByRole('row', { name: /deployments default\/web/ }).waitFor()
  expect(new URL(other.url()).search).toBe('')
})

test('two marked cascades are compared', async () => {
  const page = await dashboard.open('/')
  await page.getByLabel(/Compare apps\/v1\/deployments\/default\/cart/).check()
  await page.getByText('Mark one more to compare').waitFor()
  await page.getByLabel(/Compare apps\/v1\/deployments\/default\/web/).check()
  await page.getByRole('link', { name: 'Compare the two' }).click()
  await page.getByText(/B took .* longer than A/).waitFor()
  await page.getByRole('row', { name: /^kubelet .*\+/ }).waitFor()
  await page.getByRole('row', { name: /^v1\/pods .*\+/ }).waitFor()
  await page.getByRole('link', { name: 'Swap' }).click()
  await page.getByText(/B took .* less than A/).waitFor()
})

test('what went wrong with the connection is said, and it goes on by itself', async () => {
  const page = await dashboard.open('/')
  await page.getByRole('row', { name: /deployments default\/web/ }).waitFor()
  await page.context().setOffline(true)
  await page.getByText('Causeway does not answer', { exact: true }).waitFor()
  await page.getByRole('row', { name: /deployments default\/web/ }).waitFor()
  await page.context().setOffline(false)
  await page.getByText('Causeway does not answer', { exact: true }).waitFor({ state: 'detached' })
})

test('cascades of two Causeways have a column for the cluster, and those of one Causeway have none', async () => {
  const page = await dashboard.open('/')
  const header = page.getByRole('columnheader', { name: 'Cluster' })
  await page.getByRole('row', { name: /deployments default\/web/ }).waitFor()
  expect(await header.count()).toBe(0)

  // As a Causeway answers that asks an archive too: each cascade once for each Causeway that tells of it.
  await page.route('**/api/v1/cascades?*', async (route) => {
    const answer = await route.fetch()
    // Nothing is new since the last one (304).
    if (!answer.ok()) return route.fulfill({ response: answer })
    const list = (await answer.json()) as { cascades: object[] }
    const cascades = list.cascades.flatMap((cascade) =>
      ['eu', 'us'].map((causeway) => ({ ...cascade, causeway })),
    )
    await route.fulfill({ response: answer, json: { ...list, cascades } })
  })
  await page.reload()
  await header.waitFor()
  const cells = page.getByRole('row', { name: /deployments default\/web/ }).locator('td.cluster')
  expect(await cells.allTextContents()).toEqual(['east reported by eu', 'east reported by us'])
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 })
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    expect([width, wide <= width]).toEqual([width, true])
    expect(await accessibilityFaults(page)).toEqual([])
  }
})
