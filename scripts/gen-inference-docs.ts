import { ANY_RESOURCE } from '../src/model/inference-store.ts'
import type { Reads } from '../src/kube/inference/reads.ts'
import { type Relation, RELATIONS } from '../src/kube/inference/relations.ts'
import { markdownTable } from './markdown-table.ts'

export const INFERENCE_DOCS = new URL('../docs/reference/inference.md', import.meta.url)

const HEADINGS = ['What is written', 'By', 'What was read for it', 'Which version of it']

const INTRODUCTION = `<!-- Written by npm run gen from src/kube/inference/relations.ts; change it there. -->

# What a controller's write follows from

For whoever asks why an inferred write hangs where it does: every relation by which Causeway looks for the cause of a controller's
write. [inference.md](../inference.md) explains them, and how to configure more.

A write also follows from the previous version of its own object. In the table, _it_ is the written object. _Changed_ means: changed since
this controller last wrote the object. Names such as \`wanted\` stand for parts of an object that Causeway compares. The parts of a write are
\`creation\`, \`authored\` (what an author writes), \`status\`, \`scale\`, \`binding\`, \`deletion\` (deletion begins, or the object is removed at
once) and \`removal\` (the object is removed after its deletion began). A status that changes only heartbeats is left out. If the last column
is empty, the newest version below the write is taken.`

/** The text of docs/reference/inference.md. */
export function renderInferenceDocs(): string {
  return `${INTRODUCTION}\n\n${markdownTable(HEADINGS, RELATIONS.map(rowOf))}\n`
}

function rowOf({
  write = 'any object',
  parts,
  by = 'any controller',
  reads,
  copies,
  counts,
  alive,
  content,
  changes,
  waitedFor,
  names,
}: Relation): string[] {
  const which = [
    ...(copies ?? []).map(({ ours }) => `the version whose \`${ours}\` it copies`),
    ...(counts === undefined
      ? []
      : [
          `the newest versions whose ${counts.sums.map(({ ours }) => `\`${ours}\``).join(' and ')} add up to those that it has`,
        ]),
    ...(reads.kind === 'entries' ? ['the version that shows what the list says'] : []),
    ...(content === true ? ['the version that last changed its content'] : []),
    ...(changes === undefined ? [] : [`only if the write changes \`${changes}\``]),
    ...(waitedFor === undefined ? [] : [`only if the Pod waited for ${waitedFor}`]),
    ...(names === undefined ? [] : [`only if it names ${names}`]),
    ...(alive === true ? ['no version in which it is deleted'] : []),
  ]
  return [`${write}: ${parts.join(', ')}`, by, wordsOf(reads), which.join('; ')]
}

