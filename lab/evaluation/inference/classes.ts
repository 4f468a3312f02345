import type { ReportedWrite } from './said.ts'
import type { Verdict } from './judge.ts'

/** Why something about a write is wrong. */
export const CLASSES = {
  inherited: 'what it was read from was given wrong changes before',
  'another writer': 'who wrote was guessed wrongly',
  unseen: 'a version between was never delivered',
  'read older': 'the writer had read an older version than the newest: its cache was behind',
  'read newer': 'the version that counts was taken to be an older one than was read',
  'not found': 'it read an object that nothing about the write tells of',
  'not read': 'it was taken to have read an object that it did not',
  'ended later': 'the same was read, but another of it ended last',
} as const

export type WrongClass = keyof typeof CLASSES

/** Why the changes of a write are wrong. */
export function classOfRoots(
  verdict: Verdict,
  said: ReportedWrite,
  wrongRoots: ReadonlySet<string>,
): WrongClass {
  const { decision } = verdict
  const inferred = decision?.reads.map(({ identity, known }) => `${identity.uid}@${known.version}`) ?? []
  if (isOtherWriter(verdict)) return 'another writer'
  if ([...inferred, ...said.observed].some((version) => wrongRoots.has(version))) return 'inherited'
  return classOfParent(verdict, said)
}

/** Why the causal parent of a write is wrong. */
export function classOfParent(verdict: Verdict, said: ReportedWrite): WrongClass {
  const { decision, inferredParent, saidParent } = verdict
  if (decision === undefined) return 'unseen'
  if (isOtherWriter(verdict)) return 'another writer'
  if (decision.gap) return 'unseen'
  const read = new Map([...said.observed].map((one) => one.split('@') as [string, string]))
  const taken = new Map(decision.reads.map(({ identity, known }) => [identity.uid, known.version]))
  for (const [uid, version] of taken) {
    if (BigInt(read.get(uid) ?? version) < version) return 'read older'
  }
  const [theirs, ours] = [saidParent, inferredParent].map((one) => one?.accepted.object.metadata.uid ?? '')
  if (theirs !== '' && !taken.has(theirs ?? '')) return 'not found'
  if (ours !== '' && !read.has(ours ?? '')) return 'not read'
  for (const [uid, version] of taken) if (BigInt(read.get(uid) ?? version) > version) return 'read newer'
  return [...taken.keys()].some((uid) => !read.has(uid)) ? 'not read' : 'ended later'
}

function isOtherWriter({ write: { component }, decision }: Verdict): boolean {
  const isOperator = component === 'kubectl'
  return decision !== undefined && isOperator !== (decision.cause === 'operator')
}
