// Imports the recordings of stories and writes docs/reports/truth.md: node bin/node.js lab/evaluation/truth/judge-recordings.ts
import { existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCli } from '../../../src/cli/commands.ts'
import { openForReading } from '../../../src/store/sqlite/open-database.ts'
import { formatted } from '../../charts/formatted.ts'
import { number, table } from '../../charts/markdown.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { CLASSES } from './classes.ts'
import {
  type BegunChange,
  begunChanges,
  type JudgedVersion,
  judgeRecording,
  RULINGS,
  type VerdictOfVersion,
  VERDICTS,
} from './judge.ts'
import { renameManagers } from './renamed-managers.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const FOLDER = fileURLToPath(new URL('recordings', import.meta.url))
const DOCUMENT = join(ROOT, 'docs/reports/truth.md')

const RECORDINGS = [
  'operators',
  'kinds',
  'certificates',
  'monitors',
  'namespaces',
  'removals',
  'gitops',
  'everyday',
  'nodes',
  'sealed',
  'upkeep',
  'handovers',
  'plain',
  'copies',
  'shops',
  'programs',
  'job-sets',
] as const
const VIEWS = ['audit and watch', 'watch alone'] as const

export interface JudgedRecording {
  readonly recording: (typeof RECORDINGS)[number]
  readonly view: (typeof VIEWS)[number]
  readonly versions: readonly JudgedVersion[]
  readonly changes: readonly BegunChange[]
}

/** Recordings in which programs share one name, as managers of fields: what kubebuilder calls them, and what has no User-Agent. */
const SHARED_NAMES: readonly {
  readonly recording: JudgedRecording['recording']
  readonly name: string
  readonly programs: readonly string[]
}[] = [
  {
    recording: 'programs',
    name: 'manager',
    programs: [
      ...['cache-operator', 'canary-operator', 'inventory', 'job-admitter', 'leaf-issuer', 'mesh-injector'],
      ...['node-retirer', 'shard-operator'],
    ],
  },
  { recording: 'shops', name: 'unknown', programs: ['shop-operator', 'discount-operator'] },
]

/** A recording with a watch alone, in which its programs share a name. */
export interface RecordingOfOneName extends JudgedRecording {
  readonly name: string
}

const SETTINGS = (path: string): string => `receivers:
  otlp: { protocols: { grpc: { endpoint: 127.0.0.1:0 } } }
connectors:
  cpid: { storage: { path: ${path} }, inference: { controllers: [kwok] } }
service:
  pipelines:
    traces/in: { receivers: [otlp], exporters: [cpid] }
    logs/in: { receivers: [otlp], exporters: [cpid] }
`

/** What a user would type: in this process, where what all of them run is compiled once. */
async function importing(...argv: string[]): Promise<void> {
  let said = ''
  const sink = { write: (text: string) => (said += text) }
  const code = await runCli(['import', '--cluster', 'truth', ...argv], {
    ...{ stdout: sink, stderr: sink, terminalWidth: undefined, env: {} },
    readInput: () => Promise.resolve(''),
    run: () => Promise.reject(new Error('import runs nothing')),
  })
  if (code !== 0) throw new Error(`the import ended with ${code}: ${said}`)
}

/** Imports a recording as a user does, and judges what was stored. */
async function judged(
  recording: JudgedRecording['recording'],
  view: JudgedRecording['view'],
  shared?: (typeof SHARED_NAMES)[number],
): Promise<JudgedRecording> {
  using directory = freshDirectory(tmpdir())
  const [config, path, folder] = [
    join(directory.path, 'config.yaml'),
    join(directory.path, 'causeway.db'),
    join(FOLDER, recording),
  ]
  writeFileSync(config, SETTINGS(path))
  const audit = view === 'watch alone' ? [] : ['--audit', join(folder, 'audit.jsonl.gz')]
  const renamed = join(directory.path, 'watch.jsonl.gz')
  const watch = join(folder, 'watch.jsonl.gz')
  if (shared !== undefined) renameManagers(watch, shared.programs, shared.name, renamed)
  await importing('--config', config, '--watch', shared === undefined ? watch : renamed, ...audit)
  const db = openForReading(path)
  try {
    return { recording, view, versions: judgeRecording(db, folder), changes: begunChanges(db, folder) }
  } finally {
    db.close()
  }
}

/** Both views of a recording at once, and one recording after the other: each takes a core. */
export async function judgeAll(): Promise<JudgedRecording[]> {
  const all: JudgedRecording[] = []
  for (const recording of RECORDINGS)
    all.push(...(await Promise.all(VIEWS.map((view) => judged(recording, view)))))
  return all
}