function wordsOf(reads: Reads): string {
  switch (reads.kind) {
    case 'owner':
      return 'its owners'
    case 'dependents':
      return `${reads.resource === ANY_RESOURCE ? 'objects' : `the ${reads.resource}`} that it owns and that changed`
    case 'leaving':
      return 'other objects of its owner that were deleted, began to terminate or finished'
    case 'replaced':
      return 'other objects of its owner that had its template and were deleted'
    case 'edited':
      return 'objects of its owner that an operator edited'
    case 'fellows':
      return 'other objects of its owner that have or want replicas and changed'
    case 'joined':
      return 'the last Pod of its namespace that began to run while it waited for other Pods'
    case 'quota':
      return 'the ResourceQuota that had refused it, after its controller recounted it'
    case 'awaited':
      return 'the last object it owned that was deleted'
    case 'ended below':
      return 'the Pod of its group that was deleted last, if it was not written since'
    case 'predecessor':
      return 'the deleted object that had its name and its owner'
    case 'named':
      return `the object that it names (${reads.field}), if that changed`
    case 'named since':
      return `the object that it names (${reads.field}), if that changed after it did`
    case 'ended':
      return `the object that it names (${reads.field}), if that was deleted`
    case 'entries':
      return `the objects that it lists (${reads.field}) and whose entries changed`
    case 'naming':
      return `the ${reads.resource} that name it${reads.isSeries ? ' without its ordinal' : ''} (${reads.field})`
    case 'namesake':
      return 'the last deleted object of its name, if nothing else that was read is newer; if the controller had written that object, only if an operator deleted it'
    case 'namespace':
      return 'its namespace'
    case 'departed':
      return 'objects that its owner, or it itself, no longer owns'
    case 'adopted':
      return 'if nothing else is new: the object that its owner adopted last'
    case 'former owner':
      return 'owners that this write removed'
    case 'selected':
      return `the ${reads.resource} that its selector matches and that changed`
    case 'changed':
      return `the ${reads.resource} ${reads.isBeside ? 'of its namespace ' : ''}that changed`
    case 'users':
      return `the ${reads.resource} that name ${reads.of === undefined ? 'it' : `what it names (${reads.of})`} (${reads.field}) and that changed`
    case 'counted':
      return 'objects of its namespace that it counts and that changed'
    case 'admission':
      return 'if nothing else is newer: the ServiceAccount, PriorityClass or RuntimeClass that it names, if that was created; and the quotas, LimitRanges, admission policies, webhooks or namespace that had refused it and changed'
    case 'remaining':
      return 'objects that remained in it and were deleted'
    case 'defined':
      return 'the last of its custom resources that was deleted after it'
    case 'freed':
      return 'the Pod that last freed room on the node that it names'
    case 'referred':
      return 'objects that its spec names and that changed'
    case 'applied from':
      return 'the GitOps object that its labels name, if that changed or has another revision; else the last deleted object of its name'
    case 'primaries':
      return 'objects that the controller reconciles and that changed: they name it, it names them, they own its owners, or it is named after them'
    case 'named by primaries':
      return 'objects that are named in the spec of the objects that the controller reconciles for it, if their content changed since the controller last acted for these'
    case 'selected namespace':
      return 'its namespace, if the controller reconciles a cluster-scoped object for it and the namespace changed since the controller last acted for that'
    case 'annotated':
      return 'the Secret, ConfigMap or object of its own resource in another namespace that its labels or annotations name, if the content of that changed'
    case 'made for it':
      return 'objects that changed and whose labels name it by its kind, as `…/shop: books` does, or under a key of its domain'
    case 'named just before':
      return 'objects that its labels name under their own API group or as `app.kubernetes.io/instance`, objects that its spec names, and its namespace if that is newer than what the labels name; each if somebody else has just changed it'
    case 'naming just before':
      return 'if nothing else is new: the custom resources whose spec names it or its owners, if somebody else has just changed that'
    case 'selected by it':
      return 'workloads, Pods and Services of its namespace that its selector matches and whose content or labels changed'
    case 'restored':
      return 'the last deleted object of its name, if this controller had written that and nothing that it reconciles has changed since'
    case 'kin':
      return 'if nothing else is new: custom resources of the same API group and namespace that changed'
    case 'made for the same':
      return 'if nothing else is new: other objects that the controller made for the same owner or reconciled object and that somebody else changed'
    case 'done just before':
      return 'if nothing else is new: what the controller wrote for the same owner or reconciled object at most 2 s before'
    case 'new kin':
      return 'custom resources of its API group and namespace that somebody has just changed'
    case 'new namespace':
      return 'if nothing else is new: its namespace, if that has just changed'
    case 'settings':
      return 'the ConfigMaps and Secrets from which its Pods take settings, if they have just changed'
    case 'just begun':
      return 'with a watch alone, if nothing else is new and the object belongs to nothing that the writer reconciles: what a person has just changed in its namespace'
    case 'successor':
      return 'for the oldest of what the writer made under names with numbers, if nothing else is new: what it has just made or finished under another one'
    case 'closed node':
      return 'for an eviction, if nothing else is new: the node of the Pod, if somebody cordoned or tainted it'
    case 'preemptor':
      return 'the Pods that are nominated for the node that it names'
  }
}
