import { CONTROLS, ownValue } from '../model/untrusted-names.ts'
import {
  describeNode,
  isBlank,
  isMap,
  isUnresolved,
  type RawNode,
  readYaml,
  UNRESOLVED,
  valueOf,
} from './yaml-tree.ts'

/** Describes and reads a value of the configuration. */
export interface Schema<T> {
  readonly doc: SchemaDoc
  /** Reads the value at `path`. After a mistake the result is FAULTY or contains it. */
  read(node: RawNode | undefined, path: readonly string[], mistakes: Mistakes): T
}

export type SettingsOf<S> = S extends Schema<infer T> ? T : never

/** The keys of a section. */
export type Shape = Readonly<Record<string, Schema<unknown>>>

/** Describes a value. Reference documents and print-config are generated from this. */
export type SchemaDoc =
  | {
      kind: 'field'
      type: string
      meaning: string
      /** As YAML. Without a default the key is optional, unless `required`. */
      default?: string
      required?: boolean
      /** Whether it is text, so that a substituted value is printed as its original text. */
      textual?: boolean
      /** Whether the value (or every entry of the map) is a secret and never shown. */
      secret?: boolean
    }
  | { kind: 'refused'; advice: string }
  | { kind: 'section'; meaning: string; shape: Shape; absent: 'filled' | 'off'; bare: 'filled' | 'off' }
  | { kind: 'sections'; meaning: string; item: Schema<unknown>; default: string }

/** A rule across the keys of a section: returns the wrong key and a message, or undefined. It is skipped if a value is faulty. */
export type Rule<Settings> = (settings: Settings) => { key: string; message: string } | undefined

type Settings<S extends Shape> = { [K in keyof S]: SettingsOf<S[K]> }
type Path = readonly string[]

/** A section that is always present: if it is absent or empty, it has its defaults. */
export function section<S extends Shape>(
  meaning: string,
  shape: S,
  rules: Rule<Settings<S>>[] = [],
): Schema<Settings<S>> {
  const readMap = mapReader(shape, rules)
  return {
    doc: { kind: 'section', meaning, shape, absent: 'filled', bare: 'filled' },
    read: (node, path, mistakes) => readMap(isBlank(node) ? {} : node, path, mistakes),
  }
}

/** A section whose presence turns something on, even if it is empty. */
export function switchedSection<S extends Shape>(
  meaning: string,
  shape: S,
  rules: Rule<Settings<S>>[] = [],
): Schema<Settings<S> | undefined> {
  const readMap = mapReader(shape, rules)
  return {
    doc: { kind: 'section', meaning, shape, absent: 'off', bare: 'filled' },
    read: (node, path, mistakes) =>
      node === undefined ? undefined : readMap(isBlank(node) ? {} : node, path, mistakes),
  }
}

/** A section that has an effect only if it is not empty. */
export function optionalSection<S extends Shape>(
  meaning: string,
  shape: S,
  rules: Rule<Settings<S>>[] = [],
): Schema<Settings<S> | undefined> {
  const readMap = mapReader(shape, rules)
  return {
    doc: { kind: 'section', meaning, shape, absent: 'off', bare: 'off' },
    read: (node, path, mistakes) => (isBlank(node) ? undefined : readMap(node, path, mistakes)),
  }
}

/** A list of sections. If it is absent or empty, `written` is parsed as its default. */
export function sections<T>(meaning: string, written: string, item: Schema<T>): Schema<T[]> {
  const fallback = readYaml(written)
  if (fallback.kind === 'faulty') throw new Error(`the default ${written} is no YAML`)
  return {
    doc: { kind: 'sections', meaning, item, default: written },
    read(node, path, mistakes) {
      const list = valueOf(isBlank(node) ? fallback.node : node)
      if (list === UNRESOLVED) return mistakes.silently()
      if (!Array.isArray(list)) return mistakes.add(path, `must be a list, got ${describeNode(list)}`)
      return list.map((entry, at) => item.read(entry, [...path, String(at)], mistakes))
    },
  }
}

function mapReader<S extends Shape>(shape: S, rules: Rule<Settings<S>>[]) {
  const keys = Object.entries(shape)
  const known = keys.flatMap(([key, { doc }]) => (doc.kind === 'refused' ? [] : [key]))
  const example = known.slice(0, 3).join(', ')
  return (node: RawNode, path: Path, mistakes: Mistakes): Settings<S> => {
    const map = valueOf(node)
    if (map === UNRESOLVED) return mistakes.silently()
    if (!isMap(map))
      return mistakes.add(path, `must be a map with keys such as ${example}, got ${describeNode(map)}`)
    const settings: Record<string, unknown> = {}
    for (const [key, schema] of keys) {
      const value = schema.read(ownValue(map, key), [...path, key], mistakes)
      Object.defineProperty(settings, key, value === FAULTY ? GUARDED : { value, ...PLAIN })
    }
    const strange = Object.keys(map).filter((key) => !Object.hasOwn(shape, key))
    if (strange.length > 0) {
      mistakes.add(path, `'${path.join('::')}' has invalid keys: ${invalidKeys(strange, known)}`, strange[0])
    }
    for (const rule of rules) {
      const broken = unlessFaulty(() => rule(settings as Settings<S>))
      if (broken !== undefined) mistakes.add([...path, broken.key], broken.message)
    }
    return settings as Settings<S>
  }
}

