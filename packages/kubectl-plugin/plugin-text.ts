import { shortReference } from './named-object.ts'

export interface Version {
  readonly object: string
  readonly timestamp: string
  readonly name: string
  readonly service: string
  readonly user?: string
  readonly cpid: string | null
  readonly drivenBy: readonly string[]
}

export interface Cascade {
  readonly root: string
  readonly state: string
  readonly start: string
  readonly durationMs: number
  readonly spans: number
  readonly object: string | null
  readonly service: string | null
  readonly actor: string | null
  readonly reason: string | null
  readonly missing: number
  readonly gaps: number
  readonly traces: readonly { readonly spans: readonly CascadeSpan[] }[]
}

interface CascadeSpan {
  readonly depth: number
  readonly name: string
  readonly service: string
  readonly cpid: string | null
  readonly user?: string
  readonly offsetMs: number
  readonly durationMs: number
  readonly status: number
  readonly synthetic: boolean
  readonly activity?: boolean
  readonly wrote?: readonly string[]
}

/** A change, and the versions of one object that it drove. */
export interface Cause {
  readonly change: Cascade
  readonly versions: readonly Version[]
}

const ERROR = 2
/** Span names begin with a verb of the API. */
const DONE = new Map(
  Object.entries({
    ...{ apply: 'applied', bind: 'bound', create: 'created', delete: 'deleted', patch: 'changed' },
    ...{ post: 'created', put: 'changed', scale: 'scaled', update: 'changed', write: 'changed' },
  }),
)
/** The parts in reasons of the inference: `<part> by <writer>`. */
const PARTS = new Map(
  Object.entries({
    ...{ creation: 'created', authored: 'changed', scale: 'scaled', deletion: 'deleted', removal: 'removed' },
    ...{ status: 'reported the status of', binding: 'bound' },
  }),
)
/** The name, and default reason, of a command that began a change: `kubectl create`. */
const COMMAND = /^(?:kubectl|oc) (\w+)/
const COMMANDS = new Map(
  Object.entries({
    ...{ apply: 'applied', annotate: 'annotated', create: 'created', delete: 'deleted', expose: 'exposed' },
    ...{ label: 'labelled', rollout: 'rolled out', scale: 'scaled' },
  }),
)

export function whyText(asked: string, namespace: string, causes: readonly Cause[], nowMs: number): string {
  const [last] = causes
  const version = last?.versions[0]
  if (last === undefined || version === undefined) return `Causeway saw nobody write ${asked}.\n`
  const lines = [
    `${shortReference(version.object, namespace)} was last written ${ago(version.timestamp, nowMs)}: ` +
      `${version.service} ${wrote(version, 'it')}`,
    `because ${sentence(last.change, namespace)} ${before(last.change.start, version.timestamp)}`,
    `  ${told(last.change)}`,
  ]
  const earlier = causes.slice(1)
  if (earlier.length > 0) lines.push('', 'Before that it was written because')
  for (const { change, versions } of earlier)
    lines.push(
      `  ${sentence(change, namespace)}, ${ago(change.start, nowMs)} (${counted(versions.length, 'write')})`,
    )
  return `${lines.join('\n')}\n`
}

/** One line for each actor that began a change, the latest first. */
export function whoText(asked: string, namespace: string, causes: readonly Cause[], nowMs: number): string {
  if (causes.length === 0) return `Causeway saw nobody change ${asked}.\n`
  const people = new Map<string, Cascade[]>()
  for (const { change } of causes) {
    const actor = actorOf(change)
    people.set(actor, [...(people.get(actor) ?? []), change])
  }
  const rows = [...people].flatMap(([actor, changes]) => {
    const [last] = changes
    if (last === undefined) return []
    return [
      [actor, counted(changes.length, 'change'), `last ${ago(last.start, nowMs)}: ${deed(last, namespace)}`],
    ]
  })
  return aligned(rows)
}

