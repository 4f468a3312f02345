// On the host: spreads each FeatureConfig to the members, and says in its status how far they are.
//   node federation-controller.ts <host> <member> <member> …      contexts of the kubeconfig
import { PatchStrategy, setHeaderOptions } from '@kubernetes/client-node'
import { connect, follow } from './cluster.ts'
import { CONFIGS, ROLLOUTS, type FeatureConfig, type FeatureRollout } from './features.ts'
import { WorkQueue } from './queue.ts'
import { startTelemetry } from './telemetry.ts'

const [hostName = 'host', ...memberNames] = process.argv.slice(2)
const telemetry = startTelemetry('federation-controller')
const host = connect(hostName, telemetry)
const configs = host.customObjects<FeatureConfig>(CONFIGS)
const members = memberNames.map((name) => {
  const cluster = connect(name, telemetry)
  return { cluster, rollouts: cluster.customObjects<FeatureRollout>(ROLLOUTS) }
})
type Member = (typeof members)[number]

async function spread(name: string): Promise<void> {
  const config = configs.get(name)
  if (config === undefined) return
  // A member that is down keeps no other waiting.
  const outcomes = await Promise.allSettled(members.map((member) => spreadTo(member, config)))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function spreadTo({ cluster, rollouts }: Member, { metadata, spec }: FeatureConfig): Promise<void> {
  const { name, generation } = metadata
  const rollout = rollouts.get(name)
  const body = {
    apiVersion: 'example.com/v1',
    kind: 'FeatureRollout',
    metadata: { name },
    ...rollout,
    spec: { generation, features: spec.features },
  }
  if (rollout === undefined) await cluster.custom.createClusterCustomObject({ ...ROLLOUTS, body })
  else if (rollout.spec.generation !== generation) {
    await cluster.custom.replaceClusterCustomObject({ ...ROLLOUTS, name, body })
  }
}

/** What wakes this is an object of the member, so that it is a step there; what it writes is on the host. */
function collector({ cluster, rollouts }: Member): (name: string) => Promise<void> {
  return async (name) => {
    const status = rollouts.get(name)?.status
    const config = configs.get(name)
    if (status === undefined || config?.metadata.generation !== status.generation) return
    if (JSON.stringify(config.status?.members?.[cluster.name]) === JSON.stringify(status)) return
    const body = { status: { members: { [cluster.name]: status } } }
    const asMergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
    await host.custom.patchClusterCustomObjectStatus({ ...CONFIGS, name, body }, asMergePatch)
  }
}

function collecting(member: Member): Promise<void> {
  const traced = member.cluster.reconciler('collect status', collector(member))
  const queue = new WorkQueue(traced)
  return follow(member.rollouts, (rollout) => {
    queue.add(traced.wokenBy(rollout.metadata.name, rollout))
  })
}

const traced = host.reconciler('spread FeatureConfig', spread)
const queue = new WorkQueue(traced)
await Promise.all(members.map(collecting))
await follow(configs, (config) => {
  queue.add(traced.wokenBy(config.metadata.name, config))
})
