import fc from 'fast-check'
import { cpid } from '../otlp-requests.ts'

/** When something is sent: with the rest, half of `wait` later, twice `wait` later, or never. */
export const DELAYS = ['none', 'half', 'double', 'never'] as const
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
}

export interface DrawnSpan {
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
  readonly delay: Delay
  readonly way: Way
}

export interface Version {
  readonly object: string
  readonly version: number
}

export interface DrawnMergelog {
  readonly cpid: string
  readonly sources: readonly string[]
  /** The span that the log record names, if it names one. */
  readonly told: { readonly trace: number; readonly id: number } | undefined
  readonly delay: Delay
  readonly way: Way
}

/** What the controllers of one cascade send. */
export interface DrawnCascade {
  readonly spans: readonly DrawnSpan[]
  /** Those that are log records. */
  readonly mergelogs: readonly DrawnMergelog[]
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
})

const mergelog = fc.record({
  sources: fc.array(fc.nat(7), { maxLength: 2 }),
  form: fc.constantFrom('record' as const, 'told record' as const, 'event' as const),
  /** Of which span, of all. */
  of: fc.nat(40),
  delay,
  way,
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
  top: fc.record({ delay, way }),
  below: fc.array(fc.record({ parent: fc.nat(5), delay, way }), { maxLength: 5 }),
})

/** How much time passes at once where nothing comes: the store's thread looks round now and then. */
export const stepMs = fc.constantFrom(1_000, 1_037, 2_500, 333)

/** What is drawn of a cascade, which can be sent under any number. */
export const cascadeSketch = fc.record({
  mergelogs: fc.array(mergelog, { minLength: 1, maxLength: 5 }),
  works: fc.array(work, { minLength: 1, maxLength: 5 }),
})

export type CascadeSketch = typeof cascadeSketch extends fc.Arbitrary<infer T> ? T : never

/**
 * One ordinary cascade: controllers whose tops alone carry CPIDs and say what they observed, traces of several levels, merges
 * told of in log records and in events of spans. Those with different numbers have nothing in common.
 */
export function cascadeOf({ mergelogs, works }: CascadeSketch, number = 0): DrawnCascade {
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
      delay: span.delay,
      way: span.way,
    }))
  })
  const records: DrawnMergelog[] = []
  mergelogs.forEach(({ sources, form, of, delay: late, way: comes }, at) => {
    const teller = of % spans.length
    const span = spans[teller]
    const drawn: DrawnMergelog = {
      cpid: cpidAt(at),
      sources: at === 0 ? [] : [...new Set(sources.map((source) => cpidAt(source % at)))],
      told: form === 'told record' && span !== undefined ? { trace: span.trace, id: span.id } : undefined,
      delay: late,
      way: comes,
    }
    if (form !== 'event' || span === undefined) records.push(drawn)
    else spans[teller] = { ...span, tells: [...span.tells, drawn] }
  })
  return { spans, mergelogs: records }
}
