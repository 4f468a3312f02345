import { readFileSync } from 'node:fs'
import { ANY_RESOURCE } from '../src/model/inference-store.ts'
import { type Reads, type Relation, RELATIONS } from '../src/kube/inference/relations.ts'

export const INFERENCE_DOCS = new URL('../docs/inference.md', import.meta.url)

const BEGIN = '<!-- relations: written by npm run gen -->'
const END = '<!-- /relations -->'
const HEADINGS = ['What is written', 'By', 'What was read for it', 'Which version of it']

/** The text of docs/inference.md with the table of relations between its two marks, laid out as prettier leaves it. */
export function renderInferenceDocs(): string {
  const text = readFileSync(INFERENCE_DOCS, 'utf8')
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`docs/inference.md lacks the marks ${BEGIN} and ${END}`)
  return `${text.slice(0, begin)}${BEGIN}\n\n${table(RELATIONS.map(rowOf))}\n\n${text.slice(end)}`
}

function rowOf({
  write = 'anything',
  parts,
  by = 'anybody',
  reads,
  copies,
  counts,
  alive,
  content,
  changes,
}: Relation): string[] {
  const which = [
    ...(copies ?? []).map(({ ours }) => `that whose ${ours} it copies`),
    ...(counts === undefined
      ? []
      : [`the newest of which ${counts.sums.map(({ ours }) => ours).join(' and ')} are the sum`]),
    ...(reads.kind === 'entries' ? ['that which shows what the list says'] : []),
    ...(content === true ? ['that which gave it its content'] : []),
    ...(changes === undefined ? [] : [`only where ${changes} changes`]),
    ...(alive === true ? ['none at which it was gone'] : []),
  ]
  return [`${write}: ${parts.join(', ')}`, by, wordsOf(reads), which.join('; ')]
}

function wordsOf(reads: Reads): string {
  switch (reads.kind) {
    case 'owner':
      return 'its owners'
    case 'dependents':
      return `${reads.resource === ANY_RESOURCE ? 'whatever' : `the ${reads.resource}`} that it owns and that changed`
    case 'leaving':
      return 'others of its owner that began to go'
    case 'fellows':
      return 'others of its owner that changed and are in use'
    case 'predecessor':
      return 'what had its name and owner and went'
    case 'named':
      return `what it names (${reads.field}), where that changed`
    case 'ended':
      return `what it names (${reads.field}) and what went`
    case 'entries':
      return `those it lists (${reads.field}) otherwise than before`
    case 'naming':
      return `${reads.resource} that name it${reads.isSeries ? ' without its number' : ''} (${reads.field})`
    case 'namesake':
      return 'what had its name and went'
    case 'namespace':
      return 'its namespace'
    case 'departed':
      return 'those that its owner had, or it had itself, and has no more'
    case 'adopted':
      return 'where nothing else is new: what was adopted last'
    case 'former owner':
      return 'owners that it has no more'
    case 'selected':
      return `the ${reads.resource} that its selector fits and that changed`
    case 'changed':
      return `the ${reads.resource} that changed`
    case 'counted':
      return 'what it counts in its namespace and what changed'
    case 'quota':
      return 'quotas of its namespace that changed, where its owner was refused more'
    case 'remaining':
      return 'what was left in it and went'
    case 'freed':
      return 'what went last from the node that it names'
    case 'referred':
      return 'what its spec names and what changed'
    case 'applied from':
      return 'what it is applied from, where that changed or is of another revision; else what had its name and went'
    case 'primaries':
      return 'objects that the controller looks after and that changed: they name it, it names them, they own its owners, or it is called after them'
    case 'kin':
      return 'custom resources of the same API group and namespace that changed, where nothing else is new'
    case 'preemptor':
      return 'pods that are to run on the node that it names'
  }
}

function table(body: readonly string[][]): string {
  const rows = [HEADINGS, ...body]
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)))
  const lines = rows.map(
    (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  )
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [...lines.slice(0, 1), rule, ...lines.slice(1)].join('\n')
}
