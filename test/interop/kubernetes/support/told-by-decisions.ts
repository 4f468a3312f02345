import type { Decision } from '../../../../src/inference/decide.ts'
import type { Replayed } from '../../../../lab/harness/inference/replay.ts'
import { isOfStory, serviceShown, whatBegan, type Told, type ToldCascade } from './told.ts'

/**
 * What the decisions about a namespace's objects say. A write is driven by whatever drove the writer of the newest version that was
 * read for it.
 */
export function toldByDecisions({ decisions, changes }: Replayed, namespace: string): Told {
  const here = decisions.filter(({ write }) => isIn(write.object, namespace))
  const writers = new Map(here.map((decision) => [versionKey(decision), decision]))
  const drivers = new Map<Decision, Decision>()
  for (const decision of here) {
    const read = begins(decision) ? undefined : newestRead(decision, writers)
    drivers.set(decision, (read && drivers.get(read)) ?? decision)
  }
  const roots = here.filter(begins).filter((root) => isOfStory(nameOf(root)))
  const names = new Map(roots.map((root) => [root.cpid, nameOf(root)]))
  return {
    cascades: roots.map((root) => {
      const driven = here.filter((one) => drivers.get(one) === root)
      return cascadeOf(root, driven)
    }),
    rootsOf: (resource) => {
      const of = here.filter(({ write }) => write.object.resource === resource)
      const newest = new Map(of.map((decision) => [decision.write.object.uid, decision]))
      const lists = [...newest.values()].map(({ cpid }) =>
        changes
          .rootsOf(cpid)
          .map((root) => names.get(root) ?? 'what nobody began')
          .sort(),
      )
      return [...new Map(lists.map((list) => [list.join(), list])).values()].sort(byText)
    },
  }
}

function begins({ cause }: Decision): boolean {
  return cause === 'operator'
}

function newestRead({ reads }: Decision, writers: ReadonlyMap<string, Decision>): Decision | undefined {
  const read = reads.flatMap(({ identity, known }) => writers.get(`${identity.uid} ${known.version}`) ?? [])
  return read.sort((one, other) => ((one.write.version ?? 0n) < (other.write.version ?? 0n) ? 1 : -1))[0]
}

function cascadeOf(root: Decision, driven: readonly Decision[]): ToldCascade {
  const objects = new Set(driven.map(({ write }) => `${write.object.resource} ${write.object.uid}`))
  const counts = Map.groupBy(objects, (object) => object.split(' ', 1).join())
  return {
    began: nameOf(root),
    by: root.writer.user ?? '',
    services: [...new Set(driven.map(({ writer }) => serviceShown(writer.service)))].sort(),
    objects: Object.fromEntries([...counts].map(([resource, of]) => [resource, of.length])),
  }
}

function nameOf({ part, write }: Decision): string {
  return whatBegan(part, write.object.resource, write.object.name)
}

function versionKey({ write }: Decision): string {
  return `${write.object.uid} ${write.version}`
}

const byText = (one: readonly string[], other: readonly string[]): number =>
  one.join() < other.join() ? -1 : 1

/** Objects of the whole cluster are named after the namespace whose story they play in. */
function isIn({ namespace, name }: Decision['write']['object'], story: string): boolean {
  return namespace === story || (namespace === '' && `${name}-`.startsWith(`${story}-`))
}
