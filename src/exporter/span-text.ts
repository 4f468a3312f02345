import { attributeTexts } from './any-value-text.ts'
import { type RequestItem } from './request-walk.ts'
import { timeText } from './time-text.ts'
import {
  allBytes,
  hexOf,
  lastBits,
  lastBytes,
  lastInt,
  lastText,
  type WireField,
  wireFields,
} from './wire-fields.ts'

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']
const STATUSES = ['unset', 'ok', 'error']

/** A span on one line: name, trace id, span id, attributes. */
export function spanLine({ item }: RequestItem): string {
  return [
    lastText(item, 5),
    hexOf(lastBytes(item, 1)),
    hexOf(lastBytes(item, 2)),
    ...attributeTexts(item, 9),
  ].join(' ')
}

/** A span with all that is in it, a fact a line. */
export function spanLines({ resource, scope, item }: RequestItem): string[] {
  const parent = hexOf(lastBytes(item, 4))
  const status = wireFields(lastBytes(item, 15))
  return [
    `Span ${lastText(item, 5)}`,
    `    trace id: ${hexOf(lastBytes(item, 1))}`,
    `    span id: ${hexOf(lastBytes(item, 2))}`,
    `    parent span id: ${parent === '' ? 'none' : parent}`,
    `    kind: ${named(KINDS, lastInt(item, 6))}`,
    `    start: ${timeText(lastBits(item, 7))}`,
    `    end: ${timeText(lastBits(item, 8))}`,
    `    status: ${named(STATUSES, lastInt(status, 3))} ${lastText(status, 2)}`.trimEnd(),
    `    scope: ${lastText(scope, 1)} ${lastText(scope, 2)}`.trimEnd(),
    ...attributeTexts(resource, 1).map((text) => `    resource attribute: ${text}`),
    ...attributeTexts(item, 9).map((text) => `    attribute: ${text}`),
    ...allBytes(item, 11).map((event) => `    event: ${eventText(wireFields(event))}`),
    ...allBytes(item, 13).map((link) => `    link: ${linkText(wireFields(link))}`),
    ...dropped(item),
  ]
}

function eventText(event: readonly WireField[]): string {
  return [timeText(lastBits(event, 1)), lastText(event, 2), ...attributeTexts(event, 3)].join(' ')
}

function linkText(link: readonly WireField[]): string {
  return [hexOf(lastBytes(link, 1)), hexOf(lastBytes(link, 2)), ...attributeTexts(link, 4)].join(' ')
}

function dropped(item: readonly WireField[]): string[] {
  const counts = { attributes: lastBits(item, 10), events: lastBits(item, 12), links: lastBits(item, 14) }
  return Object.entries(counts).flatMap(([what, count]) =>
    count > 0n ? [`    dropped ${what}: ${String(count)}`] : [],
  )
}

function named(names: readonly string[], value: bigint): string {
  return names[Number(value)] ?? String(value)
}