/** A cascade as a tree: who wrote what after what. */
export function cascadeText(change: Cascade, spans: readonly CascadeSpan[], namespace: string): string {
  const drawn = spans.filter(({ synthetic, activity }) => !synthetic && activity !== false)
  const failed = drawn.filter(({ status }) => status === ERROR).length
  const least = drawn.reduce((depth, one) => Math.min(depth, one.depth), Number.POSITIVE_INFINITY)
  const head =
    `${sentence(change, namespace)}: ${counted(drawn.length, 'step')} in ${milliseconds(change.durationMs)}, ${change.state}` +
    (failed === 0 ? '' : `, ${failed} failed`) +
    (change.missing === 0 ? '' : `, ${change.missing} missing`)
  const rows = drawn.map(({ depth, name, service, offsetMs, status, wrote: [object] = [] }) => {
    const what = object === undefined ? name : wrote({ name, service }, shortReference(object, namespace))
    const outcome = status === ERROR ? ' FAILED' : ''
    return [`+${milliseconds(offsetMs)}`, `${'  '.repeat(depth - least)}${service}`, `${what}${outcome}`]
  })
  return `${head}\n${aligned(rows)}`
}

/** `alice scaled deployment/web`. */
function sentence(change: Cascade, namespace: string): string {
  return `${actorOf(change)} ${deed(change, namespace)}`
}

function deed(change: Cascade, namespace: string): string {
  const { object, reason } = change
  const what = object === null ? 'something' : shortReference(object, namespace)
  const [, begun, part] = /^(?:worked out: )?(?:(\w+): )?(\w+) by /.exec(reason ?? '') ?? []
  const done = PARTS.get(part ?? '')
  if (done !== undefined)
    return `${done} ${what}${begun === undefined || begun === 'unknown' ? '' : ` by itself (${begun})`}`
  return `${deedOfCommand(reason ?? '') ?? begunBy(change) ?? 'changed'} ${what}${reason === null ? '' : `: ${reason}`}`
}

function deedOfCommand(text: string): string | undefined {
  const [, command = ''] = COMMAND.exec(text) ?? []
  return COMMANDS.get(command)
}

/** What the command of the root change did, not what followed from it. */
function begunBy({ root, traces }: Cascade): string | undefined {
  for (const { cpid, name, wrote = [] } of traces.flatMap(({ spans }) => spans)) {
    const did = cpid === root && wrote.length > 0 ? deedOfCommand(name) : undefined
    if (did !== undefined) return did
  }
  return undefined
}

function actorOf({ actor, service }: Cascade): string {
  const name = actor ?? service ?? ''
  return name === '' || name === 'unknown' ? 'somebody' : name
}

function told({ root, spans, state }: Cascade): string {
  return `${counted(spans, 'span')}, ${state}: kubectl causeway cascade ${root.slice(0, 8)}`
}

/** `changed deployment/web`, `reported the status of it`; for a command's span, by its subcommand. */
function wrote({ name, service }: { name: string; service: string }, what: string): string {
  if (name.startsWith(`${service} `)) {
    const [command = ''] = name.slice(service.length + 1).split(' ')
    return `${COMMANDS.get(command) ?? 'changed'} ${what}`
  }
  const [verb = '', ...rest] = name.split(' ')
  const done = DONE.get(verb)
  if (done === undefined) return `${name} ${what}`
  return rest.at(-1) === 'status' ? `reported the status of ${what}` : `${done} ${what}`
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

function before(earlier: string, later: string): string {
  const ms = Date.parse(later) - Date.parse(earlier)
  return ms <= 0 ? 'at the same time' : `${milliseconds(ms)} before`
}

function ago(time: string, nowMs: number): string {
  return `${milliseconds(Math.max(0, nowMs - Date.parse(time)))} ago`
}

/** A duration in a readable unit. */
function milliseconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const units = [
    { unit: 'day', ms: 86_400_000 },
    { unit: 'hour', ms: 3_600_000 },
    { unit: 'minute', ms: 60_000 },
  ]
  const { unit, ms: length } = units.find((one) => ms >= one.ms) ?? { unit: 'minute', ms: 60_000 }
  const count = Math.floor(ms / length)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

function aligned(rows: readonly string[][]): string {
  const widths = [0, 1].map((column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0),
  )
  return rows
    .map(
      ([first = '', second = '', third = '']) =>
        `${first.padEnd(widths[0] ?? 0)}  ${second.padEnd(widths[1] ?? 0)}  ${third}\n`,
    )
    .join('')
}

/** Control and format characters, which could control a terminal or disguise text; newlines are kept. */
const CONTROLS = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu

export function plainText(text: string): string {
  return text.replaceAll(CONTROLS, '\ufffd')
}

/** Escapes these characters in JSON, which keeps its value. */
export function plainJson(json: string): string {
  return json.replaceAll(CONTROLS, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
