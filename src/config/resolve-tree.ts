import { errorText } from '../model/faults.ts'
import { ownValue } from '../model/untrusted-names.ts'
import { MIB } from '../model/time-and-size.ts'
import type { Findings } from './schema.ts'
import { isMap, kindOf, type RawMap, type RawNode, readYaml, Substituted, UNRESOLVED } from './yaml-tree.ts'

export interface ConfigInput extends ConfigEnvironment {
  /** The values of --config, in order. */
  readonly sources: readonly string[]
  /** The values of --set, in order; they override all sources. */
  readonly sets: readonly string[]
}

/** Merges all sources and sets into one tree, and resolves references. Throws ConfigError if a source cannot be read. */
export function resolveTree(input: ConfigInput, findings: Findings): RawMap {
  if (input.sources.length === 0) {
    findings.mistake(
      '',
      'at least one config flag must be provided; write --config otel-config.yaml, or causeway observe, which needs none',
    )
  }
  const layers = [
    ...input.sources.map((source) => readSource(source, input, findings)),
    ...input.sets.map((option) => readSetOption(option, findings)),
  ]
  if (findings.mistakes.length > 0) throw findings.error()
  const merged = layers.reduce<RawMap>((under, over) => mergeTrees(under, over), {})
  return expandReferences(merged, input, findings)
}

function readSource(source: string, around: ConfigEnvironment, findings: Findings): RawMap {
  const { scheme, rest } = splitUri(source, 'file')
  const name = scheme === 'yaml' ? '--config yaml' : source
  const fetched = fetchText(scheme, rest, around)
  if (fetched.kind === 'fault') {
    findings.mistake('--config', fetched.message)
    return {}
  }
  if (fetched.kind === 'unset') {
    findings.mistake(name, 'this environment variable is not set; put the YAML in it')
    return {}
  }
  const reading = readYaml(fetched.text)
  if (reading.kind === 'faulty') {
    for (const fault of reading.faults) findings.mistake(name, fault)
    return {}
  }
  findings.wrote((line) => `${name}: line ${line}`, reading.lines)
  if (isMap(reading.node)) return splitKeys(reading.node)
  if (reading.node !== null) {
    findings.mistake(name, `must be a map with sections such as service, got ${kindOf(reading.node)}`)
  }
  return {}
}

/** The tree that `--set a.b=c` merges into the configuration. The value is YAML. */
function readSetOption(option: string, findings: Findings): RawMap {
  const equals = option.indexOf('=')
  const key = option.slice(0, Math.max(0, equals)).trim()
  if (equals < 0) {
    findings.mistake(`--set ${option}`, 'missing equal sign; write --set a.b=c')
  } else if (key === '') {
    findings.mistake('--set', 'missing key before the equal sign; write --set a.b=c')
  }
  const reading = readYaml(option.slice(equals + 1).trim())
  if (reading.kind === 'read') {
    const path = key.replaceAll('.', '::')
    findings.wrote(
      () => '--set',
      () =>
        new Map([
          [path, 1],
          ...[...reading.lines()].map(([inner, line]) => [`${path}::${inner}`, line] as const),
        ]),
    )
    return splitKeys(Object.fromEntries([[path, reading.node]]))
  }
  // The value may be a secret, so the message contains only the key.
  for (const fault of reading.faults) findings.mistake(`--set ${key}`, fault)
  return {}
}

/** Merges two trees: maps key by key; in all other cases the value of `over` replaces the one of `under`. */
export function mergeTrees(under: RawMap, over: RawMap): RawMap {
  const merged = new Map(Object.entries(under))
  for (const [key, node] of Object.entries(over)) merged.set(key, mergeNodes(merged.get(key), node))
  return Object.fromEntries(merged)
}

function mergeNodes(under: RawNode | undefined, over: RawNode): RawNode {
  return isMap(under) && isMap(over) ? mergeTrees(under, over) : over
}

/** A key with more parts is not split, and is refused later as unknown. */
const MAX_PARTS = 100

/** A value and the parts of its key. */
interface Entry {
  readonly parts: readonly string[]
  readonly node: RawNode
}

