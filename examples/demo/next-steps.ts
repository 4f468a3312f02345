import { isListening } from './processes/busy-ports.ts'
import type { CausewaySettings } from './processes/causeway-settings.ts'
import type { Story } from './story.ts'

/** The trace id of a root CPID's cascade: its 16 bytes. */
export function traceIdOf(root: string): string {
  return root.replaceAll('-', '')
}

export function describeStory({ alpha, beta, gamma }: Story): string {
  return `
α  ${alpha}  the Deployment
β  ${beta}  the Service
γ  ${gamma}  both, merged in the Endpoints`
}

/** What to open or run after a demo with a Causeway of its own. */
export async function nextSteps(
  { alpha }: Story,
  settings: CausewaySettings,
  isKept: boolean,
): Promise<string> {
  const { backends, query, storageArgs } = settings
  const reached = await Promise.all(backends.map(describeBackend))
  const config = storageArgs.join(' ')
  return `
In Jaeger or Grafana Tempo all of it is one trace; paste its id, α without dashes:
  ${traceIdOf(alpha)}
Causeway sends traces to ${reached.length > 0 ? reached.join(', and to ') : 'nobody'}.

Ask on:
  npx causeway related ${alpha} ${config}
  npx causeway cascades ${config}
${isKept ? `Causeway keeps running, until Ctrl-C. Its dashboard is at http://${query}/, this cascade at\n  http://${query}/cascades/${alpha}` : '  npm run demo -- --keep   leaves Causeway and its dashboard running'}`
}

async function describeBackend(endpoint: string): Promise<string> {
  if (await isListening(endpoint)) return endpoint
  return `${endpoint}, where nobody listens: start a Jaeger or Tempo there to see them (docs/backends.md)`
}

/** How to look up a cascade in a Causeway, or behind a Collector, that the demo did not start. */
export function lookUp({ alpha }: Story, query: string | undefined): string {
  const api = query ?? '<its query API>'
  return `
Look it up once it is through:
  curl http://${api}/api/v1/cascades/${alpha}
  npx causeway cascade ${alpha} --config <its configuration>
  or paste α without dashes into Jaeger or Grafana Tempo: ${traceIdOf(alpha)}`
}
