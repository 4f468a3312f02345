// Step 2: every reconcile that has something to do is a span of the change that the settings came from.
import { trace } from '@opentelemetry/api'
import { createInstrumentation, withTraceContext } from 'causeway-instrumentation'
import { Cluster, type Deployment, type Settings } from './cluster.ts'
import { operate } from './operator.ts'
import { startTelemetry } from './telemetry.ts'

const sdk = startTelemetry('settings-controller')
const tracer = trace.getTracer('settings-controller')
const { newRoot, extractFromObject, injectIntoObject } = createInstrumentation()
const cluster = new Cluster()

async function reconcile(): Promise<void> {
  const { settings, deployment } = cluster
  if (settings === undefined || deployment === undefined) return
  if (settings.data.image === deployment.spec.image) return
  await withTraceContext(extractFromObject(settings), () =>
    tracer.startActiveSpan('reconcile Deployment', async (span) => {
      try {
        await update(settings, deployment)
      } finally {
        span.end()
      }
    }),
  )
}

async function update(settings: Settings, deployment: Deployment): Promise<void> {
  const written = await cluster.write({ ...deployment, spec: { image: settings.data.image } })
  console.log(`updated Deployment to ${written.spec.image}`)
}

await operate(cluster, reconcile, (object) => {
  return injectIntoObject(newRoot({ object, reason: 'kubectl apply' }), object)
})
await sdk.shutdown()
