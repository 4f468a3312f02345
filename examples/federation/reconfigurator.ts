// In a member: applies the features of each FeatureRollout in their order. One that a node does not come up with is rolled back.
//   node reconfigurator.ts <member>      a context of the kubeconfig
import type { KubernetesObject, V1ConfigMap } from '@kubernetes/client-node'
import { connect, follow } from './cluster.ts'
import {
  configMapOf,
  hasFeature,
  NAMESPACE,
  REPORT_LABEL,
  rolledBack,
  ROLLOUTS,
  withFeature,
  type Feature,
  type FeatureRollout,
  type Restart,
  type State,
} from './features.ts'
import { WorkQueue } from './queue.ts'
import { startTelemetry } from './telemetry.ts'

const [member = 'member'] = process.argv.slice(2)
const cluster = connect(member, startTelemetry('reconfigurator'))
const rollouts = cluster.customObjects<FeatureRollout>(ROLLOUTS)
const reports = cluster.configMaps(REPORT_LABEL)

async function reconfigure(name: string): Promise<void> {
  // The cache may not know yet that this was done, or rolled back.
  const rollout = (await cluster.custom.getClusterCustomObject({ ...ROLLOUTS, name })) as FeatureRollout
  if (isOver(rollout)) return
  const applied: string[] = []
  for (const feature of rollout.spec.features) {
    const settings = await cluster.configMap(configMapOf(feature))
    if (settings === undefined || !hasFeature(settings, feature)) {
      await cluster.writeConfigMap(withFeature(settings, feature))
      return report(rollout, { phase: 'Applying', applied, message: `restarting with ${feature.name}` })
    }
    const restarts = restartsWith(settings, feature)
    if (restarts === undefined) return
    const failure = restarts.find((restart) => restart.failure !== undefined)?.failure
    if (failure !== undefined) {
      await cluster.writeConfigMap(rolledBack(settings))
      return report(rollout, { phase: 'RolledBack', applied, message: `${feature.name}: ${failure}` })
    }
    applied.push(feature.name)
  }
  await report(rollout, { phase: 'Applied', applied })
}

function isOver({ spec, status }: FeatureRollout): boolean {
  return status?.generation === spec.generation && status.phase !== 'Applying'
}

/** How every node restarted with these settings; undefined while one has not. */
function restartsWith({ metadata }: V1ConfigMap, feature: Feature): Restart[] | undefined {
  const restarts = reports
    .list(NAMESPACE)
    .map(({ data }) => JSON.parse(data?.[configMapOf(feature)] ?? '{}') as Partial<Restart>)
  const isDone = restarts.every(({ version }) => version === metadata?.resourceVersion)
  return isDone && restarts.length > 0 ? (restarts as Restart[]) : undefined
}

async function report(rollout: FeatureRollout, state: Omit<State, 'generation'>): Promise<void> {
  const status: State = { generation: rollout.spec.generation, ...state }
  const { name } = rollout.metadata
  await cluster.custom.replaceClusterCustomObjectStatus({ ...ROLLOUTS, name, body: { ...rollout, status } })
}

const traced = cluster.reconciler('reconfigure', reconfigure)
const queue = new WorkQueue(traced)

function wake(rollout: FeatureRollout, by: KubernetesObject): void {
  if (!isOver(rollout)) queue.add(traced.wokenBy(rollout.metadata.name, by))
}

await follow(reports, (report) => {
  for (const rollout of rollouts.list()) wake(rollout, report)
})
await follow(rollouts, (rollout) => {
  // What it says itself of how far it is does not wake it: the next thing is a report.
  if (rollout.status?.generation !== rollout.spec.generation) wake(rollout, rollout)
})
// It may have been ended in the middle of one.
for (const rollout of rollouts.list()) wake(rollout, rollout)