const PLAIN = { enumerable: true, writable: true, configurable: true }
const GUARDED: PropertyDescriptor = {
  enumerable: true,
  get: () => {
    throw new FaultyValue()
  },
}

function unlessFaulty<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (error instanceof FaultyValue) return undefined
    throw error
  }
}

/** Why a value is refused, and what to write instead. */
export class InvalidValue {
  readonly reason: string

  constructor(reason: string) {
    this.reason = reason
  }
}

export const invalid = (reason: string): InvalidValue => new InvalidValue(reason)

/** Parses a value that is not blank. */
type Reader<T> = (node: RawNode) => T | InvalidValue

/** A kind of value: its name in documents, and how to parse it. */
export interface ValueKind<T> {
  readonly type: string
  readonly read: Reader<T>
  readonly textual?: boolean
  readonly secret?: boolean
}

/** A key with a default value, given as YAML. */
export function field<T>(kind: ValueKind<T>, written: string, meaning: string): Schema<T> {
  const fallback = readDefault(kind, written)
  return {
    doc: { kind: 'field', ...aboutKind(kind), default: written, meaning },
    read: reader(kind.read, () => fallback),
  }
}

/** An optional key without a default. */
export function optionalField<T>(kind: ValueKind<T>, meaning: string): Schema<T | undefined> {
  return {
    doc: { kind: 'field', ...aboutKind(kind), meaning },
    read: reader<T | undefined>(kind.read, () => undefined),
  }
}

export function requiredField<T>(kind: ValueKind<T>, example: string, meaning: string): Schema<T> {
  return {
    doc: { kind: 'field', ...aboutKind(kind), required: true, meaning },
    read: reader(kind.read, () => invalid(`is required; write for example ${example}`)),
  }
}

/** Keys that the Collector has and Causeway refuses. `advice` says what to do instead. */
export function refusedKeys<K extends string>(
  advice: string,
  ...keys: readonly K[]
): Record<K, Schema<undefined>> {
  const refused: Schema<undefined> = {
    doc: { kind: 'refused', advice },
    read: reader<undefined>(
      () => invalid(advice),
      () => undefined,
    ),
  }
  return Object.fromEntries(keys.map((key) => [key, refused])) as Record<K, Schema<undefined>>
}

/** The advice for keys that tune internals of the Collector. */
export const UNSUPPORTED_COLLECTOR_KEY = 'a Collector setting that Causeway does not have; remove it'

function reader<T>(read: Reader<T>, absent: () => T | InvalidValue): Schema<T>['read'] {
  return (node, path, mistakes) => {
    if (isUnresolved(node)) return mistakes.silently()
    const result = isBlank(node) ? absent() : read(node)
    return result instanceof InvalidValue ? mistakes.add(path, result.reason) : result
  }
}

function readDefault<T>({ read }: ValueKind<T>, written: string): T {
  const reading = readYaml(written)
  const value = reading.kind === 'read' ? read(reading.node) : invalid(reading.faults.join())
  if (value instanceof InvalidValue) throw new Error(`the default ${written} ${value.reason}`)
  return value
}

function aboutKind({ type, textual = false, secret = false }: ValueKind<unknown>) {
  return { type, textual, secret }
}

type SettingsReading<T> = { kind: 'read'; settings: T } | { kind: 'faulty'; mistakes: Mistake[] }

/** Reads the value at `path`. Each mistake has its full path. */
export function readSettings<T>(
  schema: Schema<T>,
  node: RawNode | undefined,
  path: readonly string[],
): SettingsReading<T> {
  const mistakes = new Mistakes()
  const settings = schema.read(node, path, mistakes)
  return mistakes.isFaulty ? { kind: 'faulty', mistakes: mistakes.found } : { kind: 'read', settings }
}

class Mistakes {
  readonly found: Mistake[] = []
  #isFaulty = false

  /** Whether there was a mistake, reported here or elsewhere; then no settings are built. */
  get isFaulty(): boolean {
    return this.#isFaulty
  }

  /** Adds a mistake, about one of its keys if `key` is given. Returns FAULTY in place of the value. */
  add(path: readonly string[], message: string, key?: string): never {
    this.found.push({ path: path.join('::'), message, ...(key === undefined ? {} : { key }) })
    return this.silently()
  }

