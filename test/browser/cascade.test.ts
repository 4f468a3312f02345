import { json } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Download } from 'playwright-core'
import { eventually } from '../../lab/harness/eventually.ts'
import { rollout, type Rollout } from '../support/rollout.ts'
import { Dashboard } from './support/dashboard.ts'

let dashboard: Dashboard
let web: Rollout
let torn: Rollout

beforeAll(async () => {
  dashboard = await Dashboard.start()
  web = rollout({ number: 1, atMs: 0, name: 'web', pods: 3 })
  torn = rollout({ number: 2, atMs: 9_000, name: 'torn', pods: 1, losesMergelog: true })
  await dashboard.send([...web.requests, ...torn.requests])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test('a newcomer finds the cascade by the name of the Deployment and reads which step took longest', async () => {
  const page = await dashboard.open('/')
  const focused = page.locator('input:focus')
  // The page listens for the key once it is drawn, which may be after it was loaded.
  await eventually(async () => {
    if ((await focused.count()) === 0) await page.keyboard.press('/')
    expect(await focused.count()).toBe(1)
  })
  await page.keyboard.type('web')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'deployments default/web' }).first().click()
  await page.getByText('Longest step: sync Pod of kubelet').waitFor()
  await page.getByText('mostly pull image').waitFor()
  await page.getByText('Still open').waitFor()

  await page.getByRole('tab', { name: 'Critical path' }).click()
  await page.getByRole('row', { name: /sync Pod kubelet .*longest/ }).waitFor()
  const steps = await page.getByRole('rowheader').allTextContents()
  expect(steps).toEqual([
    'change apps/v1/deployments',
    'kubectl apply -f deployment.yaml',
    'reconcile Deployment',
    'reconcile ReplicaSet',
    'schedule Pod',
    'sync Pod',
    'reconcile EndpointSlice',
    'sync rules on node-2',
  ])
})

test('a span is chosen with the mouse or with the keys, and its address opens it again', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}`)
  const picture = page.getByRole('application', { name: /Flame graph by cause/ })
  await picture.click({ position: { x: 30, y: 22 + 30 } })
  const details = page.getByRole('complementary', { name: 'Span' })
  await details.getByRole('heading', { name: 'kubectl apply -f deployment.yaml' }).waitFor()
  await details.getByText('k8s.user').waitFor()
  await details.getByText('ada').waitFor()
  await details.getByText('created apps/v1/deployments/default/web').waitFor()
  await details.getByRole('link', { name: 'deployments default/web' }).waitFor()
  const link = details.getByRole('link', { name: /tracing backend/ })
  const span = new URL(page.url()).searchParams.get('span') ?? ''
  expect(await link.getAttribute('href')).toBe(
    `https://jaeger.example/trace/${web.alpha.replaceAll('-', '')}?uiFind=${span}`,
  )

  await page.keyboard.press('ArrowDown')
  await details.getByRole('heading', { name: 'create apps/v1/deployments' }).waitFor()
  await page.keyboard.press('ArrowRight')
  await details.getByRole('heading', { name: 'reconcile Deployment' }).waitFor()
  await page
    .getByRole('status')
    .getByText(/reconcile Deployment, deployment-controller, takes 64.0 ms/)
    .waitFor()
  const again = await dashboard.open(new URL(page.url()).pathname + new URL(page.url()).search)
  await again.getByRole('heading', { name: 'reconcile Deployment' }).waitFor()

  await page.keyboard.press('ArrowUp')
  await details.getByRole('heading', { name: 'kubectl apply -f deployment.yaml' }).waitFor()
  await page.keyboard.press('Escape')
  await details.waitFor({ state: 'detached' })
  await page.goBack()
  await details.waitFor()
})

