// Step 4: every line and every log record says which change it belongs to.
import { logs, trace } from '@opentelemetry/api'
import { consoleWithCpid, createInstrumentation, withTraceContext } from 'causeway-instrumentation'
import { Cluster, type Deployment, type Settings } from './cluster.ts'
import { operate } from './operator.ts'
import { startTelemetry } from './telemetry.ts'

const sdk = startTelemetry('settings-controller')
const tracer = trace.getTracer('settings-controller')
const logger = logs.getLogger('settings-controller')
const lines = consoleWithCpid(console)
const { newRoot, write, extractFromObject, injectIntoObject, observed } = createInstrumentation()
const cluster = new Cluster()

async function reconcile(): Promise<void> {
  const { settings, deployment } = cluster
  if (settings === undefined || deployment === undefined) return
  if (settings.data.image === deployment.spec.image) return
  await withTraceContext(extractFromObject(settings), () =>
    tracer.startActiveSpan('reconcile Deployment', async (span) => {
      try {
        lines.log(`wanted image ${settings.data.image}, found ${deployment.spec.image}`)
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
  lines.log(`updated Deployment to ${written.spec.image}`)
  logger.emit({ body: `updated Deployment to ${written.spec.image}` })
  return written
}

await operate(cluster, reconcile, (object) => {
  return injectIntoObject(newRoot({ object, reason: 'kubectl apply' }), object)
})
await sdk.shutdown()
