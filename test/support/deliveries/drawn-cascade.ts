import fc from 'fast-check'
import { ENCODINGS, type Encoding } from '../encoded-otherwise.ts'
import { cpid } from '../otlp-requests.ts'

/** When something is sent: with the rest, half of `wait` later, twice `wait` later, or never. */
const DELAYS = ['none', 'half', 'double', 'never'] as const
export type Delay = (typeof DELAYS)[number]

/** How an item comes: where in its group it stands, and what happens after it. */
export interface Way {
  readonly order: number
  /** The next item comes in another request. */
  readonly isCut: boolean
  /** The linker runs before the next request. */
  readonly isLinked: boolean
  /** Time that passes before the next request. */
  readonly passesMs: number
  /** How its request is encoded, where it is the last in it. */
  readonly encoding: Encoding
}

export interface Delivery {
  readonly delay: Delay
  readonly way: Way
}

/** It comes at first as it says itself, and then again. */
interface Sent extends Delivery {
  readonly again: readonly Delivery[]
}

export interface DrawnSpan extends Sent {
  readonly trace: number
  readonly id: number
  readonly parent: number | undefined
  /** Of the top of a trace. */
  readonly carries: string | undefined
  readonly observed: readonly Version[]
  readonly wrote: readonly Version[]
  /** Mergelogs that it tells of in an event. */
  readonly tells: readonly DrawnMergelog[]
  readonly startMs: number
  readonly endMs: number
}

export interface Version {
  readonly object: string
  readonly version: number
}

export interface DrawnMergelog extends Sent {
  readonly cpid: string
  readonly sources: readonly string[]
  /** The span that the log record names, if it names one. */
  readonly told: { readonly trace: number; readonly id: number } | undefined
}

/** A log record that is no mergelog. */
export interface DrawnLog extends Sent {
  /** Of it alone. */
  readonly body: string
  /** The trace and the span that it names, if it does. */
  readonly trace: number | undefined
  readonly id: number | undefined
  readonly carries: string | undefined
  readonly ancestors: readonly string[]
}

/** What the controllers of one cascade send. */
export interface DrawnCascade {
  readonly spans: readonly DrawnSpan[]
  /** Those that are log records. */
  readonly mergelogs: readonly DrawnMergelog[]
  readonly logs: readonly DrawnLog[]
}

const delay: fc.Arbitrary<Delay> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Delay>('none') },
  { weight: 3, arbitrary: fc.constantFrom(...DELAYS) },
)

const way: fc.Arbitrary<Way> = fc.record({
  order: fc.nat(1_000),
  isCut: fc.boolean(),
  isLinked: fc.boolean(),
  passesMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(40) }),
  encoding: fc.oneof(
    { weight: 2, arbitrary: fc.constant<Encoding>('as it is') },
    { weight: 1, arbitrary: fc.constantFrom(...ENCODINGS) },
  ),
})

const again = fc.oneof(
  { weight: 6, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(fc.record({ delay, way }), { minLength: 1, maxLength: 2 }) },
)

/** However often it is sent, it comes when the first of them does. */
function sent({ delay: late, way: comes, again: others }: Sent): Sent {
  const [first = { delay: late, way: comes }, ...rest] = [{ delay: late, way: comes }, ...others].sort(
    (a, b) => DELAYS.indexOf(a.delay) - DELAYS.indexOf(b.delay),
  )
  return { ...first, again: rest }
}

const mergelog = fc.record({
  sources: fc.array(fc.nat(7), { maxLength: 2 }),
  /** A log record, which may name the span, an event of the span, or both of these. */
  form: fc.constantFrom('record' as const, 'told record' as const, 'event' as const, 'both' as const),
  /** Of which span, of all. */
  of: fc.nat(40),
  delay,
  way,
  again,
})

const log = fc.record({
  /** Of which span, of all. */
  of: fc.nat(40),
  names: fc.oneof(
    { weight: 5, arbitrary: fc.constant('span' as const) },
    { weight: 1, arbitrary: fc.constantFrom('trace' as const, 'nothing' as const) },
  ),
  carries: fc.constantFrom('nothing' as const, 'that of its span' as const, 'some' as const),
  some: fc.nat(7),
  delay,
  way,
  again,
})

