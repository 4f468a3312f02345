import { printIn, type ObjectFacts } from '../model/kubernetes/object-facts.ts'

/** Whether an owner wants fewer of what it owns than at another version of it. */
export function wantsFewer(one: ObjectFacts, other: ObjectFacts): boolean {
  const [size, before] = [printIn(one, 'size'), printIn(other, 'size')]
  return size !== undefined && before !== undefined && Number(size) < Number(before)
}
