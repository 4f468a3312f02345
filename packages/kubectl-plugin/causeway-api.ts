import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** How to reach Causeway. */
interface Access {
  /** Where its HTTP API is; undefined to find it in the cluster. */
  readonly url: string | undefined
  readonly token: string | undefined
  /** Options of kubectl itself: `--context`, `--kubeconfig`. */
  readonly kubectl: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

export type Ask = <Answer>(path: string) => Promise<Answer>

const LABEL = 'app.kubernetes.io/name=causeway'
/** The name of the query port in the chart's Service. */
const PORT = 'query'
const MOST_BYTES = 64 * 2 ** 20

/** Connects to the HTTP API. Errors say what to do next. */
export async function causewayApi(access: Access): Promise<Ask> {
  if (access.url !== undefined) return byUrl(access.url, access.token)
  const proxied = await serviceProxy(access)
  return async <Answer>(path: string) =>
    JSON.parse(await kubectl(access, ['get', '--raw', `${proxied}${path}`])) as Answer
}

/** Runs kubectl and returns its output. */
export async function kubectl({ kubectl: options, env }: Access, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('kubectl', [...args, ...options], {
      env,
      maxBuffer: MOST_BYTES,
    })
    return stdout
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    throw new Error(`kubectl ${args[0] ?? ''} failed: ${stderr.trim() || message}`, { cause: error })
  }
}

function byUrl(url: string, token: string | undefined): Ask {
  const base = url.replace(/\/+$/, '')
  if (!/^https?:\/\//i.test(url)) throw new Error(`"${url}" is no URL; write it as http://${url}`)
  return async <Answer>(path: string): Promise<Answer> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`${base}${path}`, { headers }).catch((error: unknown) => {
      throw new Error(
        `Causeway cannot be reached at ${base}; give the address of its query port with --url`,
        {
          cause: error,
        },
      )
    })
    if (response.status === 401 || response.status === 403)
      throw new Error(`Causeway at ${base} turned this away; set CAUSEWAY_TOKEN to a token that may ask`)
    const text = await response.text()
    const answer = jsonIn(text)
    if (answer === undefined && (response.ok || response.status === NOT_FOUND))
      throw new Error(
        `what answers at ${base} is not Causeway's query API; set --url or CAUSEWAY_URL to its query port`,
      )
    if (response.ok) return answer as Answer
    const { error } = (answer ?? {}) as { error?: { message?: unknown } }
    const message = typeof error?.message === 'string' ? error.message : text.trim()
    throw new Error(`Causeway at ${base} answered ${response.status}: ${message}`)
  }
}

const NOT_FOUND = 404

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

interface Services {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly namespace: string }
    readonly spec: { readonly ports?: readonly { readonly name?: string; readonly port: number }[] }
  }[]
}

/** The path of the API server's service proxy, which needs no port on this machine, but the right to get `services/proxy`. */
async function serviceProxy(access: Access): Promise<string> {
  const printed = await kubectl(access, ['get', 'services', '-A', '-l', LABEL, '-o', 'json'])
  const found = (JSON.parse(printed) as Services).items.flatMap(({ metadata, spec }) =>
    (spec.ports ?? []).some(({ name }) => name === PORT) ? [metadata] : [],
  )
  const [service, another] = found.filter(({ name }) => !name.endsWith('-headless'))
  if (service === undefined)
    throw new Error(
      `no Service with the label ${LABEL} has a port "${PORT}"; give the address of Causeway's query port with --url`,
    )
  if (another !== undefined)
    throw new Error(
      `there are Services of Causeway in ${service.namespace} and in ${another.namespace}; say which with --url, ` +
        `after kubectl port-forward -n ${service.namespace} service/${service.name} 4319:${PORT}`,
    )
  return `/api/v1/namespaces/${service.namespace}/services/${service.name}:${PORT}/proxy`
}
