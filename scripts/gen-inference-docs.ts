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

A write also follows from the previous version of its own object. _Changed_ means: changed since this controller last wrote the object. The
parts of a write are \`creation\`, \`authored\` (what an author writes), \`status\`, \`scale\`, \`binding\`, \`deletion\` (deletion begins, or the
object is removed at once) and \`removal\` (the object is removed after its deletion began). A status that changes only heartbeats is left
out. Without a rule in the last column it is the newest version below the write.`

/** The text of docs/reference/inference.md. */
export function renderInferenceDocs(): string {
  return `${INTRODUCTION}\n\n${markdownTable(HEADINGS, RELATIONS.map(rowOf))}\n`
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
  waitedFor,
  names,
}: Relation): string[] {
  const which = [
    ...(copies ?? []).map(({ ours }) => `that whose ${ours} it copies`),
    ...(counts === undefined
      ? []
      : [`the newest of which ${counts.sums.map(({ ours }) => ours).join(' and ')} are the sum`]),
    ...(reads.kind === 'entries' ? ['that which shows what the list says'] : []),
    ...(content === true ? ['that which gave it its content'] : []),
    ...(changes === undefined ? [] : [`only where ${changes} changes`]),
    ...(waitedFor === undefined ? [] : [`only where the Pod waited for ${waitedFor}`]),
    ...(names === undefined ? [] : [`only where it names ${names}`]),
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
      return 'others of its owner that began to go or finished'
    case 'replaced':
      return 'others of its owner that had its template and went'
    case 'edited':
      return 'others of its owner that somebody else edited'
    case 'fellows':
      return 'others of its owner that changed and are in use'
    case 'joined':
      return 'a Pod that began to run while it waited for others'
    case 'quota':
      return 'the quota that had refused it, as its controller counted it again'
    case 'awaited':
      return 'the last of what it owned that went'
    case 'ended below':
      return 'of the Pods of what it owns the one that began to go last, where nothing was written of it since'
    case 'predecessor':
      return 'what had its name and owner and went'
    case 'named':
      return `what it names (${reads.field}), where that changed`
    case 'named since':
      return `what it names (${reads.field}) and what changed after it did`
    case 'ended':
      return `what it names (${reads.field}) and what went`
    case 'entries':
      return `those it lists (${reads.field}) otherwise than before`
    case 'naming':
      return `${reads.resource} that name it${reads.isSeries ? ' without its number' : ''} (${reads.field})`
    case 'namesake':
      return 'what had its name and went, unless something else it follows from is newer; of what it wrote itself only what an operator deleted'
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
      return `the ${reads.resource} ${reads.isBeside ? 'of its namespace ' : ''}that changed`
    case 'users':
      return `the ${reads.resource} that name ${reads.of === undefined ? 'it' : `what it names (${reads.of})`} (${reads.field}) and that changed`
    case 'counted':
      return 'what it counts in its namespace and what changed'
    case 'admission':
      return 'where nothing else is as new: the account or class that it names and that was created; the quotas, ranges of limits, admission policies or labels of its namespace that had refused it and changed'
    case 'remaining':
      return 'what was left in it and went'
    case 'defined':
      return 'the last of its custom resources that went after it was deleted'
    case 'freed':
      return 'the Pod that last made room on the node that it names'
    case 'referred':
      return 'what its spec names and what changed'
    case 'applied from':
      return 'what it is applied from, where that changed or is of another revision; else what had its name and went'
    case 'primaries':
      return 'objects that the controller looks after and that changed: they name it, it names them, they own its owners, or it is called after them'
    case 'named by primaries':
      return 'what the objects that the controller looks after for it name in their spec, where its content changed since the controller acted for them'
    case 'selected namespace':
      return 'its namespace, where the controller looks after an object in no namespace for it and the namespace changed since the controller acted for that'
    case 'annotated':
      return 'the Secret, ConfigMap or object of its own resource in another namespace that its annotations name, where the content of that changed'
    case 'made for it':
      return 'objects of which a label names it by its kind, as `…/shop: books` does, or under a key of its own domain, and that changed'
    case 'named just before':
      return 'what its labels name under their own API group or as `app.kubernetes.io/instance`, what its spec names, and its namespace if that is newer than what the labels name, where somebody else has just changed it'
    case 'naming just before':
      return 'where nothing else is new: the custom resources that name it or its owners in their spec, where somebody else has just changed that'
    case 'selected by it':
      return 'workloads, Pods and Services of its namespace that its selector fits, and whose content or labels changed'
    case 'restored':
      return 'what had its name and went, where this controller had written that and nothing that it looks after changed since'
    case 'kin':
      return 'custom resources of the same API group and namespace that changed, where nothing else is new'
    case 'made for the same':
      return 'what the controller wrote for the same object that it looks after, and somebody else changed, where nothing else is new'
    case 'done just before':
      return 'what the controller wrote for the same owner within 2 s before, where nothing else is new'
    case 'new kin':
      return 'custom resources of its API group and namespace that somebody has just changed'
    case 'new namespace':
      return 'its namespace, where that has just changed and nothing else is new'
    case 'settings':
      return 'the ConfigMaps and Secrets that its Pods take settings from and that have just changed'
    case 'closed node':
      return 'for an eviction where nothing else is new: the node that the Pod is on, where somebody cordoned or tainted that'
    case 'preemptor':
      return 'pods that are to run on the node that it names'
  }
}
