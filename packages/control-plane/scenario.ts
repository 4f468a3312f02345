import { deployment } from './manifests.ts'
import { sendRecorded } from './telemetry/send-recorded.ts'
import { virtualRun } from './virtual-run.ts'

const web = { name: 'web', namespace: 'default' }
const recorded = await virtualRun(
  { seed: 1, isPlain: (component) => component === 'kubelet' },
  async (plane) => {
    await plane.kubectl.create('apps/v1/deployments', deployment('web', 3))
    await plane.settled(5_000) // of virtual time
    const scaled = await plane.kubectl.scale(web, 5)
    console.log(`scaled in change ${scaled.metadata.annotations?.['causeway.io/cpid']}`)
    await plane.settled(5_000)
    console.log(`${plane.store.list('v1/pods').items.length} Pods`)
  },
)
console.log(`${recorded.spans.length} spans, ${recorded.records.length} log records`)
const [, , url] = process.argv // such as http://localhost:4318
if (url !== undefined) {
  await sendRecorded(recorded, url).catch((error: unknown) => {
    console.error(`nothing was taken at ${url}: ${String(error)}; start Causeway there first`)
    process.exitCode = 1
  })
}
