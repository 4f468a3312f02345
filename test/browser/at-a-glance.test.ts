import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest } from '../support/otlp-requests.ts'
import { accessibilityFaults, Dashboard, spans } from './support/dashboard.ts'

const WIDTHS = [390, 768, 1280]
const WEB = 'apps/v1/deployments/shop/web'
const SET = 'apps/v1/replicasets/shop/web-7d9f'
const OTHERS = [11, 12, 13, 14]

let dashboard: Dashboard

/** A ReplicaSet controller that makes two Pods. The second is bound before its controller tells who made it. */
beforeAll(async () => {
  dashboard = await Dashboard.start()
  const pod = (at: number, version: number): string => `v1/pods/shop/web-7d9f-${at}?rv=${version}`
  await dashboard.send([
    {
      signal: 'logs',
      bytes: mergelogsRequest('kubectl', [
        { new: cpid(1), object: WEB, reason: 'kubectl create' },
        ...OTHERS.map((at) => ({ new: cpid(at), object: WEB, time: -at * 1_000, reason: 'scale by bob' })),
        { new: cpid(2), sources: [cpid(1)], object: SET, time: 10 },
        { new: cpid(3), sources: [cpid(2), ...OTHERS.map((at) => cpid(at))], object: SET, time: 40 },
      ]),
    },
    spans('kubectl', [
      {
        trace: 1,
        id: 1,
        cpid: cpid(1),
        name: 'create apps/v1/deployments',
        start: 0,
        end: 5,
        attributes: { 'cpid.wrote': [`${WEB}?rv=1`] },
      },
    ]),
    spans('scheduler', [
      {
        trace: 3,
        id: 30,
        cpid: cpid(2),
        name: 'update v1/pods',
        start: 90,
        end: 95,
        attributes: { 'cpid.wrote': [pod(2, 9)] },
      },
    ]),
    spans('replicaset-controller', [
      {
        trace: 2,
        id: 20,
        cpid: cpid(2),
        name: 'reconcile ReplicaSet',
        start: 10,
        end: 80,
        attributes: { 'cpid.observed': [`${SET}?rv=2`] },
      },
      {
        trace: 2,
        id: 21,
        parent: 20,
        cpid: cpid(2),
        name: 'create v1/pods',
        start: 20,
        end: 30,
        attributes: { 'cpid.wrote': [pod(1, 3)] },
      },
      {
        trace: 2,
        id: 22,
        parent: 20,
        cpid: cpid(2),
        name: 'create v1/pods',
        start: 40,
        end: 50,
        attributes: { 'cpid.wrote': [pod(2, 4)] },
      },
      {
        trace: 2,
        id: 23,
        parent: 20,
        cpid: cpid(2),
        name: 'update apps/v1/replicasets/status',
        start: 60,
        end: 60,
        status: 2,
        attributes: { 'cpid.wrote': [`${SET}?rv=5`, 'v1/pods/shop/forbidden'] },
      },
    ]),
    ...OTHERS.map((at) =>
      spans('kubectl', [
        {
          trace: at,
          id: at,
          cpid: cpid(at),
          name: 'scale',
          start: -at * 1_000,
          end: 1 - at * 1_000,
          attributes: { 'cpid.wrote': [`${WEB}?rv=${100 + at}`] },
        },
      ]),
    ),
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

const open = (path: string, width = 1280) => dashboard.open(path, { viewport: { width, height: 800 } })

test.each(WIDTHS)(
  'at %i pixels a cascade says first who did what, what it wrote, what failed, and whether it is over',
  async (width) => {
    const page = await open(`/cascades/${cpid(1)}`, width)
    const sentence = page.locator('.head-sentence')
    await sentence.getByText('kubectl created deployment web').waitFor()
    expect(await sentence.textContent()).toBe(
      'kubectl created deployment web: 4 objects written, 1 span failed, not over yet.',
    )
    const widerBy = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
    expect(widerBy).toBe(0)
    expect(await accessibilityFaults(page)).toEqual([])
    await sentence.getByRole('link', { name: '4 objects written' }).click()
    await page.getByRole('list', { name: 'Objects, owners first' }).waitFor()
  },
)

test('a page has its heading while it loads', async () => {
  const page = await open('/')
  const { promise, resolve } = Promise.withResolvers<undefined>()
  await page.route(`**/api/v1/cascades/${cpid(1)}`, async (route) => {
    await promise
    await route.continue()
  })
  await page.goto(new URL(`/cascades/${cpid(1)}`, page.url()).href)
  await page.getByRole('heading', { level: 1, name: 'Loading the cascade' }).waitFor()
  resolve(undefined)
  await page.getByRole('heading', { level: 1, name: /web/ }).waitFor()
})

test('Pods stand below the ReplicaSet that made them, whichever of their writes was linked first', async () => {
  const page = await open(`/cascades/${cpid(1)}?view=tree`)
  const tree = page.getByRole('list', { name: 'Objects, owners first' })
  const set = tree.getByRole('listitem').filter({ hasText: 'replicasets shop/web-7d9f' }).last()
  await set.getByText('web-7d9f-1', { exact: true }).waitFor()
  await set.getByText('web-7d9f-2', { exact: true }).waitFor()
  // Nothing but its status was written of the ReplicaSet.
  await page.getByRole('button', { name: 'made 3' }).waitFor()
  expect(await page.getByRole('button', { name: 'changed 1' }).count()).toBe(1)
})

test('the merge graph names the changes that drive a CPID, and Merges the objects of its own sources', async () => {
  const graph = await open(`/cpids/${cpid(2)}`)
  await graph
    .getByRole('link', { name: /^kubectl created deployment web/ })
    .first()
    .waitFor()
  const merges = await open(`/cascades/${cpid(1)}?view=merges`)
  await merges.getByRole('row').filter({ hasText: 'replicasets' }).first().getByText('deployments').waitFor()
})

test('on paper ink is dark, also for who has chosen the dark theme, and there is nothing to press', async () => {
  const page = await open(`/cascades/${cpid(1)}`)
  await page.getByRole('combobox', { name: 'Colours' }).selectOption('dark')
  await page.emulateMedia({ media: 'print' })
  await page.locator('header.shell').waitFor({ state: 'hidden' })
  // The heading of a page that still loads is another element, and is taken away.
  const heading = page.getByRole('heading', { level: 1, name: /web/ })
  expect(await heading.evaluate((element) => getComputedStyle(element).color)).toBe('rgb(26, 32, 39)')
})
