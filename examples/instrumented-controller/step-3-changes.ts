// Step 3: what is written carries on the changes that it follows from, and where they meet they merge.
import { trace } from '@opentelemetry/api'
import { createInstrumentation, withTraceContext } from 'causeway-instrumentation'
import { Cluster, type Deployment, type Settings } from './cluster.ts'
import { operate } from './operator.ts'
import { startTelemetry } from './telemetry.ts'

const sdk = startTelemetry('settings-controller')
const tracer = trace.getTracer('settings-controller')
const { newRoot, merge, extractFromObject, injectIntoObject, observed, wrote } = createInstrumentation()
const cluster = new Cluster()

async function reconcile(): Promise<void> {
  const { settings, deployment } = cluster
  if (settings === undefined || deployment === undefined) return
  if (settings.data.image === deployment.spec.image) return
  await withTraceContext(extractFromObject(settings), () =>
    tracer.startActiveSpan('reconcile Deployment', async (span) => {
      observed([settings, deployment])
      await update(settings, deployment)
      span.end()
    }),
  )
}

async function update(settings: Settings, deployment: Deployment): Promise<void> {
  const change = merge([extractFromObject(settings), extractFromObject(deployment)], {
    object: deployment,
    reason: 'image from the settings',
  })
  await withTraceContext(change, () =>
    tracer.startActiveSpan('update Deployment', async (span) => {
      const next = { ...deployment, spec: { image: settings.data.image } }
      const written = await cluster.write(injectIntoObject(change, next))
      wrote(written)
      console.log(`updated Deployment to ${written.spec.image}, change ${change.cpid}`)
      span.end()
    }),
  )
}

await operate(cluster, reconcile, (object) => {
  return injectIntoObject(newRoot({ object, reason: 'kubectl apply' }), object)
})
await sdk.shutdown()
