import type { Decision } from '../../../src/kube/inference/decide.ts'
import { observedVersions } from '../../../src/kube/inference/inferred-telemetry.ts'
import type { Replayed } from '../../harness/inference/replay.ts'
import type { Shown, ShownWrite } from './as-shown.ts'
import { auditIdOf } from './outside.ts'
import type { PlayedHistory } from './play-history.ts'
import { endingLast } from './said.ts'

const OPERATOR = 'kubectl'

/** What inference said of a write beside what its writer said. */
export interface Verdict {
  readonly write: ShownWrite
  /** Undefined where no source told of it. */
  readonly decision: Decision | undefined
  /** Changes that it is of and was not given. */
  readonly missing: readonly ShownWrite[]
  /** Changes that it was given and is not of. */
  readonly extra: readonly ShownWrite[]
  readonly parent: 'right' | 'wrong' | 'none asked'
  readonly inferredParent: ShownWrite | undefined
  readonly saidParent: ShownWrite | undefined
  /** Read versions that are called exact and are none that the writer says it read. */
  readonly wronglyExact: number
}

export function judge({ shown, said }: PlayedHistory, { decisions, changes }: Replayed): Verdict[] {
  const byVersion = new Map(shown.writes.map((write) => [String(write.version), write]))
  const byAudit = new Map(shown.writes.map((write) => [auditIdOf(write), write]))
  const decided = new Map<ShownWrite, Decision>()
  const begun = new Map<string, ShownWrite>()
  for (const decision of decisions) {
    const { version, request } = decision.write
    const write = version === undefined ? byAudit.get(request?.auditId ?? '') : byVersion.get(String(version))
    if (write === undefined) continue
    decided.set(write, decision)
  }
  for (const [write, decision] of decided) {
    if (decision.sources?.length === 0) begun.set(decision.cpid, begunBy(write, decision, shown, decided))
  }
  const writers = Map.groupBy(decided.keys(), ({ accepted }) => accepted.object.metadata.uid)

  /** As its span names it. */
  const versionOf = (write: ShownWrite): bigint => decided.get(write)?.version ?? BigInt(write.version)

  /** The decided write that a decision hangs below, by the rule that the linker has. */
  function parentOf(decision: Decision, asked: ShownWrite): ShownWrite | undefined {
    const found = observedVersions(decision.reads).flatMap(({ identity, version }) => {
      const all = writers.get(identity.uid) ?? []
      return (
        all
          .filter((one) => one !== asked && versionOf(one) <= version)
          .toSorted((a, b) => Number(versionOf(b) - versionOf(a)))[0] ?? []
      )
    })
    return endingLast(found, (one) => endOf(decided.get(one)!))
  }

  /** Writes of one piece of work stand for it: what that follows from is what its first write does. */
  function parentBeyondWork(write: ShownWrite, decision: Decision): ShownWrite | undefined {
    const work = said.get(write)?.work
    let parent = parentOf(decision, write)
    for (let steps = 0; parent !== undefined && said.get(parent)?.work === work && steps < 100; steps++) {
      parent = parentOf(decided.get(parent)!, parent)
    }
    return parent
  }

  return shown.writes.flatMap((write): Verdict[] => {
    const truth = said.get(write)
    if (truth === undefined) return []
    const decision = decided.get(write)
    const roots = new Set(decision && changes.rootsOf(decision.cpid).flatMap((root) => begun.get(root) ?? []))
    const isOperator = write.component === OPERATOR
    const inferredParent = decision && !isOperator ? parentBeyondWork(write, decision) : undefined
    const exact = decision?.reads.filter((read) => read.exact) ?? []
    return [
      {
        write,
        decision,
        missing: truth.roots.filter((root) => !roots.has(root)),
        extra: [...roots].filter((root) => !truth.roots.includes(root)),
        parent: isOperator ? 'none asked' : inferredParent === truth.parent ? 'right' : 'wrong',
        inferredParent,
        saidParent: truth.parent,
        wronglyExact: exact.filter(
          ({ identity, known }) => !truth.observed.has(`${identity.uid}@${known.version}`),
        ).length,
      },
    ]
  })
}

/** The change that a list shows is that of whoever wrote the object last while nobody looked. */
function begunBy(
  write: ShownWrite,
  { write: { listed } }: Decision,
  { writes }: Shown,
  decided: ReadonlyMap<ShownWrite, Decision>,
): ShownWrite {
  if (listed !== 'later' || write.component === OPERATOR) return write
  const { uid } = write.accepted.object.metadata
  const unseen = writes.findLast(
    (one) =>
      one.component === OPERATOR &&
      one.accepted.object.metadata.uid === uid &&
      one.version < write.version &&
      !decided.has(one),
  )
  return unseen ?? write
}

function endOf({ write }: Decision): bigint {
  return write.request?.endNs ?? write.seenNs
}
