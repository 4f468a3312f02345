import { number, table } from '../../charts/markdown.ts'
import type { Measured } from '../evaluation-data.ts'
import { CLASSES, type WrongClass } from '../inference/classes.ts'
import type { InferenceData } from '../inference/measure.ts'
import type { SourcesData, Tally } from '../inference/measure-histories.ts'
import { parentsRight, rootsRight } from './inference-aims.ts'

/** Clusters that nobody patched: how right is what Causeway works out. */
export function inferenceSection({ data }: Measured<InferenceData>): string {
  const { histories, recording } = data
  const [both] = histories.sources
  return `## Clusters that nobody patched: how right inference is

Causeway works out from outside which writes caused which. Here that is compared with what is known otherwise. What it goes by is
in [inference.md](../inference.md).

**${number(histories.histories)} random histories.** The control plane above is played with up to three users who change up to three apps at
once: scaling, new images, Pods, ReplicaSets, Endpoints, Services and Deployments deleted by hand and made again, with and without an autoscaler, with
pauses of up to 0.1, 1 or 10 s, with conflicts, with watches of controllers that drop or expire. Its
controllers are instrumented and say themselves what they read and which changes they merged. The same runs are seen from outside: versions as a watch
delivers them (in two fifths of the histories it drops now and then and goes on where it was; in one fifth it has to list again, and what came between is
lost), requests as an audit log tells them; nothing of a CPID is in either.
The words of the controllers are taken as the contract counts causes, which differs from what they observed in eight ways: an operator's
write begins a change, whatever the object went through before (the demo's kubectl merges what it overwrites); what is made or taken away
follows from its owner, not from what else that owns, but where it takes the place of what goes; what was read already when the writer wrote the object last caused nothing
since; what a list alone tells to be gone went by its deletion; what had the same name before has nothing to do with it, while what has no owner and is made anew follows from who deleted it; an operator's
write that another overwrote before its reader had acted on it counts as far as a field of it still holds; and a ReplicaSet is changed for
what its Deployment wants, however far that has come. Of all
${number(histories.writes)} writes ${number(histories.sameWithAllRead)} have the same changes when everything counts that was observed.

${table(
  [
    [
      'sources',
      'writes',
      'not seen',
      'changes right',
      'wrong first here',
      'causal parent right',
      'called exact',
      'wrongly',
    ],
    ...histories.sources.flatMap((one) => [
      [one.sources, ...cells(one.all)],
      [`– without those where a watch listed again`, ...cells(one.unbroken)],
      [`– where whoever wrote had read the newest`, ...cells(one.ofNewest)],
    ]),
  ],
  true,
)}

In the third line of each are the writes for which their controllers had read no version that was not the newest, and those that
follow from such writes alone: for the others nothing outside shows which version was read, so that what they come from is ambiguous.

_Wrong first here_ are writes that were given wrong changes although all they had read was right; the others inherit a mistake, which stays
with an object until an operator writes it. Writes of one piece of work count as one when their parents are compared: where a controller's second write hangs below its first, that is
not wrong. A write is _called exact_ for the versions that it read: which changes those were of may be inherited wrongly.

What was aimed at is changes right for 99.5 % with audit log and watch and for 98 % with a watch alone, and the causal parent for 99 %: the
histories miss all three, the last by ${missedBy(both)}. How long their pauses are, how often their watches drop, and seven of the eight ways in which the words of the
controllers are taken were settled while figures were seen, on some 200 of these 1,000 histories; earlier histories, with shorter pauses and
longer outages, gave lower figures.

With audit log and watch, by what was written:

${table([['write', 'writes', 'changes right', 'wrong first here', 'causal parent right', 'called exact', 'wrongly'], ...kindRows(both)], true)}

Why they are wrong, in writes:

${table([['why', ...histories.sources.flatMap(({ sources }) => [`changes, ${sources}`, `parents, ${sources}`])], ...classRows(histories.sources)], true)}

- _Its cache was behind_: a controller acts on what it has, some milliseconds or, after a lost watch, seconds old, and only PUT bodies,
  preconditions and copied content say how old. A Pod that is made says nothing of it. Nothing else shows from outside what a controller had in
  its cache; nobody can know. Where an audit log tells when requests began, versions that nobody had asked for yet are left out.
  Those that had not been answered when the writer's request began cannot be: of 183 versions that PUT bodies and Events of the recording below name, 2
  were answered more than 1 ms after the request that they were read for had come. An answer takes 2 ms after the commit for 5 of 100
  of its writes, and longer where the machine is busy.
- The changes of most wrong writes are wrong because those of something that they read were: what is decided never changes, and
  an object keeps what it went through until an operator writes it again.
- _Ended later_ and _not read_: the controllers say everything they had read, of which the latest counts as parent; inference
  counts for a status only what changed its numbers. The audit log's times are those of the API server, which answers a median of
  0.3 ms after the commit (584 writes of a real one); of several things that were read the one committed last counts as ended last. A watch
  alone tells when a version was seen; that it was made before any above it puts what several watches tell of in order.
- _Guessed wrongly_: a watch alone tells nobody's name. Two writes by one program within a second leave the same managedFields.
- _Never delivered_: a watch that must list again shows the last version only. Such cascades say that they have gaps. A change
  that a list shows counts as that of the operator who wrote the object last meanwhile.
- An audit log alone gives most deletions no version; they are put behind what was told before they ended.

**A recorded rollout on a real cluster** (v1.36.3; ${number(recording.writes)} writes, ${recording.undecided} undecided):

${table(
  [
    ['what says which version was read', 'right', 'of'],
    ...Object.entries(recording.events).map(([reason, { right, of }]) => [
      `Event ${reason}`,
      String(right),
      String(of),
    ]),
    [
      'PUT bodies and preconditions, which inference was not shown',
      String(recording.requests.right),
      String(recording.requests.of),
    ],
    ['templates of new ReplicaSets', String(recording.templates.right), String(recording.templates.of)],
    ...Object.entries(recording.alone).map(([source, { right, of }]) => [
      `the same changes by ${source} alone`,
      String(right),
      String(of),
    ]),
  ],
  2,
)}

The one scaling that an Event contradicts was done by a Deployment controller whose cache was behind.

${appsText(data.apps)}`
}

