import { HIDDEN_VALUE, type ObjectFacts } from '../../model/kubernetes-objects.ts'
import { ownValue } from '../../model/untrusted-names.ts'

/** Further fields are counted, not named. */
const MOST = 24
const MAX_LENGTH = 256

/**
 * The fields that an author's write changed, in readable form: `spec.replicas: 2 → 5`, `spec.paused: added, true`,
 * `metadata.annotations[note]: changed` where the value is not shown. Empty if the fields of either version are not known.
 */
export function changedFields(before: ObjectFacts | undefined, after: ObjectFacts | undefined): string[] {
  const [then, now] = [before?.shown, after?.shown]
  if (then === undefined || now === undefined) return []
  const changed = [...new Set([...Object.keys(then), ...Object.keys(now)])].flatMap((path) => {
    const what = changeOf(ownValue(then, path), ownValue(now, path))
    return what === undefined ? [] : [`${path}: ${what}`.slice(0, MAX_LENGTH)]
  })
  return changed.length <= MOST
    ? changed
    : [...changed.slice(0, MOST), `and ${changed.length - MOST} more fields`]
}

function changeOf(then: string | undefined, now: string | undefined): string | undefined {
  if (then === now) return undefined
  if (then === undefined) return isHidden(now) ? 'added' : `added, ${now}`
  if (now === undefined) return isHidden(then) ? 'removed' : `removed, was ${then}`
  return isHidden(then) || isHidden(now) ? 'changed' : `${then} → ${now}`
}

function isHidden(text: string | undefined): boolean {
  return text?.startsWith(HIDDEN_VALUE) ?? false
}