/** The recordings in which programs share a name. */
export function judgeSharedNames(): Promise<RecordingOfOneName[]> {
  return Promise.all(
    SHARED_NAMES.map(async (shared) => ({
      ...(await judged(shared.recording, 'watch alone', shared)),
      name: shared.name,
    })),
  )
}

const count = (versions: readonly JudgedVersion[], verdict: VerdictOfVersion): number =>
  versions.filter((one) => one.verdict === verdict).length

/** Of what can only come from one step, what is said to come from it. */
export function shareRight(versions: readonly JudgedVersion[]): number {
  const [right, wrong] = [
    count(versions, 'right'),
    count(versions, 'wrong') + count(versions, 'mixed') + count(versions, 'unseen'),
  ]
  return right / (right + wrong)
}

/** What is right, but is said to come from something else too. */
export function alsoFromOthers(versions: readonly JudgedVersion[]): JudgedVersion[] {
  return versions.filter(
    ({ verdict, besides }) => (verdict === 'right' || verdict === 'either') && besides.length > 0,
  )
}

/** With what changes begin in one view of a recording and not in the other. */
export function begunHereAlone(
  { recording, view, changes }: JudgedRecording,
  all: readonly JudgedRecording[],
): string[] {
  const other = all.find((one) => one.recording === recording && one.view !== view)
  const there = new Set(other?.changes.map(({ object }) => object))
  return changes.map(({ object }) => object).filter((object) => !there.has(object))
}

function countsBy(
  all: readonly JudgedRecording[],
  of: (version: JudgedVersion, of: JudgedRecording) => string,
): string {
  const rows = Map.groupBy(
    all.flatMap((one) => one.versions.map((version) => ({ key: of(version, one), version }))),
    ({ key }) => key,
  )
  const body = [...rows].map(([key, some]) => {
    const versions = some.map(({ version }) => version)
    return [...key.split('\0'), ...VERDICTS.map((verdict) => number(count(versions, verdict)))]
  })
  return table([['recording and view', '', ...VERDICTS], ...body], 2)
}

/** Where each class of what is worked out is judged: a story that nobody recorded is an error. */
function classTable(all: readonly JudgedRecording[]): string {
  const rightOf = (stories: readonly string[], seen: JudgedRecording['view']): string => {
    const versions = all
      .filter(({ view }) => view === seen)
      .flatMap((one) => one.versions)
      .filter(({ story }) => stories.includes(story))
    return `${number(count(versions, 'right'))} of ${number(versions.length)}`
  }
  const played = new Set(all.flatMap(({ versions }) => versions.map(({ story }) => story)))
  const rows = CLASSES.map(({ what, stories, before = '', interop }) => {
    const missing = stories.filter((story) => !played.has(story))
    if (missing.length > 0) throw new Error(`no recording has ${missing.join(', ')}`)
    const file = interop && `test/interop/kubernetes/${interop}`
    if (file === undefined)
      return [what, stories.join(', '), before, ...VIEWS.map((view) => rightOf(stories, view))]
    if (!existsSync(join(ROOT, file))) throw new Error(`${file} is missing`)
    return [what, `[${interop}](../../${file})`, before, '', '']
  })
  return table([['what', 'stories', 'wrong before', ...VIEWS.map((view) => `right, ${view}`)], ...rows])
}

/** How much is right of programs that share a name, and what is not. */
function ofSharedNames(shared: readonly RecordingOfOneName[], all: readonly JudgedRecording[]): string {
  const rows = shared.map((one) => [
    ...[one.recording, `\`${one.name}\``, number(one.versions.length)],
    `${(100 * shareRight(one.versions)).toFixed(2)} %`,
    ...[number(one.changes.length), number(begunHereAlone(one, all).length)],
  ])
  const faults = shared.flatMap(({ recording, versions }) =>
    versions.filter(isFault).map((version) => `- ${recording}: ${shownFault(version)}`),
  )
  const heads = ['recording', 'name', 'versions', 'right of what is unambiguous', 'changes begun']
  return [table([[...heads, 'of them not with audit'], ...rows], 2), ...faults].join('\n')
}

const isFault = ({ verdict }: JudgedVersion): boolean =>
  verdict === 'wrong' || verdict === 'mixed' || verdict === 'unseen'

const shownFault = ({ object, version, span, verdict, step }: JudgedVersion): string =>
  `${object} ${version}, ${span}: ${verdict}; meant by ${step}`

const view = ({ recording, view: seen }: JudgedRecording): string => `${recording}, ${seen}`

