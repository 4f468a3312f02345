import { describeNode, isBlank, isMap, UNRESOLVED, valueOf, type RawNode } from '../tree/raw-node.ts'
import { readYaml } from '../tree/read-yaml.ts'
import { ownValue } from '../../model/own-value.ts'
import { didYouMean } from './did-you-mean.ts'
import { FAULTY, FaultyValue, type Mistakes } from './mistakes.ts'
import type { Schema, SettingsOf, Shape } from './schema.ts'

/** A rule between keys of one section: nothing, or what is wrong under which key. It says nothing where it looks at a faulty value. */
export type Rule<Settings> = (settings: Settings) => { key: string; message: string } | undefined

type Settings<S extends Shape> = { [K in keyof S]: SettingsOf<S[K]> }
type Path = readonly string[]

/** A section that is always there: left out or bare, it has its defaults. */
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

/** A section that turns something on by being named, even with nothing in it. */
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

/** A section that has an effect only with something in it. */
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

/** A list of sections; left out or bare it is read from the text of its default. */
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
      const hint = didYouMean(strange, known)
      mistakes.add(path, `'${path.join('::')}' has invalid keys: ${strange.join(', ')}${hint}`)
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