test('zooms with the buttons, the keys and the wheel, and shows all again', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}`)
  const shown = page.getByText(/ in view\./)
  const whole = await shown.textContent()
  await page.getByRole('button', { name: 'Zoom in' }).click()
  await eventually(async () => expect(await shown.textContent()).not.toBe(whole))
  await page.getByRole('button', { name: 'All' }).click()
  await eventually(async () => expect(await shown.textContent()).toBe(whole))
  const picture = page.getByRole('application', { name: /Flame graph by cause/ })
  await picture.hover()
  await page.keyboard.down('Control')
  await page.mouse.wheel(0, -200)
  await page.keyboard.up('Control')
  await eventually(async () => expect(await shown.textContent()).not.toBe(whole))
  await picture.press('0')
  await eventually(async () => expect(await shown.textContent()).toBe(whole))
  await eventually(async () => {
    await picture.press('+')
    expect(await shown.textContent()).not.toBe(whole)
  })
})

test('search counts what it finds and goes from one to the next', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}?q=pull`)
  const search = page.getByLabel('Search the spans')
  await page.getByRole('status').getByText('3', { exact: true }).waitFor()
  await search.press('Enter')
  await page.getByRole('status').getByText('1 of 3').waitFor()
  await page.getByRole('heading', { name: 'pull image' }).waitFor()
  await search.press('Enter')
  await page.getByRole('status').getByText('2 of 3').waitFor()
  await search.fill('no such span')
  await page.getByRole('status').getByText('none').waitFor()
})

test('search finds what senders said: attributes and messages of failures', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}?q=k8s.user%3Dada`)
  await page.getByRole('status').getByText('1', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Next match' }).click()
  const details = page.getByRole('complementary', { name: 'Span' })
  await details.getByRole('heading', { name: 'kubectl apply -f deployment.yaml' }).waitFor()
  await page.getByLabel('Search the spans').fill('back-off 100ms')
  await page.getByRole('status').getByText('1', { exact: true }).waitFor()
  await page.getByLabel('Search the spans').press('Enter')
  await details.getByRole('heading', { name: 'sync Pod' }).waitFor()
})

test('buttons and keys lead to the next match, the next failure and the slowest span', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}?q=pull`)
  const details = page.getByRole('complementary', { name: 'Span' })
  await page.getByRole('button', { name: 'Next failure' }).click()
  await details.getByText('back-off 100ms: image not there yet').waitFor()
  await page.getByRole('button', { name: 'Slowest' }).click()
  await page.getByRole('status').getByText('3 of 3').waitFor()
  const picture = page.getByRole('application', { name: /Flame graph by cause/ })
  await picture.press('n')
  await page.getByRole('status').getByText('1 of 3').waitFor()
  await picture.press('N')
  await page.getByRole('status').getByText('3 of 3').waitFor()
  await picture.press('f')
  await details.getByRole('heading', { name: 'sync Pod' }).waitFor()
  await picture.press('s')
  await details.getByRole('heading', { name: 'pull image' }).waitFor()
})

test('the address has the view, so that its copy opens just that, and the spans can be downloaded', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}`, {
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const shown = page.getByText(/ in view\./)
  await page.getByRole('button', { name: 'Zoom in' }).click()
  await page.waitForURL(/zoom=/)
  const zoomed = await shown.textContent()
  await page.getByRole('button', { name: 'Copy link to this view' }).click()
  await page.getByText('Copied').first().waitFor()
  const copied = new URL(await page.evaluate(() => navigator.clipboard.readText()))
  const again = await dashboard.open(copied.pathname + copied.search)
  await eventually(async () => expect(await again.getByText(/ in view\./).textContent()).toBe(zoomed))

  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download' }).click()
  const { resourceSpans } = (await savedJson(await download)) as { resourceSpans: unknown[] }
  expect(resourceSpans.length).toBeGreaterThan(0)
})

test('the spans can be downloaded for Perfetto, each service on a thread of its name', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}?as=table`)
  const table = page.getByRole('table', { name: 'Spans by cause' })
  const drawn = Number(await table.getAttribute('aria-rowcount')) - 1
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download for Perfetto' }).click()
  const file = await download
  expect(file.suggestedFilename()).toBe(`${web.alpha}.perfetto.json`)
  const { traceEvents } = (await savedJson(file)) as { traceEvents: ChromeEvent[] }
  const threads = new Map(
    traceEvents.filter(({ name }) => name === 'thread_name').map(({ tid, args }) => [tid, args.name ?? '']),
  )
  const slices = traceEvents.filter(({ ph }) => ph === 'X')
  expect(slices).toHaveLength(drawn)
  expect(new Set(slices.map(({ args }) => args.spanId)).size).toBe(drawn)

  const serviceOf = (tid: number) => threads.get(tid)?.replace(/ \(\d+\)$/, '')
  const apply = slices.find(({ name }) => name === 'kubectl apply -f deployment.yaml')
  expect(apply).toMatchObject({ ts: 0, dur: 84_000 })
  expect(serviceOf(apply?.tid ?? -1)).toBe('kubectl')
  const failed = slices.filter(({ cat }) => cat.split(',').includes('failed'))
  expect(failed.map(({ name, tid }) => [name, serviceOf(tid)])).toEqual([['sync Pod', 'kubelet']])
  expect(new Set(slices.map(({ tid }) => serviceOf(tid)))).toEqual(
    new Set([...threads.values()].filter((name) => !name.includes('('))),
  )
  expect(slices.filter((one) => slices.some((other) => areCrossing(one, other)))).toEqual([])
})