const observation = fc.record({
  of: fc.nat(7),
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant('exact' as const) },
    { weight: 1, arbitrary: fc.constantFrom('later' as const, 'unknown' as const) },
  ),
})

const work = fc.record({
  cpid: fc.nat(7),
  object: fc.nat(2),
  observes: fc.array(observation, { maxLength: 2 }),
  /** Which of its spans wrote the object. */
  writer: fc.option(fc.nat(5), { nil: undefined, freq: 3 }),
  top: fc.record({ delay, way, again }),
  below: fc.array(fc.record({ parent: fc.nat(5), delay, way, again }), { maxLength: 5 }),
})

/** How much time passes at once where nothing comes: the store's thread looks round now and then. */
export const stepMs = fc.constantFrom(1_000, 1_037, 2_500, 333)

/** What is drawn of a cascade, which can be sent under any number. */
export const cascadeSketch = fc.record({
  mergelogs: fc.array(mergelog, { minLength: 1, maxLength: 5 }),
  works: fc.array(work, { minLength: 1, maxLength: 5 }),
  logs: fc.array(log, { maxLength: 5 }),
})

export type CascadeSketch = typeof cascadeSketch extends fc.Arbitrary<infer T> ? T : never

/**
 * One ordinary cascade: controllers whose tops alone carry CPIDs and say what they observed, traces of several levels, merges
 * told of in log records and in events of spans, other log records. Those with different numbers have nothing in common.
 */
export function cascadeOf({ mergelogs, works, logs }: CascadeSketch, number = 0): DrawnCascade {
  const cpidAt = (at: number): string => cpid(number * 16 + at + 1)
  const written: Version[] = []
  const spans = works.flatMap((one, at) => {
    const trace = number * 16 + at + 1
    const observed = one.observes.map(({ of, kind }): Version => {
      const seen = written[of % Math.max(1, written.length)]
      if (kind === 'unknown' || seen === undefined)
        return { object: `v1/secrets/default/s${number}`, version: 7 }
      return kind === 'exact' ? seen : { ...seen, version: seen.version + 5 }
    })
    const wrote = { object: `v1/pods/default/p${number}-${one.object}`, version: (at + 1) * 10 }
    const writer = one.writer === undefined ? undefined : one.writer % (one.below.length + 1)
    if (writer !== undefined) written.push(wrote)
    return [{ parent: 0, ...one.top }, ...one.below].map((span, nth): DrawnSpan => ({
      trace,
      id: trace * 16 + nth,
      parent: nth === 0 ? undefined : trace * 16 + (span.parent % nth),
      carries: nth === 0 ? cpidAt(one.cpid % mergelogs.length) : undefined,
      observed: nth === 0 ? observed : [],
      wrote: nth === writer ? [wrote] : [],
      tells: [],
      startMs: at * 100 + nth,
      endMs: at * 100 + 50 - nth,
      ...sent(span),
    }))
  })
  const records: DrawnMergelog[] = []
  mergelogs.forEach(({ sources, form, of, ...deliveries }, at) => {
    const teller = of % spans.length
    const span = spans[teller]
    const isTold = span !== undefined && form !== 'record'
    const drawn: DrawnMergelog = {
      cpid: cpidAt(at),
      sources: at === 0 ? [] : [...new Set(sources.map((source) => cpidAt(source % at)))],
      told: isTold ? { trace: span.trace, id: span.id } : undefined,
      ...sent(deliveries),
    }
    if (form !== 'event') records.push(drawn)
    if (isTold && form !== 'told record') spans[teller] = { ...span, tells: [...span.tells, drawn] }
  })
  const said = logs.map(({ of, names, carries, some, ...deliveries }, at): DrawnLog => {
    const span = spans[of % spans.length]
    const own = spans.find(({ trace }) => trace === span?.trace)?.carries
    const other = cpidAt(some % mergelogs.length)
    return {
      body: `log ${number}-${at}`,
      trace: names === 'nothing' ? undefined : span?.trace,
      id: names === 'span' ? span?.id : undefined,
      carries: carries === 'nothing' ? undefined : carries === 'some' ? other : own,
      ancestors: carries === 'nothing' ? [] : [other],
      ...sent(deliveries),
    }
  })
  return { spans, mergelogs: records, logs: said }
}
