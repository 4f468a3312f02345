// A program that passes over the same things twice, and prints what the diagnostics of OpenTelemetry are told of it.
import { diag, trace } from '@opentelemetry/api'
import { createInstrumentation } from '../../../packages/instrumentation/src/create-instrumentation.ts'
import { startSdk } from './start-sdk.ts'

const nothing = (): void => undefined
diag.setLogger(
  {
    ...{ error: nothing, info: nothing, debug: nothing, verbose: nothing },
    warn: (text) => console.log(text),
  },
  { suppressOverrideMessage: true },
)
await using open = new AsyncDisposableStack()
open.use(startSdk())
const { observed, write } = createInstrumentation()
for (const resourceVersion of ['8', '9']) {
  const metadata = { namespace: 'default', name: 'web', uid: 'u1', resourceVersion }
  // What a status subresource answers: no annotations.
  const status = { apiVersion: 'apps/v1', kind: 'Deployment', metadata }
  await write(status, () => Promise.resolve(status), { causes: [] })
  trace.getTracer('test').startActiveSpan('reconcile', (span) => {
    observed([{ metadata: { name: 'a' } }], { apiVersion: 'v1' })
    span.end()
  })
}