test('the list, the head and the tree say what failed, and one click leads to the first failure', async () => {
  const list = await dashboard.open('/')
  const row = list.getByRole('row').filter({ has: list.locator(`a[href="/cascades/${web.alpha}"]`) })
  await row.waitFor()
  const columns = await list.getByRole('columnheader').allTextContents()
  const cells = row.locator(':is(td, th)')
  expect(await cells.nth(columns.indexOf('Failed')).textContent()).toBe('1')

  const page = await dashboard.open(`/cascades/${web.alpha}?view=times`)
  await page.getByText('1 span', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'First failure' }).click()
  const details = page.getByRole('complementary', { name: 'Span' })
  await details.getByRole('heading', { name: 'sync Pod' }).waitFor()
  await details.getByText('back-off 100ms: image not there yet').waitFor()
  await page.getByRole('application', { name: /Flame graph by cause/ }).waitFor()
  await page
    .getByRole('status')
    .getByText(/sync Pod.*failed/)
    .waitFor()
  await page.getByRole('list', { name: 'Colours' }).getByText('failed').waitFor()

  const sound = await dashboard.open(`/cascades/${web.beta}`)
  await sound.getByText('Longest step').waitFor()
  expect(await sound.getByRole('button', { name: 'First failure' }).count()).toBe(0)
})

test('every picture has a table', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}?as=table`)
  const table = page.getByRole('table', { name: 'Spans by cause' })
  await table
    .getByRole('row', { name: /schedule Pod scheduler/ })
    .first()
    .waitFor()
  await table.getByRole('row', { name: /sync Pod kubelet .*failed/ }).waitFor()
  expect(await table.getAttribute('aria-rowcount')).toBe('52')
  await table.getByRole('button', { name: 'reconcile Deployment' }).click()
  await page.getByRole('complementary', { name: 'Span' }).waitFor()

  await page.getByRole('tab', { name: 'Objects' }).click()
  const objects = page.getByRole('table', { name: /Objects of the cascade/ })
  await objects.getByRole('row', { name: /replicasets default\/web-7c9f6 .* 1 1/ }).waitFor()
  await page.getByRole('button', { name: 'Table' }).click()
  await page.getByRole('application', { name: /Gantt chart of 7 objects/ }).waitFor()
})

test('the table of spans is sorted by its headings, and the address keeps the order', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}?as=table&sort=-nonsense`)
  const table = page.getByRole('table', { name: 'Spans by cause' })
  const heading = (name: string) => table.getByRole('columnheader', { name })
  const order = (name: string) => heading(name).getAttribute('aria-sort')
  const columns = ['Start', 'Duration', 'Itself', 'Waited']
  const rows = table.getByRole('row')
  /** The milliseconds in a column, from above. */
  const shown = async (name: string) => {
    const at = (await table.getByRole('columnheader').allTextContents()).indexOf(name)
    const texts = await rows.evaluateAll(
      (all, column) => all.slice(1).map((row) => row.children[column]?.textContent ?? ''),
      at,
    )
    return texts.filter((text) => text !== '').map(milliseconds)
  }
  await heading('Span').waitFor()
  expect(await order('Span')).toBe('other')
  await rows.nth(1).waitFor()
  const asTree = await shown('Start')

  for (const name of columns) {
    const isFirstDown = name !== 'Start'
    for (const isDown of [isFirstDown, !isFirstDown]) {
      await heading(name).getByRole('button').click()
      await eventually(async () => expect(await order(name)).toBe(isDown ? 'descending' : 'ascending'))
      expect(await order('Span')).toBe('none')
      const times = await shown(name)
      expect(times.length).toBeGreaterThan(3)
      expect(times).toEqual([...times].sort((a, b) => (isDown ? b - a : a - b)))
      expect(new URL(page.url()).searchParams.get('sort')).toBe(`${isDown ? '-' : ''}${name.toLowerCase()}`)
    }
  }
  const again = await dashboard.open(new URL(page.url()).pathname + new URL(page.url()).search)
  await again.getByRole('columnheader', { name: 'Waited' }).waitFor()
  expect(await again.locator('[aria-sort=ascending]').textContent()).toBe('Waited')

  await heading('Span').getByRole('button').click()
  await eventually(async () => expect(await order('Span')).toBe('other'))
  expect(await shown('Start')).toEqual(asTree)
})

