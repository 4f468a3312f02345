import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { BIN } from '../../../lab/harness/causeway/causeway-process.ts'
import { RunningProgram } from '../../../lab/harness/processes/running-program.ts'
import { startHttpBackend, type HttpBackend } from '../../../lab/harness/sinks/http-backend.ts'

/** A request as the API server got it. */
export interface Asked {
  method: string
  path: string
  headers: OutgoingHttpHeaders
  body: unknown
}

/** What a stand-in of kubectl asks for. */
export interface Step {
  method: string
  path: string
  type?: string
  body?: unknown
  token?: string
  headers?: Record<string, string>
}

export const DEPLOYMENTS = '/apis/apps/v1/namespaces/shop/deployments'
/** Makes a Deployment. */
export const CREATE: Step = {
  method: 'POST',
  path: DEPLOYMENTS,
  type: 'application/json',
  body: { spec: { replicas: 2 } },
}

/** What the stand-in prints. */
export interface Seen {
  args: string[]
  mode: number
  config: string
  answers: { status: number; body: unknown; keepAlive?: string }[]
}

type Answer = (asked: Asked, at: number) => { status: number; body: object } | undefined

/** Speaks through its kubeconfig as kubectl does, and prints what it was given. */
const STAND_IN = `
const { readFileSync, statSync } = require('node:fs')
const path = process.env.KUBECONFIG
const config = JSON.parse(readFileSync(path, 'utf8'))
const { cluster } = config.clusters[0]
const proxy = new URL(cluster['proxy-url'] ?? cluster.server)
const { request } = require(proxy.protocol === 'https:' ? 'node:https' : 'node:http')
const ca = Buffer.from(cluster['certificate-authority-data'] ?? '', 'base64')
const login = (token = proxy.password) => cluster['proxy-url']
  ? { 'proxy-authorization': 'Basic ' + Buffer.from(proxy.username + ':' + token).toString('base64') }
  : {}
const ask = ({ method, path, type, body, token, headers: more }) => new Promise((resolve, reject) => {
  const headers = { host: new URL(cluster.server).host, ...login(token),
    'user-agent': 'kubectl/v1.36.3', ...more, ...(type && { 'content-type': type }),
    ...(body && { 'content-length': Buffer.byteLength(JSON.stringify(body)) }) }
  const sent = request({ ca, host: proxy.hostname, port: proxy.port, method, path: cluster.server + path, headers }, (answer) => {
    let text = ''
    answer.on('data', (part) => (text += part)).on('end', () => resolve({ status: answer.statusCode, keepAlive: answer.headers['keep-alive'], body: text && JSON.parse(text) }))
  })
  sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
})
process.on('SIGTERM', () => process.exit(7))
const go = async () => {
  const answers = []
  for (const step of JSON.parse(process.env.STEPS)) answers.push(await ask(step))
  console.log(JSON.stringify({ args: process.argv.slice(2), mode: statSync(path).mode & 0o777, config: path, answers }))
  console.error('a word of kubectl')
  if (process.env.STAYS) setInterval(() => {}, 1000)
  process.exitCode = Number(process.env.ENDS)
}
go()
`

/** An API server, a Causeway and a kubectl that are stand-ins, around the real `causeway kubectl`. */
export class KubectlScene implements AsyncDisposable {
  readonly asked: Asked[] = []
  /** Requests that were told to Causeway: paths and contents. */
  readonly told: { path: string; content: string }[] = []
  readonly directory = mkdtempSync(join(tmpdir(), 'causeway-kubectl-test-'))
  readonly #api: HttpBackend
  readonly #causeway: HttpBackend

  private constructor(api: HttpBackend, causeway: HttpBackend) {
    this.#api = api
    this.#causeway = causeway
  }

  /** `answer` is what the API server says; that it wrote the object unless it says otherwise. */
  static async open(answer: Answer = () => undefined): Promise<KubectlScene> {
    const api = await startHttpBackend((response, request) => {
      const { method = '' } = response.req
      const { url: path, headers, body } = request
      const content: unknown = body.length === 0 ? undefined : JSON.parse(body.toString())
      scene.asked.push({ method, path, headers, body: content })
      const at = scene.asked.length
      const { status, body: said } = answer({ method, path, headers, body: content }, at) ?? {
        status: 200,
        body: { metadata: { name: 'web', uid: 'u1', resourceVersion: String(at) } },
      }
      answerJson(response, status, said)
    })
    const causeway = await startHttpBackend((response, { url, body }) => {
      scene.told.push({ path: url, content: body.toString() })
      answerJson(response, 200, {})
    })
    const scene: KubectlScene = new KubectlScene(api, causeway)
    scene.#write()
    return scene
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#causeway.port}`
  }

  /** Starts it with these arguments behind `causeway kubectl`. */
  start(args: readonly string[], steps: readonly Step[], env: Record<string, string> = {}): RunningProgram {
    return this.startCommand(['kubectl', ...args], steps, env)
  }

  /** Starts it with these arguments behind `causeway`. */
  startCommand(
    args: readonly string[],
    steps: readonly Step[],
    env: Record<string, string> = {},
  ): RunningProgram {
    return new RunningProgram({
      name: 'causeway kubectl',
      command: process.execPath,
      args: [BIN, ...args],
      env: {
        ...process.env,
        PATH: [join(this.directory, 'bin'), process.env['PATH'] ?? ''].join(delimiter),
        KUBECONFIG: join(this.directory, 'config'),
        TMPDIR: this.directory,
        STEPS: JSON.stringify(steps),
        ENDS: '0',
        ...env,
      },
    })
  }

  /** Runs it to its end, telling this scene's Causeway. */
  async run(steps: readonly Step[], args = ['apply', '-f', 'web.yaml']): Promise<Seen> {
    await using program = this.start(
      ['--endpoint', this.endpoint, '--reason', 'a test', '--', ...args],
      steps,
    )
    return JSON.parse(await program.output()) as Seen
  }

  /** Kubeconfigs that were left behind. */
  get left(): string[] {
    return readdirSync(this.directory).filter((name) => name.startsWith('causeway-kubectl-'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api[Symbol.asyncDispose]()
    await this.#causeway[Symbol.asyncDispose]()
    rmSync(this.directory, { recursive: true })
  }

  #write(): void {
    const at = (name: string): string => join(this.directory, name)
    writeFileSync(
      at('config'),
      `current-context: test
clusters: [{ name: c, cluster: { server: 'http://127.0.0.1:${this.#api.port}/k8s/' } }]
users:
  - { name: alice, user: { token: secret } }
  - { name: deputy, user: { token: secret, as: bob, as-groups: [testers] } }
contexts: [{ name: test, context: { cluster: c, user: alice, namespace: shop } }]
`,
    )
    // Run as a program of the system, whatever Node is on the PATH.
    writeFileSync(at('kubectl.cjs'), STAND_IN)
    writeProgram(
      at('bin'),
      `#!/bin/sh\n[ -z "$DIES" ] || kill -s "$DIES" $$\nexec '${process.execPath}' '${at('kubectl.cjs')}' "$@"\n`,
    )
  }
}

function writeProgram(directory: string, script: string): void {
  mkdirSync(directory)
  const path = join(directory, 'kubectl')
  writeFileSync(path, script)
  chmodSync(path, 0o755)
}

function answerJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
