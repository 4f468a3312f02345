import { spawn } from 'node:child_process'
import { errorText } from '../../model/error-text.ts'
import { objectIn, textIn, type Json, type JsonObject } from '../../kubernetes/json-access.ts'
import { bearer, type Credential, type Presented } from './credential.ts'

/** A program that prints credentials (client.authentication.k8s.io), as a kubeconfig names it. */
export interface ExecPlugin {
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** What its vendor says to whoever lacks it. */
  readonly installHint: string
  /** What it is told of the cluster; nothing unless it asks for that. */
  readonly cluster?: JsonObject
}

export interface ExecLimits {
  readonly timeoutMs: number
  readonly nowMs: () => number
}

const USUAL_LIMITS: ExecLimits = { timeoutMs: 60_000, nowMs: () => Date.now() }
const MAX_OUTPUT_BYTES = 1_048_576
const MAX_COMPLAINT = 500

/** Runs the plugin when there is no credential or it ran out, once for all who wait for it. */
export function execCredential(plugin: ExecPlugin, limits = USUAL_LIMITS): Credential {
  let held: { presented: Presented; untilMs: number } | undefined
  let running: Promise<Presented> | undefined
  const obtain = async (): Promise<Presented> => {
    held = readCredential(plugin, await run(plugin, limits.timeoutMs))
    return held.presented
  }
  return {
    present() {
      if (held !== undefined && held.untilMs > limits.nowMs()) return Promise.resolve(held.presented)
      running ??= obtain().finally(() => (running = undefined))
      return running
    },
    refused: () => (held = undefined),
  }
}

async function run(plugin: ExecPlugin, timeoutMs: number): Promise<string> {
  const { apiVersion, command, args, cluster } = plugin
  const spec = { interactive: false, ...(cluster !== undefined && { cluster }) }
  const told = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = spawn(command, args, {
    env: { ...process.env, ...plugin.env, KUBERNETES_EXEC_INFO: told },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let complaint = ''
  // What the plugin started may hold its outputs open for as long as it likes.
  const end = (why: string): void => {
    child.kill('SIGKILL')
    child.stdout.destroy()
    child.stderr.destroy()
    reject(new Error(`the credential plugin ${command} ${why} and was ended: ${complaint.trim()}`))
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (output.length > MAX_OUTPUT_BYTES) end(`printed more than ${MAX_OUTPUT_BYTES} bytes`)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MAX_COMPLAINT)
  })
  child.on('error', (error) => {
    const hint = plugin.installHint === '' ? '' : `; ${plugin.installHint.trim()}`
    reject(new Error(`the credential plugin ${command} cannot be run: ${errorText(error)}${hint}`))
  })
  child.on('close', (code, signal) => {
    if (code === 0) resolve(output)
    else {
      const how = signal === null ? `with ${code ?? 'an error'}` : `by ${signal}`
      reject(new Error(`the credential plugin ${command} ended ${how}: ${complaint.trim()}`))
    }
  })
  const late = setTimeout(() => end(`took longer than ${timeoutMs / 1_000} s`), timeoutMs)
  return await promise.finally(() => clearTimeout(late))
}

function readCredential(
  { command, apiVersion }: ExecPlugin,
  output: string,
): { presented: Presented; untilMs: number } {
  const printed = parse(command, output)
  const says = textIn(printed, 'apiVersion')
  if (says !== apiVersion)
    throw new Error(
      `the credential plugin ${command} answers in ${says || 'nothing'} instead of ${apiVersion}`,
    )
  const status = objectIn(printed, 'status')
  const [token, cert, key] = ['token', 'clientCertificateData', 'clientKeyData'].map((name) =>
    textIn(status, name),
  )
  if (!token && !(cert && key))
    throw new Error(`the credential plugin ${command} printed neither a token nor a certificate with its key`)
  const until = Date.parse(textIn(status, 'expirationTimestamp'))
  return {
    presented: { headers: token ? bearer(token) : {}, ...(cert && key && { cert, key }) },
    untilMs: Number.isNaN(until) ? Number.POSITIVE_INFINITY : until,
  }
}

function parse(command: string, output: string): Json {
  try {
    return JSON.parse(output) as Json
  } catch {
    throw new Error(`the credential plugin ${command} printed no ExecCredential`)
  }
}