test('time per service and per kind, and the merges with their sources', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}?view=times`)
  await page.getByRole('row', { name: /^kubelet .* 15 1$/ }).waitFor()
  await page.getByRole('row', { name: /^v1\/pods / }).waitFor()
  await page.getByRole('tab', { name: 'Merges' }).click()
  const merge = page.getByRole('row', {
    name: /endpointslices default\/web-x2x .*kubectl applied service web, 900 ms before .*endpointslice-controller/,
  })
  await merge.getByRole('link', { name: 'kubectl applied service web, 900 ms before' }).click()
  await page.getByRole('heading', { name: 'services default/web' }).waitFor()
  expect(page.url()).toContain(`/cascades/${web.beta}`)
})

test('the pages name what is missing', async () => {
  const page = await dashboard.open(`/cascades/${torn.gamma}`)
  await page.getByText('The mergelog of one CPID has not arrived').waitFor()
  await page.getByRole('listitem').getByRole('link', { name: torn.gamma }).waitFor()
  const unknown = await dashboard.open('/cascades/00000000-0000-4000-8000-00000000ffff')
  await unknown.getByRole('alert').getByText('Nothing is known of this CPID').waitFor()
  const malformed = await dashboard.open('/cascades/nonsense')
  await malformed.getByRole('alert').getByText('This is not a CPID').waitFor()
})

test('an open cascade grows before the eyes', async () => {
  const late = rollout({ number: 3, atMs: 20_000, name: 'late', pods: 1 })
  const [first, rest] = [late.requests.slice(0, 3), late.requests.slice(3)]
  await dashboard.send(first)
  const page = await dashboard.open('/')
  await page
    .getByRole('row', { name: /deployments default\/late/ })
    .getByRole('link')
    .first()
    .click()
  await page.getByText('Still open').waitFor()
  await dashboard.send(rest)
  await page.getByText('kube-proxy').first().waitFor()
})

/** The length of a duration that the page shows. */
function milliseconds(text: string): number {
  const [, number, unit] = /^(\S+) (µs|ms|s)$/.exec(text) ?? []
  return Number(number) * ({ µs: 0.001, ms: 1, s: 1_000 }[unit ?? ''] ?? NaN)
}

interface ChromeEvent {
  ph: string
  name: string
  cat: string
  tid: number
  ts: number
  dur: number
  args: { name?: string; spanId?: string }
}

/** Viewers of Chrome's format drop spans of one thread that overlap, unless one is inside the other. */
function areCrossing(one: ChromeEvent, other: ChromeEvent): boolean {
  const [oneEnd, otherEnd] = [one.ts + one.dur, other.ts + other.dur]
  return one.tid === other.tid && one.ts < other.ts && other.ts < oneEnd && oneEnd < otherEnd
}

async function savedJson(download: Download): Promise<unknown> {
  return json(await download.createReadStream())
}
