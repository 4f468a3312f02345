import type { Findings } from '../findings.ts'
import { fetchText, splitUri, type FetchedText, type ConfigEnvironment } from './fetch-text.ts'
import { findReference, unescapeDollars } from './find-reference.ts'
import { isMap, Substituted, UNRESOLVED, type RawMap, type RawNode } from './raw-node.ts'
import { readYaml } from './read-yaml.ts'
import { MIB } from '../../model/sizes.ts'

const MAX_EXPANSIONS = 1000
const MAX_TEXT_LENGTH = 4 * MIB
/** Characters that all values of a configuration together may go through: what is looked through again counts again. */
const MAX_WORK = 64 * MIB
const BARE_NAME = /^[^:]*(:-|$)/

/** One value of the tree being expanded: references inside what it expands to spend the same allowance. */
interface Expansion {
  readonly path: string
  readonly around: ConfigEnvironment
  readonly findings: Findings
  readonly allowance: { left: number }
  /** What is left of MAX_WORK, for the whole configuration. */
  readonly work: { left: number }
}

/** Follows every `${…}` in the values of the tree. */
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

/** What a whole-value substitution gives: YAML where it is YAML, otherwise the text itself. */
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
