// npm run screenshots: docs/images, from a Causeway of its own fed with rollouts that end now.
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { startMeasuredCauseway } from '../lab/harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../lab/harness/fresh-directory.ts'
import { readOptions } from '../lab/bench/options.ts'
import { findChromium } from '../lab/harness/browser/chromium.ts'
import { launchChromium } from '../lab/harness/browser/launch.ts'
import { RequestSender } from '../lab/harness/clients/request-sender.ts'
import { rollout, type RolloutPlan } from '../test/support/rollout.ts'
import { START_NS } from '../test/support/otlp-requests.ts'
import { buildDashboard, isDashboardBuilt } from './dashboard-build.ts'

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url))
const SETTINGS = [
  'connectors.cpid.linking={wait: 300ms, settle_after: 3s}',
  'extensions.cpid_query.trace_url=http://localhost:16686/trace/{trace_id}?uiFind={span_id}',
]
const WIDTH = 1180
/** The flame graph beside the details of a span needs more room. */
const HEIGHTS: Readonly<Record<string, number>> = { 'flame-graph': 860 }
const HEIGHT = 600

const nowMs = Date.now() - Number(START_NS / 1_000_000n)
const PLANS = [
  { atMs: nowMs - 640_000, name: 'web', pods: 3, pullMs: 700, cluster: 'prod-eu' },
  { atMs: nowMs - 410_000, name: 'checkout', pods: 5, pullMs: 900, cluster: 'prod-eu' },
  { atMs: nowMs - 300_000, name: 'cart', pods: 2, pullMs: 500, cluster: 'prod-us' },
  {
    number: 0xd45e,
    atMs: nowMs - 150_000,
    name: 'payments',
    pods: 4,
    cluster: 'prod-eu',
    losesMergelog: true,
  },
  { atMs: nowMs - 62_000, name: 'web', pods: 3, pullMs: 1_900, cluster: 'prod-eu' },
].map((plan, at): RolloutPlan => ({ ...plan, number: at + 1, cpids: cpidsOf(at) }))

/** As random ones would look, and the same each time. */
function cpidsOf(at: number): [string, string, string] {
  const cpid = (which: string) => {
    const hex = createHash('sha256').update(`${at} ${which}`).digest('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  }
  return [cpid('alpha'), cpid('beta'), cpid('gamma')]
}

const chromium = findChromium()
if (chromium.kind === 'absent') {
  console.error(`No screenshots: ${chromium.why}`)
  process.exitCode = 1
} else await takeAll(chromium.path)

async function takeAll(executable: string): Promise<void> {
  if (!(await isDashboardBuilt())) await buildDashboard()
  mkdirSync(IMAGES, { recursive: true })
  using directory = freshDirectory(tmpdir())
  const options = readOptions([], {
    directory: directory.path,
    causeway: fileURLToPath(new URL('../bin/causeway.js', import.meta.url)),
    json: '',
  })
  const causeway = await startMeasuredCauseway(options, directory.path, undefined, SETTINGS)
  const browser = await launchChromium(executable)
  try {
    const url = `http://${causeway.query}`
    const [earlier, , , , web] = PLANS.map((plan) => rollout(plan))
    using sender = new RequestSender(Number(causeway.endpoint.split(':')[1]))
    for (const plan of PLANS.slice(0, -1)) await sender.sendAll(rollout(plan).requests, 1)
    await settled(url)
    await sender.sendAll(web?.requests ?? [], 1)
    const alpha = web?.alpha ?? ''
    await take(browser, `${url}/`, 'cascades', 'light', 'web')
    await settled(url)
    const chosen = await spanOf(url, alpha, 'pull image')
    await take(
      browser,
      `${url}/cascades/${alpha}?span=${chosen}`,
      'flame-graph',
      'light',
      'cpid.original_trace_id',
    )
    await take(browser, `${url}/cascades/${alpha}?view=critical`, 'critical-path', 'dark', 'Each step waited')
    await take(browser, `${url}/cascades/${alpha}?view=objects`, 'objects', 'light', 'only observed it')
    await take(browser, `${url}/cpids/${web?.gamma}`, 'merge-graph', 'light', 'Causes are on the left')
    await take(browser, `${url}/cascades/${earlier?.alpha}/compare/${alpha}`, 'compare', 'dark', 'B took')
  } finally {
    await browser.close()
    await causeway.stop()
  }
}

async function take(
  browser: Browser,
  url: string,
  name: string,
  colorScheme: 'light' | 'dark',
  sign: string,
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: WIDTH, height: HEIGHTS[name] ?? HEIGHT },
    colorScheme,
  })
  const page = await context.newPage()
  await page.goto(url)
  await page.getByText(sign).first().waitFor()
  // Canvases are painted in the next frame.
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  await page.screenshot({ path: `${IMAGES}${name}.png` })
  await context.close()
}

/** Resolves once no cascade is open. */
async function settled(url: string): Promise<void> {
  for (;;) {
    const { cascades } = (await ask(`${url}/api/v1/cascades?state=open`)) as { cascades: unknown[] }
    if (cascades.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** The longest span of that name. */
async function spanOf(url: string, root: string, name: string): Promise<string> {
  const { traces } = (await ask(`${url}/api/v1/cascades/${root}`)) as {
    traces: { spans: { name: string; spanId: string; durationMs: number }[] }[]
  }
  const spans = traces.flatMap((trace) => trace.spans).filter((span) => span.name === name)
  return spans.sort((a, b) => b.durationMs - a.durationMs)[0]?.spanId ?? ''
}

async function ask(url: string): Promise<unknown> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} was answered ${response.status}`)
  return response.json()
}