function cells(one: Tally): string[] {
  return [
    number(one.writes),
    number(one.unseen),
    `${number(rootsRight(one), 2)} %`,
    number(one.wrongAtFirst),
    `${number(parentsRight(one), 2)} %`,
    number(one.exact),
    number(one.wronglyExact),
  ]
}

function kindRows(both: SourcesData | undefined): string[][] {
  return Object.entries(both?.kinds ?? {})
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([kind, one]) => [
      kind,
      number(one.writes),
      `${number(rootsRight(one), 2)} %`,
      number(one.wrongAtFirst),
      one.asked === 0 ? '' : `${number(parentsRight(one), 2)} %`,
      number(one.exact),
      number(one.wronglyExact),
    ])
}

function classRows(sources: readonly SourcesData[]): string[][] {
  return (Object.entries(CLASSES) as [WrongClass, string][]).map(([name, text]) => [
    text,
    ...sources.flatMap(({ roots, parents }) => [number(roots[name] ?? 0), number(parents[name] ?? 0)]),
  ])
}

function appsText(apps: InferenceData['apps']): string {
  if ('absent' in apps) return `**Forty apps on a real cluster**: not measured: ${apps.absent}`
  return `**Forty apps on a real cluster**: ${apps.apps} Deployments, ${number(apps.patches)} patches by two users at once; ${number(apps.writes)}
writes of objects of one app were decided, ${apps.wrong} of them were given a change of another app
(${number(apps.operators)} writes by the two users; ${number(apps.exact)} exact, ${number(apps.inferred)} inferred).`
}

/** How many causal parents more would have to be right for the aim. */
function missedBy(sources: SourcesData | undefined): string {
  const { asked, wrongParents } = sources?.all ?? { asked: 0, wrongParents: 0 }
  return `${number(Math.max(0, wrongParents - Math.floor(asked / 100)))} of ${number(asked)} writes`
}
