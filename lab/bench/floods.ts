import { randomBytes, randomInt } from 'node:crypto'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { SpanRequests } from './load/span-requests.ts'

/** What a sender floods with, and each time with what costs Causeway most. */
export type FloodKind = 'spans' | 'mergelogs' | 'deepGraph' | 'manyServices'

export interface FloodRequest {
  signal: 'spans' | 'logs'
  bytes: Buffer
}

export interface Flood {
  next: () => FloodRequest
}

const MERGELOGS = 500
/** How far back in a dense graph a source lies at most, and how many a merge has. */
const NEAR = 10
const SOURCES = 3
/** So many requests of a deep graph hang below one whose root is missing until the last of them. */
const REQUESTS_TO_ROOT = 20
const SERVICES_PER_REQUEST = 64
const OWN = 'aaaaaaaa'
const OTHER = 'bbbbbbbb'
const SERVICE = 'invented-00000000'

/** A graph whose merges arrive in no order, each of several of the CPIDs shortly before it. */
export function denseMergelogs(service: string): Flood {
  const merges = Array.from({ length: MERGELOGS }, (_, at) => {
    const sources = new Set<string>()
    while (sources.size < SOURCES) {
      const source = at - 1 - randomInt(NEAR)
      sources.add(source < 0 ? cpidText(OTHER, MERGELOGS + source) : cpidText(OWN, source))
    }
    return { cpid: cpidText(OWN, at), sources: [...sources], place: randomInt(MERGELOGS) }
  })
  merges.sort((a, b) => a.place - b.place)
  const template = new MergelogTemplate(service, merges)
  let sent = 0
  return { next: () => ({ signal: 'logs', bytes: template.fill(++sent, sent - 1) }) }
}

/** Chains that arrive backward, so that nothing of one is explained before its root comes, and then all of it. */
export function deepChains(service: string): Flood {
  const backward = Array.from({ length: MERGELOGS }, (_, at) => MERGELOGS - 1 - at)
  const links = backward.map((at) => ({ cpid: cpidText(OWN, at), sources: [cpidText(OWN, at - 1)] }))
  const middle = new MergelogTemplate(service, [
    ...links.slice(0, -1),
    { cpid: cpidText(OWN, 0), sources: [cpidText(OTHER, MERGELOGS - 1)] },
  ])
  const last = new MergelogTemplate(service, [...links.slice(0, -1), { cpid: cpidText(OWN, 0), sources: [] }])
  let sent = 0
  return {
    next: () => {
      sent++
      const template = sent % REQUESTS_TO_ROOT === 0 ? last : middle
      return { signal: 'logs', bytes: template.fill(sent, sent + 1) }
    },
  }
}

/** Spans of services nobody has heard of, other ones in each request. */
export function inventedServices(cpids: readonly Buffer[]): Flood {
  const identity = { stream: 0, streams: 1, seed: randomInt(2 ** 31) }
  const spans = new SpanRequests(SERVICE, identity, cpids, { spans: 4, encoding: 'protobuf' })
  const places = placesOf(spans.bytes, SERVICE)
  let sent = 0
  return {
    next: () => {
      const parts = Array.from({ length: SERVICES_PER_REQUEST }, () => {
        spans.fill(sent++, Date.now())
        for (const place of places) spans.bytes.write(`invented-${hex8(sent)}`, place, 'latin1')
        return Buffer.from(spans.bytes)
      })
      // Requests put one after the other are one request.
      return { signal: 'spans', bytes: Buffer.concat(parts) }
    },
  }
}

interface Merge {
  cpid: string
  sources: string[]
}

/** A request of mergelogs whose CPIDs are those of another request each time. */
class MergelogTemplate {
  readonly #bytes: Buffer
  readonly #own: number[]
  readonly #other: number[]

  constructor(service: string, merges: readonly Merge[]) {
    const logRecords = merges.map(({ cpid, sources }) => ({
      timeUnixNano: String(BigInt(Date.now()) * 1_000_000n),
      eventName: 'cpid.mergelog',
      attributes: [
        { key: 'cpid.new', value: { stringValue: cpid } },
        {
          key: 'cpid.sources',
          value: { arrayValue: { values: sources.map((stringValue) => ({ stringValue })) } },
        },
      ],
    }))
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: service } }] }
    const request = { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'bench' }, logRecords }] }] }
    this.#bytes = Buffer.from(protobufOfJson('logs', Buffer.from(JSON.stringify(request))))
    this.#own = placesOf(this.#bytes, OWN)
    this.#other = placesOf(this.#bytes, OTHER)
  }

  fill(own: number, other: number): Buffer {
    const bytes = Buffer.from(this.#bytes)
    for (const place of this.#own) bytes.write(hex8(own), place, 'latin1')
    for (const place of this.#other) bytes.write(hex8(other), place, 'latin1')
    return bytes
  }
}

/** Of this process, so that no other one's CPIDs are the same. */
const RUN = `${randomBytes(2).toString('hex')}-4${randomBytes(2).toString('hex').slice(1)}`

const cpidText = (request: string, at: number): string =>
  `${request}-${RUN}-8000-${at.toString(16).padStart(12, '0')}`

const hex8 = (number: number): string => number.toString(16).padStart(8, '0')

function placesOf(bytes: Buffer, mark: string): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) places.push(at)
  return places
}
