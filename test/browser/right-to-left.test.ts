import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest } from '../support/otlp-requests.ts'
import { Dashboard, spans } from './support/dashboard.ts'

/** The second ends what keeps it apart from others, and turns round what follows. */
const NAMES = ['עדכון', 'המתנה\u2069\u202e', 'סוף']
const SERVICES = ['בקר', 'מתזמן']
const OBJECT = 'apps/v1/deployments/shop/web'

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start()
  const [begins = '', waits = '', ends = ''] = NAMES
  const [controller = '', scheduler = ''] = SERVICES
  const log = { new: cpid(1), sources: [cpid(2)], object: OBJECT, reason: 'סיבה\u2069\u202e' }
  await dashboard.send([
    { signal: 'logs', bytes: mergelogsRequest(controller, [{ new: cpid(2) }, log]) },
    spans('kubectl', [{ trace: 2, id: 3, cpid: cpid(2), name: begins, start: 0, end: 5 }]),
    spans(controller, [
      {
        ...{ trace: 1, id: 1, cpid: cpid(1), name: begins, start: 1, end: 5 },
        attributes: { 'cpid.wrote': [`${OBJECT}?rv=1`] },
      },
      { trace: 1, id: 2, cpid: cpid(1), name: waits, start: 20, end: 500 },
    ]),
    spans(scheduler, [{ trace: 1, id: 4, parent: 2, cpid: cpid(1), name: ends, start: 30, end: 450 }]),
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

/** Texts in which letters from right to left stand beside others, so that these change their places. Attributes are plain text. */
function mixed(body: Element): string[] {
  const isScope = (element: Element): boolean => {
    const { display, unicodeBidi } = getComputedStyle(element)
    return display !== 'inline' || unicodeBidi.startsWith('isolate')
  }
  const scopes = new Map<Element, string>()
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    let scope = node.parentElement ?? body
    if (['SCRIPT', 'STYLE', 'OPTION', 'title'].includes(scope.tagName)) continue
    while (scope !== body && scope.parentElement !== null && !isScope(scope)) scope = scope.parentElement
    scopes.set(scope, `${scopes.get(scope) ?? ''}${node.textContent}`)
  }
  return [...scopes.values()]
    .map((text) => text.replaceAll(/\u2068[^\u2069]*\u2069/g, ''))
    .filter(
      (text) =>
        (/\p{Script=Hebrew}/u.test(text) && /[\p{Script=Latin}\d]/u.test(text)) ||
        /[\u202a-\u202e\u2066-\u2069]/.test(text),
    )
}

test.each([
  ...['flame', 'critical', 'tree', 'objects', 'times', 'merges'].map(
    (view) => `/cascades/${cpid(2)}?view=${view}`,
  ),
  `/cascades/${cpid(2)}?as=table`,
  `/cpids/${cpid(1)}`,
  '/',
])('no name that is read from right to left turns round what stands beside it: %s', async (path) => {
  const page = await dashboard.open(path, { viewport: { width: 1280, height: 900 } })
  await page
    .getByText(/\p{Script=Hebrew}/u)
    .first()
    .waitFor({ state: 'attached' })
  await page.locator('main h1').first().waitFor({ state: 'attached' })
  expect(await page.locator('body').evaluate(mixed)).toEqual([])
})
