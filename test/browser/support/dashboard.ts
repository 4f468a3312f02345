import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startCauseway, type CausewayProcess } from '../../../lab/harness/causeway/causeway-process.ts'
import { freshSettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { spansRequest, type SpanSketch } from '../../support/otlp-requests.ts'
import type { OtlpRequest } from '../../support/rollout.ts'
import { launchChromium } from '../../../lab/harness/browser/launch.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** For anything that a page is waited for. */
const LONGEST_MS = 60_000
const TRACE_URL = 'https://jaeger.example/trace/{trace_id}?uiFind={span_id}'

/** What a service sends. */
export const spans = (service: string, sketches: SpanSketch[]): OtlpRequest => ({
  signal: 'traces',
  bytes: spansRequest(service, sketches),
})

/** A real Causeway and a real browser before it. Whatever a page did that it must not do is kept in `faults`. */
export class Dashboard implements AsyncDisposable {
  readonly url: string
  readonly faults: string[] = []
  readonly #causeway: CausewayProcess
  readonly #browser: Browser

  private constructor(causeway: CausewayProcess, browser: Browser) {
    this.#causeway = causeway
    this.#browser = browser
    this.url = `http://127.0.0.1:${causeway.settings.ports.query}`
  }

  /** Traces settle after `settleAfter` of silence, and spans wait for what they follow from for `wait`. */
  static async start({ settleAfter = '20m', wait = '300ms' } = {}): Promise<Dashboard> {
    const executable = process.env['CAUSEWAY_CHROMIUM']
    if (executable === undefined) throw new Error('run these tests with npm run test:browser')
    const settings = await freshSettings({
      linking: { wait, settle_after: settleAfter },
      query: { trace_url: TRACE_URL },
      forwardedMetrics: {},
    })
    const causeway = await startCauseway(settings)
    try {
      return new Dashboard(causeway, await launchChromium(executable))
    } catch (error) {
      await causeway[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Sends to the OTLP/HTTP receiver; throws unless all of it was taken. */
  async send(requests: readonly OtlpRequest[]): Promise<void> {
    for (const { signal, bytes } of requests) {
      const response = await fetch(`http://127.0.0.1:${this.#causeway.settings.ports.http}/v1/${signal}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf' },
        body: new Uint8Array(bytes),
      })
      const answer = await response.bytes()
      if (!response.ok || answer.length > 0)
        throw new Error(`${signal} was answered ${response.status}, ${answer.length} bytes`)
    }
  }

  /** A new page at a path of the dashboard. */
  async open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    context.setDefaultTimeout(LONGEST_MS)
    const page = await context.newPage()
    page.on('pageerror', (error) => this.faults.push(`error: ${error.message}`))
    page.on('console', (message) => {
      if (/Content.Security.Policy|Trusted/i.test(message.text())) this.faults.push(message.text())
    })
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url())
      if (origin !== this.url && protocol !== 'data:') this.faults.push(`asked ${request.url()}`)
    })
    page.on('dialog', (dialog) => {
      this.faults.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    await page.goto(this.url + path)
    return page
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
    await this.#causeway[Symbol.asyncDispose]()
  }
}

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What axe-core finds wrong with a page for people with disabilities, in short. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async (tags) => {
    const { axe } = globalThis as unknown as {
      axe: {
        run: (
          options: unknown,
        ) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>
      }
    }
    const { violations } = await axe.run({ runOnly: { type: 'tag', values: tags } })
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
    )
  }, TAGS)
}
