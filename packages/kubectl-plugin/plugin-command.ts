import { parseArgs } from 'node:util'
import { type Ask, causewayApi, kubectl } from './causeway-api.ts'
import { referenceOf } from './named-object.ts'
import {
  type Cascade,
  cascadeText,
  type Cause,
  plainJson,
  plainText,
  type Version,
  whoText,
  whyText,
} from './plugin-text.ts'

const USAGE = `kubectl causeway asks Causeway about the objects of a cluster.

  kubectl causeway why <kind>/<name>       prints who wrote the object last, and which change caused it
  kubectl causeway who <kind>/<name>       prints who began the changes that wrote the object
  kubectl causeway cascade <kind>/<name>   prints all that its newest change did. Instead of an object, you can name a change by its CPID or
                                           the first eight digits of it

  -n, --namespace <name>   the namespace of the object (default: the namespace of the context)
  --context, --kubeconfig  the same as for kubectl
  --url <url>              Causeway's query port, such as http://localhost:4319 (default: CAUSEWAY_URL, or Causeway's Service in the
                           cluster)
  -o json                  print JSON: the changes with the versions that each drove, or for cascade the answer of the API

CAUSEWAY_TOKEN has the token for --url. Without --url you need the right to get services/proxy.
`

interface PluginIo {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly nowMs: number
  readonly print: (text: string) => void
}

/** How many versions of an object are read, and how many changes are shown. */
const VERSIONS = 200
const CHANGES = 10
const MORE = `There is more: of the newest ${VERSIONS} versions at most ${CHANGES} changes are named. The dashboard's page of the object has all.\n`

function read(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        namespace: { type: 'string', short: 'n' },
        context: { type: 'string' },
        kubeconfig: { type: 'string' },
        url: { type: 'string' },
        output: { type: 'string', short: 'o' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    // The first sentence: Node then advises how to pass it as a positional, which does not help here.
    const [fault = ''] = error instanceof Error ? error.message.split(/\.\s/) : []
    throw new Error(`${fault}; kubectl causeway --help lists the options`, { cause: error })
  }
}

/** Runs a command. Rejects with an Error that says what to do next. */
export async function runPlugin({ args, env, nowMs, print }: PluginIo): Promise<void> {
  const { values, positionals } = read(args)
  const [command, ...words] = positionals
  if (values.help === true || command === undefined || command === 'help') {
    print(USAGE)
    return
  }
  if (!['why', 'who', 'cascade'].includes(command))
    throw new Error(`there is no command "${command}"; there are why, who and cascade`)
  if (values.output !== undefined && values.output !== 'json')
    throw new Error(`-o takes json, not "${values.output}"`)
  const options = (['context', 'kubeconfig'] as const).flatMap((name) =>
    values[name] === undefined ? [] : [`--${name}`, values[name]],
  )
  const access = {
    url: values.url ?? env['CAUSEWAY_URL'],
    token: env['CAUSEWAY_TOKEN'],
    kubectl: options,
    env,
  }
  const namespace = values.namespace ?? (await namespaceOfContext(access))
  const ask = await causewayApi(access)
  const show = (data: unknown, text: () => string): void => {
    print(values.output === 'json' ? `${plainJson(JSON.stringify(data, undefined, 2))}\n` : plainText(text()))
  }

  if (command === 'cascade') {
    const root = await rootOf(ask, words, namespace)
    const answer = await ask<Cascade>(`/api/v1/cascades/${root}`)
    show(answer, () =>
      cascadeText(
        answer,
        answer.traces.flatMap(({ spans }) => spans),
        namespace,
      ),
    )
    return
  }
  const reference = referenceOf(words, namespace)
  const { causes, isCut } = await causesOf(ask, reference)
  const text = command === 'why' ? whyText : whoText
  show(causes, () => `${text(reference, namespace, causes, nowMs)}${isCut ? MORE : ''}`)
}

/** The namespace that kubectl would use; `default` if no kubeconfig is readable and none is needed. */
async function namespaceOfContext(access: Parameters<typeof kubectl>[0]): Promise<string> {
  const asked = ['config', 'view', '--minify', '-o', 'jsonpath={..namespace}']
  const named = await kubectl(access, asked).catch((error: unknown) => {
    if (access.url === undefined || access.kubectl.length > 0) throw error
    return ''
  })
  return named.trim() || 'default'
}

/** The changes that drove the newest versions of an object, the newest first; `isCut` where there are more. */
async function causesOf(ask: Ask, reference: string): Promise<{ causes: Cause[]; isCut: boolean }> {
  const query = `ref=${encodeURIComponent(reference)}&limit=${VERSIONS}`
  const { versions, next } = await ask<{ versions: Version[]; next: string | null }>(
    `/api/v1/objects/versions?${query}`,
  )
  let isCut = next !== null
  const driven = new Map<string, Version[]>()
  for (const version of versions) {
    for (const root of version.drivenBy) {
      const known = driven.get(root)
      if (known !== undefined) known.push(version)
      else if (driven.size < CHANGES) driven.set(root, [version])
      else isCut = true
    }
  }
  const causes = await Promise.all(
    [...driven].map(async ([root, its]) => ({
      change: await ask<Cascade>(`/api/v1/cascades/${root}`),
      versions: its,
    })),
  )
  return { causes, isCut }
}

const BY_DIGITS = /^[0-9a-f]{8}[0-9a-f-]*$/i

async function rootOf(ask: Ask, words: readonly string[], namespace: string): Promise<string> {
  const [word = ''] = words
  if (words.length === 1 && BY_DIGITS.test(word)) {
    const { cpid, cpids } = await ask<{ cpid: { cpid: string } | null; cpids: string[] }>(
      `/api/v1/find?q=${word}`,
    )
    if (cpid === null && cpids.length > 1)
      throw new Error(`several CPIDs begin with ${word}: ${cpids.join(', ')}; give more digits`)
    const found = cpid?.cpid ?? cpids[0]
    if (found === undefined)
      throw new Error(
        `Causeway knows no change whose CPID begins with ${word}; kubectl causeway why <kind>/<name> prints some`,
      )
    const { cascades } = await ask<{ cascades: { root: string }[] }>(`/api/v1/cpids/${found}/cascades`)
    return cascades[0]?.root ?? found
  }
  const reference = referenceOf(words, namespace)
  const [newest] = (await causesOf(ask, reference)).causes
  if (newest === undefined) throw new Error(`Causeway saw nobody write ${reference}`)
  return newest.change.root
}
