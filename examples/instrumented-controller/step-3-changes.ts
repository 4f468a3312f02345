// Step 3: what is written carries on the changes that it follows from, and where they meet they merge.
import { trace } from '@opentelemetry/api'
import { activeTraceContext, createInstrumentation, withTraceContext } from 'causeway-instrumentation'
import { Cluster, type Deployment, type Settings } from './cluster.ts'
import { operate } from './operator.ts'
import { startTelemetry } from './telemetry.ts'

const sdk = startTelemetry('settings-controller')
const tracer = trace.getTracer('settings-controller')
const { newRoot, write, extractFromObject, injectIntoObject, observed } = createInstrumentation()
const cluster = new Cluster()

async function reconcile(): Promise<void> {
  const { settings, deployment } = cluster
  if (settings === undefined || deployment === undefined) return
  if (settings.data.image === deployment.spec.image) return
  await withTraceContext(extractFromObject(settings), () =>
    tracer.startActiveSpan('reconcile Deployment', async (span) => {
      try {
        observed([settings, deployment])
        await update(settings, deployment)
      } finally {
        span.end()
      }
    }),
  )
}

async function update(settings: Settings, deployment: Deployment): Promise<void> {
  const next = { ...deployment, spec: { image: settings.data.image } }
  await write(next, (marked) => store(marked), {
    causes: [extractFromObject(settings), extractFromObject(deployment)],
    reason: 'image from the settings',
    name: 'update Deployment',
  })
}

/** Inside the span of the write, and of its change. */
async function store(marked: Deployment): Promise<Deployment> {
  const written = await cluster.write(marked)
  console.log(`updated Deployment to ${written.spec.image}, change ${activeTraceContext()?.cpid}`)
  return written
}

await operate(cluster, reconcile, (object) => {
  return injectIntoObject(newRoot({ object, reason: 'kubectl apply' }), object)
})
await sdk.shutdown()