/** Expands keys such as `a::b::c` at the top level; later ones override earlier ones. */
export function splitKeys(tree: RawMap): RawMap {
  const entries = Object.entries(tree).map(([key, node]): Entry => {
    const parts = key.split('::')
    return { parts: parts.length > MAX_PARTS ? [key] : parts, node }
  })
  return treeOf(entries, 0)
}

/** Groups the entries by their key at this level, so that each entry is visited once per level. */
function treeOf(entries: readonly Entry[], level: number): RawMap {
  const groups = Map.groupBy(entries, ({ parts }) => parts[level] ?? '')
  return Object.fromEntries([...groups].map(([head, group]) => [head, nodeOf(group, level + 1)]))
}

function nodeOf(group: readonly Entry[], level: number): RawNode {
  const whole = group.findIndex(({ parts }) => parts.length === level)
  const laidUnder = group.slice(0, Math.max(0, whole))
  const laidOver = group.slice(whole + 1)
  const layers: RawNode[] = laidUnder.length === 0 ? [] : [treeOf(laidUnder, level)]
  if (whole >= 0) layers.push(group[whole]?.node ?? null)
  if (laidOver.length > 0) layers.push(treeOf(laidOver, level))
  return layers.reduce((under, over) => mergeNodes(under, over))
}

const MAX_EXPANSIONS = 1000
const MAX_TEXT_LENGTH = 4 * MIB
/** The most characters that resolving references may read. Text that is read several times counts each time. */
const MAX_WORK = 64 * MIB
const BARE_NAME = /^[^:]*(:-|$)/

/** The context in which a value is expanded. References within the result use the same allowance. */
interface Expansion {
  readonly path: string
  readonly around: ConfigEnvironment
  readonly findings: Findings
  readonly allowance: { left: number }
  /** How much of MAX_WORK is left, for the whole configuration. */
  readonly work: { left: number }
}

/** Resolves every `${…}` in the values of the tree. */
export function expandReferences(tree: RawMap, around: ConfigEnvironment, findings: Findings): RawMap {
  const work = { left: MAX_WORK }
  const expandIn = (path: string[], node: RawNode): RawNode => {
    if (Array.isArray(node)) return node.map((item, index) => expandIn([...path, String(index)], item))
    if (isMap(node)) return mapEntries(node, (item, key) => expandIn([...path, key], item))
    const allowance = { left: MAX_EXPANSIONS }
    return expandNode(node, { path: path.join('::'), around, findings, allowance, work })
  }
  return mapEntries(tree, (node, key) => expandIn([key], node))
}

function expandNode(node: RawNode, expansion: Expansion): RawNode {
  if (Array.isArray(node)) return node.map((item) => expandNode(item, expansion))
  if (isMap(node)) return mapEntries(node, (item) => expandNode(item, expansion))
  return typeof node === 'string' ? expandText(node, expansion) : node
}

function expandText(written: string, expansion: Expansion): RawNode {
  let text = written
  for (let found = findReference(text); found !== undefined; found = findReference(text)) {
    expansion.work.left -= text.length
    if (expansion.allowance.left-- <= 0 || expansion.work.left < 0 || text.length > MAX_TEXT_LENGTH) {
      return giveUp('too many recursive expansions; does a variable refer to itself?', expansion)
    }
    const fetched = followReference(found.uri, expansion)
    if (fetched.kind === 'fault') return giveUp(fetched.message, expansion)
    const isWhole = found.start === 0 && found.end === text.length
    if (fetched.kind === 'unset') {
      expansion.findings.warn(expansion.path, `environment variable "${fetched.name}" is not set; left empty`)
      if (isWhole) return new Substituted(null, '')
    }
    const fetchedText = fetched.kind === 'unset' ? '' : fetched.text
    expansion.work.left -= fetchedText.length
    if (isWhole) {
      const node = readWhole(fetchedText)
      if (typeof node !== 'string') {
        return new Substituted(expandNode(node, expansion), unescapeDollars(fetchedText))
      }
    }
    text = text.slice(0, found.start) + fetchedText + text.slice(found.end)
  }
  return unescapeDollars(text)
}

function followReference(uri: string, { around }: Expansion): FetchedText {
  const { scheme, rest } = BARE_NAME.test(uri) ? { scheme: 'env', rest: uri } : splitUri(uri, 'env')
  const fetched = fetchText(scheme, rest, around)
  return fetched.kind === 'text' && scheme === 'file'
    ? { kind: 'text', text: fetched.text.replace(/\r?\n$/, '') }
    : fetched
}