  /** Marks a mistake that has been reported elsewhere. Returns FAULTY. */
  silently(): never {
    this.#isFaulty = true
    return FAULTY
  }
}

/** Thrown when a rule reads a faulty value; the rule is then skipped. */
class FaultyValue extends Error {}

/** Stands for a value with a mistake. */
const FAULTY = new FaultyValue() as never

/** Collects mistakes and warnings; validation continues after a mistake. */
export class Findings {
  readonly mistakes: Mistake[] = []
  readonly warnings: string[] = []
  readonly #written: Written[] = []

  mistake(path: string, message: string, key?: string): void {
    this.mistakes.push({ path, message, ...(key === undefined ? {} : { key }) })
  }

  warn(path: string, message: string): void {
    this.warnings.push(`${path}: ${message}`)
  }

  /** Adds a source, by which the line of a mistake is found; later sources override earlier ones. */
  wrote(place: Written['place'], lines: Written['lines']): void {
    this.#written.unshift({ place, lines })
  }

  /** The error with all mistakes, and the line of each. */
  error(): ConfigError {
    const written = this.#written.map(({ place, lines }) => ({ place, lines: lines() }))
    const placeOf = ({ path, key }: Mistake): string | undefined => {
      const from = key === undefined ? path : [...(path === '' ? [] : [path]), key].join('::')
      for (let at = from; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('::')))) {
        for (const { place, lines } of written) {
          const line = lines.get(at)
          if (line !== undefined) return place(line)
        }
      }
      return undefined
    }
    return new ConfigError(
      this.mistakes.map((mistake) => ({ ...mistake, ...withoutUndefined({ place: placeOf(mistake) }) })),
    )
  }
}

/** The line numbers of a source by path, and the name for one of its lines. */
interface Written {
  readonly place: (line: number) => string
  readonly lines: () => ReadonlyMap<string, number>
}

/** A mistake in the configuration. `path` has the form `a::b::c`; `message` says what to write instead. */
interface Mistake {
  readonly path: string
  readonly message: string
  /** The key below `path` that is wrong, if any. */
  readonly key?: string
  /** The nearest source and line. */
  readonly place?: string
}

/** All mistakes of a configuration. */
export class ConfigError extends Error {
  readonly mistakes: readonly Mistake[]

  constructor(mistakes: readonly Mistake[]) {
    super(mistakes.map(describeMistake).join('\n'))
    this.name = 'ConfigError'
    this.mistakes = mistakes
  }
}

/** A mistake as one line that begins with its place. The path is not repeated if the message contains it. */
export function describeMistake({ path, message, place }: Mistake): string {
  const what = path === '' || message.startsWith(`'${path}'`) ? message : `${path}: ${message}`
  const line = place === undefined ? what : `${place}: ${what}`
  return line.replaceAll(/\s*\n\s*/g, ' ').replaceAll(CONTROLS, '\ufffd')
}

/** The message for unknown keys. YAML reads `{token:abc}` as one key; the part after the colon may be a secret, and is not shown. */
function invalidKeys(strange: readonly string[], known: readonly string[]): string {
  const gluedTo = (key: string): string | undefined => known.find((name) => key.startsWith(`${name}:`))
  const shown = strange.map((key) => (gluedTo(key) === undefined ? key : `${gluedTo(key)}:…`)).join(', ')
  const [glued] = strange.flatMap((key) => gluedTo(key) ?? [])
  return glued === undefined
    ? `${shown}${didYouMean(strange, known)}`
    : `${shown}; write a blank behind the colon, as in ${glued}: …`
}

/** A hint such as `; did you mean endpoint?`; '' if no known name is similar. */
export function didYouMean(written: readonly string[], known: readonly string[]): string {
  const near = written.flatMap((name) => nearest(name, known))
  return near.length === 0 ? '' : `; did you mean ${[...new Set(near)].join(', ')}?`
}

/** The known names most similar to a misspelt one; empty if none is similar. */
export function nearest(written: string, known: readonly string[]): string[] {
  const tolerated = Math.max(1, Math.floor(written.length / 3))
  const distances = known.map((name) => editDistance(written.toLowerCase(), name.toLowerCase()))
  const least = Math.min(tolerated, ...distances)
  return known.filter((_, at) => distances[at] === least)
}

/** The edit distance: characters inserted, deleted, replaced, or swapped with their neighbour. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const cost = from[row - 1] === to[column - 1] ? 0 : 1
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current.push(
        Math.min(
          (current[column - 1] ?? 0) + 1,
          (last[column] ?? 0) + 1,
          (last[column - 1] ?? 0) + cost,
          swapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
        ),
      )
    }
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** A copy without keys whose value is undefined. */
export function withoutUndefined<T extends object>(object: T): Present<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Present<T>
}
