import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { findChromium } from '../../harness/browser/chromium.ts'
import { launchChromium } from '../../harness/browser/launch.ts'
import { DATABASE, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { fillCascades, SPANS_PER_CASCADE } from '../fill/fill-cascades.ts'
import { UNPRUNED } from '../fill/fill-database.ts'
import type { Figure, SectionResult } from '../measure/figures.ts'
import type { Options } from '../options.ts'

const STORED_SPANS = 200_000

/** The first sight of the dashboard in a Chromium that has nothing kept: bytes over the wire, and time until it is there. */
export async function benchDashboard(options: Options, onRound: () => void): Promise<SectionResult> {
  const chromium = findChromium()
  if (chromium.kind === 'absent') return resultOf(`NOT RUN: ${chromium.why}`, [])
  using directory = freshDirectory(options.directory)
  await fill(join(directory.path, DATABASE))
  const causeway = await startMeasuredCauseway(options, directory.path, undefined, UNPRUNED)
  const browser = await launchChromium(chromium.path)
  const rounds: Record<string, number>[] = []
  try {
    const url = `http://${causeway.query}`
    const list = (await (await fetch(`${url}/api/v1/cascades?limit=1`)).json()) as {
      cascades: { root: string }[]
    }
    const cascade = `${url}/cascades/${list.cascades[0]?.root}`
    for (let round = 0; round < options.rounds; round++) {
      const first = await look(browser, `${url}/`, '.cascade-rows tbody tr')
      const one = await look(browser, cascade, '.timeline canvas')
      rounds.push({
        listKb: first.bytes / 1000,
        listMs: first.ms,
        cascadeKb: one.bytes / 1000,
        cascadeMs: one.ms,
      })
      onRound()
    }
  } finally {
    await browser.close()
    await causeway.stop()
  }
  return resultOf(
    `in Chromium, nothing kept, of ${STORED_SPANS} spans stored, ${SPANS_PER_CASCADE} a cascade`,
    rounds,
  )
}

function resultOf(about: string, rounds: Record<string, number>[]): SectionResult {
  const figure = (label: string, unit: string, atMost?: number): Figure => ({
    label,
    unit,
    digits: 0,
    ...(atMost !== undefined && { target: { atMost } }),
  })
  return {
    name: 'dashboard',
    about,
    figures: {
      listKb: figure('first view, transferred with its data', 'kB', 300),
      listMs: figure('first view, until the cascades are listed', 'ms', 1_000),
      cascadeKb: figure('a cascade opened by its address, transferred', 'kB'),
      cascadeMs: figure('a cascade opened by its address, until it is drawn', 'ms'),
    },
    rounds,
  }
}

async function look(browser: Browser, url: string, sign: string): Promise<{ bytes: number; ms: number }> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const network = await context.newCDPSession(page)
  await network.send('Network.enable')
  let bytes = 0
  network.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
  const startedMs = performance.now()
  await page.goto(url)
  await page.locator(sign).first().waitFor()
  const ms = performance.now() - startedMs
  await context.close()
  return { bytes, ms }
}

async function fill(path: string): Promise<void> {
  const db = openForWriting(path)
  await migrate(db)
  fillCascades(db, STORED_SPANS)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}
