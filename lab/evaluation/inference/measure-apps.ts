import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Chance } from '../../../packages/control-plane/chance.ts'
import type { Decision } from '../../../src/kube/inference/decide.ts'
import type { JsonObject } from '../../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../../src/kube/objects/observations.ts'
import type { Observation } from '../../../src/model/kubernetes-observations.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { replay } from '../../harness/inference/replay.ts'
import { Cluster } from '../../harness/kubernetes/cluster.ts'
import { PeerInstallError } from '../../peers/run-go.ts'

export interface AppsData {
  apps: number
  patches: number
  writes: number
  /** Writes of users, which begin changes. */
  operators: number
  exact: number
  inferred: number
  /** Writes of objects of one app that were given a change of another. */
  wrong: number
}

const APPS = 40
const PATCHES = 240
const USERS = ['alice', 'bob'] as const
const QUIET_MS = 5_000
const LONGEST_MS = 240_000
const MOST_REPLICAS = 3
const WATCHED = [
  ...['/apis/apps/v1/deployments', '/apis/apps/v1/replicasets', '/api/v1/pods', '/api/v1/services'],
  ...['/apis/discovery.k8s.io/v1/endpointslices', '/api/v1/endpoints', '/api/v1/nodes', '/api/v1/namespaces'],
]
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const PATCHERS_PAUSE_MS = 60

/** Many apps on a real cluster that two users change at once. */
export async function measureApps(): Promise<AppsData | { absent: string }> {
  try {
    const observations = await play()
    const { decisions, changes } = replay(observations, ['audit', 'watch'])
    const begun = new Map(
      decisions.filter(({ sources }) => sources?.length === 0).map((one) => [one.cpid, one]),
    )
    const ofApps = decisions.filter((decision) => appOf(decision) !== undefined)
    const isWrong = (decision: Decision): boolean =>
      changes.rootsOf(decision.cpid).some((root) => {
        const beginning = begun.get(root)
        const app = beginning && appOf(beginning)
        return app !== undefined && app !== appOf(decision)
      })
    const caused = (cause: Decision['cause']): number => ofApps.filter((one) => one.cause === cause).length
    return {
      apps: APPS,
      patches: PATCHES,
      writes: ofApps.length,
      operators: caused('operator'),
      exact: caused('exact'),
      inferred: caused('inferred'),
      wrong: ofApps.filter(isWrong).length,
    }
  } catch (error) {
    if (error instanceof PeerInstallError) return { absent: error.message }
    throw error
  }
}

async function play(): Promise<Observation[]> {
  using directory = freshDirectory(tmpdir())
  const users = Object.fromEntries(USERS.map((user) => [user, ['developers']]))
  await using cluster = await Cluster.start(join(directory.path, 'cluster'), {
    users,
    auditLevel: 'RequestResponse',
    nodes: 4,
  })
  const over = new AbortController()
  const seen: Observation[] = []
  let lastMs = performance.now()
  const watching = WATCHED.map(async (path) => {
    const resource = path.slice(path.lastIndexOf('/') + 1)
    const told = (line: object): void => {
      lastMs = performance.now()
      const read = readWatchEvent(line as JsonObject, BigInt(Date.now()) * 1_000_000n, resource)
      if (typeof read !== 'string') seen.push(read)
    }
    const watched = cluster.api().watch(`${path}?watch=true&timeoutSeconds=3600`, told, over.signal)
    await watched.catch((error: unknown) => {
      if (!over.signal.aborted) throw error
    })
  })
  const settled = async (): Promise<void> => {
    const untilMs = performance.now() + LONGEST_MS
    while (performance.now() - lastMs < QUIET_MS) {
      if (performance.now() > untilMs) throw new Error('the apps do not come to rest')
      await sleep(QUIET_MS / 10)
    }
  }
  for (let app = 0; app < APPS; app++) await cluster.api('alice').create(DEPLOYMENTS, deployment(nameOf(app)))
  await settled()
  await Promise.all(
    USERS.map(async (user) => {
      const [api, chance] = [cluster.api(user), new Chance(`patches of ${user}`)]
      for (let patch = 0; patch < PATCHES / USERS.length; patch++) {
        const app = nameOf(Math.floor(chance.next() * APPS))
        await api.patch(`${DEPLOYMENTS}/${app}`, changeDrawn(chance))
        await sleep(chance.next() * PATCHERS_PAUSE_MS)
      }
    }),
  )
  lastMs = performance.now()
  await settled()
  over.abort()
  await Promise.all(watching)
  const audited = readFileSync(cluster.auditLog, 'utf8')
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      const read = readAuditEvent(JSON.parse(line) as JsonObject)
      return typeof read === 'string' ? [] : [read]
    })
  return [...audited, ...seen].sort((one, other) => Number(one.seenNs - other.seenNs))
}

function changeDrawn(chance: Chance): object {
  const drawn = chance.next()
  if (drawn < 0.5) return { spec: { replicas: 1 + Math.floor(chance.next() * MOST_REPLICAS) } }
  if (drawn < 0.8) {
    return { spec: { template: { metadata: { annotations: { turn: chance.hex(4) } } } } }
  }
  return { metadata: { annotations: { note: chance.hex(4) } } }
}

function deployment(name: string): object {
  const labels = { app: name }
  const spec = { containers: [{ name: 'app', image: 'nginx:1' }] }
  return {
    metadata: { name },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
}

function nameOf(app: number): string {
  return `app-${String(app).padStart(2, '0')}`
}

/** Which app a write is of, by the name of its object. */
function appOf({ write }: Decision): string | undefined {
  return /^app-\d\d\b/.exec(write.object.name)?.[0]
}