/** What is not right, each below the reason for it: what has none is an error, and so is a reason for nothing. */
function faultsByReason(all: readonly JudgedRecording[]): string {
  const faults = all.flatMap((one) =>
    one.versions
      .filter(isFault)
      .map((version) => ({ ...version, of: view(one), shown: `${version.object} ${version.version}` })),
  )
  const reasonOf = ({ of, shown }: (typeof faults)[number]): (typeof REASONS)[number] => {
    const reason = REASONS.find((one) => one.of === of && one.objects.test(shown))
    if (reason === undefined) throw new Error(`reasons.ts has no reason why ${of} is not right of ${shown}`)
    return reason
  }
  const byReason = Map.groupBy(faults, reasonOf)
  const needless = REASONS.find((one) => !byReason.has(one))
  if (needless !== undefined)
    throw new Error(`reasons.ts has a reason for nothing: ${needless.of} ${needless.objects}`)
  if (faults.length === 0) return 'Nothing.'
  return [...byReason]
    .map(([{ of, why }, some]) => {
      const lines = some.map((version) => `- ${shownFault(version)}`)
      return `${of}: ${why}.\n\n${lines.join('\n')}`
    })
    .join('\n\n')
}

/** docs/reports/truth.md. */
export function renderTruth(
  all: readonly JudgedRecording[],
  shared: readonly RecordingOfOneName[],
): Promise<string> {
  return formatted(DOCUMENT, textOf(all, shared))
}