/** The value of a reference that is a whole value: parsed as YAML, or the text itself if it is not YAML. */
function readWhole(text: string): RawNode {
  const reading = readYaml(text)
  return reading.kind === 'faulty' ? text : reading.node
}

function giveUp(message: string, { path, findings }: Expansion): RawNode {
  findings.mistake(path, message)
  return UNRESOLVED
}

function mapEntries(map: RawMap, expand: (node: RawNode, key: string) => RawNode): RawMap {
  return Object.fromEntries(Object.entries(map).map(([key, node]) => [key, expand(node, key)]))
}

interface Reference {
  start: number
  end: number
  /** The text between `${` and `}`. */
  uri: string
}

/** The first innermost `${…}` in a text; `$${…}` is escaped. Takes one pass over the text. */
function findReference(text: string): Reference | undefined {
  let open: number | undefined
  let dollars = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '$') {
      dollars++
      continue
    }
    // An even number of `$` is escaped; with an odd number, the last one begins a reference.
    if (character === '{' && dollars > 0) open = dollars % 2 === 1 ? at - 1 : undefined
    if (character === '}') {
      if (open !== undefined) return { start: open, end: at + 1, uri: text.slice(open + 2, at) }
      open = undefined
    }
    dollars = 0
  }
  return undefined
}

/** Replaces every `$$` by `$`. */
function unescapeDollars(text: string): string {
  return text.replaceAll('$$', () => '$')
}

/** The environment variables and files that a configuration may refer to. */
interface ConfigEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Returns the text of a file; throws if it cannot be read. */
  readonly readFile: (path: string) => string
}

type FetchedText =
  { kind: 'text'; text: string } | { kind: 'unset'; name: string } | { kind: 'fault'; message: string }

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]+):(.*)$/s
const ENV_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/
const DEFAULT_MARK = ':-'

/** Splits a URI into scheme and rest. A single letter before the colon is a drive, not a scheme. */
function splitUri(uri: string, defaultScheme: string): { scheme: string; rest: string } {
  const [, scheme, rest] = SCHEME.exec(uri) ?? []
  return scheme === undefined || rest === undefined ? { scheme: defaultScheme, rest: uri } : { scheme, rest }
}

/** Resolves one reference; never throws. */
function fetchText(scheme: string, rest: string, around: ConfigEnvironment): FetchedText {
  switch (scheme) {
    case 'env':
      return fetchVariable(rest, around.env)
    case 'file':
      return fetchFile(rest, around.readFile)
    case 'yaml':
      return { kind: 'text', text: rest }
    case 'http':
    case 'https':
      return fault(`Causeway fetches no configuration over ${scheme}; save ${scheme}:${rest} as a file first`)
    default:
      return fault(
        `scheme "${scheme}" is not supported for uri "${scheme}:${rest}"; write file:, env: or yaml:`,
      )
  }
}

function fetchVariable(reference: string, env: ConfigEnvironment['env']): FetchedText {
  const mark = reference.indexOf(DEFAULT_MARK)
  const name = mark < 0 ? reference : reference.slice(0, mark)
  if (!ENV_NAME.test(name)) {
    return fault(`environment variable "${name}" has invalid name: must match regex ${ENV_NAME.source}`)
  }
  const text = ownValue(env, name) ?? (mark < 0 ? undefined : reference.slice(mark + DEFAULT_MARK.length))
  return text === undefined ? { kind: 'unset', name } : { kind: 'text', text }
}

function fetchFile(path: string, readFile: ConfigEnvironment['readFile']): FetchedText {
  try {
    return { kind: 'text', text: readFile(path) }
  } catch (error) {
    return fault(`cannot read the file ${path}: ${describeReadError(error)}`)
  }
}

function describeReadError(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return 'there is no such file; paths are relative to the working directory'
  if (code === 'EACCES') return 'no permission to read it'
  return code === 'EISDIR' ? 'it is a directory; name a file in it' : errorText(error)
}

const fault = (message: string): FetchedText => ({ kind: 'fault', message })
