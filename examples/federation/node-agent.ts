// On a node: runs what the settings say, restarts when they change, and reports whether it came up again.
//   node node-agent.ts <member> <node>      a context of the kubeconfig
import { setTimeout as wait } from 'node:timers/promises'
import { connect, follow } from './cluster.ts'
import { failureWith, NAMESPACE, REPORT_LABEL, SETTINGS_LABEL, type Restart } from './features.ts'
import { WorkQueue } from './queue.ts'
import { startTelemetry } from './telemetry.ts'

const RESTART_MS = 200

const [member = 'member', node = 'node-1'] = process.argv.slice(2)
const cluster = connect(member, startTelemetry('node-agent'))
const settings = cluster.configMaps(SETTINGS_LABEL)

async function restart(name: string): Promise<void> {
  const wanted = settings.get(name, NAMESPACE)
  const version = wanted?.metadata?.resourceVersion
  if (wanted === undefined) return
  const report = await cluster.configMap(`report-${node}`)
  const before = JSON.parse(report?.data?.[name] ?? '{}') as Partial<Restart>
  if (before.version === version) return
  await wait(RESTART_MS)
  const restarted: Restart = { version, failure: failureWith(wanted) }
  await cluster.writeConfigMap({
    metadata: { name: `report-${node}`, labels: { [REPORT_LABEL]: 'true' } },
    ...report,
    data: { ...report?.data, [name]: JSON.stringify(restarted) },
  })
}

const traced = cluster.reconciler('restart', restart)
const queue = new WorkQueue(traced)

await follow(settings, (changed) => {
  queue.add(traced.wokenBy(changed.metadata?.name ?? '', changed))
})