function textOf(all: readonly JudgedRecording[], shared: readonly RecordingOfOneName[]): string {
  const shares = all.map((one) => [
    ...[one.recording, one.view, number(one.versions.length)],
    `${(100 * shareRight(one.versions)).toFixed(2)} %`,
    number(
      one.versions.filter(({ claim, verdict }) => claim === 'exact' && ['wrong', 'mixed'].includes(verdict))
        .length,
    ),
    number(alsoFromOthers(one.versions).length),
    ...[number(one.changes.length), number(one.changes.filter(({ isUnexplained }) => isUnexplained).length)],
    number(begunHereAlone(one, all).length),
  ])
  const alone = all.flatMap((one) => begunHereAlone(one, all).map((object) => `- ${view(one)}: ${object}`))
  const besides = all.flatMap((one) =>
    alsoFromOthers(one.versions).map(
      ({ object, version, span, step, besides }) =>
        `- ${view(one)}: ${object} ${version}, ${span}: meant by ${step}, and not by ${besides.join(', ')}`,
    ),
  )
  return (
    [
      '# What was meant, beside what is said of it',
      '<!-- Written by node bin/node.js lab/evaluation/truth/judge-recordings.ts; edit that instead. -->',
      `For whoever asks how far to trust a cause that Causeway worked out. Three users acted on a real Kubernetes v1.36.3, with kwok for kubelets,
and each step was written down with who meant it. Every version of every object was recorded, with the audit log. Here each version is held
against the step that caused it: the last step in its namespace. A version is _right_ if that step drives it in the cascade. It is _either_
where two steps overlap and the other one drives it, by the rulings below; _begun_ where what drives it began by itself (a CronJob's Job);
_mixed_ where the step is among its roots but another drives it; else _wrong_, or _unseen_. Audit says who wrote: where a change begins with a
watch alone and not with audit, a controller was taken for a person; the other way round, a person for a controller.`,
      table(
        [
          [
            ...['recording', 'view', 'versions', 'right of what is unambiguous', '_exact_ and not right'],
            'right, but from something else too',
            ...['changes begun', 'of them by nobody known, for no known reason'],
            'of them not in the other view',
          ],
          ...shares,
        ],
        2,
      ),
      'The recording _operators_ has nine stories, two of them of argo-rollouts. The recording _kinds_ has eleven other stories: quotas, budgets, nodes, relabelled Pods, preemption, orphans, finalizers, changes that overwrite each other; and seven of the first again, with other pauses. The recording _certificates_ has four of cert-manager v1.11.5, the recording _monitors_ two of the Prometheus operator v0.77.2. The recording _namespaces_ has five of a controller with a finalizer, whose objects somebody deletes with their namespace, the recording _removals_ two more of Kubernetes itself. The recording _gitops_ has four of the source-controller and the kustomize-controller of Flux (v1.9.6 of both): whoever pushes a commit begins what Flux finds then. The recording _everyday_ has 17 of what people do every day: partitions, undone rollouts, autoscalers, CronJobs, indexed Jobs, adopted and edited ReplicaSets, owners, limits, mirrored endpoints, claims of volumes and devices. The recording _nodes_ has three of evictions, drains and priorities, the recording _sealed_ two of sealed-secrets. The recording _upkeep_ has ten of what runs already: sidecars, other ways of replacing Pods, claims that are not kept, Jobs that run more or fewer Pods, or that one Pod ends, autoscaled StatefulSets, parts of roles, counted kinds, drains. The recording _handovers_ has nine of changed hands: objects that are replaced by force, a namespace made again, collections deleted at once, Pods that people bind, a pipeline with a service account, hooks, switched Services, admission policies, ReplicationControllers. The recording _plain_ has two of controllers without custom resources: one rolls Deployments out when their settings change, one furnishes new namespaces. The recording _copies_ has three of external-secrets v0.14.4, built without its providers for clouds, and one of trust-manager v0.25.0: what they make follows from stores and authorities that their objects name, and from labels of namespaces. The recording _shops_ has two of small operators that own nothing of what they make: a label names what it is for, and one writes into what the other looks after. The recording _programs_ has nine of small programs of other styles, four of them without custom resources that a watch alone cannot tell from people: what closes nodes and evicts from them, a canary of two Deployments, Secrets that are issued and copied, a database in shards, sidecars of a mesh, Jobs that wait to be let in, parts that only a label of their instance names, a list of what a namespace has. A tenth story is played and not judged: its program evicts Pods where a custom resource says so, and with a watch alone each of these evictions begins a change. The recording _job-sets_ has two of the JobSet controller v0.8.0 without its webhooks: Jobs that it suspends, restarts, begins one after the other, and deletes when their time is over.',
      '## Programs that share a name',
      'With a watch alone, the manager of fields tells who wrote. Operators built with kubebuilder are all called `manager`, and programs without a User-Agent `unknown`. So two recordings are judged again as if their programs had that name.',
      ofSharedNames(shared, all),
      '## By class',
      'Each class of causes with the stories by which it is judged. What is played only on a cluster, by `npm run test:interop`, is not counted. What is not right may be _either_ or _begun_. What was _wrong before_ was counted in other runs of such stories, before there was a rule for them.',
      classTable(all),
      '## By claim',
      countsBy(all, ({ claim }, one) => `${view(one)}\0${claim}`),
      '## By story',
      countsBy(all, ({ story }, one) => `${view(one)}\0${story}`),
      '## What is not right',
      faultsByReason(all),
      '## What is right, but is said to come from something else too',
      besides.length === 0 ? 'Nothing.' : besides.join('\n'),
      '## Changes that begin in one view alone',
      alone.length === 0 ? 'None.' : alone.join('\n'),
      '## Rulings',
      RULINGS.map(
        ({ steps, back, why, objects }) =>
          `- \`${steps.source}\`${objects === undefined ? '' : `, \`${objects.source}\``}: up to ${back} ${back === 1 ? 'step' : 'steps'} before; ${why}.`,
      ).join('\n'),
      'Of changes that overwrite each other within milliseconds the content tells which of them ReplicaSets and Pods were made for: their image, or how many were wanted then. What a status counts is _either_ by ruling.',
    ].join('\n\n') + '\n'
  )
}

/** Why versions are not said to come from what they were meant by: one reason for each that docs/reports/truth.md lists. */
const REASONS: readonly {
  /** A recording and its view. */
  readonly of: string
  readonly objects: RegExp
  readonly why: string
}[] = [
  {
    of: 'monitors, watch alone',
    objects: /\/alertmanager-am-generated 394$/,
    why: 'what it was made for, an AlertmanagerConfig, is of a resource that was not watched, and no audit log told of it',
  },
  {
    of: 'namespaces, watch alone',
    objects: /\/d4-held(?:\/held)? \d+$/,
    why: 'the patch that takes the last finalizer away leaves no version: a watch shows that the object is gone, and not who let it go',
  },
  {
    of: 'handovers, watch alone',
    objects: /\/b4-bound\/web/,
    why: 'a binding names no field manager: with a watch alone the scheduler binds each Pod, and what the Pod does then follows from that',
  },
  {
    of: 'copies, watch alone',
    objects: /\/k5-bundle \d+$/,
    why: 'a Bundle names its source without a namespace, which is that of the program: only the account in an audit log says which',
  },
  {
    of: 'programs, audit and watch',
    objects: /\/ee-summed\/inventory \d+$/,
    why: 'the program sums up whatever a labelled namespace has: no object names what it lists, and it names none of them',
  },
  {
    of: 'programs, watch alone',
    objects: /^v1\/nodes\/ea-[ab] \d+$/,
    why: 'a program without custom resources deletes the node: with a watch alone a deletion names nobody, and counts as a change of a person',
  },
]

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(DOCUMENT, await renderTruth(await judgeAll(), await judgeSharedNames()))
  console.log(`${DOCUMENT} is written`)
}
