// Stands in for Patroni where Postgres runs in no Pod: gives each Pod of a database its role, hands the role over where it is asked to,
// and answers as a proxy what Patroni answers in each Pod. Finds the port to listen on by PATRONI_PORT.
import { createServer, type IncomingMessage } from 'node:http'
import { all, apiAs, at, labelled, list, looksAgain, type Named } from './looks-again.ts'

interface Pod extends Named {
  readonly status: { readonly phase: string; readonly podIP?: string }
}

const ROLE = 'spilo-role'
const PODS = all('v1', 'pods')
const OF_DATABASES = labelled('application=spilo')

const api = apiAs('patroni')
/** What each database is configured with, by its namespace and name. */
const configs = new Map<string, Record<string, unknown>>()

const parametersOf = ({ postgresql }: Record<string, unknown>): object =>
  (postgresql as { parameters?: object } | undefined)?.parameters ?? {}

const databaseOf = ({ metadata: { namespace, labels } }: Named): string =>
  `${namespace}/${labels?.['cluster-name'] ?? ''}`
const isMaster = ({ metadata }: Named): boolean => metadata.labels?.[ROLE] === 'master'

const assign = ({ metadata: { namespace, name } }: Named, role: 'master' | 'replica'): Promise<unknown> =>
  api.patch(at('v1', namespace, 'pods', name), { metadata: { labels: { [ROLE]: role } } })

const running = async (): Promise<Pod[]> => {
  const pods = await list<Pod>(api, PODS, OF_DATABASES)
  return pods.filter(
    ({ metadata, status }) => metadata.deletionTimestamp === undefined && status.phase === 'Running',
  )
}

async function look(): Promise<void> {
  const pods = await running()
  for (const database of new Set(pods.map(databaseOf))) {
    const members = pods.filter((pod) => databaseOf(pod) === database)
    const leader = members.find(isMaster) ?? members[0]
    for (const pod of members) {
      const role = pod === leader ? 'master' : 'replica'
      if (pod.metadata.labels?.[ROLE] !== role) await assign(pod, role)
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const { hostname, pathname } = new URL(request.url ?? '')
  const body = await bodyOf(request)
  const pods = await running()
  const asked = pods.find(({ status }) => status.podIP === hostname)
  if (asked === undefined) throw new Error(`nobody is at ${hostname}`)
  const members = pods.filter((pod) => databaseOf(pod) === databaseOf(asked))
  const roleOf = (pod: Named): string => (isMaster(pod) ? 'leader' : 'replica')
  const usual = { loop_wait: 1, ttl: 30, postgresql: { parameters: { max_connections: '100' } } }
  const config = configs.get(databaseOf(asked)) ?? usual
  if (pathname === '/cluster')
    return {
      members: members.map((pod) => ({
        name: pod.metadata.name,
        role: roleOf(pod),
        state: 'running',
        lag: 0,
      })),
    }
  if (pathname === '/switchover') {
    const to = members.find(({ metadata: { name } }) => name === body['member'])
    const from = members.find(isMaster)
    if (from !== undefined) await assign(from, 'replica')
    if (to !== undefined) await assign(to, 'master')
    return {}
  }
  if (pathname === '/config') {
    const parameters = { ...parametersOf(config), ...parametersOf(body) }
    configs.set(databaseOf(asked), { ...config, ...body, postgresql: { parameters } })
    return configs.get(databaseOf(asked))
  }
  return { state: 'running', role: roleOf(asked), server_version: 180000, pending_restart: false }
}

createServer((request, response) => {
  answer(request).then(
    (said) => response.end(JSON.stringify(said)),
    (error: unknown) => response.writeHead(503).end(String(error)),
  )
}).listen(Number(process.env['PATRONI_PORT'] ?? 0), '127.0.0.1')

looksAgain(api, [PODS], look)
